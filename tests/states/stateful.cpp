#include "tests/states/stateful.h"

#include <gtest/gtest.h>

#include <deque>

#include "codegen/cpu/cpu_backend.h"
#include "compiler/compile.h"
#include "compiler/gir/gir.h"

namespace gart::test {
namespace {

#if defined(__x86_64__)
constexpr const char* kTarget = "x86-64-v3";
#else
constexpr const char* kTarget = "aarch64";
#endif

}  // namespace

namespace {

std::span<const uint8_t> compiled(const std::string& graph, const std::vector<std::string>& others,
                                  const std::vector<std::string>& requests, int64_t capacity) {
  static std::deque<std::vector<uint8_t>> artifacts;
  gcg::Backends backends;
  backends.push_back(gcg::cpu::make_cpu_backend());
  gcg::CompileOptions options;
  options.targets = {kTarget};
  options.states = requests;
  options.state_capacity = capacity;
  std::vector<gcg::NamedGraph> more;
  for (const std::string& other : others) {
    gcg::Graph parsed = gcg::parse_graph(other);
    const std::string name = parsed.name;
    more.push_back({name, std::move(parsed)});
  }
  artifacts.push_back(gcg::compile(gcg::parse_graph(graph), "", options, backends, std::move(more)).artifact);
  return artifacts.back();
}

}  // namespace

std::span<const uint8_t> compiled(const std::string& graph, const std::vector<std::string>& requests,
                                  int64_t capacity) {
  return compiled(graph, {}, requests, capacity);
}

std::span<const uint8_t> compiled_with(const std::string& graph, const std::vector<std::string>& others,
                                       const std::vector<std::string>& requests) {
  return compiled(graph, others, requests, 0);
}

Program loaded(const std::string& graph, const std::vector<std::string>& requests, int64_t capacity, int threads) {
  Result<Program> program = load(compiled(graph, requests, capacity), {.device = "cpu", .threads = threads});
  EXPECT_TRUE(program) << program.error().message;
  return *program;
}

std::string appending() {
  return R"(graph appending(%x: f32[b,1,3], %past: f32[b,p,3]) -> (%y, %present) {
  %present = Concat(%past, %x) {axis = 1}
  constant %axis: i64[1] = {1}
  %y = ReduceSum(%present, %axis) {keepdims = 0}
})";
}

std::string summing() {
  return R"(graph summing(%x: f32[n], %total: f32[n]) -> (%y, %next) {
  %y = Identity(%total)
  %next = Add(%total, %x)
})";
}

std::string failing() {
  return R"(graph failing(%x: f32[1,3], %index: i64[1], %rows: f32[p,3], %total: f32[1,3]) -> (%y, %rows_next, %total_next) {
  %rows_next = Concat(%rows, %x) {axis = 0}
  %total_next = Add(%total, %x)
  %y = Gather(%total_next, %index) {axis = 0}
})";
}

std::vector<float> state(const Session& session, std::string_view name) {
  const Result<Tensor> value = session.state(name);
  EXPECT_TRUE(value) << value.error().message;
  return value ? floats(*value) : std::vector<float>();
}

}  // namespace gart::test
