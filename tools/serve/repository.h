// The models of a store that the server has loaded.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "tools/serve/lanes.h"
#include "tools/serve/model.h"

namespace gcg::serve {

class Repository {
 public:
  using Use = std::function<void(std::shared_ptr<Model>)>;
  using Fail = std::function<void(unsigned status, const std::string& message)>;

  Repository(std::string store, DeviceOptions devices, Lanes& lanes);

  /// Calls `use` with the version of the model; "": the loaded version, or else the store's latest one. Loads the
  /// version in a lane if necessary, unless the model was unloaded. Calls `fail` if there is no such version.
  void with_model(const std::string& id, const std::string& version, Use use, Fail fail);
  /// Loads the store's latest version, which replaces the loaded versions.
  void load(const std::string& id, std::function<void()> done, Fail fail);
  /// Unloads all versions. Requests that were accepted are still answered; further requests for the model are refused.
  void unload(const std::string& id);
  bool is_loaded(const std::string& id, const std::string& version) const;

  std::vector<std::shared_ptr<Model>> loaded() const;
  /// All versions in the store.
  std::vector<gart::store::StoredVersion> stored() const;
  /// An entry for each version in the store: name, version, state, reason. `ready`: only loaded ones.
  std::string index_json(bool ready) const;

 private:
  std::shared_ptr<Model> find(const std::string& id, const std::string& version) const;
  std::shared_ptr<Model> load_now(const std::string& id, const std::string& version);

  const std::string store_;
  const DeviceOptions devices_;
  Lanes& lanes_;
  mutable std::mutex mutex_;
  std::mutex loading_;  // held while a model is loaded, so that no model is loaded twice
  std::map<std::string, std::map<int64_t, std::shared_ptr<Model>>> models_;
  std::set<std::string> unloaded_;
};

}  // namespace gcg::serve
