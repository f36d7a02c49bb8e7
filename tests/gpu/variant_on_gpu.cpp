#include "tests/gpu/variant_on_gpu.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>

#include "compiler/support/error.h"
#include "compiler/support/unsupported.h"
#include "gart/gart.hpp"

namespace gcg::test {
namespace {

gart::TensorView view(const Tensor& t) {
  return {t.data(), static_cast<gart::DType>(t.dtype()), gart::Shape(std::span<const int64_t>(t.shape()))};
}

Tensor tensor_of(const gart::Tensor& t) {
  const auto extents = t.shape().extents();
  Tensor out(static_cast<DType>(t.dtype()), {extents.begin(), extents.end()});
  EXPECT_EQ(static_cast<int64_t>(t.bytes()), out.bytes());
  if (out.bytes() > 0) std::memcpy(out.mutable_data(), t.data(), static_cast<size_t>(out.bytes()));
  return out;
}

// The artifact; none if the compiler may refuse the variant. compiled_ops_test checks the refusals.
std::vector<uint8_t> compile_form(const RowVariant& variant, const std::string& target, const Backends& backends) {
  CompileOptions options;
  options.targets = {target};
  try {
    return compile(variant.graph.clone(), "", options, backends).artifact;
  } catch (const UnsupportedModel&) {
  } catch (const CompileError& e) {
    ADD_FAILURE() << "compiling: " << e.what();
  }
  return {};
}

std::vector<Tensor> run(const std::vector<uint8_t>& artifact, const std::vector<Tensor>& inputs) {
  gart::LoadOptions options;
  options.device = "cuda";
  auto program = gart::load(std::span<const uint8_t>(artifact), options);
  if (!program) {
    ADD_FAILURE() << program.error().message;
    return {};
  }
  std::vector<gart::TensorView> views;
  for (const Tensor& t : inputs) views.push_back(view(t));
  auto outputs = program->run(std::span<const gart::TensorView>(views));
  if (!outputs) {
    ADD_FAILURE() << outputs.error().message;
    return {};
  }
  std::vector<Tensor> result;
  for (const gart::Tensor& t : *outputs) result.push_back(tensor_of(t));
  return result;
}

// The compiler makes these operators only for CPUs.
bool is_for_cpus(const std::string& op) { return op == "BlockedConv" || op == "PackedMatMul" || op == "WinogradConv"; }

// Convolutions on GPUs are products that also multiply the zeros of the padding, as in GPU libraries. With an infinite
// weight, such a zero gives NaN.
bool multiplies_padding(const RowVariant& variant) { return variant.row.what == "infinite weight on the border"; }

}  // namespace

void check_variant_on_gpu(const RowVariant& variant, const std::string& target, const Backends& backends) {
  if (is_for_cpus(variant.row.op) || multiplies_padding(variant)) return;
  const std::vector<uint8_t> artifact = compile_form(variant, target, backends);
  if (artifact.empty()) return;
  std::vector<Tensor> inputs;
  for (const OpInput& in : variant.row.inputs)
    if (!in.constant && !in.omitted) inputs.push_back(in.tensor);
  const std::vector<Tensor> got = run(artifact, inputs);
  for (size_t i = 0; i < std::min(got.size(), variant.want.size()); ++i)
    expect_near(got[i], variant.want[i], variant.row.tolerance, concat(target, ", output ", i), variant.row.channels);
}

}  // namespace gcg::test
