// Runs that read and replace the states of a session.
#include <gtest/gtest.h>

#include <thread>

#include "compiler/support/error.h"
#include "tests/runtime/allocations.h"
#include "tests/states/stateful.h"

namespace gart {
namespace {

using test::appending;
using test::failing;
using test::floats;
using test::loaded;
using test::state;
using test::summing;
using test::view;

const std::vector<std::string> kAppend = {"past=present"};
const std::vector<std::string> kSum = {"total=next"};
const std::vector<std::string> kBoth = {"rows=rows_next", "total=total_next"};

/// Row i of all batch entries: [i, i, i] for entry 0, [100 i, 100 i, 100 i] for the others.
std::vector<float> row(int batches, int i) {
  std::vector<float> out;
  for (int b = 0; b < batches; ++b) out.insert(out.end(), 3, static_cast<float>(b == 0 ? i : 100 * i));
  return out;
}

TEST(Sessions, AppendRowsAlongAnyAxis) {
  for (const int threads : {1, 2}) {
    const Program program = loaded(appending(), kAppend, 0, threads);
    ASSERT_EQ(program.inputs().size(), 1u);
    ASSERT_EQ(program.outputs().size(), 1u);
    ASSERT_EQ(program.states().size(), 1u);
    EXPECT_EQ(program.states()[0].text(), "past f32[b,p,3]");
    const Session session = *program.new_session();
    float sum = 0;
    for (int i = 1; i <= 70; ++i) {
      sum += static_cast<float>(i);
      const std::vector<float> x = row(2, i);
      const auto out = session.run({view(x, {2, 1, 3})});
      ASSERT_TRUE(out) << out.error().message;
      EXPECT_EQ(floats(out->at(0)), (std::vector<float>{sum, sum, sum, 100 * sum, 100 * sum, 100 * sum}));
    }
    const Result<Tensor> past = session.state("past");
    ASSERT_TRUE(past);
    EXPECT_EQ(past->shape().text(), "[2,70,3]");
    const std::vector<float> values = floats(*past);
    for (size_t i = 0; i < 70; ++i) {
      EXPECT_EQ(values[3 * i], static_cast<float>(i + 1));
      EXPECT_EQ(values[3 * (70 + i)], static_cast<float>(100 * (i + 1)));
    }
  }
}

TEST(Sessions, ReplaceWhatIsNotAppended) {
  const Program program = loaded(summing(), kSum);
  const Session session = *program.new_session();
  const std::vector<float> x = {1, 2};
  for (int i = 0; i < 5; ++i) {
    const auto out = session.run({view(x, {2})});
    ASSERT_TRUE(out) << out.error().message;
    EXPECT_EQ(floats(out->at(0)), (std::vector<float>{static_cast<float>(i), static_cast<float>(2 * i)}));
  }
  EXPECT_EQ(state(session, "total"), (std::vector<float>{5, 10}));
}

TEST(Sessions, FailedRunsLeaveStatesAsTheyWere) {
  const Program program = loaded(failing(), kBoth);
  const Session session = *program.new_session();
  const std::vector<float> x = {1, 2, 3};
  const auto run = [&](int64_t index) {
    return session.run({NamedTensor{"x", view(x, {1, 3})}, NamedTensor{"index", {&index, DType::i64, Shape{1}}}});
  };
  ASSERT_TRUE(run(0));
  ASSERT_TRUE(run(0));
  const auto failed = run(7);
  ASSERT_FALSE(failed);
  EXPECT_EQ(failed.error().code, ErrorCode::run_failed);
  EXPECT_EQ(state(session, "rows"), (std::vector<float>{1, 2, 3, 1, 2, 3}));
  EXPECT_EQ(state(session, "total"), (std::vector<float>{2, 4, 6}));
  ASSERT_TRUE(run(0));
  EXPECT_EQ(state(session, "rows").size(), 9u);
  EXPECT_EQ(state(session, "total"), (std::vector<float>{3, 6, 9}));
}

TEST(Sessions, CancelledRunsLeaveStatesAsTheyWere) {
  const Program program = loaded(R"(graph slow(%n: i64[], %x: f32[1,3], %past: f32[p,3]) -> (%y, %present) {
  %present = Concat(%past, %x) {axis = 0}
  constant %true: bool[] = {1}
  %y: f32[1,3] = Loop(%n, %true, %x)
    graph turn(%i: i64[], %c: bool[], %a: f32[1,3]) -> (%c, %b) { %b: f32[1,3] = Sin(%a) }
})",
                                 kAppend);
  const Session session = *program.new_session();
  auto invocation = session.new_invocation();
  ASSERT_TRUE(invocation) << invocation.error().message;
  const std::vector<float> x = {1, 2, 3};
  const auto set = [&](const int64_t& n) {
    return invocation->set_input("n", {&n, DType::i64, Shape{}}).ok() &&
           invocation->set_input("x", view(x, {1, 3})).ok();
  };
  const int64_t few = 2, many = int64_t{1} << 40;
  ASSERT_TRUE(set(few));
  ASSERT_TRUE(invocation->run());
  ASSERT_TRUE(set(many));
  std::atomic<bool> over = false;
  std::thread other([&] {
    while (!over) invocation->cancel();
  });
  const Result<void> done = invocation->run();
  over = true;
  other.join();
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().code, ErrorCode::cancelled);
  EXPECT_EQ(state(session, "past"), x);
}

TEST(Sessions, CapacityLimitsRows) {
  const Program program = loaded(appending(), kAppend, 2);
  const Session session = *program.new_session();
  const std::vector<float> x = row(1, 1);
  ASSERT_TRUE(session.run({view(x, {1, 1, 3})}));
  ASSERT_TRUE(session.run({view(x, {1, 1, 3})}));
  const auto full = session.run({view(x, {1, 1, 3})});
  ASSERT_FALSE(full);
  EXPECT_EQ(full.error().message, "state 'past' would have 3 along axis 1; its capacity is 2");
  EXPECT_EQ(state(session, "past").size(), 6u);
}

TEST(Sessions, ShortenedRowsAreForgotten) {
  for (const int64_t capacity : {0, 8}) {
    const Session session = *loaded(appending(), kAppend, capacity).new_session();
    const auto append = [&](int i) {
      const std::vector<float> x = row(2, i);
      const auto out = session.run({view(x, {2, 1, 3})});
      EXPECT_TRUE(out) << out.error().message;
      return out ? floats(out->at(0))[0] : 0;
    };
    EXPECT_TRUE(session.shorten(0));
    EXPECT_EQ(session.shorten(1).error().message, "state 'past' cannot be shortened to 1 rows");
    for (int i = 1; i <= 5; ++i) append(i);
    EXPECT_FALSE(session.shorten(6));
    EXPECT_FALSE(session.shorten(-1));
    EXPECT_TRUE(session.shorten(5));
    EXPECT_TRUE(session.shorten(2));
    EXPECT_EQ(session.state("past")->shape().text(), "[2,2,3]");
    EXPECT_EQ(append(10), 1 + 2 + 10);
    EXPECT_EQ(state(session, "past"),
              (std::vector<float>{1, 1, 1, 2, 2, 2, 10, 10, 10, 100, 100, 100, 200, 200, 200, 1000, 1000, 1000}));
  }
}

TEST(Sessions, OnlyRowsCanBeShortened) {
  const Session session = *loaded(failing(), kBoth).new_session();
  const std::vector<float> x = {1, 2, 3};
  const int64_t index = 0;
  const auto run = [&] {
    return session.run({NamedTensor{"x", view(x, {1, 3})}, NamedTensor{"index", {&index, DType::i64, Shape{1}}}});
  };
  ASSERT_TRUE(run());
  ASSERT_TRUE(run());
  EXPECT_EQ(session.shorten(1).error().message, "state 'total' cannot be shortened to 1 rows");
  EXPECT_EQ(state(session, "rows").size(), 6u) << "a refusal changes nothing";
}

TEST(Sessions, ACapacityThatNoMemoryHoldsIsAnError) {
  const std::string wide = R"(graph wide(%x: f32[1,262144], %past: f32[p,262144]) -> (%y, %present) {
  %present = Concat(%past, %x) {axis = 0}
  %y = Relu(%x)
})";
  const std::vector<float> x(262144, 1.0f);
  const auto error_with = [&](int64_t capacity) {
    const Session session = *loaded(wide, kAppend, capacity).new_session();
    return session.run({view(x, {1, 262144})}).error();
  };
  EXPECT_EQ(error_with(int64_t{1} << 46).message,
            "state 'past' cannot go from 0 to 1 rows of 1048576 bytes; its capacity is 70368744177664");
  EXPECT_EQ(error_with(int64_t{1} << 40).code, ErrorCode::out_of_memory);
}

TEST(Sessions, SetForkAndReset) {
  const Program program = loaded(appending(), kAppend);
  const Session session = *program.new_session();
  EXPECT_EQ(session.state("past").error().message, "state 'past' has no value before the first run");
  const std::vector<float> past = {1, 1, 1, 2, 2, 2};
  ASSERT_TRUE(session.set_state("past", view(past, {1, 2, 3})));
  EXPECT_EQ(state(session, "past"), past);
  const Result<Session> copy = session.fork();
  ASSERT_TRUE(copy);
  const std::vector<float> x = row(1, 3);
  ASSERT_TRUE(session.run({view(x, {1, 1, 3})}));
  EXPECT_EQ(state(*copy, "past"), past);
  EXPECT_EQ(floats(copy->run({view(x, {1, 1, 3})})->at(0)), (std::vector<float>{6, 6, 6}));
  ASSERT_TRUE(session.reset());
  EXPECT_FALSE(session.state("past"));
  EXPECT_EQ(floats(session.run({view(x, {1, 1, 3})})->at(0)), x);
  const std::vector<float> y = row(2, 1);
  const auto other_batch = session.run({view(y, {2, 1, 3})});
  EXPECT_FALSE(other_batch) << "the session's batch is 1";
}

TEST(Sessions, RefuseWrongValues) {
  const Program program = loaded(appending(), kAppend, 4);
  const Session session = *program.new_session();
  const std::vector<float> values(30);
  const std::string is = "state 'past' is past f32[b,p,3], but the value ";
  const auto message = [&](const TensorView& value) { return session.set_state("past", value).error().message; };
  EXPECT_EQ(message(view(values, {1, 2, 4})), is + "has shape [1,2,4]");
  EXPECT_EQ(message(view(values, {2, 3})), is + "has shape [2,3]");
  EXPECT_EQ(message(view(values, {1, 5, 3})), is + "has 5 along axis 1; its capacity is 4");
  EXPECT_EQ(message({values.data(), DType::i32, Shape{1, 2, 3}}), is + "is i32");
  EXPECT_EQ(message({nullptr, DType::f32, Shape{1, 2, 3}}), is + "is null");
  EXPECT_EQ(session.set_state("passed", view(values, {1, 2, 3})).error().message,
            "the model has no state 'passed', only 'past'");
  const auto alone = program.run({view(values, {1, 1, 3})});
  ASSERT_FALSE(alone);
  EXPECT_EQ(alone.error().message,
            "entry point 'appending' has states of a session: run it in one (Program::new_session)");
  EXPECT_FALSE(program.new_invocation());
}

TEST(Sessions, OneUseAtATime) {
  const Program program = loaded(summing(), kSum);
  const Session session = *program.new_session();
  const std::vector<float> x(1 << 16, 1.0f);
  std::atomic<int> refused = 0, succeeded = 0;
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&] {
      auto invocation = session.new_invocation();
      ASSERT_TRUE(invocation);
      ASSERT_TRUE(invocation->set_input(0, view(x, {1 << 16})));
      for (int i = 0; i < 200; ++i) {
        const Result<void> done = invocation->run();
        (done ? succeeded : refused)++;
        if (!done) {
          EXPECT_EQ(done.error().message, "the session is in use: its runs and changes come one after the other");
        }
      }
    });
  for (std::thread& t : threads) t.join();
  EXPECT_EQ(state(session, "total")[0], static_cast<float>(succeeded));
  EXPECT_EQ(succeeded + refused, 800);
}

TEST(Sessions, EightThreadsWithASessionEach) {
  const Program program = loaded(appending(), kAppend);
  std::vector<std::thread> threads;
  for (int t = 0; t < 8; ++t)
    threads.emplace_back([&, t] {
      const Session session = *program.new_session();
      const std::vector<float> x = row(1, t + 1);
      for (int i = 1; i <= 100; ++i) {
        const auto out = session.run({view(x, {1, 1, 3})});
        ASSERT_TRUE(out) << out.error().message;
        ASSERT_EQ(floats(out->at(0))[0], static_cast<float>(i * (t + 1)));
      }
    });
  for (std::thread& t : threads) t.join();
}

#if GART_COUNTS_ALLOCATIONS
/// Each step of a growing cache has a new shape, but must not allocate within the capacity.
TEST(Sessions, WarmStepsAllocateNothing) {
  for (const int threads : {1, 2}) {
    const Program program = loaded(appending(), kAppend, 4096, threads);
    const Session session = *program.new_session();
    auto invocation = session.new_invocation();
    const std::vector<float> x = row(1, 1);
    std::vector<float> y(3);
    const auto step = [&] {
      ASSERT_TRUE(invocation->set_input(0, view(x, {1, 1, 3})));
      ASSERT_TRUE(invocation->set_output(0, {y.data(), 12, DType::f32}));
      ASSERT_TRUE(invocation->run());
    };
    for (int i = 0; i < 20; ++i) step();
    const int64_t before = allocations;
    for (int i = 0; i < 100; ++i) step();
    EXPECT_EQ(allocations - before, 0) << threads << " threads";
    EXPECT_EQ(y[0], 120.0f);
  }
}
#endif

TEST(Sessions, WishesThatTheCompilerRefuses) {
  const auto message = [](const std::string& graph, const std::vector<std::string>& requests) -> std::string {
    try {
      test::compiled(graph, requests);
    } catch (const gcg::CompileError& error) {
      return error.what();
    }
    return "compiled";
  };
  EXPECT_EQ(message(appending(), {"auto"}), "compiled");
  EXPECT_EQ(message(summing(), {"auto"}),
            "--state auto: no input is called like an output, as 'past.0' and 'present.0' are");
  EXPECT_EQ(message(appending(), {"passed=present"}),
            "--state passed=present: the model has no input 'passed'; the nearest: 'past', 'x'");
  EXPECT_EQ(message(appending(), {"past=presents"}),
            "--state past=presents: the model has no output 'presents'; the nearest: 'present', 'y'");
  EXPECT_EQ(message(appending(), {"past=present", "x=present"}), "output 'present' is in two states");
  EXPECT_EQ(message(appending(), {"past"}), "--state past: expected auto or PAST=PRESENT");
  EXPECT_EQ(message(appending(), {"pa*=present"}), "--state pa*=present: a pattern has one *, in both names");
  EXPECT_EQ(message(appending(), {"x=y"}),
            "state 'x': its input is [b,1,3] and its output 'y' is [b,3]; they may differ along one axis, whose extent "
            "is open");
}

}  // namespace
}  // namespace gart
