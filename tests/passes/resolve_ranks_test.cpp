#include "compiler/passes/resolve_ranks.h"

#include <gtest/gtest.h>

#include "compiler/gir/gir.h"
#include "compiler/ops/op_def.h"
#include "compiler/reference/interpreter.h"
#include "compiler/support/unsupported.h"
#include "tests/passes/rewrite_test.h"

namespace gcg::test {
namespace {

/// A graph with y = Squeeze(x) if the last extent n is 1, else y = x; `rest` follows.
std::string rank_by_extent(const std::string& rest, const std::string& outputs = "%z") {
  return R"(graph g(%x: f32[b,4,n]) -> ()" + outputs + R"() {
    constant %one: i64[] = {1}
    constant %last: i64[] = {2}
    %s: i64[3]{b, 4, n} = Shape(%x)
    %d: i64[]{n} = Gather(%s, %last) {axis = 0}
    %c: bool[] = Equal(%d, %one)
    %y: f32[?] = If(%c | %x)
      graph then(%a: f32[b,4,n]) -> (%t) {
        constant %axes: i64[1] = {2}
        %t: f32[b,4] = Squeeze(%a, %axes)
      }
      graph else(%a: f32[b,4,n]) -> (%e) { %e: f32[b,4,n] = Identity(%a) }
)" + rest +
         "}\n";
}

bool resolve(Graph& g) { return resolve_ranks(g); }

const Graph& branch(const Graph& g, size_t i) {
  for (NodeId id : g.order())
    if (!g.node(id).bodies.empty()) return *g.node(id).bodies.at(i);
  throw std::runtime_error("no If");
}

TEST(ResolveRanks, WhatFollowsAnIfOfTwoRanksMovesIntoBothBranches) {
  for (int64_t n : {1, 3}) {
    const Graph g = check_rewrite(rank_by_extent(R"(
        %r: f32[?] = Relu(%y)
        constant %kept: i64[1] = {0}
        %z: f32[?] = ReduceSum(%r, %kept) {keepdims = 0}
        constant %flat: i64[1] = {-1}
        %w: f32[?] = Reshape(%z, %flat)
    )",
                                                 "%w"),
                                  resolve, true, {{"b", 2}, {"n", n}});
    EXPECT_EQ(op_counts(g).count("Relu"), 0u);
    EXPECT_EQ(op_counts(branch(g, 0))["Relu"], 1);
    EXPECT_EQ(op_counts(branch(g, 1))["Relu"], 1);
    EXPECT_EQ(g.value(g.outputs[0]).shape->size(), 1u);
  }
}

TEST(ResolveRanks, QuestionsAboutTheRankFoldInEachBranch) {
  const std::string text = rank_by_extent(R"(
    %sy: i64[?] = Shape(%y)
    %rank: i64[] = Size(%sy)
    constant %two: i64[] = {2}
    %is2: bool[] = Equal(%rank, %two)
    %p: f32[?] = If(%is2 | %y)
      graph then(%a: f32[?]) -> (%t) { %t: f32[?] = Relu(%a) }
      graph else(%a: f32[?]) -> (%e) { %e: f32[?] = Neg(%a) }
    constant %flat: i64[1] = {-1}
    %z: f32[?] = Reshape(%p, %flat)
  )");
  for (int64_t n : {1, 2}) {
    const Graph g = check_rewrite(text, resolve, true, {{"b", 3}, {"n", n}});
    EXPECT_EQ(op_counts(branch(g, 0))["Relu"], 1);
    EXPECT_EQ(op_counts(branch(g, 0)).count("If"), 0u);
    EXPECT_EQ(op_counts(branch(g, 1))["Neg"], 1);
  }
}

TEST(ResolveRanks, WhatTheRestReadsFromOutsideIsCaptured) {
  const Graph g = check_rewrite(rank_by_extent(R"(
    constant %k: f32[] = {3}
    %side: f32[b,4,n] = Neg(%x)
    %total: f32[] = ReduceSum(%side, _) {keepdims = 0}
    %scaled: f32[?] = Mul(%y, %total)
    %shifted: f32[?] = Add(%scaled, %k)
    constant %flat: i64[1] = {-1}
    %z: f32[?] = Reshape(%shifted, %flat)
    %other: f32[] = Abs(%total)
  )",
                                               "%z, %other"),
                                resolve, true, {{"b", 2}, {"n", 2}});
  EXPECT_EQ(op_counts(g)["Neg"], 1) << "what does not depend on the rank stays";
  EXPECT_EQ(op_counts(g)["Abs"], 1);
}

TEST(ResolveRanks, ABranchThatCannotBeTypedFailsWhenItIsTaken) {
  const std::string text = rank_by_extent(R"(
    constant %w: f32[4,2] = random(1)
    %z: f32[?] = Gemm(%y, %w) @"matrices only"
  )");
  const Graph g = check_rewrite(text, resolve, true, {{"b", 3}, {"n", 1}});
  EXPECT_EQ(op_counts(branch(g, 1)), (std::map<std::string, int>{{"gart.Fail", 1}}));
  EXPECT_EQ(str(*g.value(g.outputs[0]).shape), "[b,2]");
  try {
    interpret(g, {Tensor(DType::f32, {3, 4, 2})});
    FAIL() << "the branch must fail";
  } catch (const InternalError&) {
    throw;
  } catch (const CompileError& error) {
    EXPECT_EQ(std::string(error.what()).find("Gemm 'matrices only': "), 0u) << error.what();
  }
}

TEST(ResolveRanks, AKnownConditionLeavesItsBranch) {
  const Graph g = check_rewrite(R"(graph g(%x: f32[2,3]) -> (%y, %z) {
    constant %c: bool[] = {0}
    %y, %z = If(%c | %x)
      graph then(%a: ?) -> (%t, %t) { %t = Relu(%a) }
      graph else(%a: ?) -> (%a, %e) { %e = Neg(%a) }
  })",
                                resolve, true);
  EXPECT_EQ(op_counts(g), (std::map<std::string, int>{{"Identity", 1}, {"Neg", 1}}));
}

/// The ranks of the second If's bodies are known once those of the first are known; one of its branches is ill-typed.
TEST(ResolveRanks, BodiesOfIfsInARowAreResolvedOneAfterTheOther) {
  const auto step = [](const std::string& from, const std::string& to) {
    return "%" + to + ": f32[?] = If(%c | %" + from + R"(, %w)
      graph then(%a: f32[?], %v: f32[4,4]) -> (%f) {
        constant %one: i64[] = {1}
        constant %first: i64[] = {0}
        %s: i64[?] = Shape(%a)
        %d: i64[?] = Gather(%s, %first) {axis = 0}
        %q: bool[?] = Equal(%d, %one)
        %y: f32[?] = If(%q | %a)
          graph then(%i: f32[?]) -> (%t) {
            constant %axes: i64[1] = {0}
            %t: f32[?] = Squeeze(%i, %axes)
          }
          graph else(%i: f32[?]) -> (%e) { %e: f32[?] = Identity(%i) }
        constant %rows: i64[2] = {-1, 4}
        %m: f32[?] = Reshape(%y, %rows)
        %f: f32[?] = Gemm(%m, %v)
      }
      graph else(%a: f32[?], %v: f32[4,4]) -> (%r) { %r: f32[?] = Relu(%a) }
)";
  };
  const Graph g = check_rewrite("graph g(%x: f32[b,4], %c: bool[]) -> (%z) {\nconstant %w: f32[4,4] = random(1)\n" +
                                    step("x", "y") + step("y", "z") + "}\n",
                                resolve, true, {{"b", 2}});
  EXPECT_EQ(g.value(g.outputs[0]).shape->size(), 2u);
}

TEST(ResolveRanks, BodiesAreResolvedOnTheirOwn) {
  const Graph g = check_rewrite(R"(graph g(%x: f32[b,4,n], %c: bool[]) -> (%z) {
    %z: f32[?] = If(%c | %x)
      graph then(%a: f32[b,4,n]) -> (%f) {
        constant %one: i64[] = {1}
        constant %last: i64[] = {2}
        %s: i64[3]{b, 4, n} = Shape(%a)
        %d: i64[]{n} = Gather(%s, %last) {axis = 0}
        %q: bool[] = Equal(%d, %one)
        %y: f32[?] = If(%q | %a)
          graph then(%i: f32[b,4,n]) -> (%t) {
            constant %axes: i64[1] = {2}
            %t: f32[b,4] = Squeeze(%i, %axes)
          }
          graph else(%i: f32[b,4,n]) -> (%e) { %e: f32[b,4,n] = Identity(%i) }
        constant %flat: i64[1] = {-1}
        %f: f32[?] = Reshape(%y, %flat)
      }
      graph else(%a: f32[b,4,n]) -> (%r) {
        constant %flat: i64[1] = {-1}
        %r: f32[?] = Reshape(%a, %flat)
      }
  })",
                                resolve, true, {{"b", 2}, {"n", 3}});
  EXPECT_EQ(op_counts(g), (std::map<std::string, int>{{"If", 1}})) << "nothing moves out of the body";
}

TEST(ResolveRanks, RanksThatAreKnownAreLeftAlone) {
  check_rewrite(R"(graph g(%x: f32[n], %c: bool[]) -> (%z) {
    %y: f32[n] = If(%c | %x)
      graph then(%a: f32[n]) -> (%t) { %t: f32[n] = Relu(%a) }
      graph else(%a: f32[n]) -> (%e) { %e: f32[n] = Neg(%a) }
    %z: f32[n] = Abs(%y)
  })",
                resolve, false, {{"n", 3}});
}

TEST(ResolveRanks, AnOutputOfUnknownRankIsUnsupported) {
  Graph g = parse_graph(rank_by_extent("%z: f32[?] = Relu(%y)"));
  try {
    resolve_ranks(g);
    FAIL() << "the output has no rank";
  } catch (const UnsupportedModel& error) {
    ASSERT_EQ(error.nodes().size(), 1u);
    EXPECT_EQ(error.nodes()[0].name, "y");
    EXPECT_EQ(error.nodes()[0].why, "the rank of its output 'z' depends on data");
  }
}

TEST(ResolveRanks, RestsThatAreIllTypedInBothBranchesAreUnsupported) {
  Graph g = parse_graph(rank_by_extent(R"(
    constant %w: f32[7,2] = random(1)
    %z: f32[?] = Gemm(%y, %w) @"wrong"
  )"));
  try {
    resolve_ranks(g);
    FAIL() << "neither 4 columns nor rank 3 will do";
  } catch (const UnsupportedModel& error) {
    ASSERT_EQ(error.nodes().size(), 1u);
    EXPECT_EQ(error.nodes()[0].name, "wrong");
  }
}

}  // namespace
}  // namespace gcg::test
