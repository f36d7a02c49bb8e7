// The libraries that a program's call steps need, and the plans that they made for its calls.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "runtime/cuda/libraries/library.h"

namespace gart::cuda {

class Libraries {
 public:
  explicit Libraries(Device& device) : device_(device) {}

  /// Opens the libraries that the plan's call steps need, and switches steps off. If a library is available, the
  /// fallbacks of its calls are switched off; otherwise its calls are switched off. Throws Failure naming an
  /// unavailable library whose calls have no fallback.
  void open(const fb::Manifest& manifest, Plan& plan);

  /// Requests a plan for each call whose shapes are known. If a library refuses a call, the fallback runs instead;
  /// throws Failure if there is no fallback.
  void settle(BoundPlan& bound);

  /// The library's plan for a call step that is switched on. It is made on first use, then shared. Throws Failure.
  std::shared_ptr<CallPlan> plan(const CallProblem& problem);
  CUgraph record(CallPlan& plan, const std::vector<void*>& data, void* workspace, const std::string& step);

 private:
  struct LoadedLibrary {
    std::unique_ptr<Library> library;  // null: `reason`
    std::string reason;
  };
  const LoadedLibrary& open(const fb::Manifest& manifest, uint32_t index);
  LoadedLibrary open(const fb::Library& required);

  Device& device_;
  std::mutex mutex_;
  std::map<uint32_t, LoadedLibrary> opened_;  // by the library's number in the artifact
  std::map<std::vector<int64_t>, std::shared_ptr<CallPlan>> plans_;
};

}  // namespace gart::cuda
