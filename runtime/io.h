// The caller's inputs and outputs of one invocation, and staging memory for those that kernels cannot use in place.
#pragma once

#include <vector>

#include "gart/gart.hpp"
#include "runtime/memory.h"

namespace gart {

/// The memory that a device's kernels work in.
struct Site {
  const char* space;  ///< as tensors name it: "cpu", "cuda:0"
  MemorySource* memory;
  MemorySource* pinned;  ///< host memory that the device copies from and to
};

/// A copy that the device makes before the run (of an input) or after it (of an output). To and from another space it
/// goes through pinned memory.
struct Transfer {
  enum class Kind : uint8_t { none, to_device, on_device, to_host };
  Kind kind = Kind::none;
  void* to = nullptr;
  const void* from = nullptr;
  int64_t bytes = 0;
};

/// use_in_place(): whole elements suffice, as they do for CPUs' kernels of format 1.3 on.
inline constexpr size_t kElementAlignment = 1;

/// Inputs on the kernels' device that are aligned as kernels need it are used in place, others copied.
class Inputs {
 public:
  explicit Inputs(std::span<const TensorInfo> infos, const Site& site);

  void set(size_t index, const TensorView& tensor);
  void forget();
  bool is_set(size_t index) const { return slots_[index].set; }
  /// Fails for the first input that is not set.
  void check_complete() const;
  bool matches(std::span<const Shape> shapes) const;
  std::vector<Shape> shapes() const;
  /// What kernels need of the caller's memory. 0: they read from memory of the invocation alone, whose place does not
  /// change.
  void use_in_place(size_t alignment) { alignment_ = alignment; }
  /// Afterwards address(i) is what kernels read, once the device has made the transfers.
  void stage();
  /// As if inputs of these shapes, in another space, had been set and staged: makes room, and the transfers.
  void expect(std::span<const Shape> shapes);
  void* address(size_t index) const { return slots_[index].address; }
  const Transfer& transfer(size_t index) const { return slots_[index].transfer; }
  size_t count() const { return slots_.size(); }
  const Site& site() const { return site_; }
  /// One that is set is in host memory.
  bool any_on_host() const;
  /// One that is set lies in these bytes of the kernels' space.
  bool overlap(const void* data, uint64_t bytes) const;
  /// The data in host memory; null if it is elsewhere. Valid after stage().
  const void* host_data(size_t index) const;

 private:
  struct Slot {
    TensorView view;
    bool set = false, local = true;  // local: in the kernels' space
    Block staging, pinned;
    void* address = nullptr;
    Transfer transfer;
  };
  static void transfer_in(Slot& slot, size_t bytes);
  size_t alignment_ = kAlignment;
  Site site_;
  std::span<const TensorInfo> infos_;
  std::vector<Slot> slots_;
};

/// Outputs go to the caller's buffer if it is on the kernels' device, aligned as they need it, and nothing of the
/// inputs lies there, otherwise to memory of the invocation, and from there to the caller's buffer if there is one.
class Outputs {
 public:
  Outputs(std::span<const TensorInfo> infos, const Site& site, const Inputs& inputs);

  void set(size_t index, const OutputBuffer& buffer);
  void forget();
  /// What kernels need of the caller's memory. 0: they write to memory of the invocation alone, whose place does not
  /// change.
  void use_in_place(size_t alignment) { alignment_ = alignment; }
  /// A run begins: nothing is placed.
  void begin();
  /// Where `bytes` of output `index` are to be written. Fails if the caller's buffer is too small, or overlaps that of
  /// an output that is placed.
  void* place(size_t index, int64_t bytes);
  void* address(size_t index) const { return slots_[index].address; }
  /// The run is over: what came to pinned memory moves to the caller's buffers.
  void deliver();
  /// Where the caller finds it after deliver(), and on which device that is.
  const void* result(size_t index) const;
  const char* result_device(size_t index) const { return slots_[index].local ? site_.space : "cpu"; }
  const Transfer& transfer(size_t index) const { return slots_[index].transfer; }
  size_t count() const { return slots_.size(); }
  /// One is wanted in host memory.
  bool any_on_host() const;

 private:
  struct Slot {
    OutputBuffer user;
    bool local = true;  // wanted in the kernels' space
    Block own, pinned;
    void* address = nullptr;
    int64_t bytes = 0;
    Transfer transfer;
  };
  void check_apart(size_t index) const;

  size_t alignment_ = kAlignment;
  Site site_;
  const Inputs& inputs_;
  std::span<const TensorInfo> infos_;
  std::vector<Slot> slots_;
};

}  // namespace gart
