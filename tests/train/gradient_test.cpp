// Gradients compared with central differences, in double, through the operators' reference implementations.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>

#include "compiler/gir/gir.h"
#include "compiler/ops/infer.h"
#include "compiler/passes/specialise.h"
#include "compiler/reference/interpreter.h"
#include "compiler/support/error.h"
#include "compiler/train/differentiate.h"
#include "compiler/train/formula.h"
#include "tests/train/gradient_rows.h"

namespace gcg {
namespace {

using test::GradientCase;

constexpr int kRounds = 4;
constexpr double kStep = 1e-5, kTolerance = 2e-6;

/// Adds the loss: the sum of all float results, where each element has its own weight.
ValueId add_loss(Graph& graph) {
  FormulaWriter w(graph, graph, "loss");
  Formula loss;
  for (ValueId out : std::vector<ValueId>(graph.outputs)) {
    const Formula y = w.of(out);
    if (!is_float(y.dtype())) continue;
    const Formula part = total(y * unary("Sin", cast(positions(y), y.dtype()) + 1));
    loss = loss.valid() ? loss + part : part;
  }
  return loss.id;
}

/// A graph that computes the loss and its gradients with respect to all float inputs.
struct Differentiated {
  Graph graph;
  std::vector<bool> has_gradient;  // by input

  explicit Differentiated(Graph of) : graph(std::move(of)) {
    expand_for_gradients(graph);
    const ValueId loss = add_loss(graph);
    std::vector<ValueId> wrt;
    for (ValueId in : graph.inputs)
      if (is_float(graph.value(in).dtype)) wrt.push_back(in);
    const std::vector<ValueId> gradients = differentiate(graph, loss, wrt);
    graph.outputs = {loss};
    for (ValueId in : graph.inputs) {
      const auto at = std::find(wrt.begin(), wrt.end(), in) - wrt.begin();
      const bool has = at < static_cast<int64_t>(wrt.size()) && gradients[static_cast<size_t>(at)].valid();
      has_gradient.push_back(has);
      if (has) graph.outputs.push_back(gradients[static_cast<size_t>(at)]);
    }
  }
};

class Point {
 public:
  Point(const GradientCase& row, unsigned seed) : row_(row), random_(seed) {}

  SymbolValues extents(const Graph& graph) {
    SymbolValues values;
    for (ValueId in : graph.inputs)
      for (const Dim& d : *graph.value(in).shape)
        for (const std::string& symbol : d.symbols()) values[symbol];
    for (auto& [symbol, value] : values) {
      const auto least = row_.least.find(symbol);
      value = (least == row_.least.end() ? 1 : least->second) + static_cast<int64_t>(random_() % 4);
    }
    return values;
  }

  std::vector<Tensor> inputs(const Graph& graph, const SymbolValues& extents) {
    std::vector<Tensor> tensors;
    for (ValueId in : graph.inputs) {
      std::vector<int64_t> shape;
      for (const Dim& d : *graph.value(in).shape) shape.push_back(d.evaluate(extents));
      tensors.emplace_back(graph.value(in).dtype, shape);
      fill(tensors.back());
    }
    return tensors;
  }

 private:
  void fill(Tensor& t) {
    const int64_t n = t.elements();
    std::vector<int64_t> order(static_cast<size_t>(n));
    for (int64_t i = 0; i < n; ++i) order[static_cast<size_t>(i)] = i;
    std::shuffle(order.begin(), order.end(), random_);
    for (int64_t i = 0; i < n; ++i) {
      if (!is_float(t.dtype())) {
        t.set_int(i, static_cast<int64_t>(random_() % static_cast<uint64_t>(row_.integer_limit)));
        continue;
      }
      const double jitter = std::uniform_real_distribution<double>(0.1, 0.9)(random_);
      const double place = row_.distinct ? static_cast<double>(order[static_cast<size_t>(i)]) + jitter / 2
                                         : jitter * static_cast<double>(n);
      t.set_double(i, row_.low + (row_.high - row_.low) * place / static_cast<double>(n));
    }
  }

  const GradientCase& row_;
  std::mt19937 random_;
};

void compare(const Differentiated& d, const std::vector<Tensor>& at, const std::string& where) {
  const std::vector<Tensor> found = interpret(d.graph, at);
  Graph plain = d.graph.clone();
  plain.outputs.resize(1);
  size_t next = 1;
  for (size_t i = 0; i < at.size(); ++i) {
    if (!is_float(at[i].dtype())) continue;
    const Tensor* gradient = d.has_gradient[i] ? &found.at(next++) : nullptr;
    if (gradient != nullptr) ASSERT_EQ(gradient->shape(), at[i].shape()) << where << ", input " << i;
    for (int64_t e = 0; e < at[i].elements(); ++e) {
      const auto loss = [&](double by) {
        std::vector<Tensor> moved = at;
        moved[i] = Tensor(at[i].dtype(), at[i].shape());
        for (int64_t k = 0; k < at[i].elements(); ++k) moved[i].set_double(k, at[i].at_double(k) + (k == e ? by : 0));
        return interpret(plain, moved)[0].at_double(0);
      };
      const double want = (loss(kStep) - loss(-kStep)) / (2 * kStep);
      const double got = gradient != nullptr ? gradient->at_double(e) : 0;
      ASSERT_NEAR(got, want, kTolerance * (1 + std::fabs(want))) << where << ", input " << i << ", element " << e;
    }
  }
}

class Gradients : public testing::TestWithParam<GradientCase> {};

TEST_P(Gradients, EqualCentralDifferences) {
  Graph graph = parse_graph(GetParam().graph);
  infer_graph(graph);
  const Differentiated open(graph.clone());
  for (unsigned round = 0; round < kRounds; ++round) {
    Point point(GetParam(), round);
    const SymbolValues extents = point.extents(graph);
    const std::vector<Tensor> at = point.inputs(graph, extents);
    std::string where = "open extents";
    for (const auto& [symbol, value] : extents) where += concat(", ", symbol, " = ", value);
    compare(open, at, where);
    if (HasFailure()) return;
    if (round == 0) compare(Differentiated(specialise(graph, extents)), at, "known extents" + where.substr(4));
    if (HasFailure()) return;
  }
}

std::vector<GradientCase> all_rows() {
  std::vector<GradientCase> all;
  for (const auto& rows :
       {test::elementwise_rows(), test::row_rows(), test::window_rows(), test::movement_rows(), test::control_rows()})
    all.insert(all.end(), rows.begin(), rows.end());
  return all;
}

INSTANTIATE_TEST_SUITE_P(Operators, Gradients, testing::ValuesIn(all_rows()), [](const auto& row) {
  std::string name = concat(row.index, "_");
  for (char ch : row.param.what)
    if (std::isalnum(static_cast<unsigned char>(ch)) != 0)
      name += ch;
    else if (name.back() != '_')
      name += '_';
  return name;
});

std::string refusal(const std::string& text) {
  Graph graph = parse_graph(text);
  infer_graph(graph);
  try {
    differentiate(graph, graph.outputs[0], graph.inputs);
  } catch (const CompileError& error) {
    return error.what();
  }
  return "differentiated";
}

TEST(Differentiate, NamesTheWayThroughAnOperatorWithoutGradient) {
  EXPECT_EQ(
      refusal(R"(graph g(%w: f64[3,3]) -> (%loss) {
    %h = Relu(%w) @"act"
    %d = Det(%h) @"volume"
    %e = Exp(%d) @"grow"
    %loss = Neg(%e) @"end"
  })"),
      "Det 'volume' has no gradient, and the loss depends on 'w' through it: 'w' -> Relu 'act' -> Det 'volume' -> "
      "Exp 'grow' -> Neg 'end' -> loss");
}

TEST(Differentiate, TakesALossOfOneElement) {
  EXPECT_EQ(refusal("graph g(%w: f64[3]) -> (%y) { %y = Exp(%w) }"),
            "the loss 'y' is f64[3], it must be a float of one element");
}

TEST(Differentiate, NeedsNoGradientWhereNoneIsWanted) {
  Graph graph = parse_graph(R"(graph g(%w: f64[3,3], %v: f64[]) -> (%loss) {
    %d = Det(%w)
    %loss = Mul(%d, %v)
  })");
  infer_graph(graph);
  const int64_t before = graph.node_count();
  EXPECT_EQ(differentiate(graph, graph.outputs[0], {}).size(), 0u);
  EXPECT_EQ(graph.node_count(), before);
  const std::vector<ValueId> gradients = differentiate(graph, graph.outputs[0], {graph.inputs[1]});
  ASSERT_TRUE(gradients[0].valid());
}

}  // namespace
}  // namespace gcg
