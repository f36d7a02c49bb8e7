// Dimensions that have the same name although the model does not require them to be equal.
#include "tests/import/text_model.h"

namespace gcg::test {
namespace {

const std::string kN = "dim { dim_param: 'n' }",
                  kCondition = "input { name: 'c' type { tensor_type { elem_type: 9 shape {} } } } ";

std::string shapes(const Graph& g) {
  std::string all;
  for (ValueId in : g.inputs) all += str(*g.value(in).shape);
  return all;
}

ImportedModel two(const std::string& nodes, const std::string& outputs) {
  return import_model(graph_model(float_value("input", "x", kN) + float_value("input", "y", kN) + nodes + outputs));
}

TEST(SeparateNames, DimensionsThatMeetKeepTheirName) {
  const ImportedModel model = two(node("Add", "x y", "z"), "output { name: 'z' }");
  EXPECT_EQ(shapes(model.graph), "[n][n]");
  EXPECT_TRUE(model.graph.constraints.empty());
  EXPECT_TRUE(model.separated.empty());
}

TEST(SeparateNames, DimensionsThatMeetLaterKeepTheirName) {
  const std::string nodes =
      node("Exp", "x", "a") + node("Concat", "a x", "b", "attribute { name: 'axis' i: 0 type: INT }") +
      node("Concat", "y y", "d", "attribute { name: 'axis' i: 0 type: INT }") + node("Mul", "b d", "z");
  EXPECT_EQ(shapes(two(nodes, "output { name: 'z' }").graph), "[n][n]");
}

TEST(SeparateNames, DimensionsThatNeverMeetAreSeparated) {
  const ImportedModel model =
      two(node("Exp", "x", "a") + node("Exp", "y", "b"), "output { name: 'a' } output { name: 'b' }");
  EXPECT_EQ(shapes(model.graph), "[n][n_1]");
  EXPECT_EQ(str(*value_called(model.graph, "b").shape), "[n_1]");
  EXPECT_EQ(model.separated, (std::map<std::string, std::string>{{"n_1", "n"}}));
}

/// The caches of a decoder's layers are never combined, but they have the same length, so they keep one name.
TEST(SeparateNames, FourInputsThatAreDeclaredAlikeKeepTheirName) {
  std::string text;
  for (const char* name : {"x", "y", "u", "v"})
    text += float_value("input", name, kN) + node("Exp", name, std::string(name) + "_exp") + "output { name: '" + name +
            "_exp' } ";
  const ImportedModel model = import_model(graph_model(text));
  EXPECT_EQ(shapes(model.graph), "[n][n][n][n]");
  EXPECT_TRUE(model.separated.empty());
}

/// An If whose branches compute op(x) and op(y).
std::string branches(const std::string& then_input, const std::string& else_input) {
  const auto branch = [](const std::string& name, const std::string& input) {
    return "attribute { name: '" + name + "' type: GRAPH g { name: '" + name + "' " + node("Exp", input, name) +
           "output { name: '" + name + "' } } } ";
  };
  return kCondition + node("If", "c", "z", branch("then_branch", then_input) + branch("else_branch", else_input));
}

TEST(SeparateNames, AnInputOfOneBranchIsCheckedThere) {
  const ImportedModel model = two(branches("y", "x"), "output { name: 'z' }");
  const Graph& g = model.graph;
  EXPECT_EQ(str(*g.value(g.inputs[0]).shape) + str(*g.value(g.inputs[1]).shape), "[n][n_1]");
  EXPECT_EQ(str(*value_called(g, "z").shape), "[n]");
  const Node& chosen = g.node(value_called(g, "z").producer);
  EXPECT_TRUE(g.constraints.empty());
  ASSERT_EQ(chosen.bodies[0]->constraints.size(), 1U);
  EXPECT_EQ(chosen.bodies[0]->constraints[0].a.str() + " == " + chosen.bodies[0]->constraints[0].b.str(), "n_1 == n");
  EXPECT_TRUE(chosen.bodies[1]->constraints.empty());
}

TEST(SeparateNames, AnInputThatOtherNodesReadKeepsItsName) {
  const ImportedModel model = two(branches("x", "x") + node("Mul", "z y", "w"), "output { name: 'w' }");
  const Graph& g = model.graph;
  EXPECT_EQ(str(*value_called(g, "w").shape), "[n]");
  EXPECT_EQ(str(*g.value(g.inputs[1]).shape), "[n]");
}

}  // namespace
}  // namespace gcg::test
