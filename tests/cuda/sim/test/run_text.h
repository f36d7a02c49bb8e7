// Compiles a kernel's text and runs it on the engine, for tests of the simulation itself.
#ifndef GART_TESTS_CUDA_SIM_TEST_RUN_TEXT_H
#define GART_TESTS_CUDA_SIM_TEST_RUN_TEXT_H

#include <gtest/gtest.h>

#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "tests/cuda/sim/engine/block.h"
#include "tests/cuda/sim/engine/module.h"
#include "tests/cuda/sim/nvrtc/host_compiler.h"

namespace gart_sim {

inline std::unique_ptr<LoadedModule> compile_and_load(const std::string& text, int sm = 80) {
  const Compiled compiled = compile_for_host({"test.cu", text, {}}, {sm, 0, false});
  std::string error = compiled.log;
  auto module = compiled.module.empty() ? nullptr : LoadedModule::load(compiled.module, error);
  EXPECT_NE(module, nullptr) << error;
  return module;
}

// A device allocation that holds the host's values.
template <class T>
class DeviceArray {
 public:
  explicit DeviceArray(const std::vector<T>& values) : size_(values.size()) {
    DeviceMemory& memory = DeviceMemory::get();
    address_ = memory.allocate(0, size_ * sizeof(T));
    memory.open();
    memcpy(reinterpret_cast<void*>(address_), values.data(), size_ * sizeof(T));
    memory.close();
  }
  ~DeviceArray() { DeviceMemory::get().free(address_); }
  DeviceArray(const DeviceArray&) = delete;
  DeviceArray& operator=(const DeviceArray&) = delete;

  [[nodiscard]] std::vector<T> values() const {
    std::vector<T> copy(size_);
    DeviceMemory::get().open();
    memcpy(copy.data(), reinterpret_cast<const void*>(address_), size_ * sizeof(T));
    DeviceMemory::get().close();
    return copy;
  }
  [[nodiscard]] uint64_t address() const { return address_; }

 private:
  size_t size_;
  uint64_t address_;
};

struct Shape {
  unsigned grid = 1, block = 1, shared_bytes = 0;
  uint64_t seed = 0;
};

// Each argument is copied and passed by address, as in cuLaunchKernel.
template <class... A>
LaunchResult launch(const LoadedModule& module, const char* name, const Shape& shape, A... arguments) {
  void* parameters[] = {static_cast<void*>(&arguments)..., nullptr};
  Launch launch;
  launch.module = &module.module();
  launch.kernel = module.find(name);
  launch.grid.x = shape.grid;
  launch.block.x = shape.block;
  launch.shared_bytes = shape.shared_bytes;
  launch.seed = shape.seed;
  launch.parameters = parameters;
  EXPECT_EQ(launch.kernel->parameters, sizeof...(A));
  return run_launch(launch);
}

// The only report since the last call; otherwise "" and a test failure.
inline std::string the_report() {
  const std::vector<std::string> reports = take_reports();
  EXPECT_EQ(reports.size(), 1u);
  return reports.empty() ? "" : reports[0];
}

}  // namespace gart_sim
#endif
