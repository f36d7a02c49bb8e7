// A loaded version of a model: its inputs and outputs, and runs of it.
#pragma once

#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "gart/fleet.hpp"
#include "gart/gart.hpp"
#include "gart/generate.hpp"
#include "tools/serve/artifact_bytes.h"
#include "tools/serve/memory_count.h"
#include "tools/serve/statistics.h"
#include "tools/store/store.h"

namespace gcg::serve {

struct DeviceOptions {
  std::string device;  // the same as gart::LoadOptions.device
  int threads = 0;
  /// The devices that all models share that were compiled for a fleet; null: each model has queues of its own.
  std::shared_ptr<const gart::fleet::Manager> manager;
};

class Model {
 public:
  using Take = std::function<void(const std::string& output, const gart::TensorView&)>;

  /// Loads the artifact from `bytes`, or if they are null, from the file at `path`: on its fleet if it was compiled for
  /// one, otherwise on one device. Counts its file and its runs' intermediate results in `memory`. Throws Refusal.
  Model(gart::store::StoredVersion stored, const std::string& path, std::shared_ptr<const ArtifactBytes> bytes,
        const DeviceOptions& options, MemoryTotal memory);

  const gart::store::StoredVersion& stored() const { return stored_; }
  const std::string& id() const { return stored_.id; }
  std::string version() const { return std::to_string(stored_.version); }
  std::string device() const;
  /// `entry`: "" means the first entry point. Both functions throw Refusal for an unknown one.
  std::span<const gart::TensorInfo> inputs(const std::string& entry) const;
  std::span<const gart::TensorInfo> outputs(const std::string& entry) const;
  /// True if runs of the entry point belong to sequences, which keep its states.
  bool is_sequential(const std::string& entry) const { return kind_of(entry) == "sequence"; }
  /// Throws Refusal unless `name` is an output of the entry point, or a value that the model's fleet can fetch.
  void check_output(const std::string& entry, const std::string& name) const;

  /// Runs once and passes the wanted outputs ({}: all) to `take`, which must not keep them. Any number of threads may
  /// run at once. Throws Refusal.
  void run(const std::string& entry, std::span<const gart::NamedTensor> inputs, std::span<const std::string> requested,
           const Take& take);
  void run(const gart::Session& session, const std::string& entry, std::span<const gart::NamedTensor> inputs,
           std::span<const std::string> requested, const Take& take);
  /// Throws Refusal.
  gart::Session new_session() const;
  /// Generates tokens in a session of its own. Throws Refusal.
  gart::Generator new_generator() const;

  /// The bytes that unloading the model frees.
  int64_t memory_bytes() const;
  /// True if a run has changed the model's states, which unloading would lose.
  bool has_changed() const { return has_changed_; }

  Statistics statistics;

 private:
  struct Borrowed {
    gart::Invocation invocation;
    CountedBytes memory;
  };

  void run_on_fleet(std::span<const gart::NamedTensor> inputs, std::span<const std::string> requested,
                    const Take& take);
  void check_entry(const std::string& entry) const;
  std::string_view kind_of(const std::string& entry) const;
  Borrowed borrow(const std::string& entry);
  void give_back(const std::string& entry, Borrowed borrowed);

  gart::store::StoredVersion stored_;
  MemoryTotal memory_;
  CountedBytes file_;
  std::atomic<bool> has_changed_ = false;
  std::shared_ptr<const ArtifactBytes> bytes_;  // the program may use it in place
  std::optional<gart::Program> program_;        // set unless `fleet_` is
  std::optional<gart::fleet::Program> fleet_;
  mutable std::mutex mutex_;
  std::map<std::string, std::vector<Borrowed>> idle_;  // by entry point
  std::vector<gart::fleet::Request> idle_requests_;
};

[[noreturn]] void refuse_error(const gart::Error& error);

/// The value of a result. Throws Refusal: 400 if the request is at fault, otherwise 500 or 503.
template <class T>
T value_or_refuse(gart::Result<T> result) {
  if (!result.ok()) refuse_error(result.error());
  if constexpr (!std::is_void_v<T>) return std::move(result).value();
}

}  // namespace gcg::serve
