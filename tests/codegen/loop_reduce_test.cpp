// Loop kernels with reduction stages: every operator and type, row lengths around the vector widths, softmax,
// LayerNorm.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

#include "tests/codegen/loop_harness.h"
#include "tests/codegen/loop_kernels.h"

namespace gcg::test {
namespace {

/// result[row] = reduction of x[row, :].
Kernel row_reduction(ReduceOp op, DType dtype, const Dim& rows, const Dim& columns) {
  const Axis i{0, rows}, j{1, columns};
  Kernel kernel;
  kernel.name = concat("reduction ", static_cast<int>(op), " of ", name_of(dtype));
  kernel.operands = {{dtype, {rows, columns}}, {dtype, {rows}, true}};
  LoopKernel loop;
  loop.outer = {i};
  loop.stages = {reduce_stage(0, op, {j}, load(0, dtype, refs({i, j}))),
                 store_stage(1, {}, {axis_ref(i)}, local_ref(0, dtype))};
  kernel.body = loop;
  return kernel;
}

TEST(LoopReduce, RowsOfEveryLength) {
  const Kernel symbolic = row_reduction(ReduceOp::sum, DType::f32, 3, Dim::symbol("n"));
  for (int64_t n : {0, 1, 3, 8, 15, 16, 17, 40, 64, 65, 127, 200, 1000}) {
    const Kernel fixed = row_reduction(ReduceOp::sum, DType::f32, 3, n);
    const SymbolValues symbols{{"n", n}};
    expect_matches(fixed, random_operands(fixed, {}, 1), {}, 1e-5);
    expect_matches(symbolic, random_operands(symbolic, symbols, 1), symbols, 1e-5);
  }
}

TEST(LoopReduce, ShortRowsOfOpenLength) {
  for (const DType dtype : {DType::f32, DType::f64, DType::i64, DType::u8})
    for (const ReduceOp op : {ReduceOp::max, ReduceOp::min}) {
      const Kernel kernel = row_reduction(op, dtype, 5, Dim::symbol("n"));
      std::vector<LoopInputs> every;
      for (const int64_t n : {0, 1, 3, 4, 7, 8, 9, 15, 16, 17, 63, 64, 65})
        every.push_back({random_operands(kernel, {{"n", n}}), {{"n", n}}});
      expect_matches(kernel, every);
      if (size_of(dtype) < 4) continue;
      for (const std::string& target : runnable_targets())
        if (find_target(target)->device == DeviceClass::cpu)  // a CPU reduces rows that fit in a register at once
          EXPECT_NE(RunnableKernel(kernel, target).info().note.find(" or at once"), std::string::npos);
    }
}

TEST(LoopReduce, EveryOperatorAndType) {
  for (DType dtype : {DType::f32, DType::f64, DType::i8, DType::i32, DType::i64, DType::u8, DType::u64})
    for (ReduceOp op : {ReduceOp::sum, ReduceOp::prod, ReduceOp::max, ReduceOp::min})
      for (int64_t n : {5, 150}) {
        const Kernel kernel = row_reduction(op, dtype, 2, n);
        expect_matches(kernel, random_operands(kernel, {}, is_float(dtype) ? 1 : 100), {}, 1e-5);
      }
  for (ReduceOp op : {ReduceOp::logical_and, ReduceOp::logical_or}) {
    const Kernel kernel = row_reduction(op, DType::boolean, 4, 70);
    auto operands = random_operands(kernel, {});
    for (int64_t j = 0; j < 70; ++j) {  // rows: all false, all true, one false, one true
      operands[0].set_int(j, 0);
      operands[0].set_int(70 + j, 1);
      operands[0].set_int(140 + j, j != 69);
      operands[0].set_int(210 + j, j == 68);
    }
    expect_matches(kernel, operands);
  }
}

TEST(LoopReduce, MaximumPropagatesNaNFromAnyPlace) {
  const Kernel kernel = row_reduction(ReduceOp::max, DType::f32, 150, 150);
  auto operands = random_operands(kernel, {});
  for (int64_t i = 0; i < 150; ++i) operands[0].set_double(i * 151, NAN);
  expect_matches(kernel, operands);
}

TEST(LoopReduce, SeveralAxesMergedAndNot) {
  // Mean over (h, w) of a slice of [2, 3, 9, 11], whose axes cannot be merged; and over the whole map, as one axis.
  for (bool slice : {true, false}) {
    const Axis n{0, 2}, c{1, 3}, h{2, slice ? 7 : 9}, w{3, slice ? 8 : 11};
    Kernel kernel;
    kernel.name = "global_mean";
    kernel.operands = {{DType::f32, {2, 3, 9, 11}}, {DType::f32, {2, 3}, true}};
    LoopKernel loop;
    loop.outer = {n, c};
    loop.stages = {reduce_stage(0, ReduceOp::sum, {h, w}, load(0, DType::f32, refs({n, c, h, w}))),
                   store_stage(1, {}, refs({n, c}), local_ref(0, DType::f32) * f32(0.125))};
    kernel.body = loop;
    expect_matches(kernel, random_operands(kernel, {}, 1), {}, 1e-5);
  }
}

TEST(LoopReduce, WithoutOuterAxes) {
  const Axis j{0, 1003};
  Kernel kernel;
  kernel.name = "total";
  kernel.operands = {{DType::f32, {1003}}, {DType::f32, {}, true}};
  LoopKernel loop;
  loop.stages = {reduce_stage(0, ReduceOp::sum, {j}, load(0, DType::f32, refs({j}))),
                 store_stage(1, {}, {}, local_ref(0, DType::f32))};
  kernel.body = loop;
  expect_matches(kernel, random_operands(kernel, {}, 1), {}, 1e-5);
}

/// Softmax over the last axis. The result's memory holds the exponentials between their two uses.
Kernel softmax(const Dim& rows, const Dim& columns) {
  const Axis i{0, rows}, j{1, columns};
  const Expr x = load(0, DType::f32, refs({i, j})), y = load(1, DType::f32, refs({i, j}));
  Kernel kernel;
  kernel.name = "softmax";
  kernel.operands = {{DType::f32, {rows, columns}}, {DType::f32, {rows, columns}, true}};
  LoopKernel loop;
  loop.outer = {i};
  loop.stages = {reduce_stage(0, ReduceOp::max, {j}, x),
                 store_stage(1, {j}, refs({i, j}), unary(UnaryOp::exp, x - local_ref(0, DType::f32))),
                 reduce_stage(1, ReduceOp::sum, {j}, y),
                 store_stage(1, {j}, refs({i, j}), y * unary(UnaryOp::reciprocal, local_ref(1, DType::f32)))};
  kernel.body = loop;
  return kernel;
}

TEST(LoopReduce, Softmax) {
  const Kernel kernel = softmax(Dim::symbol("m"), Dim::symbol("n"));
  for (int64_t n : {1, 5, 16, 33, 128, 197}) {
    const SymbolValues symbols{{"m", 7}, {"n", n}};
    expect_matches(kernel, random_operands(kernel, symbols, 10), symbols);
    const Kernel fixed = softmax(7, n);
    expect_matches(fixed, random_operands(fixed, {}, 10));
  }
}

/// Softmax in the scheduler's form: both the sum and the store compute exp.
Kernel softmax_twice(const Dim& rows, const Dim& columns, bool residual) {
  const Axis i{0, rows}, j{1, columns}, k{2, columns}, l{3, columns};
  auto x = [&](const Axis& a) { return load(0, DType::f32, refs({i, a})); };
  auto e = [&](const Axis& a) { return unary(UnaryOp::exp, x(a) - local_ref(0, DType::f32)); };
  Kernel kernel;
  kernel.name = "softmax";
  kernel.operands = {{DType::f32, {rows, columns}}, {DType::f32, {rows, columns}, true}};
  LoopKernel loop;
  loop.outer = {i};
  const Expr share = binary(BinaryOp::div, e(l), local_ref(1, DType::f32));
  loop.stages = {reduce_stage(0, ReduceOp::max, {j}, x(j)), reduce_stage(1, ReduceOp::sum, {k}, e(k)),
                 store_stage(1, {l}, refs({i, l}), residual ? share + x(l) : share)};
  kernel.body = loop;
  return kernel;
}

TEST(LoopReduce, SoftmaxKeepsItsExponentials) {
  for (int64_t n : {1, 5, 33, 128, 197})
    for (bool residual : {false, true}) {
      const Kernel kernel = softmax_twice(7, n, residual);
      const auto operands = random_operands(kernel, {}, 10);
      expect_matches(kernel, operands);
      // The result may overwrite x, because a call reads a row before it writes the row.
      for (const std::string& target : runnable_targets()) {
        const RunnableKernel code(kernel, target);
        std::vector<Tensor> apart = operands;
        code.run(apart, {}, false);
        Tensor in_place = random_operands(kernel, {}, 10)[0];
        code.call({in_place.mutable_data(), in_place.mutable_data()}, {}, 0, code.tasks({}));
        EXPECT_EQ(0, std::memcmp(in_place.data(), apart[1].data(), static_cast<size_t>(in_place.bytes())))
            << target << " " << n;
      }
    }
}

TEST(LoopReduce, DividesByARowResultOfAnySize) {
  // x / max(x), including maxima whose reciprocal overflows or is denormal.
  const std::vector<double> largest{1e-44, 1e-39, 1e-20, 3.0, 1e20, 3.4e38, 0.0, INFINITY};
  const Axis i{0, static_cast<int64_t>(largest.size())}, j{1, 20}, k{2, 20};
  Kernel kernel;
  kernel.name = "normalise";
  kernel.operands = {{DType::f32, {i.extent, 20}}, {DType::f32, {i.extent, 20}, true}};
  LoopKernel loop;
  loop.outer = {i};
  loop.stages = {reduce_stage(0, ReduceOp::max, {j}, load(0, DType::f32, refs({i, j}))),
                 store_stage(1, {k}, refs({i, k}),
                             binary(BinaryOp::div, load(0, DType::f32, refs({i, k})), local_ref(0, DType::f32)))};
  kernel.body = loop;
  auto operands = random_operands(kernel, {});
  for (size_t row = 0; row < largest.size(); ++row)
    for (int64_t column = 0; column < 20; ++column)
      operands[0].set_double(static_cast<int64_t>(row) * 20 + column,
                             largest[row] * (column == 7 ? 1.0 : 0.05 * static_cast<double>(column % 10)));
  expect_matches(kernel, operands, {}, 2e-7);
}

TEST(LoopReduce, LayerNorm) {
  for (int64_t n : {1, 30, 384, 768}) {
    const Axis i{0, 9}, j{1, n};
    const Expr x = load(0, DType::f32, refs({i, j}));
    const Expr mean = local_ref(0, DType::f32) * f32(1.0 / static_cast<double>(n));
    const Expr deviation = x - mean;
    const Expr variance = local_ref(1, DType::f32) * f32(1.0 / static_cast<double>(n));
    Kernel kernel;
    kernel.name = "layer_norm";
    kernel.operands = {{DType::f32, {9, n}}, {DType::f32, {n}}, {DType::f32, {n}}, {DType::f32, {9, n}, true}};
    LoopKernel loop;
    loop.outer = {i};
    loop.stages = {
        reduce_stage(0, ReduceOp::sum, {j}, x), reduce_stage(1, ReduceOp::sum, {j}, deviation * deviation),
        store_stage(3, {j}, refs({i, j}),
                    deviation * unary(UnaryOp::rsqrt, variance + f32(1e-5)) * load(1, DType::f32, {axis_ref(j)}) +
                        load(2, DType::f32, {axis_ref(j)}))};
    kernel.body = loop;
    expect_matches(kernel, random_operands(kernel, {}, 1), {}, 1e-5);
  }
}

}  // namespace
}  // namespace gcg::test
