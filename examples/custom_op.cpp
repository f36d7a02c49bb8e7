// A model with a custom operator: custom_op CLIPPED.gart
#include <algorithm>
#include <cstdio>
#include <span>
#include <vector>

#include "gart/gart.hpp"

namespace {

constexpr float kCeiling = 6;  // an attribute of the model's node; call->attributes holds it as JSON

/// acme::Median(f32[n, c]) -> f32[n]; workspace 4*c: the median of each row, at most the ceiling.
int32_t median(void*, const gart_op_call* call) {
  const gart_op_tensor& x = call->inputs[0];
  const auto rows = static_cast<size_t>(x.dims[0]), columns = static_cast<size_t>(x.dims[1]);
  if (columns == 0) return 1;
  const std::span sorted(static_cast<float*>(call->workspace), columns);
  for (size_t i = 0; i < rows; ++i) {
    std::copy_n(static_cast<const float*>(x.data) + i * columns, columns, sorted.begin());
    std::nth_element(sorted.begin(), sorted.begin() + static_cast<std::ptrdiff_t>(columns / 2), sorted.end());
    static_cast<float*>(call->outputs[0].data)[i] = std::min(sorted[columns / 2], kCeiling);
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) return std::fprintf(stderr, "usage: custom_op CLIPPED.gart\n"), 1;
  const gart_custom_op ops[] = {{"acme::Median", median, nullptr}};
  auto model = gart::load(argv[1], {.custom_ops = ops});
  if (!model) return std::fprintf(stderr, "%s\n", model.error().message.c_str()), 1;
  const float samples[] = {1, 2, 3, 4, 5, -1, 0.5F, -2, 7, 0, 9, 8, 7, 6, 5};
  const gart::TensorView inputs[] = {{samples, gart::DType::f32, gart::Shape({3, 5})}};
  auto outputs = model->run(inputs);
  if (!outputs) return std::fprintf(stderr, "%s\n", outputs.error().message.c_str()), 1;
  const auto medians = outputs->at(0).elements<const float>();
  for (size_t i = 0; i < medians.size(); ++i) std::printf("row %zu: %.2f\n", i, static_cast<double>(medians[i]));
}
