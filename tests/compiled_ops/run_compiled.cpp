#include "tests/compiled_ops/run_compiled.h"

#include <gtest/gtest.h>

#include <cstring>

#include "codegen/cpu/cpu_backend.h"
#include "compiler/compile.h"

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

[[maybe_unused]] bool has_bytes(const Graph& graph) {
  for (int64_t i = 0; i < graph.value_count(); ++i)
    if (const DType t = graph.value(ValueId(i)).dtype; t == DType::u8 || t == DType::i8) return true;
  return false;
}

}  // namespace

std::vector<std::string> runnable_targets([[maybe_unused]] const Graph& graph) {
  std::vector<std::string> names;
#if defined(__x86_64__)
  if (__builtin_cpu_supports("x86-64-v3")) names.push_back("x86-64-v3");
  if (!__builtin_cpu_supports("x86-64-v4")) return names;
  names.push_back("x86-64-v4");
  if (__builtin_cpu_supports("avx512vnni") && has_bytes(graph)) names.push_back("x86-64-v4-vnni");
#elif defined(__aarch64__)
  names.push_back("aarch64");
#endif
  return names;
}

std::vector<uint8_t> compile_artifact(const Graph& graph) {
  static const Backends backends = [] {
    Backends all;
    all.push_back(cpu::make_cpu_backend());
    return all;
  }();
  CompileOptions options;
  options.targets = runnable_targets(graph);
  return compile(graph.clone(), "", options, backends).artifact;
}

std::vector<Tensor> run_artifact(const std::vector<uint8_t>& artifact, const std::string& target,
                                 const std::vector<Tensor>& inputs) {
  gart::LoadOptions options;
  options.target = target;
  options.threads = 1;
  auto program = gart::load(std::span<const uint8_t>(artifact), options);
  if (!program) {
    ADD_FAILURE() << target << ": " << program.error().message;
    return {};
  }
  std::vector<gart::TensorView> views;
  for (const Tensor& t : inputs) views.push_back(view(t));
  auto outputs = program->run(std::span<const gart::TensorView>(views));
  if (!outputs) {
    ADD_FAILURE() << target << ": " << outputs.error().message;
    return {};
  }
  std::vector<Tensor> result;
  for (const gart::Tensor& t : *outputs) result.push_back(tensor_of(t));
  return result;
}

}  // namespace gcg::test
