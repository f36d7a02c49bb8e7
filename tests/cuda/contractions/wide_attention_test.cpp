// Attention by warpgroups (sm_90a) on the simulated GPU against the interpreter, in every tile; the conditions for this
// variant, and the work that it skips.
#include <gtest/gtest.h>

#include "codegen/cuda/contractions/attention_wide.h"
#include "compiler/gir/gir.h"
#include "compiler/support/error.h"
#include "tests/cuda/contractions/simulated_run.h"

namespace gcg::test {
namespace {

const ContractionCase kArithmetics[] = {{"sm_90a", Precision::fp16, 1e-2}, {"sm_90a", Precision::bf16, 6e-2}};

/// Emits attention in tile `number` of the warpgroup tiles, and sets `count` to the number of tiles.
Emit in_tile(const Target& target, size_t number, size_t& count) {
  return [&target, number, &count](const Kernel& kernel) {
    if (!std::holds_alternative<AttentionKernel>(kernel.body)) return cuda::emit_kernel(kernel, target);
    const auto tiles = cuda::wide_attention_tiles(kernel, target);
    count = tiles.size();
    EXPECT_LT(number, count) << "no such tile";
    if (number >= count) return cuda::emit_kernel(kernel, target);
    return cuda::emit_wide_attention(kernel, target, tiles[number]);
  };
}

/// Adds "%q = Neg(%qi)" and so on, so that the operands are temporaries, which may be stored in 16 bits.
std::string graph_of(const std::string& inputs, const std::string& more, const std::string& body) {
  return concat("graph g(", inputs, more, ") -> (%y) {\n  %q = Neg(%qi)\n  %k = Neg(%ki)\n  %v = Neg(%vi)\n", body,
                "}\n");
}
std::string operands(const std::string& q, const std::string& k, const std::string& v) {
  return concat("%qi: f32[", q, "], %ki: f32[", k, "], %vi: f32[", v, "]");
}

/// The text "{...}" of rows x columns numbers: `inside` where key <= query + `last`, else `outside`.
std::string triangle(int rows, int columns, int last, const char* inside, const char* outside) {
  std::string text;
  for (int i = 0; i < rows; ++i)
    for (int j = 0; j < columns; ++j) text += concat(text.empty() ? "{" : ", ", j <= i + last ? inside : outside);
  return text + "}";
}

struct WideCase {
  const char* what;
  std::string graph;
  SymbolValues symbols = {};
};
const char* const kPlain = R"(
  %b = Transpose(%k) {perm = [0,1,3,2]}
  %s = MatMul(%q, %b)
  constant %scale: f32[] = {0.17}
  %t = Mul(%s, %scale)
  %p = Softmax(%t) {axis = -1}
  %y = MatMul(%p, %v)
)";
const char* const kMasked = R"(
  %b = Transpose(%k) {perm = [0,1,3,2]}
  %s = MatMul(%q, %b)
  %t = Add(%s, %m)
  %p = Softmax(%t) {axis = -1}
  %y = MatMul(%p, %v)
)";

const WideCase kCases[] = {
    {"odd lengths", graph_of(operands("1,2,70,64", "1,2,131,64", "1,2,131,64"), "", kPlain)},
    {"several tiles and blocks of keys", graph_of(operands("1,2,300,32", "1,2,260,32", "1,2,260,32"), "", kPlain)},
    {"heads of two sizes", graph_of(operands("1,1,65,40", "1,1,140,40", "1,1,140,80"), "", kPlain)},
    {"a mask of keys", graph_of(operands("2,2,70,64", "2,2,150,64", "2,2,150,64"), ", %m: f32[2,1,1,150]", kMasked)},
    {"a mask of all, odd",
     graph_of(operands("1,2,70,64", "1,2,131,64", "1,2,131,64"), ", %m: f32[1,1,70,131]", kMasked)},
    {"causal",
     graph_of(operands("1,2,300,64", "1,2,300,64", "1,2,300,64"), "", "%y = Attention(%q, %k, %v) {is_causal = 1}\n")},
    {"causal, heads that share keys",
     graph_of(operands("1,4,150,64", "1,2,150,64", "1,2,150,64"), "", "%y = Attention(%q, %k, %v) {is_causal = 1}\n")},
    {"a constant that is causal from the fourth key on",
     graph_of(operands("1,2,70,64", "1,2,73,64", "1,2,73,64"), "",
              concat("constant %m: f32[70,73] = ", triangle(70, 73, 3, "0", "-10000"), kMasked))},
    {"a window", graph_of(operands("1,1,420,32", "1,1,420,32", "1,1,420,32"), "",
                          "%y = Attention(%q, %k, %v) {is_causal = 1, left_window_size = 100}\n")},
    {"keys of each sample, a cap of the scores",
     graph_of(operands("2,2,70,64", "2,2,300,64", "2,2,300,64"), ", %n: i64[2]",
              "%y = Attention(%q, %k, %v, _, _, _, %n) {is_causal = 1, softcap = 3.0}\n")},
    {"extents that are known when it runs",
     graph_of(operands("b,2,s,64", "b,2,t,64", "b,2,t,64"), ", %m: f32[b,1,1,t]", kMasked),
     {{"b", 2}, {"s", 90}, {"t", 130}}},
    {"heads in rows, a residual",
     R"(graph g(%qi: f32[2,70,3,64], %ki: f32[2,150,3,64], %vi: f32[2,150,3,64], %r: f32[2,3,70,64]) -> (%y) {
      %q = Neg(%qi)
      %k = Neg(%ki)
      %v = Neg(%vi)
      %a = Transpose(%q) {perm = [0,2,1,3]}
      %b = Transpose(%k) {perm = [0,2,3,1]}
      %c = Transpose(%v) {perm = [0,2,1,3]}
      %s = MatMul(%a, %b)
      %p = Softmax(%s) {axis = -1}
      %o = MatMul(%p, %c)
      %z = Add(%o, %r)
      %y = Transpose(%z) {perm = [0,2,1,3]}
    })"},
};

/// Few queries: blocks of a cluster share the keys.
const WideCase kFewQueries[] = {
    {"one query, as many heads as share keys",
     graph_of(operands("1,8,1,64", "1,2,700,64", "1,2,700,64"), "", "%y = Attention(%q, %k, %v)\n")},
    {"fewer blocks of keys than of a cluster, a residual",
     graph_of(operands("2,2,9,32", "2,2,200,32", "2,2,200,32"), ", %r: f32[2,2,9,32]",
              "%o = Attention(%q, %k, %v)\n%y = Add(%o, %r)\n")},
    {"keys of each sample, none of one", graph_of(operands("3,2,1,64", "3,2,520,64", "3,2,520,64"),
                                                  ", %m: bool[3,1,1,520]", "%y = Attention(%q, %k, %v, %m)\n")},
    {"keys that are known when it runs",
     graph_of(operands("1,4,2,64", "1,4,t,64", "1,4,t,64"), "", "%y = Attention(%q, %k, %v) {softcap = 3.0}\n"),
     {{"t", 1100}}},
};

class WideAttention : public testing::TestWithParam<ContractionCase> {};
INSTANTIATE_TEST_SUITE_P(Arithmetics, WideAttention, testing::ValuesIn(kArithmetics), case_name);

TEST_P(WideAttention, EveryTileComputesEveryForm) {
  const Target target = gpu_target(GetParam().target, GetParam().precision);
  size_t turn = 0;
  for (const WideCase& c : kCases)
    for (size_t i = 0, count = 1; i < 2; ++i, ++turn) {
      SCOPED_TRACE(concat(c.what, ", tile ", turn % count));
      const SimulatedRun run =
          expect_simulates(c.graph, target, GetParam().tolerance, c.symbols, in_tile(target, turn % count, count));
      EXPECT_NE(run.notes.back().find("wgmma"), std::string::npos) << run.notes.back();
    }
}

TEST_P(WideAttention, ClustersShareKeysOfFewQueries) {
  const Target target = gpu_target(GetParam().target, GetParam().precision);
  size_t turn = 0;
  for (const WideCase& c : kFewQueries)
    for (size_t i = 0, count = 4; i < 2; ++i, ++turn) {
      SCOPED_TRACE(concat(c.what, ", tile ", turn % count));
      const SimulatedRun run =
          expect_simulates(c.graph, target, GetParam().tolerance, c.symbols, in_tile(target, turn % count, count));
      EXPECT_EQ(count, 4U) << "one block or clusters of 2, 4, 8";
      EXPECT_NE(run.notes.back().find("wgmma"), std::string::npos) << run.notes.back();
    }
}

/// The source of the graph's attention in its best tile.
std::string source_of(const std::string& graph) {
  const Target target = gpu_target("sm_90a", Precision::fp16);
  const Plan plan = cuda_plan(parse_graph(graph), target);
  for (const Kernel& k : plan.kernels) {
    if (!std::holds_alternative<AttentionKernel>(k.body)) continue;
    const auto tiles = cuda::wide_attention_tiles(k, target);
    if (tiles.empty()) return "";
    return cuda::emit_wide_attention(k, target, tiles.front()).source;
  }
  ADD_FAILURE() << "no attention";
  return "";
}
/// The template arguments that tell whether the last and the first visible key depend on the query.
std::string bounds_of(const std::string& graph) {
  const std::string source = source_of(graph), before = "gart_attention_tiles<";
  const size_t at = source.find(before);
  if (at == std::string::npos) return "none";
  const std::string arguments = source.substr(at, source.find(", decltype", at) - at);
  return arguments.substr(arguments.rfind(", ", arguments.rfind(", ") - 1) + 2);
}

const char* const kSquare = "1,2,70,64";

std::string scored(const std::string& masking) {
  return graph_of(operands(kSquare, kSquare, kSquare), "",
                  concat(R"(
  %b = Transpose(%k) {perm = [0,1,3,2]}
  %s = MatMul(%q, %b)
)",
                         masking, R"(
  %p = Softmax(%t) {axis = -1}
  %y = MatMul(%p, %v)
)"));
}

TEST(WideAttentionBounds, MasksOfPositionsAreBounds) {
  const std::string all = operands(kSquare, kSquare, kSquare);
  EXPECT_EQ(bounds_of(graph_of(all, "", "%y = Attention(%q, %k, %v)\n")), "false, false");
  EXPECT_EQ(bounds_of(graph_of(all, "", "%y = Attention(%q, %k, %v) {is_causal = 1}\n")), "true, false");
  EXPECT_EQ(bounds_of(graph_of(all, "", "%y = Attention(%q, %k, %v) {left_window_size = 9}\n")), "false, true");
  EXPECT_EQ(bounds_of(graph_of(all, "", "%y = Attention(%q, %k, %v) {is_causal = 1, left_window_size = 9}\n")),
            "true, true");
}

TEST(WideAttentionBounds, ConstantsThatAreCausalAreBounds) {
  const auto added = [](int last, const char* inside, const char* outside) {
    return scored(
        concat("constant %m: f32[70,70] = ", triangle(70, 70, last, inside, outside), "\n  %t = Add(%s, %m)\n"));
  };
  EXPECT_EQ(bounds_of(added(0, "0", "-10000")), "true, false");
  EXPECT_EQ(bounds_of(added(3, "0", "-inf")), "true, false");
  EXPECT_EQ(bounds_of(added(0, "0", "-100")), "false, false") << "such keys still count";
  EXPECT_EQ(bounds_of(added(-1, "0", "-10000")), "false, false") << "the first row's keys all do, alike";
  EXPECT_EQ(bounds_of(scored(concat("constant %m: bool[1,1,70,70] = ", triangle(70, 70, 0, "1", "0"), R"(
  constant %low: f32[] = {-3.4e38}
  %t = Where(%m, %s, %low)
)"))),
            "true, false");
  EXPECT_EQ(bounds_of(scored(concat("constant %all: u8[1,1,90,90] = ", triangle(90, 90, 0, "1", "0"), R"(
  constant %from: i64[1] = {20}
  constant %to: i64[1] = {90}
  constant %axis: i64[1] = {2}
  %rows = Slice(%all, %from, %to, %axis)
  constant %begin: i64[1] = {0}
  constant %end: i64[1] = {70}
  constant %last: i64[1] = {3}
  %part = Slice(%rows, %begin, %end, %last)
  %m = Cast(%part) {to = 9}
  constant %low: f32[] = {-10000}
  %t = Where(%m, %s, %low)
)"))),
            "true, false");
}

}  // namespace
}  // namespace gcg::test
