// Reductions of rows that lie behind other rows in memory, such as sums over axes 0 and 2, on CPUs.
#include <gtest/gtest.h>

#include <regex>

#include "codegen/cpu/compile_kernel.h"
#include "codegen/cpu/llvm/cpu_target.h"
#include "tests/codegen/loop_harness.h"
#include "tests/codegen/loop_kernels.h"

namespace gcg::test {
namespace {

/// result[c] = reduction of x[:, c, :].
Kernel rows_behind_rows(ReduceOp op, DType dtype, const Dim& rows, const Dim& width) {
  const Axis c{0, 3}, i{1, rows}, j{2, width};
  Kernel kernel;
  kernel.name = concat("reduction ", static_cast<int>(op), " of rows of ", name_of(dtype));
  kernel.operands = {{dtype, {rows, 3, width}}, {dtype, {3}, true}};
  LoopKernel loop;
  loop.outer = {c};
  loop.stages = {reduce_stage(0, op, {i, j}, load(0, dtype, refs({i, c, j}))),
                 store_stage(1, {}, refs({c}), local_ref(0, dtype))};
  kernel.body = loop;
  return kernel;
}

/// The sum in the order of partial_sums.h.
template <class T>
T sum_in_order(const std::vector<T>& elements) {
  std::vector<T> sums(128 / sizeof(T));
  for (size_t r = 0; r < elements.size(); ++r) sums[r % sums.size()] += elements[r];
  for (size_t half = sums.size() / 2; half > 0; half /= 2)
    for (size_t k = 0; k < half; ++k) sums[k] += sums[k + half];
  return sums[0];
}

template <class T>
void expect_sums_in_order(const Kernel& kernel, const std::vector<SymbolValues>& every) {
  for (const std::string& target : runnable_targets()) {
    const RunnableKernel code(kernel, target);
    for (const SymbolValues& symbols : every) {
      std::vector<Tensor> operands = random_operands(kernel, symbols, 1);
      const std::vector<int64_t> shape = operands[0].shape();
      code.run(operands, symbols, false);
      for (int64_t c = 0; c < 3; ++c) {
        std::vector<T> elements;
        for (int64_t i = 0; i < shape[0]; ++i)
          for (int64_t j = 0; j < shape[2]; ++j)
            elements.push_back(operands[0].as<T>()[static_cast<size_t>((i * 3 + c) * shape[2] + j)]);
        EXPECT_EQ(operands[1].as<T>()[static_cast<size_t>(c)], sum_in_order(elements))
            << target << " " << shape[0] << " rows of " << shape[2];
      }
    }
  }
}

/// Rows that begin with any of the partial sums, and end with any.
TEST(RowSums, AddInOneOrder) {
  const Dim h = Dim::symbol("h"), w = Dim::symbol("w");
  std::vector<SymbolValues> every;
  for (const int64_t rows : {0, 1, 2, 37})
    for (const int64_t width : {0, 1, 2, 3, 5, 7, 8, 12, 15, 16, 17, 31, 32, 33, 40, 63, 70})
      every.push_back({{"h", rows}, {"w", width}});
  expect_sums_in_order<float>(rows_behind_rows(ReduceOp::sum, DType::f32, h, w), every);
  expect_sums_in_order<double>(rows_behind_rows(ReduceOp::sum, DType::f64, h, w), every);
  for (const int64_t width : {2, 5, 7, 12, 17, 40}) {
    expect_sums_in_order<float>(rows_behind_rows(ReduceOp::sum, DType::f32, 37, width), {{}});
    expect_sums_in_order<double>(rows_behind_rows(ReduceOp::sum, DType::f64, 37, width), {{}});
  }
}

/// Elements that are read one by one: no vector of all sums is added.
TEST(RowSums, OfGatheredElements) {
  for (const DType dtype : {DType::f32, DType::f64})
    for (const Dim& width : {Dim::symbol("w"), Dim(9), Dim(31), Dim(50), Dim(70)}) {
      const Axis i{1, Dim::symbol("h")}, j{2, width};
      const auto sums = [&](bool of_rows) {
        Kernel kernel;
        kernel.name = concat(of_rows ? "rows" : "row", " of gathered ", name_of(dtype), ", ", width.str());
        kernel.operands = {{dtype, {11, 3}}, {DType::u8, {i.extent, width}}, {dtype, {i.extent, 3}, true}};
        if (of_rows) kernel.operands[2].shape = {3};
        const Axis c{0, 3};
        const Expr place = binary(BinaryOp::mod, cast(DType::i64, load(1, DType::u8, refs({i, j}))), index(11));
        LoopKernel loop;
        loop.outer = of_rows ? std::vector<Axis>{c} : std::vector<Axis>{i, c};
        loop.stages = {reduce_stage(0, ReduceOp::sum, of_rows ? std::vector<Axis>{i, j} : std::vector<Axis>{j},
                                    load(0, dtype, {place, axis_ref(c)})),
                       store_stage(2, {}, refs(loop.outer), local_ref(0, dtype))};
        kernel.body = loop;
        return kernel;
      };
      for (const bool of_rows : {false, true}) {
        const Kernel kernel = sums(of_rows);
        std::vector<LoopInputs> every;
        for (const int64_t w : {0, 1, 8, 15, 16, 17, 33, 50, 90}) {
          const SymbolValues symbols{{"h", 5}, {"w", w}};
          every.push_back({random_operands(kernel, symbols), symbols});
        }
        expect_matches(kernel, every, 1e-5);
      }
    }
}

TEST(RowSums, EveryOperatorAndType) {
  const Dim h = Dim::symbol("h"), w = Dim::symbol("w");
  for (const DType dtype : {DType::f32, DType::f64, DType::i64, DType::u8, DType::i32})
    for (const ReduceOp op : {ReduceOp::sum, ReduceOp::prod, ReduceOp::max, ReduceOp::min}) {
      const Kernel kernel = rows_behind_rows(op, dtype, h, w);
      std::vector<LoopInputs> every;
      for (const int64_t width : {1, 2, 7, 15, 16, 20, 33, 64, 65})
        every.push_back({random_operands(kernel, {{"h", 5}, {"w", width}}, 1), {{"h", 5}, {"w", width}}});
      expect_matches(kernel, every, 1e-5);
    }
}

/// result[i] = log of the sum of exp(x[i, :] - their maximum) + this maximum.
Kernel log_sums(DType dtype, const Dim& rows, const Dim& width) {
  const Axis i{0, rows}, j{1, width}, k{2, width};
  Kernel kernel;
  kernel.name = concat("log of sums of ", name_of(dtype), ", ", width.str());
  kernel.operands = {{dtype, {2, rows, width}}, {dtype, {2, rows}, true}};
  const Axis plane{3, 2};
  const auto x = [&](const Axis& at) { return load(0, dtype, refs({plane, i, at})); };
  const Expr largest = local_ref(0, dtype), sum = local_ref(1, dtype);
  LoopKernel loop;
  loop.outer = {plane, i};
  loop.stages = {reduce_stage(0, ReduceOp::max, {j}, x(j)),
                 reduce_stage(1, ReduceOp::sum, {k}, unary(UnaryOp::exp, x(k) - largest)),
                 store_stage(1, {}, refs({plane, i}), unary(UnaryOp::log, sum) + largest)};
  kernel.body = loop;
  return kernel;
}

/// Short rows go together, so no row has instructions of its own for the logarithm.
TEST(RowSums, LogarithmsOfSums) {
  for (const DType dtype : {DType::f32, DType::f64}) {
    const Kernel open = log_sums(dtype, Dim::symbol("h"), Dim::symbol("w"));
    std::vector<LoopInputs> every;
    for (const int64_t width : {1, 2, 5, 16, 33, 64, 65, 200})
      for (const int64_t rows : {0, 1, 7, 16, 17, 50}) {
        const SymbolValues symbols{{"h", rows}, {"w", width}};
        every.push_back({random_operands(open, symbols), symbols});
        const Kernel fixed = log_sums(dtype, rows, width);
        if (rows > 1) expect_matches(fixed, random_operands(fixed, {}), {}, 2e-6);
      }
    expect_matches(open, every, 2e-6);
  }
  const std::string code = cpu::kernel_assembly(log_sums(DType::f32, Dim::symbol("h"), Dim::symbol("w")),
                                                cpu::cpu_target(*find_target("x86-64-v4")));
  EXPECT_FALSE(std::regex_search(code, std::regex(R"(\n\tvfmadd[0-9]+ss)")));
}

/// A row that reads sums from memory which the row before has stored in other places takes as long as 40 additions.
TEST(RowSums, StayInRegisters) {
  for (const Dim& width : {Dim::symbol("w"), Dim(7), Dim(20)}) {
    const Kernel kernel = rows_behind_rows(ReduceOp::sum, DType::f32, Dim::symbol("h"), width);
    for (const char* target : {"x86-64-v3", "x86-64-v4"}) {
      const std::string code = cpu::kernel_assembly(kernel, cpu::cpu_target(*find_target(target)));
      EXPECT_FALSE(std::regex_search(code, std::regex(R"(\n\tvmov[a-z0-9]+\t%[yz]mm[0-9]+, [^%\n]*\()")))
          << target << " " << width.str();
    }
  }
}

}  // namespace
}  // namespace gcg::test
