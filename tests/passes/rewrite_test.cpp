#include "tests/passes/rewrite_test.h"

#include <gtest/gtest.h>

#include <cmath>

#include "compiler/gir/gir.h"
#include "compiler/gir/verify_graph.h"
#include "compiler/ops/op_def.h"
#include "compiler/reference/interpreter.h"

namespace gcg::test {
namespace {

std::vector<Tensor> make_inputs(const Graph& graph, const std::map<std::string, int64_t>& symbols) {
  std::vector<Tensor> inputs;
  uint32_t state = 1;
  for (ValueId id : graph.inputs) {
    std::vector<int64_t> shape;
    for (const Dim& d : *graph.value(id).shape) shape.push_back(d.evaluate(symbols));
    Tensor t(graph.value(id).dtype, shape);
    for (int64_t i = 0; i < t.elements(); ++i) {
      state = state * 1664525u + 1013904223u;
      t.set_double(i, static_cast<double>(state >> 24) / 64 - 2);
    }
    inputs.push_back(std::move(t));
  }
  return inputs;
}

void expect_equal(const Tensor& got, const Tensor& want, const std::string& name) {
  ASSERT_EQ(got.shape(), want.shape()) << name;
  for (int64_t i = 0; i < want.elements(); ++i) {
    const double g = got.at_double(i), w = want.at_double(i);
    if (g == w) continue;  // infinities too
    ASSERT_LE(std::fabs(g - w), 1e-4 * (1 + std::fabs(w))) << name << ", element " << i;
  }
}

}  // namespace

std::map<std::string, int> op_counts(const Graph& graph) {
  std::map<std::string, int> counts;
  for (NodeId id : graph.order()) {
    const OpDef& op = *graph.node(id).op;
    ++counts[(*op.domain ? std::string(op.domain) + "." : "") + op.name];
  }
  return counts;
}

Graph check_rewrite(const std::string& text, const std::function<bool(Graph&)>& pass, bool changes,
                    const std::map<std::string, int64_t>& symbols) {
  const Graph before = parse_graph(text);
  Graph after = before.clone();
  EXPECT_EQ(pass(after), changes);
  verify_graph(after);
  const std::vector<Tensor> inputs = make_inputs(before, symbols);
  const std::vector<Tensor> want = interpret(before, inputs), got = interpret(after, inputs);
  EXPECT_EQ(got.size(), want.size());
  for (size_t i = 0; i < std::min(got.size(), want.size()); ++i) {
    EXPECT_EQ(after.value(after.outputs[i]).name, before.value(before.outputs[i]).name);
    expect_equal(got[i], want[i], before.value(before.outputs[i]).name);
  }
  if (!changes) {
    EXPECT_EQ(print_graph(after), print_graph(before));
  }
  return after;
}

}  // namespace gcg::test
