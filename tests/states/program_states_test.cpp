// States that the program keeps for all callers: trained weights.
#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <thread>

#include "compiler/support/error.h"
#include "tests/runtime/allocations.h"
#include "tests/states/stateful.h"

namespace gart {
namespace {

using test::floats;
using test::view;

/// w += x, and y = the old w. A second state counts the runs.
const std::string kTrain = R"(graph train(%x: f32[2], %w: f32[2], %runs: i64[1]) -> (%y, %w_next, %runs_next) {
  constant %one: i64[1] = {1}
  %y = Identity(%w)
  %w_next = Add(%w, %x)
  %runs_next = Add(%runs, %one)
  state "w" %w -> %w_next {scope = "program", initial = f32[2]{10, 20}}
  state "runs" %runs -> %runs_next {scope = "program"}
})";
/// Only reads the weights.
const std::string kInfer = R"(graph infer(%w: f32[2], %x: f32[n,2]) -> (%y) {
  %y = Mul(%x, %w)
  state "w" %w {scope = "program", initial = f32[2]{10, 20}}
})";
/// A graph with a state of the session and one of the program. A run fails for an index out of range.
const std::string kChat = R"(graph chat(%index: i64[1], %w: f32[2], %seen: f32[2]) -> (%y, %w_next, %seen_next) {
  constant %one: f32[2] = {1, 1}
  %w_next = Add(%w, %one)
  %seen_next = Add(%seen, %w)
  %y = Gather(%seen_next, %index) {axis = 0}
  state "w" %w -> %w_next {scope = "program", initial = f32[2]{10, 20}}
  state "seen" %seen -> %seen_next
})";

Program program_of(const std::string& graph, const std::vector<std::string>& others, int threads = 1) {
  const Result<Program> program =
      load(test::compiled_with(graph, others, {}), {.device = "cpu", .threads = threads, .spin = false});
  EXPECT_TRUE(program) << program.error().message;
  return *program;
}

std::vector<float> weights(const Program& program) {
  const Result<Tensor> value = program.state("w");
  EXPECT_TRUE(value) << value.error().message;
  return value ? floats(*value) : std::vector<float>();
}

Result<std::vector<Tensor>> train(const Program& program, const std::vector<float>& x) {
  const NamedTensor input[] = {{"x", view(x, {2})}};
  return program.run(input, "train");
}

std::vector<float> infer(const Program& program, const std::vector<float>& x) {
  const NamedTensor input[] = {{"x", view(x, {static_cast<int64_t>(x.size()) / 2, 2})}};
  const auto out = program.run(input, "infer");
  EXPECT_TRUE(out) << out.error().message;
  return out ? floats(out->at(0)) : std::vector<float>();
}

TEST(ProgramStates, EntriesShareThemWithoutASession) {
  const Program program = program_of(kTrain, {kInfer});
  EXPECT_TRUE(program.states().empty());
  ASSERT_EQ(program.program_states().size(), 2u);
  EXPECT_EQ(program.program_states()[0].text(), "w f32[2]");
  EXPECT_EQ(program.inputs("infer").size(), 1u);
  EXPECT_EQ(program.outputs("infer").size(), 1u);
  EXPECT_EQ(weights(program), (std::vector<float>{10, 20}));
  EXPECT_EQ(infer(program, {1, 1, 2, 2}), (std::vector<float>{10, 20, 20, 40}));
  const auto old = train(program, {1, 2});
  ASSERT_TRUE(old) << old.error().message;
  EXPECT_EQ(floats(old->at(0)), (std::vector<float>{10, 20}));
  EXPECT_EQ(infer(program, {1, 1}), (std::vector<float>{11, 22}));
  EXPECT_EQ(program.state("runs")->elements<int64_t>()[0], 1);
  const std::vector<float> other = {5, 6}, wrong = {1, 2, 3};
  ASSERT_TRUE(program.set_state("w", view(other, {2})));
  EXPECT_EQ(infer(program, {1, 1}), other);
  EXPECT_EQ(program.set_state("w", view(wrong, {3})).error().message,
            "state 'w' is w f32[2], but the value has shape [3]");
  EXPECT_EQ(program.state("v").error().message, "the model has no state 'v', only 'w', 'runs'");
  const Program again = program_of(kTrain, {kInfer});
  EXPECT_EQ(weights(again), (std::vector<float>{10, 20})) << "another program has its own";
}

TEST(ProgramStates, FailedRunsLeaveThemAsTheyWere) {
  const Program program = program_of(kChat, {kInfer});
  ASSERT_EQ(program.states().size(), 1u);
  const auto run = [&](const Session& session, int64_t index) {
    return session.run({NamedTensor{"index", {&index, DType::i64, Shape{1}}}});
  };
  const int64_t zero = 0;
  EXPECT_EQ(program.run({NamedTensor{"index", {&zero, DType::i64, Shape{1}}}}).error().message,
            "entry point 'chat' has states of a session: run it in one (Program::new_session)");
  const Session one = *program.new_session(), other = *program.new_session();
  ASSERT_TRUE(run(one, 0));
  const auto failed = run(one, 5);
  ASSERT_FALSE(failed);
  EXPECT_EQ(weights(program), (std::vector<float>{11, 21}));
  EXPECT_EQ(test::state(one, "seen"), (std::vector<float>{10, 20}));
  ASSERT_TRUE(run(other, 1));
  EXPECT_EQ(test::state(other, "seen"), (std::vector<float>{11, 21})) << "sessions share the program's state";
  EXPECT_EQ(weights(program), (std::vector<float>{12, 22}));
  EXPECT_EQ(one.state("w").error().message, "the model has no state 'w', only 'seen'");
}

TEST(ProgramStates, CancelledRunsLeaveThemAsTheyWere) {
  const Program program = program_of(R"(graph slow(%n: i64[], %w: f32[2]) -> (%w_next) {
  constant %true: bool[] = {1}
  %w_next: f32[2] = Loop(%n, %true, %w)
    graph turn(%i: i64[], %c: bool[], %a: f32[2]) -> (%c, %b) { %b: f32[2] = Cos(%a) }
  state "w" %w -> %w_next {scope = "program", initial = f32[2]{10, 20}}
})",
                                     {});
  auto invocation = program.new_invocation();
  ASSERT_TRUE(invocation) << invocation.error().message;
  const int64_t many = int64_t{1} << 40;
  ASSERT_TRUE(invocation->set_input("n", {&many, DType::i64, Shape{}}));
  std::atomic<bool> over = false;
  std::thread other([&] {
    while (!over) invocation->cancel();
  });
  const Result<void> done = invocation->run();
  over = true;
  other.join();
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().code, ErrorCode::cancelled);
  EXPECT_EQ(weights(program), (std::vector<float>{10, 20}));
}

/// Each step adds exactly one, so the sum shows a lost update. A reader must never see half of an update.
TEST(ProgramStates, EightThreadsTrainAndRead) {
  const Program program = program_of(kTrain, {kInfer}, 2);
  constexpr int kThreads = 8, kSteps = 100000;
  std::atomic<int> torn = 0;
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t)
    threads.emplace_back([&, t] {
      const bool reads = t % 4 == 3;
      auto invocation = program.new_invocation(reads ? "infer" : "train");
      ASSERT_TRUE(invocation);
      const std::vector<float> x = {1, 1};
      std::vector<float> y(2);
      ASSERT_TRUE(invocation->set_input("x", reads ? view(x, {1, 2}) : view(x, {2})));
      ASSERT_TRUE(invocation->set_output(0, {y.data(), 8, DType::f32}));
      for (int i = 0; i < kSteps / kThreads; ++i) {
        ASSERT_TRUE(invocation->run());
        if (y[1] - y[0] != 10.0f) ++torn;
      }
    });
  for (std::thread& t : threads) t.join();
  constexpr float kAdded = kSteps / kThreads * 6;
  EXPECT_EQ(weights(program), (std::vector<float>{10 + kAdded, 20 + kAdded}));
  EXPECT_EQ(program.state("runs")->elements<int64_t>()[0], static_cast<int64_t>(kAdded));
  EXPECT_EQ(torn, 0);
}

#if GART_COUNTS_ALLOCATIONS
TEST(ProgramStates, WarmStepsAllocateNothing) {
  const Program program = program_of(kTrain, {});
  auto invocation = program.new_invocation();
  const std::vector<float> x = {1, 1};
  std::vector<float> y(2);
  const auto step = [&] {
    ASSERT_TRUE(invocation->set_input(0, view(x, {2})));
    ASSERT_TRUE(invocation->set_output(0, {y.data(), 8, DType::f32}));
    ASSERT_TRUE(invocation->run());
  };
  for (int i = 0; i < 4; ++i) step();
  const int64_t before = allocations;
  for (int i = 0; i < 100; ++i) step();
  EXPECT_EQ(allocations - before, 0);
  EXPECT_EQ(y[0], 113.0f);
}
#endif

TEST(ProgramStates, GoToFilesAndBack) {
  const std::string path =
      (std::filesystem::path(::testing::TempDir()) / (std::to_string(getpid()) + "program.safetensors")).string();
  const Program program = program_of(kTrain, {kInfer});
  ASSERT_TRUE(train(program, {1, 2}));
  ASSERT_TRUE(program.save_states(path));
  const Program other = program_of(kTrain, {kInfer});
  ASSERT_TRUE(other.load_states(path));
  EXPECT_EQ(weights(other), (std::vector<float>{11, 22}));
  EXPECT_EQ(other.state("runs")->elements<int64_t>()[0], 1);
  const Program third = program_of(kInfer, {});
  EXPECT_EQ(third.load_states(path).error().message,
            "cannot load '" + path + "': the model has no state 'runs', only 'w'");
  EXPECT_EQ(weights(third), (std::vector<float>{10, 20}));
  std::filesystem::remove(path);
}

TEST(ProgramStates, UpdatesAreSimultaneous) {
  const Program program = program_of(R"(graph swap(%a: f32[2], %b: f32[2]) -> (%b, %a, %a) {
  state "a" %a -> %b {scope = "program", initial = f32[2]{1, 2}}
  state "b" %b -> %a {scope = "program", initial = f32[2]{3, 4}}
})",
                                     {});
  ASSERT_EQ(program.outputs().size(), 1u);
  for (const float first : {1.0f, 3.0f, 1.0f}) {
    EXPECT_EQ(floats(*program.state("a"))[0], first);
    EXPECT_EQ(floats(*program.state("b"))[0], 4 - first);
    const auto out = program.run(std::vector<Tensor>());
    ASSERT_TRUE(out) << out.error().message;
    EXPECT_EQ(floats(out->at(0))[0], first);
  }
}

TEST(ProgramStates, SessionsBeginWithFirstValues) {
  const Program program = program_of(R"(graph counting(%x: f32[2], %total: f32[2]) -> (%y, %next) {
  %y = Identity(%total)
  %next = Add(%total, %x)
  state "total" %total -> %next {initial = f32[2]{7, 8}}
})",
                                     {});
  const Session session = *program.new_session();
  const std::vector<float> x = {1, 1};
  EXPECT_EQ(floats(session.run({view(x, {2})})->at(0)), (std::vector<float>{7, 8}));
  ASSERT_TRUE(session.run({view(x, {2})}));
  ASSERT_TRUE(session.reset());
  EXPECT_EQ(floats(session.run({view(x, {2})})->at(0)), (std::vector<float>{7, 8}));
}

TEST(ProgramStates, WhatTheCompilerRefuses) {
  const auto message = [](const std::string& graph, const std::vector<std::string>& others = {}) -> std::string {
    try {
      test::compiled_with(graph, others, {});
    } catch (const gcg::CompileError& error) {
      return error.what();
    }
    return "compiled";
  };
  const auto reading = [](const std::string& type, const std::string& options) {
    return "graph reading(%w: " + type + ", %x: f32[2]) -> (%y) {\n  %y = Add(%w, %x)\n  state \"w\" %w {" + options +
           "}\n}";
  };
  EXPECT_EQ(message(reading("f32[n,2]", "scope = \"program\"")),
            "state 'w' is f32[n,2]; a state of the program has constant extents");
  EXPECT_EQ(message(reading("f32[n,2]", "initial = f32[1,2]{1, 2}")),
            "state 'w' is f32[n,2]; a state with a first value has constant extents");
  EXPECT_EQ(message(reading("f32[2]", "initial = f32[1,2]{1, 2}")),
            "state 'w' is f32[2], but its first value is f32[1,2]");
  EXPECT_EQ(message(reading("f32[2]", "initial = f64[2]{1, 2}")), "state 'w' is f32[2], but its first value is f64[2]");
  EXPECT_EQ(message(kTrain, {reading("f32[2]", "initial = f32[2]{10, 20}")}),
            "state 'w' has another owner in 'train' than in 'reading'");
  EXPECT_EQ(message(kTrain, {reading("f32[2]", "scope = \"program\", initial = f32[2]{10, 21}")}),
            "state 'w' has another first value in 'train' than in 'reading'");
  EXPECT_EQ(message(R"(graph grows(%w: f32[2]) -> (%next) {
  %next = Concat(%w, %w) {axis = 0}
  state "w" %w -> %next {scope = "program"}
})"),
            "state 'w' is f32[2], but its new value 'next' is f32[4]");
}

}  // namespace
}  // namespace gart
