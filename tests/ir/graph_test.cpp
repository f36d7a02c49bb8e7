#include "compiler/ir/graph.h"

#include <gtest/gtest.h>

#include <functional>

#include "compiler/gir/gir.h"
#include "compiler/gir/verify_graph.h"
#include "compiler/ops/op_def.h"
#include "compiler/reference/interpreter.h"
#include "compiler/support/error.h"

namespace gcg {
namespace {

constexpr const char* kAdd = R"(
  graph g(%x: f32[n,2], %z: f32[m,2]) -> (%y) {
    %a = Relu(%x)
    %y = Add(%a, %z)
  })";

ValueId named(const Graph& g, const std::string& name) {
  for (int64_t i = 0; i < g.value_count(); ++i)
    if (g.value(ValueId(i)).name == name) return ValueId(i);
  return {};
}

Value untyped(const std::string& name) {
  Value v;
  v.name = name;
  return v;
}

std::string message_of(const std::function<void()>& action) {
  try {
    action();
  } catch (const CompileError& e) {
    return e.what();
  }
  return "";
}

TEST(Graph, ReplacingAnOutputKeepsItsName) {
  Graph g = parse_graph(kAdd);
  g.replace_uses(named(g, "y"), named(g, "a"));
  EXPECT_EQ(g.value(g.outputs[0]).name, "y");
}

TEST(Graph, OrderKeepsInsertionOrderWhereItCan) {
  Graph g = parse_graph(kAdd);
  const NodeId last = g.add_node(op("Neg"), "n", {named(g, "x")}, 1);
  g.node(NodeId(0)).inputs[0] = g.node(last).outputs[0];  // Relu now reads the node that was added last
  EXPECT_EQ(g.order(), (std::vector<NodeId>{last, NodeId(0), NodeId(1)}));
}

TEST(Graph, UniqueNamesStayUnique) {
  Graph g;
  const ValueId a = g.add_value(untyped("v")), b = g.add_value(untyped("v")), c = g.add_value(untyped("v.1"));
  EXPECT_EQ(g.value(a).name, "v");
  EXPECT_EQ(g.value(b).name, "v.1");
  EXPECT_EQ(g.value(c).name, "v.1.1");
}

TEST(Verify, NamesWhatIsWrong) {
  const auto broken = [](const std::function<void(Graph&)>& damage) {
    Graph g = parse_graph(kAdd);
    verify_graph(g);
    damage(g);
    return message_of([&] { verify_graph(g); });
  };
  const auto has = [](const std::string& text, const std::string& part) {
    return text.find(part) != std::string::npos;
  };
  EXPECT_TRUE(has(broken([](Graph& g) { g.value(named(g, "a")).name = "z"; }), "are called 'z'"));
  EXPECT_TRUE(has(broken([](Graph& g) { g.node(NodeId(1)).inputs.pop_back(); }), "Add 'y' has 1 inputs"));
  EXPECT_TRUE(has(broken([](Graph& g) { g.node(NodeId(1)).inputs[1] = g.add_value(untyped("w")); }),
                  "reads value 'w', which nothing defines"));
  EXPECT_TRUE(has(broken([](Graph& g) { g.value(named(g, "y")).dtype = DType::i32; }), "has the type i32"));
  EXPECT_TRUE(has(broken([](Graph& g) { g.value(named(g, "y")).shape = Shape{7, 3}; }), "has the type f32[7,3]"));
  EXPECT_TRUE(has(broken([](Graph& g) { g.node(NodeId(0)).inputs[0] = named(g, "y"); }), "has a cycle"));
  EXPECT_TRUE(has(broken([](Graph& g) { g.value(named(g, "a")).producer = NodeId(1); }), "names another producer"));
}

TEST(Interpreter, RunsAndChecksTheCallersShapes) {
  const Graph g = parse_graph(kAdd);
  const Tensor x = Tensor::from<float>(DType::f32, {1, 2}, {-1, 2}),
               z = Tensor::from<float>(DType::f32, {1, 2}, {5, 7});
  const std::vector<Tensor> out = interpret(g, {x, z});
  EXPECT_EQ(out[0].at_double(0), 5);
  EXPECT_EQ(out[0].at_double(1), 9);
  EXPECT_EQ(message_of([&] { interpret(g, {x, Tensor(DType::f32, {3, 2})}); }),
            "Add 'y': broadcasting: n is 1 and m is 3");
  EXPECT_EQ(message_of([&] { interpret(g, {x, Tensor(DType::f32, {1, 4})}); }),
            "input 'z' is f32[1,4]; the model requires f32[m,2] with m = 1, n = 1");
  EXPECT_EQ(message_of([&] { interpret(g, {x}); }), "graph 'g' takes 2 inputs, not 1");
}

TEST(Interpreter, FindsWrongInference) {
  Graph g = parse_graph("graph g(%x: f32[n,2]) -> (%y) { %y: f32[n,3] = Relu(%x) }");
  const std::string message = message_of([&] { interpret(g, {Tensor(DType::f32, {4, 2})}); });
  EXPECT_NE(message.find("output 'y' is inferred as f32[n,3], but its reference gives f32[4,2] with n = 4"),
            std::string::npos)
      << message;
}

}  // namespace
}  // namespace gcg
