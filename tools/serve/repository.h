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

  /// Calls `use` with the version, "": the loaded one, or the latest of the store. Loads it in a lane if necessary,
  /// unless the model was unloaded. Otherwise calls `fail`.
  void with_model(const std::string& id, const std::string& version, Use use, Fail fail);
  /// Loads the latest version of the store, which replaces the loaded ones.
  void load(const std::string& id, std::function<void()> done, Fail fail);
  /// Models without a loaded version are refused. Requests that were accepted are answered.
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
  std::mutex loading_;  // one model is loaded at a time, and none twice
  std::map<std::string, std::map<int64_t, std::shared_ptr<Model>>> models_;
  std::set<std::string> unloaded_;
};

}  // namespace gcg::serve
