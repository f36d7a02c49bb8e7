#include "tools/serve/repository.h"

#include <charconv>
#include <new>

#include "tools/serve/json_elements.h"
#include "tools/serve/refusal.h"
#include "tools/store/store_error.h"

namespace gcg::serve {
namespace {

using gart::store::Reference;
using gart::store::Store;
using gart::store::StoredVersion;

constexpr std::chrono::seconds kPatience{5};     // longest time that a request waits for models in use
constexpr std::chrono::milliseconds kRetry{10};  // between attempts to load

StoredVersion version_in(const Store& store, const std::string& id, const std::string& version) try {
  return store.find(gart::store::parse_reference(id + (version.empty() ? "" : "@" + version)));
} catch (const gart::store::StoreError& error) {
  refuse(404, error.what());
}

/// The options, with devices that all models share.
RepositoryOptions with_devices(RepositoryOptions options) {
  options.devices.manager = std::make_shared<const gart::fleet::Manager>(value_or_refuse(gart::fleet::Manager::open()));
  return options;
}

}  // namespace

Repository::Repository(RepositoryOptions options, Lanes& lanes)
    : options_(with_devices(std::move(options))), lanes_(lanes) {}

std::shared_ptr<Model> Repository::find(const std::string& id, const std::string& version) const {
  const std::lock_guard lock(mutex_);
  const auto found = models_.find(id);
  if (found == models_.end() || found->second.empty()) return nullptr;
  auto at = std::prev(found->second.end());
  if (!version.empty()) {
    int64_t number = 0;
    const char* end = version.data() + version.size();
    if (const auto [stop, error] = std::from_chars(version.data(), end, number); stop != end || error != std::errc())
      return nullptr;
    at = found->second.find(number);
  }
  if (at == found->second.end()) return nullptr;
  at->second.use = ++uses_;
  return at->second.model;
}

/// The model that may be unloaded to make room, among all of which no request, sequence or text holds a reference, and
/// whose states are those of its file. The caller holds the lock.
std::map<int64_t, Repository::Loaded>::iterator Repository::least_used(std::map<int64_t, Loaded>*& versions) {
  std::map<int64_t, Loaded>::iterator least;
  versions = nullptr;
  for (auto& [id, all] : models_)
    for (auto at = all.begin(); at != all.end(); ++at) {
      const bool is_free = at->second.model.use_count() == 1 && !at->second.model->has_changed();
      if (!is_free || (versions != nullptr && least->second.use < at->second.use)) continue;
      versions = &all;
      least = at;
    }
  return least;
}

/// Unloads models until `bytes` more fit into the budget. Returns false, and unloads nothing more, if the others are in
/// use.
bool Repository::make_room(int64_t bytes) {
  std::vector<std::shared_ptr<Model>> freed;  // destroyed after the lock is released
  const std::lock_guard lock(mutex_);
  for (int64_t used = *memory_; used + bytes > options_.memory;) {
    std::map<int64_t, Loaded>* versions = nullptr;
    const auto least = least_used(versions);
    if (versions == nullptr) return false;
    used -= least->second.model->memory_bytes();
    displaced_.emplace(least->second.model->id(), least->first);
    freed.push_back(std::move(least->second.model));
    versions->erase(least);
  }
  return true;
}

std::string Repository::no_room(const Load& load) const {
  const std::string of = std::to_string(load.found->bytes) + " bytes of the model '" + load.id + "@" +
                         std::to_string(load.found->version) + "' do not fit into --memory: ";
  if (load.found->bytes > options_.memory) return of + "the budget has " + std::to_string(options_.memory);
  return of + "the models in use hold " + std::to_string(memory()) + " of " + std::to_string(options_.memory) +
         "; try again later";
}

/// Null if models in use leave no room.
std::shared_ptr<Model> Repository::load_now(Load& load) {
  const std::lock_guard loading(loading_);
  if (auto model = find(load.id, load.version)) return model;
  const Store store(options_.store, Store::Access::read);
  if (!load.found) load.found = version_in(store, load.id, load.version);
  const StoredVersion& found = *load.found;
  if (options_.memory > 0 && found.bytes > options_.memory) refuse(503, no_room(load));
  if (options_.memory > 0 && !make_room(found.bytes)) return nullptr;
  std::shared_ptr<const ArtifactBytes> bytes = trusted_bytes(found, store.path_of(found), options_.trust);
  if (!bytes) store.check(found);
  auto model = std::make_shared<Model>(found, store.path_of(found), std::move(bytes), options_.devices, memory_);
  const std::lock_guard lock(mutex_);
  models_[load.id][found.version] = {model, ++uses_};
  displaced_.erase({load.id, found.version});
  return model;
}

void Repository::attempt(const std::shared_ptr<Load>& load) {
  std::shared_ptr<Model> model;
  try {
    model = load_now(*load);
    if (!model && Clock::now() > load->patience) refuse(503, no_room(*load));
  } catch (const Refusal& refusal) {
    return load->fail(refusal.status(), refusal.what());
  } catch (const std::bad_alloc&) {
    return load->fail(503, "not enough memory to load the model '" + load->id + "'");
  } catch (const std::exception& error) {
    return load->fail(500, error.what());
  }
  if (model) return load->use(std::move(model));
  lanes_.run_task_at(Clock::now() + kRetry, [this, load] { attempt(load); });
}

void Repository::with_model(const std::string& id, const std::string& version, Use use, Fail fail) {
  if (auto model = find(id, version)) {
    if (options_.memory > 0 && *memory_ > options_.memory)
      make_room(0);  // runs may have needed more memory than before
    return use(std::move(model));
  }
  {
    const std::lock_guard lock(mutex_);
    if (unloaded_.count(id) != 0) return fail(404, "the model '" + id + "' is unloaded");
  }
  const auto load = std::make_shared<Load>(
      Load{id, version, std::move(use), std::move(fail), Clock::now() + kPatience, std::nullopt});
  lanes_.run_task([this, load] { attempt(load); });
}

void Repository::load(const std::string& id, std::function<void()> done, Fail fail) {
  lanes_.run_task([this, id, done = std::move(done), fail = std::move(fail)] {
    std::string latest;
    try {
      latest = std::to_string(version_in(Store(options_.store, Store::Access::read), id, "").version);
    } catch (const Refusal& refusal) {
      return fail(refusal.status(), refusal.what());
    } catch (const std::exception& error) {
      return fail(500, error.what());
    }
    const auto load = std::make_shared<Load>(
        Load{id, latest, [this, done](const std::shared_ptr<Model>& model) { replace_versions(model, done); }, fail,
             Clock::now() + kPatience, std::nullopt});
    attempt(load);
  });
}

/// From now on the version is the only loaded one of its model.
void Repository::replace_versions(const std::shared_ptr<Model>& model, const std::function<void()>& done) {
  std::map<int64_t, Loaded> old;
  {
    const std::lock_guard lock(mutex_);
    std::map<int64_t, Loaded>& versions = models_[model->id()];
    const int64_t version = model->stored().version;
    old.swap(versions);
    versions[version] = {model, ++uses_};
    old.erase(version);
    unloaded_.erase(model->id());
  }
  for (const auto& [version, loaded] : old) lanes_.end_sequences(*loaded.model);
  done();
}

void Repository::unload(const std::string& id) {
  std::map<int64_t, Loaded> old;
  {
    const std::lock_guard lock(mutex_);
    const auto found = models_.find(id);
    if (found == models_.end() || found->second.empty()) refuse(404, "the model '", id, "' is not loaded");
    old = std::move(found->second);
    models_.erase(found);
    unloaded_.insert(id);
  }
  for (const auto& [version, loaded] : old) lanes_.end_sequences(*loaded.model);
}

bool Repository::is_loaded(const std::string& id, int64_t version) const {
  const std::lock_guard lock(mutex_);
  const auto found = models_.find(id);
  return found != models_.end() && found->second.contains(version);
}

std::vector<std::shared_ptr<Model>> Repository::loaded() const {
  const std::lock_guard lock(mutex_);
  std::vector<std::shared_ptr<Model>> all;
  for (const auto& [id, versions] : models_)
    for (const auto& [version, loaded] : versions) all.push_back(loaded.model);
  return all;
}

std::vector<StoredVersion> Repository::stored() const { return Store(options_.store, Store::Access::read).list(); }

const char* Repository::reason_not_loaded(const std::string& id, int64_t version) const {
  const std::lock_guard lock(mutex_);
  if (unloaded_.contains(id)) return "unloaded by request";
  return displaced_.contains({id, version}) ? "unloaded to make room for other models" : "not loaded";
}

std::string Repository::index_json(bool ready) const {
  std::string out = "[";
  for (const StoredVersion& v : stored()) {
    const bool loaded = is_loaded(v.id, v.version);
    if (ready && !loaded) continue;
    out += (out.size() > 1 ? "," : "") + ("{\"name\":" + in_quotes(v.id)) + ",\"version\":\"" +
           std::to_string(v.version) + "\",\"state\":\"" + (loaded ? "READY" : "UNAVAILABLE") + "\",\"reason\":\"" +
           (loaded ? "" : reason_not_loaded(v.id, v.version)) + "\"}";
  }
  return out + "]";
}

}  // namespace gcg::serve
