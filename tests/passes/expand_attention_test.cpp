#include "compiler/passes/expand_attention.h"

#include <gtest/gtest.h>

#include "tests/passes/rewrite_test.h"

namespace gcg::test {
namespace {

using Counts = std::map<std::string, int>;
const std::map<std::string, int64_t> kSizes = {{"b", 2}, {"s", 3}, {"t", 5}, {"p", 4}};

/// An Attention over q, k, v; `more` declares further inputs in the graph.
Graph attention(const std::string& inputs, const std::string& arguments, const std::string& attributes,
                const std::string& outputs = "%y", const std::string& constants = "") {
  return check_rewrite("graph g(" + inputs + ") -> (" + outputs + ") {\n" + constants + outputs + " = Attention(" +
                           arguments + ") {" + attributes + "}\n}\n",
                       expand_attention, true, kSizes);
}

const char* const kSpread = "%q: f32[b,4,s,6], %k: f32[b,4,t,6], %v: f32[b,4,t,2]";
const char* const kShared = "%q: f32[b,4,s,6], %k: f32[b,2,t,6], %v: f32[b,2,t,2]";
const char* const kPacked = "%q: f32[b,s,24], %k: f32[b,t,12], %v: f32[b,t,4]";

TEST(ExpandAttention, IsTwoProductsAndASoftmax) {
  const Counts counts = op_counts(attention(kSpread, "%q, %k, %v", ""));
  EXPECT_EQ(counts, (Counts{{"Transpose", 1}, {"MatMul", 2}, {"Mul", 1}, {"Softmax", 1}}));
}

TEST(ExpandAttention, NeverRepeatsKeys) {
  const Counts counts = op_counts(attention(kShared, "%q, %k, %v", "scale = 1.0"));
  EXPECT_EQ(counts, (Counts{{"Transpose", 1}, {"MatMul", 2}, {"Reshape", 4}, {"Softmax", 1}}));
  attention(kPacked, "%q, %k, %v", "q_num_heads = 4, kv_num_heads = 2");
}

TEST(ExpandAttention, TakesEveryMask) {
  const std::string shared = kShared;
  for (const char* mask : {"bool[s,t]", "bool[b,1,s,t]", "bool[4,1,t]", "f32[s,t]", "f32[b,4,s,t]", "f32[1,t]"}) {
    for (const char* causal : {"is_causal = 0", "is_causal = 1", "left_window_size = 1", "right_window_size = 0"})
      attention(shared + ", %m: " + mask, "%q, %k, %v, %m", causal);
  }
  const std::string fixed = "%q: f32[2,1,3,4], %k: f32[2,1,5,4], %v: f32[2,1,5,4], %m: ";
  for (const char* mask : {"bool[3,4]", "f32[3,2]"}) {
    const Graph g = attention(fixed + mask, "%q, %k, %v, %m", "is_causal = 1");
    EXPECT_EQ(op_counts(g).at("Pad"), 1);
  }
}

TEST(ExpandAttention, ContinuesThePast) {
  const std::string past = ", %pk: f32[b,2,p,6], %pv: f32[b,2,p,2]";
  for (const char* mode : {"0", "1", "2", "3"}) {
    const std::string attributes = std::string("is_causal = 1, softcap = 3.0, qk_matmul_output_mode = ") + mode;
    attention(kShared + past, "%q, %k, %v, _, %pk, %pv", attributes, "%y, %key, %value, %qk");
    attention(kPacked + past, "%q, %k, %v, _, %pk, %pv", attributes + ", q_num_heads = 4, kv_num_heads = 2",
              "%y, %key, %value, %qk");
  }
}

TEST(ExpandAttention, CopiesKeysThatAreGivenOut) {
  const Graph g = attention(kShared, "%q, %k, %v", "qk_matmul_output_mode = 3", "%y, %key, %value, %qk");
  EXPECT_EQ(op_counts(g).at("Identity"), 2);
}

TEST(ExpandAttention, CountsValidKeys) {
  const std::string fixed = "%q: f32[3,1,2,4], %k: f32[3,1,5,4], %v: f32[3,1,5,4]";
  for (const char* causal : {"is_causal = 0", "is_causal = 1", "left_window_size = 1, right_window_size = 1"})
    attention(fixed, "%q, %k, %v, _, _, _, %n", causal, "%y", "constant %n: i64[3] = {5, 1, 3}\n");
}

TEST(ExpandAttention, TurnsPairs) {
  const auto rotary = [](const std::string& x, const std::string& cache, const std::string& arguments,
                         const std::string& attributes) {
    return check_rewrite(
        "graph g(%x: f32" + x + ", %c: f32" + cache + ", %s: f32" + cache +
            ") -> (%y) {\nconstant %ids: i64[2,3] = {0, 1, 2, 3, 1, 2}\n%y = RotaryEmbedding(%x, %c, %s" + arguments +
            ") {" + attributes + "}\n}\n",
        expand_attention, true, kSizes);
  };
  for (const char* order : {"interleaved = 0", "interleaved = 1"}) {
    rotary("[b,4,s,6]", "[b,s,3]", "", order);
    rotary("[b,s,24]", "[b,s,3]", "", std::string("num_heads = 4, ") + order);
    rotary("[2,4,3,6]", "[7,2]", ", %ids", std::string("rotary_embedding_dim = 4, ") + order);
    rotary("[2,3,12]", "[7,1]", ", %ids", std::string("rotary_embedding_dim = 2, num_heads = 2, ") + order);
  }
}

TEST(ExpandAttention, ReadsWhatItHasWritten) {
  check_rewrite(
      R"(graph g(%q: f32[b,4,s,6], %k: f32[b,2,s,6], %v: f32[b,2,s,2], %c: f32[b,s,3], %n: f32[b,s,3]) -> (%y) {
    %rq = RotaryEmbedding(%q, %c, %n)
    %rk = RotaryEmbedding(%k, %c, %n)
    %y = Attention(%rq, %rk, %v) {is_causal = 1}
  })",
      expand_attention, true, kSizes);
}

TEST(ExpandAttention, LeavesOtherGraphsAlone) {
  check_rewrite("graph g(%x: f32[b,4]) -> (%y) {\n%y = Softmax(%x)\n}\n", expand_attention, false, kSizes);
}

}  // namespace
}  // namespace gcg::test
