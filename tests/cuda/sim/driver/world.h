// The state of the simulated driver: devices, their contexts, its live handles, and the calls so far.
#ifndef GART_TESTS_CUDA_SIM_DRIVER_WORLD_H
#define GART_TESTS_CUDA_SIM_DRIVER_WORLD_H

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "tests/cuda/sim/driver/abi.h"
#include "tests/cuda/sim/driver/queue.h"
#include "tests/cuda/sim/engine/module.h"
#include "tests/cuda/sim/engine/report.h"

namespace gart_sim {

struct Context {
  int device = 0;
  int retained = 0;
  int sticky = 0;  // an error; once it is set, every call in the context returns it
  OperationQueue queue;
};

struct Graph;
struct Stream {
  Context* context;
  OperationQueue::Id last = 0;
  // During capture: the future graph, and the reason why the capture became invalid.
  std::shared_ptr<Graph> capture = nullptr;
  std::string spoilt = {};
  bool is_relaxed = false;
};

struct Event {
  Context* context;
  bool has_timing = true;
  bool is_recorded = false;
  OperationQueue::Id operation = 0;
  uint64_t recorded_at = 0;
};

struct ModuleHandle;
struct Function {
  ModuleHandle* module;
  const Kernel* kernel;
  int max_dynamic_shared = 48 * 1024;
};

struct ModuleHandle {
  Context* context;
  std::unique_ptr<LoadedModule> loaded;
  std::vector<std::unique_ptr<Function>> functions;
};

struct GraphExec;

// Live handles of one kind.
template <class T>
class Handles {
 public:
  explicit Handles(const char* kind) : kind_(kind) {}
  T* add(std::unique_ptr<T> object) {
    T* handle = object.get();
    alive_[handle] = std::shared_ptr<T>(std::move(object));
    return handle;
  }
  // Null if the handle is not of this kind, or no longer live.
  T* find(void* handle) const {
    const auto it = alive_.find(static_cast<T*>(handle));
    return it == alive_.end() ? nullptr : it->second.get();
  }
  void remove(T* handle) { alive_.erase(handle); }
  [[nodiscard]] size_t count() const { return alive_.size(); }
  [[nodiscard]] const char* kind() const { return kind_; }
  [[nodiscard]] const std::map<T*, std::shared_ptr<T>>& all() const { return alive_; }
  void clear() { alive_.clear(); }

 private:
  const char* kind_;
  std::map<T*, std::shared_ptr<T>> alive_;  // shared, because T may be incomplete here
};

// "cuMemAlloc_v2:3:2" or "7:700": the third call of that name, or the seventh of all, fails. The name `kernel` means
// runs of kernels.
struct Failure {
  std::string name;  // Empty: any.
  uint64_t at = 0;
  int code = 0;
};

struct World {
  static World& get();

  std::recursive_mutex mutex;
  bool is_initialized = false;
  int driver_version = 13000;
  int sm = 80;
  std::vector<std::unique_ptr<Context>> contexts;  // one per device
  bool has_peers = true;                           // whether devices can access each other's memory
  std::set<std::pair<int, int>> peers;             // {a, b}: device a has been allowed to access the memory of device b
  Order order;
  bool allows_exec_overlap = false;
  uint64_t dropped_edge = 0;  // number of the edge that is dropped, as if the program had missed it; 0: none

  Handles<Stream> streams{"streams"};
  Handles<Event> events{"events"};
  Handles<ModuleHandle> modules{"modules"};
  Handles<Graph> graphs{"graphs"};
  Handles<GraphExec> execs{"execs"};
  std::map<Context*, std::unique_ptr<Stream>> default_streams;
  std::map<uint64_t, size_t> registered;  // host memory that the caller pinned: address, bytes

  std::map<std::string, uint64_t> counts;  // numbers of calls and of their effects, by name
  std::vector<Failure> failures;

  // Counts the call. Returns an injected error, or 0.
  int count(const std::string& name);
  void read_environment();
  void set_failures(const std::string& text);
  bool set_order(const std::string& text);
  // Names and numbers of live objects, or "".
  [[nodiscard]] std::string alive() const;
  Function* find_function(void* handle) const;
  // Marks the context as failed with `error`, and drops its pending work.
  void lose(Context* context, int error);
  [[nodiscard]] static bool is_sticky(int error);

 private:
  World();
  void print_counts() const;
  ~World();
};

// The calling thread's current context.
Context*& current_context();

// Used in every driver function: takes the lock, counts the call, and lets it fail if it must.
class Call {
 public:
  enum Needs { nothing, initialized, context };
  explicit Call(const char* name, Needs needs = context);
  // The error with which the call fails before it does anything, or 0.
  [[nodiscard]] int failed() const { return failed_; }
  // Reports a wrong argument.
  [[nodiscard]] int misuse(const std::string& what, int code = kInvalidValue) const;
  [[nodiscard]] Context* context_of() const { return current_context(); }
  // The stream of a handle (null: the default stream); null if it is not live.
  [[nodiscard]] Stream* stream(void* handle) const;

 private:
  const char* name_;
  std::unique_lock<std::recursive_mutex> lock_;
  int failed_ = 0;
};

// Declares `call`; returns from the function if the call has failed.
#define GART_SIM_CALL(...)      \
  const Call call(__VA_ARGS__); \
  World& world = World::get();  \
  (void)world;                  \
  if (call.failed()) return call.failed()

#define GART_SIM_API extern "C" __attribute__((visibility("default"))) int

}  // namespace gart_sim
#endif
