// Patterns from real models: open extents, computed shapes.
#include <gtest/gtest.h>

#include "compiler/gir/gir.h"
#include "compiler/support/error.h"
#include "tests/partition/cut_text.h"
#include "tests/partition/run_assembly.h"

namespace gcg::test {
namespace {

/// Layers of attention and a perceptron over [batch, seq, 8] in two heads, in the form of exporters: reshaped by Shape,
/// Gather and Concat.
Graph transformer(int layers) {
  std::string text =
      "graph transformer(%x: f32[batch,seq,8], %mask: f32[batch,seq]) -> (%y) {\n"
      "  constant %zero: i64[] = {0}\n  constant %one: i64[] = {1}\n  constant %front: i64[1] = {0}\n"
      "  constant %two: i64[1] = {2}\n  constant %four: i64[1] = {4}\n  constant %eight: i64[1] = {8}\n"
      "  constant %middle: i64[2] = {1, 2}\n"
      "  %bias = Unsqueeze(%mask, %middle)\n  %shape = Shape(%x)\n  %b = Gather(%shape, %zero) {axis = 0}\n"
      "  %s = Gather(%shape, %one) {axis = 0}\n  %b1 = Unsqueeze(%b, %front)\n  %s1 = Unsqueeze(%s, %front)\n"
      "  %heads = Concat(%b1, %s1, %two, %four) {axis = 0}\n  %flat = Concat(%b1, %s1, %eight) {axis = 0}\n";
  std::string last = "x";
  for (int i = 0; i < layers; ++i) {
    const std::string l = concat("l", i);
    for (const char* part : {"q", "k", "v"})
      text += concat("  constant %", l, "w", part, ": f32[8,8] = random(", i, ")\n  %", l, part, "1 = MatMul(%", last,
                     ", %", l, "w", part, ")\n  %", l, part, "2 = Reshape(%", l, part, "1, %heads)\n  %", l, part,
                     "3 = Transpose(%", l, part, "2) {perm = ", part[0] == 'k' ? "[0,2,3,1]" : "[0,2,1,3]", "}\n");
    text +=
        concat("  %", l, "s1 = MatMul(%", l, "q3, %", l, "k3)\n  %", l, "s2 = Add(%", l, "s1, %bias)\n  %", l,
               "p = Softmax(%", l, "s2)\n  %", l, "c1 = MatMul(%", l, "p, %", l, "v3)\n  %", l, "c2 = Transpose(%", l,
               "c1) {perm = [0,2,1,3]}\n  %", l, "c3 = Reshape(%", l, "c2, %flat)\n  %", l, "r = Add(%", l, "c3, %",
               last, ")\n  constant %", l, "w1: f32[8,16] = random(", i, ")\n  constant %", l,
               "w2: f32[16,8] = random(", i, ")\n  %", l, "f1 = MatMul(%", l, "r, %", l, "w1)\n  %", l, "f2 = Relu(%",
               l, "f1)\n  %", l, "f3 = MatMul(%", l, "f2, %", l, "w2)\n  %", l, "out = Add(%", l, "f3, %", l, "r)\n");
    last = l + "out";
  }
  return parse_graph(text + "  %y = Identity(%" + last + ")\n}\n");
}

TEST(Models, ATransformerWithOpenExtents) {
  const Graph graph = transformer(3);
  for (const auto& [devices, rules] : std::vector<std::pair<std::string, std::string>>{
           {"acc -Softmax; cpu", "support"}, {"cpu:0; cpu:1", "chains"}, {"cpu:0; cpu:1", "chains,shared"}}) {
    CutOptions options;
    options.rules = parse_cut_rules(rules);
    const Cut cut = cut_graph(graph, parse_test_fleet(devices), options);
    const Assembly assembly = split(graph, cut, {});
    expect_sound(assembly);
    expect_same_results(graph, assembly, 3);
    EXPECT_GT(assembly.calls.size(), 6U);
    for (const PartCall& call : assembly.calls) {
      EXPECT_TRUE(call.extents.empty()) << "what crosses carries batch and seq";
      for (ValueId v : call.inputs) EXPECT_EQ(assembly.graph.value(v).dtype, DType::f32) << "shapes do not cross";
    }
    for (const Part& part : assembly.parts)
      for (int64_t v = 0; v < part.graph.value_count(); ++v)
        for (const Dim& d : *part.graph.value(ValueId(v)).shape)
          for (const std::string& s : d.symbols())
            EXPECT_TRUE(s == "batch" || s == "seq") << "unknown in the part: " << s;
  }
}

TEST(Models, TheSupportOfATransformerIsAGroupMoreThanTwoForEachLayer) {
  const Graph graph = transformer(3);
  CutOptions options;
  options.rules = {CutRule::support};
  EXPECT_EQ(cut_graph(graph, parse_test_fleet("acc -Softmax; cpu"), options).groups.size(), 7U);
  EXPECT_EQ(cut_graph(graph, parse_test_fleet("acc; cpu"), options).groups.size(), 1U) << "one class, no other wish";
}

/// DenseNet: every layer reads all earlier ones.
TEST(Models, ADenseGraph) {
  std::string text = "graph dense(%x: f32[n,2]) -> (%y) {\n", all = "%x";
  for (int i = 0; i < 60; ++i) {
    text += concat("  %c", i, " = Concat(", all, ") {axis = 1}\n  %s", i, " = ", i % 5 == 3 ? "Softplus" : "Tanh",
                   "(%c", i, ")\n  constant %a", i, ": i64[1] = {1}\n  %v", i, " = ReduceMean(%s", i, ", %a", i,
                   ") {keepdims = 1}\n");
    all += concat(", %v", i);
  }
  const Graph graph = parse_graph(concat(text, "  %y = Concat(", all, ") {axis = 1}\n}\n"));
  const Cut cut = cut_graph(graph, parse_test_fleet("acc -Softplus; cpu"));
  EXPECT_EQ(cut.groups.size(), 25U) << "twelve times what the accelerator lacks";
  const Assembly assembly = split(graph, cut, {});
  expect_sound(assembly);
  expect_same_results(graph, assembly, 2);
}

}  // namespace
}  // namespace gcg::test
