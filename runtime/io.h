// The caller's inputs and outputs of one invocation, and staging memory for those that kernels cannot use in place.
#pragma once

#include <vector>

#include "gart/gart.hpp"
#include "runtime/memory.h"

namespace gart {

/// Kernels need 64-byte aligned data: aligned inputs are used in place, others copied.
class Inputs {
 public:
  explicit Inputs(std::span<const TensorInfo> infos) : infos_(infos), slots_(infos.size()) {}

  Result<void> set(size_t index, const TensorView& tensor);
  void forget();
  bool is_set(size_t index) const { return slots_[index].set; }
  /// Fails for the first input that is not set.
  Result<void> check_complete() const;
  bool matches(std::span<const Shape> shapes) const;
  std::vector<Shape> shapes() const;
  /// Copies what has to be copied; afterwards address(i) is what kernels read.
  void stage();
  void* address(size_t index) const { return slots_[index].address; }

 private:
  struct Slot {
    TensorView view;
    bool set = false;
    Block staging;
    void* address = nullptr;
  };
  std::span<const TensorInfo> infos_;
  std::vector<Slot> slots_;
};

/// Outputs go to the caller's buffer if it is aligned, otherwise to memory of the invocation, and from there to the
/// caller's buffer if there is one.
class Outputs {
 public:
  explicit Outputs(std::span<const TensorInfo> infos) : infos_(infos), slots_(infos.size()) {}

  Result<void> set(size_t index, const OutputBuffer& buffer);
  void forget();
  /// Where `bytes` of output `index` are to be written. Fails if the caller's buffer is too small.
  Result<void*> place(size_t index, int64_t bytes);
  void* address(size_t index) const { return slots_[index].address; }
  /// The run is over: staged outputs move to the caller's buffers.
  void deliver();
  /// Where the caller finds it after deliver().
  const void* result(size_t index) const;

 private:
  struct Slot {
    OutputBuffer user;
    Block own;
    void* address = nullptr;
    int64_t bytes = 0;
  };
  std::span<const TensorInfo> infos_;
  std::vector<Slot> slots_;
};

}  // namespace gart
