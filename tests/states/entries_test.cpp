// Several models in one file.
#include <gtest/gtest.h>

#include "compiler/support/error.h"
#include "tests/states/stateful.h"

namespace gart {
namespace {

using test::floats;
using test::state;
using test::view;

/// Appends several rows to the cache of test::appending(). y = the mean of the cache.
const std::string kPrompt = R"(graph prompt(%rows: f32[b,n,3], %past: f32[b,p,3]) -> (%y, %present) {
  %present = Concat(%past, %rows) {axis = 1}
  constant %axes: i64[2] = {1, 2}
  %y = ReduceMean(%present, %axes) {keepdims = 0}
})";

TEST(Entries, ShareStates) {
  const Result<Program> program =
      load(test::compiled_with(test::appending(), {kPrompt}, {"past=present"}), {.device = "cpu", .threads = 1});
  ASSERT_TRUE(program) << program.error().message;
  EXPECT_EQ(program->entry_points(), (std::vector<std::string>{"appending", "prompt"}));
  ASSERT_EQ(program->states().size(), 1u);
  ASSERT_EQ(program->inputs("prompt").size(), 1u);
  const Session session = *program->new_session();
  const std::vector<float> prompt = {1, 1, 1, 2, 2, 2}, x = {3, 3, 3};
  const auto mean = session.run({view(prompt, {1, 2, 3})}, "prompt");
  ASSERT_TRUE(mean) << mean.error().message;
  EXPECT_EQ(floats(mean->at(0)), std::vector<float>{1.5f});
  EXPECT_EQ(floats(session.run({view(x, {1, 1, 3})})->at(0)), (std::vector<float>{6, 6, 6}));
  EXPECT_EQ(floats(session.run({view(prompt, {1, 2, 3})}, "prompt")->at(0)), std::vector<float>{1.8f});
  EXPECT_EQ(state(session, "past").size(), 15u);
}

/// A decoder that only reads the keys that an encoder writes, and has a cache of its own.
const std::string kDecoder =
    R"(graph decoder(%x: f32[b,1,3], %past_own: f32[b,p,3], %past_cross: f32[b,2,3]) -> (%y, %present_own) {
  %present_own = Concat(%past_own, %x) {axis = 1}
  constant %axis: i64[1] = {1}
  %s = ReduceSum(%present_own, %axis) {keepdims = 0}
  %t = ReduceSum(%past_cross, %axis) {keepdims = 0}
  %y = Add(%s, %t)
})";
const std::string kEncoder = R"(graph encoder(%sound: f32[b,2,3]) -> (%h, %present_cross) {
  %h = Relu(%sound)
  %present_cross = Neg(%sound)
})";

TEST(Entries, AnEncoderWritesWhatTheDecoderReads) {
  for (const bool decoder_first : {true, false}) {
    const Result<Program> program =
        load(test::compiled_with(decoder_first ? kDecoder : kEncoder, {decoder_first ? kEncoder : kDecoder}, {"auto"}),
             {.device = "cpu", .threads = 1});
    ASSERT_TRUE(program) << program.error().message;
    EXPECT_EQ(program->inputs("decoder").size(), 1u);
    EXPECT_EQ(program->inputs("encoder").size(), 1u);
    EXPECT_EQ(program->outputs("encoder").size(), 1u);
    const Session session = *program->new_session(), other = *program->new_session();
    const std::vector<float> sound = {1, 2, 3, 10, 20, 30}, x = {100, 0, 0};
    ASSERT_TRUE(session.run({view(sound, {1, 2, 3})}, "encoder"));
    for (const float sum : {100.0f, 200.0f}) {
      const auto y = session.run({view(x, {1, 1, 3})}, "decoder");
      ASSERT_TRUE(y) << y.error().message;
      EXPECT_EQ(floats(y->at(0)), (std::vector<float>{sum - 11, -22, -33}));
    }
    EXPECT_EQ(floats(other.run({view(x, {1, 1, 3})}, "decoder")->at(0)), (std::vector<float>{100, 0, 0}));
    ASSERT_TRUE(session.run({view(sound, {1, 2, 3})}, "encoder"));
    EXPECT_EQ(state(session, "past_cross"), (std::vector<float>{-1, -2, -3, -10, -20, -30}));
    EXPECT_EQ(state(session, "past_own").size(), 6u);
  }
}

TEST(Entries, StoreEqualWeightsOnce) {
  const auto product = [](const std::string& name, const char* activation) {
    return "graph " + name + R"((%x: f32[4,64]) -> (%y) {
  constant %w: f32[64,64] = random(7)
  %z = MatMul(%x, %w)
  %y = )" + activation +
           R"((%z)
})";
  };
  const size_t one = test::compiled(product("one", "Relu"), {}).size();
  const std::span<const uint8_t> both = test::compiled_with(product("one", "Relu"), {product("two", "Neg")}, {});
  EXPECT_LT(both.size(), one + 64 * 64 * 4);
  const Result<Program> program = load(both, {.device = "cpu"});
  ASSERT_TRUE(program) << program.error().message;
  std::vector<float> x(4 * 64, 1.0f);
  const auto first = program->run({NamedTensor{"x", view(x, {4, 64})}});
  const NamedTensor input[] = {{"x", view(x, {4, 64})}};
  const auto second = program->run(input, "two");
  ASSERT_TRUE(first && second);
  for (size_t i = 0; i < x.size(); ++i)
    EXPECT_EQ(floats(first->at(0))[i], std::max(0.0f, -floats(second->at(0))[i])) << i;
}

TEST(Entries, WhatTheCompilerRefuses) {
  const auto message = [](const std::vector<std::string>& others,
                          const std::vector<std::string>& requests) -> std::string {
    try {
      test::compiled_with(test::appending(), others, requests);
    } catch (const gcg::CompileError& error) {
      return error.what();
    }
    return "compiled";
  };
  EXPECT_EQ(message({test::appending()}, {}), "two entry points are called 'appending'");
  EXPECT_EQ(message({R"(graph other(%x: f32[b,4], %past: f32[b,4]) -> (%present) { %present = Add(%past, %x) })"},
                    {"past=present"}),
            "state 'past' is f32[*,*,3], stored with axis 1 in front in 'appending' and f32[*,4] in 'other'");
}

}  // namespace
}  // namespace gart
