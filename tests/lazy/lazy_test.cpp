// The recorder and its engine from C++: runs, compilations, values that are kept, and growing graphs.
#include "gcc_graph/lazy.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cmath>
#include <cstring>
#include <numeric>
#include <thread>

#include "tools/lazy/cut.h"

namespace gcc_graph::lazy {
namespace {

const Operator& add() {
  static const Operator op = Operator::make("Add", "xx");
  return op;
}
const Operator& mul() {
  static const Operator op = Operator::make("Mul", "xx");
  return op;
}
const Operator& tanh_op() {
  static const Operator op = Operator::make("Tanh", "x");
  return op;
}

Array numbers(const std::vector<float>& values) {
  return {DType::f32, {static_cast<int64_t>(values.size())}, values.data()};
}
Array scalar(float value) { return Array::scalar(DType::f32, &value); }
float first(const Array& a) { return *static_cast<const float*>(a.data()); }

class Lazy : public ::testing::Test {
 protected:
  void SetUp() override {
    Settings s = settings();
    s.cache_folder.clear();
    s.deterministic = false;
    set(s);
    clear_programs();
    wait_for_compiler();
  }
};

TEST_F(Lazy, NothingRunsBeforeAValueIsWanted) {
  const Stats before = stats();
  const Array y = record(tanh_op(), record(add(), numbers({1, 2}), scalar(1)));
  EXPECT_EQ(stats().nodes_run, before.nodes_run);
  EXPECT_FALSE(y.is_ready());
  EXPECT_FLOAT_EQ(first(y), std::tanh(2.0F));
  EXPECT_EQ(stats().nodes_run, before.nodes_run + 2);
  first(y);
  EXPECT_EQ(stats().nodes_run, before.nodes_run + 2) << "asked twice";
}

TEST_F(Lazy, ErrorsComeWhereTheOperatorIsRecorded) {
  try {
    record(add(), numbers({1, 2}), numbers({1, 2, 3}));
    FAIL();
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("Add of f32[2], f32[3]"), std::string::npos) << error.what();
  }
}

// x->a->b->f, a->c->f, c->g.
TEST_F(Lazy, OnlyWhatIsNeededRuns) {
  const Array a = record(tanh_op(), numbers({1}));
  Array f, g;
  {
    const Array b = record(tanh_op(), a), c = record(add(), a, a);
    f = record(add(), b, c);
    g = record(tanh_op(), c);
  }
  evaluate({&a, 1});
  Stats before = stats();
  evaluate({&f, 1});
  EXPECT_EQ(stats().nodes_run - before.nodes_run, 3) << "b, c, f";
  before = stats();
  evaluate({&f, 1});
  EXPECT_EQ(stats().nodes_run, before.nodes_run);
  EXPECT_FALSE(g.is_ready());
}

/// Compiling a function must not change the deterministic setting, because other threads would then wait for the
/// compiler.
TEST_F(Lazy, CompilingAFunctionChangesNoSetting) {
  const Array x = numbers({1, 2});
  std::atomic<bool> over = false;
  std::atomic<int> changed = 0;
  std::thread other([&] {
    while (!over) changed += settings().deterministic;
  });
  for (int i = 0; i < 5; ++i) {
    const Array fixed = record(tanh_op(), numbers({float(i), 2}));
    const Array y = record(add(), x, fixed);
    SaveOptions options;
    options.input_names = {"x"};
    options.output_names = {"y"};
    EXPECT_FALSE(compile({&x, 1}, {&y, 1}, options).empty());
    EXPECT_TRUE(fixed.is_ready()) << "a value that depends on no input is computed";
  }
  over = true;
  other.join();
  EXPECT_EQ(changed, 0);
}

TEST_F(Lazy, ALoopWithNewNumbersCompilesOnce) {
  const int64_t before = stats().compiles;
  for (int i = 0; i < 10; ++i) {
    EXPECT_NEAR(first(record(mul(), numbers({1, 2, 3, float(i)}), scalar(float(i)))), float(i), 1e-6);
    wait_for_compiler();
  }
  EXPECT_EQ(stats().compiles - before, 1);
}

TEST_F(Lazy, ChangingShapesCompileTwice) {
  const int64_t before = stats().compiles;
  for (int n = 2; n < 12; ++n) {
    std::vector<float> v(static_cast<size_t>(n), 0.5F);
    const Array y = record(tanh_op(), record(add(), numbers(v), numbers(v)));
    EXPECT_FLOAT_EQ(static_cast<const float*>(y.data())[n - 1], std::tanh(1.0F));
    wait_for_compiler();
  }
  EXPECT_EQ(stats().compiles - before, 2);
  EXPECT_NE(explain().back().find("was 2 and is 3"), std::string::npos) << explain().back();
}

TEST_F(Lazy, ALimitThatCountsBecomesOpen) {
  static const Operator slice = Operator::make("Slice", "xii");
  const std::vector<float> v(32, 2);
  const Array x = numbers(v);
  const int64_t before = stats().compiles;
  for (int64_t n = 3; n < 13; ++n) {
    const Array inputs[] = {x};
    const Array y = record(tanh_op(), record(slice, inputs, {{0}, {n}})[0]);
    EXPECT_EQ(y.shape()[0], n);
    EXPECT_FLOAT_EQ(static_cast<const float*>(y.data())[n - 1], std::tanh(2.0F));
    wait_for_compiler();
  }
  EXPECT_EQ(stats().compiles - before, 2);
}

TEST_F(Lazy, AliasesAreNotTheSameGraph) {
  const Array x = numbers({3}), y = numbers({4});
  EXPECT_EQ(first(record(mul(), x, x)), 9);
  wait_for_compiler();
  EXPECT_EQ(first(record(mul(), x, y)), 12);
  wait_for_compiler();
  EXPECT_EQ(first(record(mul(), x, x)), 9);
  EXPECT_EQ(first(record(mul(), x, y)), 12);
}

TEST_F(Lazy, SeveralResults) {
  static const Operator split = Operator::make("Split", "xi", {{"axis", int64_t{0}}}, 2);
  const Array inputs[] = {numbers({1, 2, 3})};
  const std::vector<Array> parts = record(split, inputs, {{1, 2}});
  const Array y = record(add(), parts[0], parts[1]);
  EXPECT_EQ(first(y), 3);
  wait_for_compiler();
  EXPECT_EQ(first(record(add(), parts[1], parts[0])), 3);
  EXPECT_EQ(first(parts[1]), 2);
}

TEST_F(Lazy, WhatNobodyReachesIsFreed) {
  const std::vector<float> v(1000, 1);
  const int64_t bytes = stats().bytes_live, nodes = stats().nodes_live;
  {
    Array y = numbers(v);
    for (int i = 0; i < 10; ++i) {
      y = record(tanh_op(), y);
      evaluate({&y, 1});
    }
    EXPECT_EQ(stats().bytes_live - bytes, 4000) << "the last one alone";
  }
  EXPECT_EQ(stats().bytes_live, bytes);
  EXPECT_EQ(stats().nodes_live, nodes);
}

TEST_F(Lazy, MemoryOfValuesThatAreGoneIsTakenAgain) {
  const std::vector<float> v(100000, 1);
  std::set<const void*> places;
  for (int i = 0; i < 10; ++i) places.insert(record(tanh_op(), numbers(v)).data());
  EXPECT_LE(places.size(), 2U) << "those of the value and of what it is made of";
}

TEST_F(Lazy, HeldValuesOnTheWayAreKept) {
  const Array half = record(tanh_op(), numbers({1}));
  first(record(tanh_op(), half));
  EXPECT_TRUE(half.is_ready());
}

TEST_F(Lazy, AMillionNodesInARowAndBack) {
  Array y = numbers({1});
  for (int i = 0; i < 1000000; ++i) y = record(tanh_op(), y);
  EXPECT_GT(first(y), 0);
  Array z = numbers({1});
  for (int i = 0; i < 1000000; ++i) z = record(tanh_op(), z);
  z = {};  // the nodes are freed without a run
}

TEST_F(Lazy, DoublingAThousandTimes) {
  Array y = numbers({0});
  for (int i = 0; i < 1000; ++i) y = record(add(), y, y);
  EXPECT_EQ(first(y), 0);
}

TEST_F(Lazy, FortyThousandReadersOfOneNumber) {
  const Array one = scalar(1);
  Array y = numbers({0});
  for (int i = 0; i < 40000; ++i) y = record(add(), y, one);
  EXPECT_EQ(first(y), 40000);
}

Array long_sum(int nodes) {
  Array y = numbers({1});
  const Array x = y;
  for (int i = 0; i < nodes; ++i) y = record(add(), y, x);
  return y;
}

template <class Body>
double seconds(Body body) {
  const auto begin = std::chrono::steady_clock::now();
  body();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

TEST_F(Lazy, CuttingIsLinear) {
  const Array small = long_sum(100000), large = long_sum(200000);
  Cut cut;  // this Cut keeps its memory between calls, as in the engine
  double once = 1e9, twice = 1e9;
  for (int round = 0; round < 15; ++round)
    for (const Array* a : {&small, &large}) {
      Node* wanted[] = {a->node()};
      double& best = a == &small ? once : twice;
      best = std::min(best, seconds([&] { make_cut(wanted, cut); }));
      EXPECT_EQ(cut.runs, a == &small ? 100000U : 200000U);
    }
  RecordProperty("ratio", std::to_string(twice / once));
  // A linear cut takes twice as long. On machines with small caches, the larger graph is more expensive per node, so
  // the limit is 3.
  EXPECT_LT(twice, 3.0 * once) << once << " s, " << twice << " s";
}

TEST_F(Lazy, RecordingIsCheap) {
  const Array x = numbers({1, 2, 3, 4});
  double best = 1e9;
  for (int round = 0; round < 20; ++round) {
    Array y = x;
    best = std::min(best, seconds([&] {
                      for (int i = 0; i < 1000; ++i) y = record(tanh_op(), record(mul(), y, x));
                    }));
  }
  RecordProperty("ns_per_node", std::to_string(best / 2000 * 1e9));
  EXPECT_LT(best / 2000, 0.6e-6) << "0.15 us on a machine of its own";
}

TEST_F(Lazy, RecordingsAreRecordedAgain) {
  const int64_t shape[] = {2};
  const Array in[] = {Array::placeholder(DType::f32, shape)};
  const Array out[] = {record(add(), record(tanh_op(), in[0]), scalar(0.5F)), in[0]};
  const Recording recording(in, out);
  EXPECT_EQ(recording.node_count(), 2);
  for (const float v : {1.0F, 2.0F}) {
    const Array x = numbers({v, 0});
    const std::vector<Array> made = recording.record({&x, 1});
    EXPECT_FLOAT_EQ(first(made[0]), std::tanh(v) + 0.5F);
    EXPECT_EQ(made[1].node(), x.node());
  }
  EXPECT_THROW(first(out[0]), Error) << "there is no value behind a placeholder";
  const Array wrong = numbers({1, 2, 3}), outside = numbers({1, 2});
  EXPECT_THROW(recording.record({&wrong, 1}), Error);
  EXPECT_THROW(recording.record({}), Error);
  const Array late[] = {Array::placeholder(DType::f32, shape)};
  const Array captures[] = {record(add(), late[0], outside)};
  EXPECT_THROW(Recording(late, captures), Failure);
}

/// Multiplies [rows, 80] by [80, 64] or by the transpose of [64, 80]. Returns the sum of the result, so that every
/// element matters.
double product(const Array& x, const Array& w, bool transposed) {
  static const Operator matmul = Operator::make("MatMul", "xx");
  static const Operator transpose = Operator::make("Transpose", "x", {{"perm", std::vector<int64_t>{1, 0}}});
  const Array y = record(matmul, x, transposed ? record(transpose, w) : w);
  const auto* values = static_cast<const float*>(y.data());
  double sum = 0;
  for (int64_t i = 0; i < y.elements(); ++i) sum += values[i] * static_cast<double>(i % 7);
  return sum;
}

TEST_F(Lazy, AMatrixThatStaysIsReadPacked) {
  std::vector<float> numbers(80 * 64);
  for (size_t i = 0; i < numbers.size(); ++i) numbers[i] = static_cast<float>(i * 37 % 101) / 101.0F - 0.5F;
  const std::vector<float> rows(9 * 80, 0.25F);
  const Array x(DType::f32, {9, 80}, rows.data());
  const int64_t bytes = stats().bytes_live;
  for (const bool transposed : {false, true}) {
    clear_programs();
    const Array w =
        transposed ? Array(DType::f32, {64, 80}, numbers.data()) : Array(DType::f32, {80, 64}, numbers.data());
    const double expected = product(x, w, transposed);
    for (int run = 0; run < 12; ++run) {
      EXPECT_NEAR(product(x, w, transposed), expected, 1e-3) << run;
      wait_for_compiler();
    }
    EXPECT_NE(explain().back().find("1 matrix of a graph stays the same"), std::string::npos) << explain().back();
    EXPECT_EQ(stats().bytes_live - bytes, 4 * (80 * 64 + 2 * 80 * 48)) << "the matrix, and two panels of 48 columns";
    std::vector<float> others(numbers.rbegin(), numbers.rend());  // a matrix of the same type with other elements
    const Array v(DType::f32, w.shape(), others.data());
    EXPECT_GT(std::abs(product(x, v, transposed) - expected), 0.1);
  }
  EXPECT_EQ(stats().bytes_live, bytes) << "freed with the value";
}

TEST_F(Lazy, MatricesThatChangeAreNotPacked) {
  std::vector<float> numbers(80 * 64, 0.5F);
  const std::vector<float> rows(9 * 80, 0.25F);
  const Array x(DType::f32, {9, 80}, rows.data());
  const int64_t before = stats().compiles;
  for (int run = 0; run < 12; ++run) {
    product(x, Array(DType::f32, {80, 64}, numbers.data()), false);
    wait_for_compiler();
  }
  EXPECT_EQ(stats().compiles - before, 1);
}

TEST_F(Lazy, FailuresNameTheirSource) {
  static const Operator gather = Operator::make("Gather", "xx", {{"axis", int64_t{0}}});
  const int64_t nine = 9;
  const Array inputs[] = {numbers({1, 2}), Array::scalar(DType::i64, &nine)};
  for (int turn = 0; turn < 2; ++turn) {
    const Array y = record(gather, inputs, {}, {7, 42})[0];
    try {
      y.data();
      FAIL();
    } catch (const Failure& failure) {
      EXPECT_EQ(failure.source.code, 7U) << failure.what();
      EXPECT_EQ(failure.source.at, 42);
    }
    EXPECT_FALSE(y.is_ready()) << "pending, not poisoned";
    wait_for_compiler();
  }
}

// A graph is compiled once, even if the program requests it many times before the compiler starts.
TEST_F(Lazy, NoGraphIsCompiledTwice) {
  constexpr int kGraphs = 60;
  const Array x = numbers({0.5F, 1});
  const int64_t before = stats().compiles;
  for (int depth = 1; depth <= kGraphs; ++depth)
    for (int turn = 0; turn < 400; ++turn) {
      Array y = x;
      for (int i = 0; i < depth; ++i)
        y = record(i % 7 == 0 ? tanh_op() : add(), i % 7 == 0 ? std::vector{y} : std::vector{y, x})[0];
      EXPECT_GT(first(y), 0);
    }
  wait_for_compiler();
  EXPECT_EQ(stats().compiles - before, kGraphs);
}

TEST_F(Lazy, ThreadsShareValues) {
  const Array x = numbers(std::vector<float>(100, 0.5F));
  std::vector<std::thread> threads;
  std::atomic<int> right{0};
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&] {
      for (int i = 0; i < 200; ++i)
        right += std::abs(first(record(add(), record(tanh_op(), x), x)) - std::tanh(0.5F) - 0.5F) < 1e-6F ? 1 : 0;
    });
  for (std::thread& t : threads) t.join();
  EXPECT_EQ(right, 800);
  EXPECT_FLOAT_EQ(first(record(add(), x, x)), 1);
}

TEST_F(Lazy, AProcessMayEndWhileItCompiles) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  for (int turn = 0; turn < 6; ++turn)
    EXPECT_EXIT(
        {
          Array y = numbers({1, 2, 3});
          for (int i = 0; i < 20; ++i) y = record(tanh_op(), record(add(), y, y));
          first(y);
          std::this_thread::sleep_for(std::chrono::milliseconds(3 * turn));
          std::exit(0);
        },
        ::testing::ExitedWithCode(0), "");
}

TEST_F(Lazy, ProgramsInMemoryAreBounded) {
  Settings s = settings();
  s.max_programs = 8;
  set(s);
  Array y = numbers({1});
  for (int depth = 1; depth < 40; ++depth) {
    Array z = y;
    for (int i = 0; i < depth; ++i) z = record(add(), z, y);
    EXPECT_EQ(first(z), float(depth + 1));
    EXPECT_LE(stats().programs, 8);
  }
  s.max_programs = 1024;
  set(s);
}

}  // namespace
}  // namespace gcc_graph::lazy
