// Passes that rewrite one operator as others: the result must equal the operator's reference.
#include <gtest/gtest.h>

#include "compiler/gir/gir.h"
#include "compiler/passes/expand_deform_conv.h"
#include "compiler/passes/expand_einsum.h"
#include "compiler/passes/expand_flex_attention.h"
#include "compiler/passes/expand_linear_attention.h"
#include "compiler/passes/expand_max_unpool.h"
#include "compiler/passes/expand_non_max_suppression.h"
#include "compiler/passes/expand_optimizers.h"
#include "compiler/passes/expand_tf_idf.h"
#include "compiler/passes/separate_resize.h"
#include "tests/passes/rewrite_test.h"

namespace gcg::test {
namespace {

using Counts = std::map<std::string, int>;

std::string graph(const std::string& inputs, const std::string& outputs, const std::string& nodes) {
  return "graph g(" + inputs + ") -> (" + outputs + ") {\n" + nodes + "\n}\n";
}

TEST(ExpandEinsum, IsAProductWhereLabelsOfBothAreSummed) {
  const auto check = [](const std::string& equation, const std::string& a, const std::string& b,
                        bool is_product = true) {
    const auto counts = op_counts(check_rewrite(
        graph("%a: f32[" + a + "], %b: f32[" + b + "]", "%y", " %y = Einsum(%a, %b) {equation = \"" + equation + "\"}"),
        expand_einsum, is_product, {{"b", 2}, {"n", 3}, {"m", 5}, {"k", 4}, {"l", 4}}));
    EXPECT_EQ(counts.count("MatMul"), is_product ? 1U : 0U) << equation;
    EXPECT_EQ(counts.count("Einsum"), is_product ? 0U : 1U) << equation;
  };
  check("bqhd,bkhd->bhqk", "b,n,2,4", "b,m,2,4");
  check("bhqk,bkhd->bqhd", "b,2,n,m", "b,m,2,4");
  check("ij,jk->ik", "n,4", "4,m");
  check("ij,jk->ki", "n,4", "4,m");
  check("ij,jk", "n,4", "4,m");
  check("bnd,hdk->bhnk", "b,n,4", "3,4,5");
  check("nctkv,kvw->nctw", "b,2,n,3,4", "3,4,6");
  check("bn,bn->b", "b,n", "b,n");
  check("...ij,...jk->...ik", "b,1,n,4", "3,4,m");
  check("ij,j->i", "n,4", "4");
  check("i,ij->j", "4", "4,m");
  check("ij,jk->ik", "n,k", "l,m");
  check("bqhd,bkhd->bhqk", "b,n,2,k", "b,m,2,l");
  check("ij,jk->ik", "n,1", "4,m", false);
  check("ij,kl->ikjl", "n,2", "m,2", false);
  check("ij,jk->i", "n,4", "4,m", false);
  check("ii,ij->j", "3,3", "3,m", false);
}

TEST(ExpandEinsum, OfManyOperandsIsAChainOfProducts) {
  const auto check = [](const std::string& equation, const std::string& a, const std::string& b, const std::string& c,
                        int products) {
    const auto counts =
        op_counts(check_rewrite(graph("%a: f32[" + a + "], %b: f32[" + b + "], %c: f32[" + c + "]", "%y",
                                      " %y = Einsum(%a, %b, %c) {equation = \"" + equation + "\"}"),
                                expand_einsum, true, {{"n", 3}, {"m", 5}}));
    EXPECT_EQ(counts.count("MatMul") == 0 ? 0 : counts.at("MatMul"), products) << equation;
  };
  check("ij,jk,kl->il", "n,4", "4,6", "6,m", 2);
  check("ij,kl,jk->il", "n,4", "6,m", "4,6", 2);  // the pair without a common label is multiplied last
  check("...ij,...jk,kl->...il", "2,n,4", "2,4,6", "6,m", 2);
  check("bi,ij,bj->b", "n,4", "4,6", "n,6", 2);
  check("i,j,ij->ij", "n", "m", "n,m", 0);
}

TEST(ExpandDeformConv, IsOneProduct) {
  const std::string kernel = "kernel_shape = [2,2], pads = [1,0,1,0], strides = [1,2]";
  const auto check = [&](const char* extra, const char* arguments, const std::string& attributes,
                         const char* channels) {
    return check_rewrite(
        graph(std::string("%x: f32[b,4,3,w], %o: f32[b,8,4,p]") + extra, "%y",
              std::string(" constant %w: f32[6,") + channels + ",2,2] = random(1)\n constant %c: f32[6] = random(2)\n" +
                  " %y = DeformConv(%x, %w, %o" + arguments + ") {" + attributes + "}"),
        expand_deform_conv, true, {{"b", 2}, {"w", 4}, {"p", 2}});
  };
  EXPECT_EQ(op_counts(check("", "", kernel, "4")).at("MatMul"), 1);
  check(", %m: f32[b,4,4,p]", ", %c, %m", kernel, "4");
  check("", ", %c", kernel + ", group = 2", "2");
  check_rewrite(
      graph("%x: f32[2,4,3,4], %o: f32[2,16,4,2]", "%y",
            " constant %w: f32[2,4,2,2] = random(1)\n %y = DeformConv(%x, %w, %o) {" + kernel + ", offset_group = 2}"),
      expand_deform_conv, true);
  check_rewrite(graph("%x: f32[2,2,5], %o: f32[2,3,3]", "%y",
                      " constant %w: f32[2,2,3] = random(1)\n %y = DeformConv(%x, %w, %o)"),
                expand_deform_conv, true);
}

TEST(ExpandMaxUnpool, IsAScatter) {
  const std::string pool = "kernel_shape = [2,2], strides = [2,2]",
                    indices = " constant %i: i64[1,2,2,2] = {5, 7, 13, 15, 16, 18, 24, 31}\n";
  const Graph g = check_rewrite(graph("%x: f32[1,2,2,2]", "%y", indices + " %y = MaxUnpool(%x, %i) {" + pool + "}"),
                                expand_max_unpool, true);
  EXPECT_EQ(op_counts(g).at("ScatterElements"), 1);
  check_rewrite(graph("%x: f32[1,2,2,2]", "%y",
                      indices + " constant %s: i64[4] = {1, 2, 5, 6}\n %y = MaxUnpool(%x, %i, %s) {" + pool + "}"),
                expand_max_unpool, true);
}

TEST(ExpandLinearAttention, IsALoopOverStates) {
  const std::string packed = "%q: f32[b,t,12], %k: f32[b,t,6], %v: f32[b,t,4]",
                    heads = "q_num_heads = 4, kv_num_heads = 2";
  const std::map<std::string, int64_t> sizes = {{"b", 2}, {"t", 4}};
  const auto check = [&](const std::string& inputs, const std::string& arguments, const std::string& rule) {
    return check_rewrite(
        graph(inputs, "%y, %s",
              " %y, %s = LinearAttention(" + arguments + ") {" + heads + ", update_rule = \"" + rule + "\"}"),
        expand_linear_attention, true, sizes);
  };
  EXPECT_EQ(op_counts(check(packed, "%q, %k, %v", "linear")).at("Loop"), 1);
  check(packed + ", %p: f32[b,2,3,2]", "%q, %k, %v, %p", "linear");
  check(packed + ", %d: f32[b,t,2]", "%q, %k, %v, _, %d", "gated");
  check(packed + ", %d: f32[b,t,6]", "%q, %k, %v, _, %d", "gated");
  check(packed + ", %e: f32[b,t,2]", "%q, %k, %v, _, _, %e", "delta");
  check(packed + ", %d: f32[b,t,2], %e: f32[b,t,1]", "%q, %k, %v, _, %d, %e", "gated_delta");
  const Graph g = check_rewrite(graph("%q: f32[2,1,6], %k: f32[2,1,6], %v: f32[2,1,4]", "%y",
                                      " %y = LinearAttention(%q, %k, %v) {q_num_heads = 2, kv_num_heads = 2, "
                                      "update_rule = \"linear\", scale = 0.5}"),
                                expand_linear_attention, true);
  EXPECT_EQ(op_counts(g).count("Loop"), 0U);
}

TEST(ExpandTfIdf, ComparesAndSums) {
  const std::string pool =
      "ngram_counts = [0,4], ngram_indexes = [0,1,2,3,4,5,6], pool_int64s = [0,1,2,-1,0,1,1,1,2,0], "
      "min_gram_length = 1, max_gram_length = 2, max_skip_count = 2";
  for (const char* mode : {"TF", "IDF", "TFIDF"})
    for (const char* shape : {"[n]", "[b,n]", "[b,1]"})
      check_rewrite(graph(std::string("%x: i64") + shape, "%y",
                          " %y = TfIdfVectorizer(%x) {" + pool + ", mode = \"" + mode +
                              "\", weights = [1.0,2.0,3.0,4.0,5.0,6.0,7.0]}"),
                    expand_tf_idf, true, {{"n", 7}, {"b", 2}});
}

TEST(ExpandNonMaxSuppression, TakesTheBestAndWhatItLeaves) {
  for (const char* attributes : {"", "{center_point_box = 1}"})
    for (const char* arguments : {"%m, %o", "%m, %o, %s", "%m", ""})
      check_rewrite(graph("%boxes: f32[2,n,4], %scores: f32[2,3,n]", "%y",
                          " constant %m: i64[1] = {4}\n constant %o: f32[1] = {0.25}\n constant %s: f32[1] = {-0.5}\n"
                          " %y = NonMaxSuppression(%boxes, %scores" +
                              std::string(*arguments ? ", " : "") + arguments + ") " + attributes),
                    expand_non_max_suppression, true, {{"n", 9}});
}

TEST(ExpandOptimizers, UpdatesValuesAndState) {
  const auto check = [](const std::string& op, const std::string& lists, const std::string& attributes,
                        const std::string& outputs) {
    std::string inputs = "%r: f32[], %t: i64[]", arguments = "%r, %t";
    for (char list : lists)
      for (const char* k : {"1", "2"}) {
        inputs += std::string(", %") + list + k + ": f32[" + (*k == '1' ? "n" : "2,3") + "]";
        arguments += std::string(", %") + list + k;
      }
    // Sums of squares cannot be negative.
    std::string squares;
    for (const char* k : {"1", "2"})
      if (lists.back() == 'h') squares += std::string(" %q") + k + " = Mul(%h" + k + ", %h" + k + ")\n";
    if (lists.back() == 'h') arguments.replace(arguments.find("%h1"), 8, "%q1, %q2");
    check_rewrite(graph(inputs, outputs,
                        squares + " " + outputs + " = ai.onnx.preview.training." + op + "(" + arguments + ") {" +
                            attributes + "}"),
                  expand_optimizers, true, {{"n", 4}});
  };
  check("Adagrad", "xgh", "norm_coefficient = 0.01, epsilon = 0.1, decay_factor = 0.1", "%a, %b, %c, %d");
  check("Adam", "xgvh", "norm_coefficient = 0.01, alpha = 0.9, beta = 0.8, epsilon = 0.1, norm_coefficient_post = 0.1",
        "%a, %b, %c, %d, %e, %f");
  for (const char* mode : {"standard", "nesterov"})
    check("Momentum", "xgv", std::string("norm_coefficient = 0.01, alpha = 0.9, beta = 0.8, mode = \"") + mode + "\"",
          "%a, %b, %c, %d");
}

TEST(ExpandFlexAttention, PutsItsBodiesBetweenProducts) {
  const char* const inputs = "%q: f32[b,4,s,6], %k: f32[b,2,t,6], %v: f32[b,2,t,3], %c: f32[t]";
  const std::map<std::string, int64_t> sizes = {{"b", 2}, {"s", 3}, {"t", 5}};
  const std::string scores = " graph score(%x: f32[?], %c1: f32[?]) -> (%y1) { %y1 = Add(%x, %c1) }",
                    probabilities = " graph prob(%p: f32[?], %c2: f32[?]) -> (%y2) { %y2 = Mul(%p, %c2) }";
  const auto check = [&](const std::string& attributes, const std::string& bodies) {
    const std::string arguments = bodies.empty() ? "%q, %k, %v" : "%q, %k, %v | %c";
    return check_rewrite(
        graph(inputs, "%y", " %y = ai.onnx.preview.FlexAttention(" + arguments + ") {" + attributes + "}" + bodies),
        expand_flex_attention, true, sizes);
  };
  EXPECT_EQ(op_counts(check("scale = 0.25", "")).at("MatMul"), 2);
  check("gart.bodies = [\"score_mod\"]", scores);
  check("gart.bodies = [\"score_mod\", \"prob_mod\"]", scores + probabilities);
}

TEST(SeparateResize, OneDimensionAfterTheOther) {
  for (const char* mode : {"linear", "cubic"}) {
    const std::string attributes = std::string(" {antialias = 1, mode = \"") + mode + "\"}";
    const Graph g =
        check_rewrite(graph("%x: f32[1,2,h,9]", "%y",
                            " constant %s: f32[4] = {1, 1, 0.5, 0.4}\n %y = Resize(%x, _, %s)" + attributes),
                      separate_resize, true, {{"h", 7}});
    EXPECT_EQ(op_counts(g).at("Resize"), 2);
    check_rewrite(graph("%x: f32[1,2,7,9]", "%y",
                        " constant %s: i64[4] = {1, 2, 3, 12}\n %y = Resize(%x, _, _, %s)" + attributes),
                  separate_resize, true);
    check_rewrite(
        graph("%x: f32[1,2,7,9]", "%y", " constant %s: i64[4] = {1, 2, 7, 4}\n %y = Resize(%x, _, _, %s)" + attributes),
        separate_resize, false);
  }
}

TEST(SeparateInterpolation, WhereRowsWouldBeGathered) {
  const auto check = [](const std::string& x, const std::string& sizes, const std::string& attributes, bool changes) {
    const Graph g =
        check_rewrite(graph("%x: " + x, "%y",
                            " constant %s: i64[4] = {" + sizes + "}\n %y = Resize(%x, _, _, %s) {" + attributes + "}"),
                      separate_interpolation, changes, {{"h", 7}, {"w", 9}, {"m", 2}});
    EXPECT_EQ(op_counts(g).at("Resize"), changes ? 2 : 1) << x << " " << attributes;
  };
  check("f32[1,2,h,w]", "1, 2, 12, 5", "mode = \"linear\"", true);
  check("f32[1,2,h,w]", "1, 2, 12, 5", "mode = \"cubic\", exclude_outside = 1", true);
  check("f64[1,2,h,w]", "1, 2, 12, 5", "mode = \"linear\", coordinate_transformation_mode = \"align_corners\"", true);
  check("f32[1,2,7,9]", "1, 2, 12, 5", "mode = \"linear\"", true);
  check("f32[1,2,7,9]", "1, 2, 14, 18", "mode = \"linear\"", false);  // taps repeat
  check("f32[1,2,7,90]", "1, 2, 3, 11", "mode = \"linear\"", false);  // long rows
  check("f32[1,2,7,w]", "1, 2, 7, 11", "mode = \"linear\"", false);   // one dimension
  check("f32[1,2,h,w]", "1, 2, 12, 5", "mode = \"nearest\"", false);
  check("f32[1,2,h,w]", "1, 2, 12, 5", "mode = \"linear\", coordinate_transformation_mode = \"tf_half_pixel_for_nn\"",
        false);
  check("f32[1,m,h,w]", "1, 2, 0, 5", "mode = \"linear\"", false);  // no elements
  check("u8[1,2,h,w]", "1, 2, 12, 5", "mode = \"linear\"", false);  // bytes would be rounded between the two axes
}

TEST(SeparateInterpolation, LeavesSizesOfTheRun) {
  Graph g = parse_graph(graph("%x: f32[1,2,7,9], %s: i64[4]", "%y", " %y = Resize(%x, _, _, %s) {mode = \"linear\"}"));
  EXPECT_FALSE(separate_interpolation(g));
}

}  // namespace
}  // namespace gcg::test
