// A library of the machine that does calls: found, opened, and of a version that the artifact takes.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "runtime/cuda/driver/device.h"
#include "runtime/cuda/libraries/library_call.h"

namespace gart::cuda {

/// A shared library by the first of its names that opens. Stays open to the end of the process, as CUDA libraries want
/// it.
class SharedLibrary {
 public:
  explicit SharedLibrary(std::vector<std::string> names);
  bool is_open() const { return handle_ != nullptr; }
  /// Which one it is; why none is open.
  const std::string& name() const { return name_; }
  const std::string& reason() const { return reason_; }
  /// Fills a table of functions, as find_symbols() does; false: one is missing, reason() says which.
  bool load(const char* names, void* table);

 private:
  void* handle_ = nullptr;
  std::string name_, reason_;
};

/// "13.1.0" for 130100.
std::string library_version_text(uint64_t version);

class Library {
 public:
  virtual ~Library() = default;
  /// The version that the library says it has.
  virtual uint64_t version() const = 0;
  /// Gets ready for work on the device, whose context is current. Throws Failure.
  virtual void start() = 0;
  /// Chooses how to do the call. Throws Failure (unsupported) if it cannot. Not from two threads at a time.
  virtual std::unique_ptr<CallPlan> plan(const CallProblem& problem) = 0;
};

/// Each: null if it cannot be opened or lacks a function, `reason` says which.
std::unique_ptr<Library> open_cublaslt(Device& device, std::string& reason);
std::unique_ptr<Library> open_cudnn(Device& device, std::string& reason);

/// Of a library opened by the function above and started: the numbers (Algorithm.config) of up to `most` of its ways to
/// do the call, the one that it would take first. Throws Failure.
std::vector<std::vector<int64_t>> cublaslt_algorithms(Library& library, const CallProblem& problem, size_t most);
std::vector<std::vector<int64_t>> cudnn_algorithms(Library& library, const CallProblem& problem, size_t most);

/// Records what `enqueue` puts on a stream, which is this thread's alone.
class Capture {
 public:
  explicit Capture(Device& device) : device_(device) {}
  /// Throws Failure; what `enqueue` throws is passed on.
  template <class Enqueue>
  CUgraph record(const std::string& step, const Enqueue& enqueue) {
    begin(step);
    try {
      enqueue(stream_->handle);
    } catch (...) {
      abandon();
      throw;
    }
    return end(step);
  }

 private:
  void begin(const std::string& step);
  void abandon() noexcept;
  CUgraph end(const std::string& step);

  Device& device_;
  std::unique_ptr<Stream> stream_;
};

}  // namespace gart::cuda
