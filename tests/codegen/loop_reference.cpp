// The reference results of loop kernels, and the comparison. The harness supplies the results of compiled code.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <functional>
#include <random>

#include "artifact_schema/kernel_abi.h"
#include "compiler/support/error.h"
#include "tests/codegen/loop_harness.h"
#include "tests/ops/expr_eval.h"

namespace gcg::test {
namespace {

/// Runs `body` for every point of the axes.
void for_points(const std::vector<Axis>& axes, const SymbolValues& symbols, ExprEvaluator& evaluator,
                const std::function<void()>& body, size_t depth = 0) {
  if (depth == axes.size()) return body();
  for (int64_t i = 0; i < axes[depth].extent.evaluate(symbols); ++i) {
    evaluator.set_axis(axes[depth].id, i);
    for_points(axes, symbols, evaluator, body, depth + 1);
  }
}

Scalar constant_value(const Expr& e) { return {e->number, e->integer}; }

void set(Tensor& tensor, int64_t i, Scalar value) {
  if (is_float(tensor.dtype()))
    tensor.set_double(i, value.number);
  else
    tensor.set_int(i, value.integer);
}

BinaryOp step_of(ReduceOp op) {
  switch (op) {
    case ReduceOp::sum:
      return BinaryOp::add;
    case ReduceOp::prod:
      return BinaryOp::mul;
    case ReduceOp::max:
      return BinaryOp::max;
    case ReduceOp::min:
      return BinaryOp::min;
    case ReduceOp::logical_and:
      return BinaryOp::logical_and;
    case ReduceOp::logical_or:
      return BinaryOp::logical_or;
  }
  return BinaryOp::add;
}

}  // namespace

void interpret(const Kernel& kernel, std::vector<Tensor>& operands, const SymbolValues& symbols) {
  const auto& loop = std::get<LoopKernel>(kernel.body);
  std::vector<const Tensor*> readable;
  for (Tensor& t : operands) readable.push_back(&t);
  ExprEvaluator evaluator(readable, symbols);
  for_points(loop.outer, symbols, evaluator, [&] {
    for (const Stage& stage : loop.stages) {
      if (stage.kind == Stage::Kind::reduce) {
        const DType dtype = stage.value->dtype;
        Scalar sum = constant_value(reduce_identity(stage.reduce, dtype));
        const BinaryOp step = step_of(stage.reduce);
        for_points(stage.axes, symbols, evaluator,
                   [&] { sum = apply(step, dtype, sum, evaluator.evaluate(stage.value)); });
        evaluator.set_local(stage.local, sum);
        continue;
      }
      Tensor& result = operands[static_cast<size_t>(stage.operand)];
      for_points(stage.axes, symbols, evaluator, [&] {
        int64_t offset = 0;
        for (size_t d = 0; d < stage.index.size(); ++d)
          offset = offset * result.shape()[d] + evaluator.evaluate(stage.index[d]).integer;
        set(result, offset, evaluator.evaluate(stage.value));
      });
    }
  });
}

Tensor random_tensor(DType dtype, const std::vector<int64_t>& shape, double range, uint32_t seed) {
  std::mt19937 generator(seed);
  std::uniform_real_distribution<double> uniform(-range, range);
  Tensor t(dtype, shape);
  for (int64_t i = 0; i < t.elements(); ++i) {
    const double v = uniform(generator);
    if (is_float(dtype))
      t.set_double(i, v);
    else if (dtype == DType::boolean)
      t.set_int(i, v > 0);
    else
      t.set_int(i, static_cast<int64_t>(is_unsigned_int(dtype) ? std::fabs(v) : v));
  }
  return t;
}

std::vector<Tensor> random_operands(const Kernel& kernel, const SymbolValues& symbols, double range) {
  std::vector<Tensor> operands;
  for (const Operand& o : kernel.operands) {
    std::vector<int64_t> shape;
    for (const Dim& d : o.shape) shape.push_back(d.evaluate(symbols));
    operands.push_back(random_tensor(o.dtype, shape, range, static_cast<uint32_t>(operands.size() + 1)));
  }
  return operands;
}

namespace {

void expect_close(const Tensor& expected, const Tensor& actual, double tolerance, const std::string& what) {
  int wrong = 0;
  for (int64_t i = 0; i < expected.elements() && wrong < 5; ++i) {
    bool good = true;
    if (is_float(expected.dtype())) {
      const double e = expected.at_double(i), a = actual.at_double(i);
      good = std::isnan(e) ? std::isnan(a) : e == a || std::fabs(e - a) <= tolerance * std::max(1.0, std::fabs(e));
      if (!good) ADD_FAILURE() << what << ", element " << i << ": expected " << e << ", got " << a;
    } else {
      good = expected.at_int(i) == actual.at_int(i);
      if (!good)
        ADD_FAILURE() << what << ", element " << i << ": expected " << expected.at_int(i) << ", got "
                      << actual.at_int(i);
    }
    wrong += good ? 0 : 1;
  }
}

}  // namespace

namespace {

/// Deep copies, because copies of tensors share their elements.
std::vector<Tensor> copies_of(const std::vector<Tensor>& tensors) {
  std::vector<Tensor> copies;
  for (const Tensor& t : tensors) {
    copies.emplace_back(t.dtype(), t.shape());
    if (t.bytes() > 0) std::memcpy(copies.back().mutable_data(), t.data(), static_cast<size_t>(t.bytes()));
  }
  return copies;
}

}  // namespace

void expect_matches(const Kernel& kernel, const std::vector<LoopInputs>& inputs, double tolerance) {
  std::vector<std::vector<Tensor>> expected;
  for (const LoopInputs& in : inputs) interpret(kernel, expected.emplace_back(copies_of(in.operands)), in.symbols);
  for (const std::string& target : runnable_targets()) {
    const RunnableKernel runnable(kernel, target);
    for (size_t n = 0; n < inputs.size(); ++n) {
      std::vector<Tensor> whole = inputs[n].operands, split = inputs[n].operands;
      EXPECT_EQ(runnable.run(whole, inputs[n].symbols, false), GART_KERNEL_OK);
      EXPECT_EQ(runnable.run(split, inputs[n].symbols, true), GART_KERNEL_OK);
      for (size_t i = 0; i < whole.size(); ++i) {
        if (!kernel.operands[i].written) continue;
        const std::string what = concat(kernel.name, " for ", target, ", inputs ", n, ", operand ", i);
        expect_close(expected[n][i], whole[i], tolerance, what);
        EXPECT_TRUE(whole[i].bytes() == 0 ||
                    std::memcmp(whole[i].data(), split[i].data(), static_cast<size_t>(whole[i].bytes())) == 0)
            << what << ": the result depends on the split into tasks";
      }
    }
  }
}

void expect_matches(const Kernel& kernel, const std::vector<Tensor>& operands, const SymbolValues& symbols,
                    double tolerance) {
  expect_matches(kernel, {{operands, symbols}}, tolerance);
}

}  // namespace gcg::test
