// Device memory that belongs to the caller.
#pragma once

#include <dlfcn.h>
#include <gtest/gtest.h>

#include <vector>

#include "tests/cuda/runtime/sim.h"
#include "tests/runtime/models.h"

namespace gart::test {

/// Device memory that a caller allocates through the driver.
class DeviceArray {
 public:
  explicit DeviceArray(const Sim& sim, size_t count) : count_(count) {
    bind(sim, alloc_, "cuMemAlloc_v2"), bind(sim, free_, "cuMemFree_v2"), bind(sim, in_, "cuMemcpyHtoDAsync_v2");
    bind(sim, out_, "cuMemcpyDtoHAsync_v2"), bind(sim, retain_, "cuDevicePrimaryCtxRetain");
    bind(sim, release_, "cuDevicePrimaryCtxRelease_v2"), bind(sim, current_, "cuCtxSetCurrent");
    bind(sim, synchronize_, "cuStreamSynchronize");
    EXPECT_EQ(retain_(&context_, 0), 0);
    EXPECT_EQ(current_(context_), 0);
    EXPECT_EQ(alloc_(&address_, count * sizeof(float) + 64), 0);
  }
  ~DeviceArray() {
    EXPECT_EQ(current_(context_), 0);
    EXPECT_EQ(free_(address_), 0);
    current_(nullptr);
    EXPECT_EQ(release_(0), 0);
  }
  float* data() const { return reinterpret_cast<float*>(address_); }
  void write(const std::vector<float>& values, size_t at = 0) {
    EXPECT_EQ(in_(address_ + at * 4, values.data(), values.size() * 4, nullptr), 0);
    EXPECT_EQ(synchronize_(nullptr), 0);
  }
  std::vector<float> read(size_t at = 0) const {
    std::vector<float> values(count_);
    EXPECT_EQ(out_(values.data(), address_ + at * 4, count_ * 4, nullptr), 0);
    EXPECT_EQ(synchronize_(nullptr), 0);
    return values;
  }
  TensorView view(size_t at = 0) const { return {data() + at, DType::f32, Shape{int64_t(count_)}, "cuda:0"}; }

 private:
  template <class F>
  static void bind(const Sim& sim, F& function, const char* name) {
    function = reinterpret_cast<F>(dlsym(sim.driver, name));
  }
  size_t count_;
  void* context_ = nullptr;
  unsigned long long address_ = 0;
  int (*alloc_)(unsigned long long*, size_t);
  int (*free_)(unsigned long long);
  int (*in_)(unsigned long long, const void*, size_t, void*);
  int (*out_)(void*, unsigned long long, size_t, void*);
  int (*retain_)(void**, int);
  int (*release_)(int);
  int (*current_)(void*);
  int (*synchronize_)(void*);
};

}  // namespace gart::test
