// Inputs that are supplied by their names.
#include "runtime/generate/feed.h"

#include <gtest/gtest.h>

#include "runtime/errors.h"

namespace gart::detail {
namespace {

using Dims = std::vector<std::string>;

Feed feed(const std::string& name, DType dtype, const Dims& dims) { return {0, TensorInfo{name, dtype, dims}}; }

/// Shape and elements of an integer input, as text, for a run of `tokens` after `past` other tokens.
std::string fed(Feed& f, int64_t past, const std::vector<int64_t>& tokens) {
  const TensorView v = f.value(past, tokens);
  std::string out = v.shape.text() + ":";
  for (int64_t i = 0; i < v.shape.elements(); ++i) {
    const auto* at = static_cast<const uint8_t*>(v.data) + size_t(i) * size_of(v.dtype);
    int64_t x = *at;
    if (v.dtype == DType::i64) std::memcpy(&x, at, 8);
    if (v.dtype == DType::i32) x = *reinterpret_cast<const int32_t*>(at);
    out += text(" ", x);
  }
  return out;
}

std::string fed(const std::string& name, DType dtype, const Dims& dims) {
  Feed f = feed(name, dtype, dims);
  return fed(f, 3, {8, 9});
}

template <class Body>
std::string why(Body&& body) {
  const Result<void> done = guarded([&] { static_cast<void>(body()); });
  return done.ok() ? "" : done.error().message;
}

TEST(Feeds, ValuesFollowFromNames) {
  EXPECT_EQ(fed("input_ids", DType::i64, {"batch", "n"}), "[1,2]: 8 9");
  EXPECT_EQ(fed("input_ids", DType::i32, {"n"}), "[2]: 8 9");
  EXPECT_EQ(fed("attention_mask", DType::i64, {"1", "total"}), "[1,5]: 1 1 1 1 1");
  EXPECT_EQ(fed("attention_mask", DType::i32, {"b", "7"}), "[1,7]: 1 1 1 1 1 0 0");
  EXPECT_EQ(fed("attention_mask", DType::boolean, {"b", "1", "n", "t"}), "[1,1,2,5]: 1 1 1 1 0 1 1 1 1 1");
  EXPECT_EQ(fed("position_ids", DType::i64, {"b", "n"}), "[1,2]: 3 4");
  EXPECT_EQ(fed("position_ids", DType::i64, {"3", "b", "n"}), "[3,1,2]: 3 4 3 4 3 4");
  EXPECT_EQ(fed("cache_position", DType::i64, {"n"}), "[2]: 3 4");
  EXPECT_EQ(fed("write_indices", DType::i64, {"b"}), "[1]: 3");
  EXPECT_EQ(fed("nonpad_kv_seqlen", DType::i64, {"b"}), "[1]: 5");
  EXPECT_EQ(fed("seqlens_k", DType::i32, {"b"}), "[1]: 4");
  EXPECT_EQ(fed("seqlens_k", DType::i32, {"b", "1"}), "[1,1]: 4");
  EXPECT_EQ(fed("total_sequence_length", DType::i32, {}), "[]: 5");
  EXPECT_EQ(fed("use_cache_branch", DType::boolean, {"1"}), "[1]: 1");
  EXPECT_EQ(fed("num_logits_to_keep", DType::i64, {}), "[]: 1");
}

TEST(Feeds, MasksOfScoresAreAddends) {
  Feed f = feed("attention_mask", DType::f32, {"b", "1", "n", "4"});
  const TensorView v = f.value(1, std::array<int64_t, 2>{5, 6});
  const auto x = v.elements<float>();
  ASSERT_EQ(x.size(), 8u);
  for (const size_t i : {0, 1, 4, 5, 6}) EXPECT_EQ(x[i], 0) << i;
  for (const size_t i : {2, 3, 7}) EXPECT_LT(x[i], -1e38F) << i;
}

TEST(Feeds, MasksFollowLengthsUpAndDown) {
  Feed open = feed("attention_mask", DType::i64, {"b", "t"}), fixed = feed("attention_mask", DType::i64, {"b", "4"});
  for (const int64_t past : {0, 1, 2, 0, 2}) {
    std::string ones = text("[1,", past + 2, "]:"), padded = "[1,4]:";
    for (int64_t i = 0; i < 4; ++i) padded += i < past + 2 ? " 1" : " 0";
    for (int64_t i = 0; i < past + 2; ++i) ones += " 1";
    EXPECT_EQ(fed(open, past, {8, 9}), ones);
    EXPECT_EQ(fed(fixed, past, {8, 9}), padded);
  }
}

TEST(Feeds, FixedExtentsSayHowManyTokensARunReads) {
  EXPECT_EQ(feed("input_ids", DType::i64, {"b", "n"}).tokens_per_run(), 0);
  EXPECT_EQ(feed("input_ids", DType::i64, {"1", "16"}).tokens_per_run(), 16);
  EXPECT_EQ(feed("attention_mask", DType::i64, {"b", "past + 1"}).tokens_per_run(), 1);
  EXPECT_EQ(feed("attention_mask", DType::i64, {"b", "past + n"}).tokens_per_run(), 0);
}

TEST(Feeds, RefusalsNameTheInput) {
  EXPECT_NE(why([] { return feed("speaker", DType::f32, {"b"}); }).find("input speaker f32[b] is not known"),
            std::string::npos);
  EXPECT_NE(why([] { return feed("input_ids", DType::f32, {"b", "n"}); }).find("has a type or rank"),
            std::string::npos);
  EXPECT_EQ(why([] { return fed("attention_mask", DType::i64, {"b", "4"}); }),
            "input 'attention_mask' has room for 4 tokens; 5 are too many");
  EXPECT_EQ(why([] { return fed("input_ids", DType::i64, {"4", "n"}); }),
            "input 'input_ids' has the fixed extent 4 along axis 0, but 1 is needed");
  Feed narrow = feed("input_ids", DType::i32, {"n"});
  EXPECT_EQ(why([&] { return fed(narrow, 0, {int64_t{1} << 40}); }),
            "input 'input_ids' is i32, but the value is 1099511627776");
}

}  // namespace
}  // namespace gart::detail
