// The inputs and outputs of one invocation, and staging memory for those that kernels cannot use in place.
#pragma once

#include <vector>

#include "gart/gart.hpp"
#include "runtime/memory.h"

namespace gart {

/// The memory that a device's kernels work in.
struct Site {
  const char* space;  ///< the name that tensors use: "cpu", "cuda:0"
  MemorySource* memory;
  MemorySource* pinned;  ///< host memory for the device's copies
};

/// A copy by the device: an input is copied before the run, an output after it. Copies to and from another space
/// pass through pinned memory.
struct Transfer {
  enum class Kind : uint8_t { none, to_device, on_device, to_host };
  Kind kind = Kind::none;
  void* to = nullptr;
  const void* from = nullptr;
  int64_t bytes = 0;
};

/// A value for `alignment`: data only needs to be aligned to its element size, as for CPU kernels.
inline constexpr size_t kElementAlignment = 1;

/// Inputs that are on the kernels' device and sufficiently aligned are used in place; others are copied.
class Inputs {
 public:
  explicit Inputs(std::span<const TensorInfo> infos, const Site& site);

  void set(size_t index, const TensorView& tensor);
  /// Sets an input that is a state. Kernels read `tensor` in place, because it is on their device.
  void lend(size_t index, const TensorView& tensor);
  void forget();
  bool is_set(size_t index) const { return slots_[index].set; }
  const Shape& shape(size_t index) const { return slots_[index].view.shape; }
  /// Fails for the first of these `count` inputs that is not set.
  void check_complete(size_t count) const;
  bool matches(std::span<const Shape> shapes) const;
  void get_shapes(std::vector<Shape>& shapes) const;
  /// The alignment of the caller's memory that kernels need. 0: kernels only read the invocation's own memory, whose
  /// address does not change.
  void use_in_place(size_t alignment) { alignment_ = alignment; }
  /// Prepares the inputs: afterwards address(i) is the memory that kernels read once the device has made the transfers.
  void stage();
  /// Allocates memory and lists the transfers for inputs of these shapes in another space, as if they had been set and
  /// staged.
  void expect(std::span<const Shape> shapes);
  void* address(size_t index) const { return slots_[index].address; }
  const Transfer& transfer(size_t index) const { return slots_[index].transfer; }
  size_t count() const { return slots_.size(); }
  const Site& site() const { return site_; }
  /// True if an input is set and in host memory.
  bool any_on_host() const;
  /// True if an input is set and lies in these bytes of the kernels' space.
  bool overlap(const void* data, uint64_t bytes) const;
  /// The data in host memory; null if it is elsewhere. Valid after stage().
  const void* host_data(size_t index) const;

 private:
  struct Slot {
    TensorView view;
    bool set = false, local = true;  // local: True if it is in the kernels' space
    bool lent = false;
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

/// Outputs go to the caller's buffer if it is on the kernels' device, sufficiently aligned, and does not overlap an
/// input. Otherwise they go to the invocation's memory, and from there to the caller's buffer if there is one.
class Outputs {
 public:
  Outputs(std::span<const TensorInfo> infos, const Site& site, const Inputs& inputs);

  void set(size_t index, const OutputBuffer& buffer);
  /// Sets an output that is a state. Kernels write `buffer`, which is on their device and may be the memory of the
  /// state's input.
  void lend(size_t index, const OutputBuffer& buffer);
  void forget();
  /// The alignment of the caller's memory that kernels need. 0: kernels only write the invocation's own memory, whose
  /// address does not change.
  void use_in_place(size_t alignment) { alignment_ = alignment; }
  /// Called when a run begins: no output is placed yet.
  void begin();
  /// The address where `bytes` of output `index` are written. Fails if the caller's buffer is too small, or overlaps
  /// the buffer of an output that was already placed.
  void* place(size_t index, int64_t bytes);
  void* address(size_t index) const { return slots_[index].address; }
  /// Called when the run is over: copies results from pinned memory to the caller's buffers.
  void deliver();
  /// The memory where the caller finds the result after deliver(), and its device.
  const void* result(size_t index) const;
  const char* result_device(size_t index) const { return slots_[index].local ? site_.space : "cpu"; }
  const Transfer& transfer(size_t index) const { return slots_[index].transfer; }
  size_t count() const { return slots_.size(); }
  /// True if an output is wanted in host memory.
  bool any_on_host() const;

 private:
  struct Slot {
    OutputBuffer user;
    bool local = true;  // wanted in the kernels' space
    bool lent = false;
    Block owned, pinned;
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
