// The models of a store that the server has loaded.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "tools/serve/lanes.h"
#include "tools/serve/model.h"

namespace gcg::serve {

struct RepositoryOptions {
  std::string store;
  DeviceOptions devices;
  int64_t memory = 0;  // limit of the bytes that loaded models hold; 0: no limit
  SignatureCheck trust;
};

class Repository {
 public:
  using Use = std::function<void(std::shared_ptr<Model>)>;
  using Fail = std::function<void(unsigned status, const std::string& message)>;

  Repository(RepositoryOptions options, Lanes& lanes);

  /// Calls `use` with the version of the model; "": the loaded version, or else the store's latest one. Loads the
  /// version in a lane if necessary, unless the model was unloaded by request. If memory lacks, unloads the models that
  /// were not used for the longest time, or waits for those that are in use. Calls `fail` if there is no such version,
  /// or no room for it.
  void with_model(const std::string& id, const std::string& version, Use use, Fail fail);
  /// Loads the store's latest version, which replaces the loaded versions.
  void load(const std::string& id, std::function<void()> done, Fail fail);
  /// Unloads all versions. Requests that were accepted are still answered; further requests for the model are refused.
  void unload(const std::string& id);
  bool is_loaded(const std::string& id, int64_t version) const;
  /// Bytes that loaded models hold, and their limit.
  int64_t memory() const { return *memory_; }
  int64_t budget() const { return options_.memory; }
  /// The devices of models that were compiled for a fleet.
  std::vector<gart::fleet::DeviceLoad> devices() const { return options_.devices.manager->devices(); }

  std::vector<std::shared_ptr<Model>> loaded() const;
  /// All versions in the store.
  std::vector<gart::store::StoredVersion> stored() const;
  /// An entry for each version in the store: name, version, state, reason. `ready`: only loaded ones.
  std::string index_json(bool ready) const;

 private:
  /// A wish to load a version, until it is loaded or refused.
  struct Load {
    std::string id, version;
    Use use;
    Fail fail;
    Clock::time_point patience;                       // the latest time to wait for room
    std::optional<gart::store::StoredVersion> found;  // in the store
  };
  struct Loaded {
    std::shared_ptr<Model> model;
    uint64_t use = 0;  // the number of its last use
  };

  std::shared_ptr<Model> find(const std::string& id, const std::string& version) const;
  std::shared_ptr<Model> load_now(Load& load);
  void attempt(const std::shared_ptr<Load>& load);
  void replace_versions(const std::shared_ptr<Model>& model, const std::function<void()>& done);
  const char* reason_not_loaded(const std::string& id, int64_t version) const;
  bool make_room(int64_t bytes);
  std::map<int64_t, Loaded>::iterator least_used(std::map<int64_t, Loaded>*& versions);
  std::string no_room(const Load& load) const;

  const RepositoryOptions options_;
  const MemoryTotal memory_ = std::make_shared<std::atomic<int64_t>>(0);
  Lanes& lanes_;
  mutable std::mutex mutex_;
  std::mutex loading_;  // held while a model is loaded, so that no model is loaded twice
  mutable uint64_t uses_ = 0;
  mutable std::map<std::string, std::map<int64_t, Loaded>> models_;
  std::set<std::string> unloaded_;                       // by request
  std::set<std::pair<std::string, int64_t>> displaced_;  // unloaded to make room
};

}  // namespace gcg::serve
