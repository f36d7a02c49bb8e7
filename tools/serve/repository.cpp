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

StoredVersion version_in(const Store& store, const std::string& id, const std::string& version) try {
  return store.find(gart::store::parse_reference(id + (version.empty() ? "" : "@" + version)));
} catch (const gart::store::StoreError& error) {
  refuse(404, error.what());
}

}  // namespace

Repository::Repository(std::string store, DeviceOptions devices, Lanes& lanes)
    : store_(std::move(store)), devices_(std::move(devices)), lanes_(lanes) {}

std::shared_ptr<Model> Repository::find(const std::string& id, const std::string& version) const {
  const std::lock_guard lock(mutex_);
  const auto found = models_.find(id);
  if (found == models_.end() || found->second.empty()) return nullptr;
  if (version.empty()) return found->second.rbegin()->second;
  int64_t number = 0;
  const char* end = version.data() + version.size();
  if (const auto [stop, error] = std::from_chars(version.data(), end, number); stop != end || error != std::errc())
    return nullptr;
  const auto at = found->second.find(number);
  return at == found->second.end() ? nullptr : at->second;
}

std::shared_ptr<Model> Repository::load_now(const std::string& id, const std::string& version) {
  const std::lock_guard loading(loading_);
  if (auto model = find(id, version)) return model;
  const Store store(store_, Store::Access::read);
  const StoredVersion found = version_in(store, id, version);
  store.check(found);
  auto model = std::make_shared<Model>(found, store.path_of(found), devices_);
  const std::lock_guard lock(mutex_);
  models_[id][found.version] = model;
  return model;
}

void Repository::with_model(const std::string& id, const std::string& version, Use use, Fail fail) {
  if (auto model = find(id, version)) return use(std::move(model));
  {
    const std::lock_guard lock(mutex_);
    if (unloaded_.count(id) != 0) return fail(404, "the model '" + id + "' is unloaded");
  }
  lanes_.run_task([this, id, version, use = std::move(use), fail = std::move(fail)] {
    std::shared_ptr<Model> model;
    try {
      model = load_now(id, version);
    } catch (const Refusal& refusal) {
      return fail(refusal.status(), refusal.what());
    } catch (const std::bad_alloc&) {
      return fail(503, "not enough memory to load the model '" + id + "'");
    } catch (const std::exception& error) {
      return fail(500, error.what());
    }
    use(std::move(model));
  });
}

void Repository::load(const std::string& id, std::function<void()> done, Fail fail) {
  lanes_.run_task([this, id, done = std::move(done), fail = std::move(fail)] {
    std::map<int64_t, std::shared_ptr<Model>> old;
    try {
      const Store store(store_, Store::Access::read);
      const StoredVersion latest = version_in(store, id, "");
      const auto model = load_now(id, std::to_string(latest.version));
      const std::lock_guard lock(mutex_);
      old.swap(models_[id]);
      models_[id][latest.version] = model;
      old.erase(latest.version);
      unloaded_.erase(id);
    } catch (const Refusal& refusal) {
      return fail(refusal.status(), refusal.what());
    } catch (const std::exception& error) {
      return fail(500, error.what());
    }
    for (const auto& [version, model] : old) lanes_.end_sequences(*model);
    done();
  });
}

void Repository::unload(const std::string& id) {
  std::map<int64_t, std::shared_ptr<Model>> old;
  {
    const std::lock_guard lock(mutex_);
    const auto found = models_.find(id);
    if (found == models_.end() || found->second.empty()) refuse(404, "the model '", id, "' is not loaded");
    old = std::move(found->second);
    models_.erase(found);
    unloaded_.insert(id);
  }
  for (const auto& [version, model] : old) lanes_.end_sequences(*model);
}

bool Repository::is_loaded(const std::string& id, const std::string& version) const {
  return find(id, version) != nullptr;
}

std::vector<std::shared_ptr<Model>> Repository::loaded() const {
  const std::lock_guard lock(mutex_);
  std::vector<std::shared_ptr<Model>> all;
  for (const auto& [id, versions] : models_)
    for (const auto& [version, model] : versions) all.push_back(model);
  return all;
}

std::vector<StoredVersion> Repository::stored() const { return Store(store_, Store::Access::read).list(); }

std::string Repository::index_json(bool ready) const {
  std::string out = "[";
  for (const StoredVersion& v : stored()) {
    const bool loaded = is_loaded(v.id, std::to_string(v.version));
    if (ready && !loaded) continue;
    out += (out.size() > 1 ? "," : "") + ("{\"name\":" + in_quotes(v.id)) + ",\"version\":\"" +
           std::to_string(v.version) + "\",\"state\":\"" + (loaded ? "READY" : "UNAVAILABLE") + "\",\"reason\":\"" +
           (loaded ? "" : "not loaded") + "\"}";
  }
  return out + "]";
}

}  // namespace gcg::serve
