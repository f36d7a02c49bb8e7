// A library of this machine that runs calls. It has been found and opened, and the artifact accepts its version.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "runtime/cuda/driver/device.h"
#include "runtime/cuda/libraries/library_call.h"

namespace gart::cuda {

/// A shared library, opened by the first of its names that works. It stays open until the process ends, as CUDA
/// libraries require.
class SharedLibrary {
 public:
  explicit SharedLibrary(std::vector<std::string> names);
  bool is_open() const { return handle_ != nullptr; }
  /// The name under which the library was opened; the reason if it was not.
  const std::string& name() const { return name_; }
  const std::string& reason() const { return reason_; }
  /// Fills a table of functions, as find_symbols() does. Returns false if one is missing; reason() says which.
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
  /// The version that the library reports.
  virtual uint64_t version() const = 0;
  /// Prepares for work on the device, whose context is current. Throws Failure.
  virtual void start() = 0;
  /// Chooses how to run the call. Throws Failure (unsupported) if the library cannot run it. Must not be called by two
  /// threads at a time.
  virtual std::unique_ptr<CallPlan> plan(const CallProblem& problem) = 0;
};

/// Both return null if the library cannot be opened or lacks a function; `reason` names the cause.
std::unique_ptr<Library> open_cublaslt(Device& device, std::string& reason);
std::unique_ptr<Library> open_cudnn(Device& device, std::string& reason);

/// For a library that was opened by open_cublaslt() and started: the numbers (Algorithm.config) of up to `most`
/// algorithms for the call, its own choice first. Throws Failure.
std::vector<std::vector<int64_t>> cublaslt_algorithms(Library& library, const CallProblem& problem, size_t most);
std::vector<std::vector<int64_t>> cudnn_algorithms(Library& library, const CallProblem& problem, size_t most);

/// Records the work that `enqueue` puts on a stream, which belongs to this thread alone.
class Capture {
 public:
  explicit Capture(Device& device) : device_(device) {}
  /// Throws Failure, and any exception that `enqueue` throws.
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
