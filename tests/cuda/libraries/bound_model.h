// A model compiled for a CPU and for the simulated GPU with libraries bound.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "compiler/compile.h"
#include "gart/gart.hpp"

namespace gart::test {

/// The bound libraries, whether kernels may replace them, and the targets.
struct Binding {
  std::vector<std::string> libraries = {};
  bool fallbacks = false;
  std::vector<std::string> targets = {"x86-64-v3", "sm_80"};
  const gcg::Decisions* decisions = nullptr;
};

std::vector<uint8_t> compile_bound(const std::string& gir, const Binding& binding,
                                   gcg::Precision precision = gcg::Precision::fp32);

/// Seeded noise for each input, of these extents.
std::vector<std::vector<float>> noise(const std::vector<Shape>& shapes, uint32_t seed = 1);
std::vector<TensorView> views(const std::vector<std::vector<float>>& data, const std::vector<Shape>& shapes);

std::vector<float> floats(const TensorView& tensor);
std::vector<float> floats(const Tensor& tensor);
/// Compares with a tolerance for sums in another order.
void expect_close(const std::vector<float>& got, const std::vector<float>& want, double tolerance = 2e-5);

/// The program reads the artifact as long as the program exists, so the second function keeps a temporary artifact.
Result<Program> load_on(const std::vector<uint8_t>& artifact, const std::string& device);
Result<Program> load_on(std::vector<uint8_t>&& artifact, const std::string& device);
/// The first output of a run on the CPU.
std::vector<float> on_cpu(const std::vector<uint8_t>& artifact, const std::vector<TensorView>& inputs);

/// Makes a call of the simulation fail ("NAME:K:CODE"; "": none), then loads and runs. Returns the first error's
/// message. Resets the counts.
std::string error_with(const std::string& failure, const std::vector<uint8_t>& artifact,
                       const std::vector<TensorView>& inputs);

/// Makes the driver drop the K-th edge of graphs; 0: none.
void drop_edge(uint64_t k);

/// Memory of the simulated GPU.
class DeviceArray {
 public:
  explicit DeviceArray(size_t count);
  ~DeviceArray();
  DeviceArray(const DeviceArray&) = delete;
  DeviceArray& operator=(const DeviceArray&) = delete;
  /// `at`: offset in elements.
  float* data(size_t at = 0) const { return reinterpret_cast<float*>(address_) + at; }
  void write(const std::vector<float>& values, size_t at = 0) const;
  std::vector<float> read(size_t count, size_t at = 0) const;

 private:
  void* context_ = nullptr;
  unsigned long long address_ = 0;
};

/// Gives the simulated libraries their own versions. At the end there may be no findings and no live objects.
class WithLibraries : public testing::Test {
 protected:
  void SetUp() override;
  void TearDown() override;
};

}  // namespace gart::test
