// The simulated devices' memory: a window of the host's address space, so that kernels can use their pointers directly.
// Allocations are poisoned and never reuse addresses. Outside of device work the window is inaccessible, so host code
// that follows a device pointer crashes as it would on a real machine.
#ifndef GART_TESTS_CUDA_SIM_ENGINE_MEMORY_H
#define GART_TESTS_CUDA_SIM_ENGINE_MEMORY_H

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "tests/cuda/sim/shim/module_abi.h"

namespace gart_sim {

struct Range {
  uint64_t begin = 0, end = 0;
};

// The bytes that an operation read and wrote: sorted, disjoint ranges of device and host addresses.
struct Footprint {
  std::vector<Range> reads, writes;
  // For a launch that may start while others run: the bytes that its threads touched before they waited for those
  // launches, and whether all threads did wait.
  std::vector<Range> early_reads, early_writes;
  bool has_waited = true;
};
// The first byte that is in both, or 0.
uint64_t first_overlap(const std::vector<Range>& a, const std::vector<Range>& b);

// Adds the ranges; keeps `into` sorted and disjoint.
void merge(std::vector<Range>& into, const std::vector<Range>& ranges);

// One bit per byte of an allocation, and one byte per chunk that has a set bit.
struct Marks {
  unsigned char* bits = nullptr;
  unsigned char* chunks = nullptr;
};

struct Allocation {
  uint64_t begin = 0;
  size_t bytes = 0;
  int device = 0;
  // Indexed by access (read, write, atomic). `block`: marks of the running block; `launch`: of all blocks of the
  // running launch.
  Marks block[3], launch[3];
  bool is_touched = false;
  std::vector<Range> defined;  // bytes written since the allocation
};

class DeviceMemory {
 public:
  static DeviceMemory& get();

  // Returns 0 if `device` has no room for `bytes` more. kHost: pinned memory, which host and devices share.
  static constexpr int kHost = -1;
  uint64_t allocate(int device, size_t bytes);
  // Returns false if no live allocation begins there.
  bool free(uint64_t address);
  void free_all(int device);
  [[nodiscard]] Allocation* find(uint64_t address);
  [[nodiscard]] bool contains(uint64_t address, size_t bytes);
  // True for device memory and pinned memory.
  [[nodiscard]] bool is_watched(uint64_t address) const { return address - base_ < reserved_; }
  [[nodiscard]] bool is_device_address(uint64_t address) const { return address - base_ < reserved_ / 2; }
  // "16 bytes past the end of the 256 bytes at 0x..."
  [[nodiscard]] std::string describe(uint64_t address) const;
  [[nodiscard]] size_t used(int device) const;
  [[nodiscard]] size_t live(int device) const;
  [[nodiscard]] size_t capacity() const { return capacity_; }
  void set_capacity(size_t bytes) { capacity_ = bytes; }
  [[nodiscard]] uint64_t base() const { return base_; }
  [[nodiscard]] size_t reserved() const { return reserved_; }

  // Between the two calls, device work may touch the window; calls nest.
  void open();
  void close();

  // Watches one launch. It is a race if a block touches bytes that another block of the launch writes, except the bytes
  // of `exempt` (a flag that any block may set).
  void begin_launch(Range exempt) { exempt_ = exempt; }
  // Makes the allocation at `address` the current window. Returns false if the bytes are not within one allocation.
  bool touch(uint64_t address, size_t bytes, Access access, State& state);
  // Returns the address of a byte on which this block races with an earlier one, or 0.
  uint64_t end_block();
  Footprint end_launch();
  // Records an operation's writes. Returns the first device byte that the operation read although neither it nor an
  // earlier operation has written it, or 0.
  uint64_t note(const Footprint& footprint);
  // Marks all memory as written, for kernels whose stores are not watched.
  void define_everything();
  // The description of the first broken guard zone, or "".
  [[nodiscard]] std::string broken_guard() const;

 private:
  DeviceMemory();
  uint64_t merge(Allocation& allocation);

  uint64_t base_ = 0, next_ = 0, next_host_ = 0;  // the window's second half is pinned memory
  size_t reserved_ = 0, capacity_ = 0;
  bool is_protected_ = true;
  int open_ = 0;
  std::map<uint64_t, Allocation> live_;
  std::map<uint64_t, size_t> freed_;
  std::vector<Allocation*> touched_;
  Range exempt_;
};

}  // namespace gart_sim
#endif
