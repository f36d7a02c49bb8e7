// Small hand-made models for the runtime's tests.
#pragma once

#include <cstdint>
#include <numeric>
#include <vector>

#include "gart/gart.hpp"
#include "tests/artifact/artifact_builder.h"

namespace gart::test {

const KernelBlob& kernels();

/// out = 2 (x + y) for f32[n], with a symbolic n and a temporary between the two kernels.
ArtifactBuilder add_and_double();

/// add_and_double() with an additional static plan for n = `extent`, which writes 2 (x + x), so that tests can tell
/// which plan ran.
ArtifactBuilder with_static_plan(int64_t extent);

/// out = the positive elements of x, f32[n] -> f32[k], through a bind step and a temporary of k elements.
ArtifactBuilder positives();

/// y = x, f32[n], doubled at most 8 times, until the first element is 10 or more.
ArtifactBuilder doubling_loop();

/// out[0] = the sum of the first `trips` elements of data, for f32[m] and i64[]. Iteration i gathers element i.
ArtifactBuilder picking_loop();

/// y[i] = 2 data[index[i]] for f32[m] and i64[n]; step 'Gather_1' reports indices out of range.
ArtifactBuilder gathering_twice();

inline std::vector<float> ramp(size_t count, float start = 0) {
  std::vector<float> values(count);
  std::iota(values.begin(), values.end(), start);
  return values;
}

inline TensorView view(const std::vector<float>& values) {
  return {values.data(), DType::f32, Shape{int64_t(values.size())}, "cpu"};
}

inline std::vector<float> floats(const TensorView& tensor) {
  const std::span<const float> elements = tensor.elements<float>();
  return {elements.begin(), elements.end()};
}

/// Loads the artifact that the builder writes. The bytes must outlive the program, so they exist until the process
/// ends.
Result<Program> load_model(ArtifactBuilder& builder, const LoadOptions& options = {});

}  // namespace gart::test
