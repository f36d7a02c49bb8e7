// Queues of runs on a CPU and on a fleet: deadlines, cancellation, limits.
#include "gart/queue.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <future>
#include <thread>

#include "gart/queue.h"
#include "runtime/api/c_handles.h"
#include "tests/fleet_runtime/fake_fleet.h"
#include "tests/runtime/models.h"

namespace gart {
namespace {

using namespace std::chrono_literals;
using fleet::test::evaluated;
using fleet::test::FakeModel;
using fleet::test::FakeWorld;
using fleet::test::open_fake;
using RunResult = Result<std::span<const NamedTensor>>;

/// The end of a run, for which one thread can wait.
struct RunEnd {
  std::promise<std::pair<Error, std::vector<float>>> promise;
  std::future<std::pair<Error, std::vector<float>>> future = promise.get_future();
  std::atomic<int> calls = 0;
  RunQueue::Done done() {
    return [this](const RunResult& outputs) {
      ++calls;
      std::vector<float> values;
      if (outputs)
        for (const NamedTensor& output : *outputs) values = test::floats(output.tensor);
      promise.set_value({outputs ? Error{ErrorCode{}, ""} : outputs.error(), values});
    };
  }
  Error error() { return future.get().first; }
};

/// Sums the first `trips` elements of an array of ones. With enough trips a run lasts longer than any test.
struct Picking : ::testing::Test {
  test::ArtifactBuilder builder = test::picking_loop();
  Program program = *test::load_model(builder, {.device = "cpu", .threads = 1});
  std::vector<float> data = std::vector<float>(1 << 24, 1.0f);
  const int64_t few = 3, all = 1 << 24;
  std::vector<NamedTensor> inputs(const int64_t& trips) const {
    return {{program.inputs()[0].name, test::view(data)},
            {program.inputs()[1].name, {&trips, DType::i64, Shape{}, "cpu"}}};
  }
};

TEST_F(Picking, EachRunEndsOnce) {
  const Result<RunQueue> queue = RunQueue::of(program, {.runs = 2});
  ASSERT_TRUE(queue) << queue.error().message;
  std::vector<RunEnd> ends(200);
  std::vector<int64_t> trips(ends.size());
  for (size_t i = 0; i < ends.size(); ++i) {
    trips[i] = int64_t(i % 7);
    std::string device = "cpu";  // the data must outlive the call, texts need not
    std::vector<NamedTensor> tensors = inputs(trips[i]);
    for (NamedTensor& input : tensors) input.tensor.device = device.c_str();
    ASSERT_TRUE(queue->submit(tensors, ends[i].done()));
    device = "???";
  }
  for (size_t i = 0; i < ends.size(); ++i) {
    const auto [error, values] = ends[i].future.get();
    ASSERT_EQ(error.message, "");
    EXPECT_EQ(values.at(0), float(i % 7));
    EXPECT_EQ(ends[i].calls, 1);
  }
}

TEST_F(Picking, WaitingAndRunningRunsAreCancelled) {
  const Result<RunQueue> queue = RunQueue::of(program, {.runs = 1});
  RunEnd running, waiting, after;
  const auto first = queue->submit(inputs(all), running.done());
  const auto second = queue->submit(inputs(all), waiting.done());
  ASSERT_TRUE(queue->submit(inputs(few), after.done()));
  while (queue->waiting() > 2) std::this_thread::yield();
  queue->cancel(*second);
  EXPECT_EQ(waiting.error().code, ErrorCode::cancelled);
  queue->cancel(*first);
  EXPECT_EQ(running.error().message, "the run was cancelled");
  EXPECT_EQ(after.error().message, "") << "a cancelled run must not end the next one";
  queue->cancel(*first);
  queue->cancel(999);
}

TEST_F(Picking, DeadlinesEndWaitingAndRunningRuns) {
  const Result<RunQueue> queue = RunQueue::of(program, {.runs = 1});
  RunEnd running, waiting, after;
  ASSERT_TRUE(queue->submit(inputs(all), running.done(), {.timeout = 60ms}));
  ASSERT_TRUE(queue->submit(inputs(all), waiting.done(), {.timeout = 20ms}));
  ASSERT_TRUE(queue->submit(inputs(few), after.done(), {.timeout = std::chrono::nanoseconds::max()}));
  EXPECT_EQ(waiting.error().code, ErrorCode::timed_out);
  EXPECT_EQ(running.future.wait_for(0s), std::future_status::timeout) << "the run that waits is told at once";
  const Error error = running.error();
  EXPECT_EQ(error.code, ErrorCode::timed_out);
  EXPECT_EQ(error.message, "the run was not over at its deadline");
  EXPECT_EQ(after.error().message, "");
}

TEST_F(Picking, ARunBeyondTheLimitIsRefused) {
  RunEnd first, second;
  {
    const Result<RunQueue> queue = RunQueue::of(program, {.runs = 1, .waiting = 1});
    const auto runs = queue->submit(inputs(all), first.done());
    while (queue->waiting() > 0) std::this_thread::yield();
    ASSERT_TRUE(queue->submit(inputs(few), second.done()));
    const auto refused = queue->submit(inputs(few), [](const RunResult&) { FAIL() << "it was refused"; });
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, ErrorCode::busy);
    EXPECT_EQ(refused.error().message, "the queue is full: 2 runs wait or are in progress");
    queue->cancel(*runs);
  }
  EXPECT_EQ(first.error().code, ErrorCode::cancelled);
  second.future.wait();  // the run has ended, or the end of the queue has cancelled it
}

TEST_F(Picking, MistakesAreTold) {
  const Result<RunQueue> queue = RunQueue::of(program, {.runs = 1});
  const auto message = [&](const std::vector<NamedTensor>& tensors, const SubmitOptions& options,
                           bool with_done = true) {
    return queue->submit(tensors, with_done ? RunQueue::Done([](const RunResult&) {}) : nullptr, options)
        .error()
        .message;
  };
  EXPECT_EQ(message({inputs(few)[0]}, {}), "input '" + program.inputs()[1].name + "' is missing");
  const std::vector<NamedTensor> twice = {inputs(few)[0], inputs(few)[0]};
  EXPECT_EQ(message(twice, {}), "input '" + program.inputs()[1].name + "' is missing");
  EXPECT_EQ(message(inputs(few), {.timeout = -1ns}), "the timeout is -1 ns, below 0");
  EXPECT_EQ(message(inputs(few), {}, false), "the run has no function to be called at its end");
  const std::vector<std::string_view> fetch = {"v"};
  EXPECT_EQ(message(inputs(few), {.fetch = fetch}), "only a program on a fleet can fetch values such as 'v'");
  EXPECT_EQ(RunQueue::of(program, {.runs = 2000}).error().message, "runs is 2000; 0 to 1024 are possible");
  RunEnd wrong;  // the run finds this error
  std::vector<NamedTensor> tensors = inputs(few);
  tensors.push_back({"nothing", tensors[0].tensor});
  ASSERT_TRUE(queue->submit(tensors, wrong.done()));
  EXPECT_EQ(wrong.error().code, ErrorCode::invalid_argument);
  RunEnd good;
  ASSERT_TRUE(queue->submit(inputs(few), [&](const RunResult& outputs) {
    good.done()(outputs);
    throw 1;  // dropped
  }));
  EXPECT_EQ(good.error().message, "");
}

TEST_F(Picking, TheCallersInvocationRuns) {
  const Result<RunQueue> queue = RunQueue::of(program, {.runs = 1});
  auto invocation = program.new_invocation();
  std::vector<float> out(1);
  const auto set = [&](const int64_t& trips) {
    for (size_t i = 0; i < 2; ++i) ASSERT_TRUE(invocation->set_input(i, inputs(trips)[i].tensor));
  };
  set(few);
  ASSERT_TRUE(invocation->set_output(0, {out.data(), 4, DType::f32}));
  RunEnd end, late;
  ASSERT_TRUE(queue->submit(*invocation, end.done()));
  EXPECT_EQ(end.error().message, "");
  EXPECT_EQ(out[0], 3.0f);
  set(all);
  ASSERT_TRUE(queue->submit(*invocation, late.done(), 20ms));
  EXPECT_EQ(late.error().code, ErrorCode::timed_out);
  set(few);
  EXPECT_TRUE(invocation->run());
}

TEST_F(Picking, ManyThreadsSubmitAndCancel) {
  const Result<RunQueue> queue = RunQueue::of(program, {.runs = 2, .waiting = 10000});
  std::atomic<int> right = 0, cancelled = 0, others = 0;
  constexpr int kThreads = 4, kRuns = 500;
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t)
    threads.emplace_back([&] {
      for (int i = 0; i < kRuns; ++i) {
        const auto run = queue->submit(inputs(few), [&](const RunResult& outputs) {
          if (!outputs)
            ++(outputs.error().code == ErrorCode::cancelled ? cancelled : others);
          else
            ++(test::floats((*outputs)[0].tensor)[0] == 3.0f ? right : others);
        });
        ASSERT_TRUE(run);
        if (i % 3 == 0) queue->cancel(*run);
      }
    });
  for (std::thread& thread : threads) thread.join();
  while (right + cancelled + others < kThreads * kRuns) std::this_thread::sleep_for(1ms);
  EXPECT_EQ(others, 0);
  EXPECT_GE(right, kThreads * kRuns * 2 / 3 - kThreads);
}

TEST(FleetQueue, IsTheSameAsOnOneDevice) {
  FakeModel model(1, 2);
  model.output(model.call({model.call({0}, 0)}, 1));
  const auto world = std::make_shared<FakeWorld>(2);
  const fleet::Program program(open_fake(model.assembly, world));
  const Result<RunQueue> queue = RunQueue::of(program, {.runs = 2});
  ASSERT_TRUE(queue) << queue.error().message;
  const int64_t x = 5;
  const std::vector<NamedTensor> inputs = {{"in0", {&x, DType::i64, {}, "cpu"}}};
  const auto ended = [&](const SubmitOptions& options, bool cancels = false) {
    std::promise<std::pair<Error, int64_t>> promise;
    const auto run = queue->submit(
        inputs,
        [&](const RunResult& outputs) {
          promise.set_value(outputs ? std::pair(Error{ErrorCode{}, ""}, (*outputs)[0].tensor.elements<int64_t>()[0])
                                    : std::pair(outputs.error(), int64_t{0}));
        },
        options);
    EXPECT_TRUE(run) << run.error().message;
    if (cancels) {
      while (queue->waiting() > 0) std::this_thread::yield();
      queue->cancel(*run);
    }
    return promise.get_future().get();
  };
  const std::vector<std::string_view> fetch = {"v0"};
  EXPECT_EQ(ended({}).second, evaluated(model.assembly, {5})[2]);
  EXPECT_EQ(ended({.fetch = fetch}).second, evaluated(model.assembly, {5})[1]);
  world->sleep_ns[0] = 50'000'000;
  EXPECT_EQ(ended({.timeout = 10ms}).first.code, ErrorCode::timed_out);
  EXPECT_EQ(ended({}, true).first.code, ErrorCode::cancelled);
  world->sleep_ns[0] = 0;
  EXPECT_EQ(ended({}).second, evaluated(model.assembly, {5})[2]);
  EXPECT_EQ(queue->submit(inputs, [](const RunResult&) {}, {.entry = "other"}).error().message,
            "a program on a fleet has no entry point 'other'");
}

TEST_F(Picking, TheCApiDoesTheSame) {
  gart_program handle{program, program.entry_points()};
  gart_queue* queue = nullptr;
  EXPECT_EQ(gart_queue_new(nullptr, 1, 1, &queue), GART_INVALID_ARGUMENT);
  ASSERT_EQ(gart_queue_new(&handle, 1, 4, &queue), GART_OK);
  struct ToldRun {
    std::promise<std::pair<int, float>> promise;
  };
  const gart_done done = [](void* user, gart_status status, const char*, const gart_named_tensor* outputs,
                            size_t count) {
    const float value = count == 1 ? *static_cast<const float*>(outputs[0].tensor.data) : 0;
    static_cast<ToldRun*>(user)->promise.set_value({status, value});
  };
  const auto run = [&](const int64_t& trips, int64_t timeout_us, bool cancels) {
    const std::string names[] = {program.inputs()[0].name, program.inputs()[1].name};
    const gart_named_tensor tensors[] = {{names[0].c_str(), {data.data(), GART_F32, 1, {1 << 24}, nullptr}},
                                         {names[1].c_str(), {&trips, GART_I64, 0, {}, nullptr}}};
    ToldRun run_record;
    uint64_t number = 0;
    EXPECT_EQ(gart_queue_submit(queue, nullptr, tensors, 2, timeout_us, done, &run_record, &number), GART_OK);
    if (cancels) gart_queue_cancel(queue, number);
    return run_record.promise.get_future().get();
  };
  EXPECT_EQ(run(few, 0, false), (std::pair<int, float>(GART_OK, 3.0f)));
  EXPECT_EQ(run(all, 20000, false).first, GART_TIMED_OUT);
  EXPECT_EQ(run(all, 0, true).first, GART_CANCELLED);
  EXPECT_EQ(gart_queue_waiting(queue), 0u);
  EXPECT_EQ(gart_queue_submit(queue, nullptr, nullptr, 0, 0, nullptr, nullptr, nullptr), GART_INVALID_ARGUMENT);
  gart_queue_free(queue);
  gart_queue_free(nullptr);
}

}  // namespace
}  // namespace gart
