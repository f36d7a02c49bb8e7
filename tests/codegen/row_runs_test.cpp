// Rows that may be short: their points are walked in runs along one axis, from any first to any last point of a task.
#include <gtest/gtest.h>

#include <algorithm>

#include "codegen/cpu/compile_kernel.h"
#include "codegen/cpu/llvm/cpu_target.h"
#include "tests/codegen/inner_loops.h"
#include "tests/codegen/loop_harness.h"
#include "tests/codegen/loop_kernels.h"

namespace gcg::test {
namespace {

/// y[a, i, b, j, w] = x[a, b, w], each plane repeated `times` times along two axes.
Kernel repeated(const Dim& a, const Dim& b, const Dim& w, int64_t times) {
  return map_kernel("repeated", {{DType::f32, {a, b, w}}, {DType::f32, {a, times, b, times, w}}},
                    [](const auto& i) { return load(0, DType::f32, {i[0], i[2], i[4]}); });
}

TEST(RowRuns, RowsOfOpenLength) {
  const Dim a = Dim::symbol("a"), b = Dim::symbol("b"), w = Dim::symbol("w");
  const Kernel kernel = repeated(a, b, w, 2);
  std::vector<LoopInputs> every;
  for (const int64_t rows : {1, 2, 5, 40})
    for (const int64_t width : {1, 3, 16, 28, 70}) {
      const SymbolValues symbols{{"a", 3}, {"b", rows}, {"w", width}};
      every.push_back({random_operands(kernel, symbols), symbols});
    }
  expect_matches(kernel, every);
  for (const std::string& target : runnable_targets())
    EXPECT_NE(RunnableKernel(kernel, target).info().note.find("by runs of b"), std::string::npos);
}

/// Tasks begin and end within a run.
TEST(RowRuns, ManyTasks) {
  const Kernel kernel = repeated(Dim::symbol("a"), Dim::symbol("b"), Dim::symbol("w"), 3);
  const SymbolValues symbols{{"a", 7}, {"b", 501}, {"w", 33}};
  expect_matches(kernel, random_operands(kernel, symbols), symbols);
}

TEST(RowRuns, ShortRowsOfKnownLength) {
  const Kernel kernel = repeated(5, 34, 6, 2);
  expect_matches(kernel, random_operands(kernel, {}));
  for (const std::string& target : runnable_targets())
    EXPECT_NE(RunnableKernel(kernel, target).info().note.find("by runs of 34"), std::string::npos);
}

/// y[i, j + 1] = x[i, j]: a part of a Concat.
Kernel columns(DType type, const Dim& n, const Dim& w) {
  Kernel kernel;
  kernel.name = "columns";
  kernel.operands = {{type, {n * w}}, {type, {n * (w + 2)}, true}};
  const std::vector<Axis> axes = axes_of({n, w});
  LoopKernel loop;
  loop.stages = {store_stage(1, axes, {axis_ref(axes[0]) * extent(w + 2) + axis_ref(axes[1]) + index(1)},
                             load(0, type, {axis_ref(axes[0]) * extent(w) + axis_ref(axes[1])}))};
  kernel.body = loop;
  return kernel;
}

/// Bytes of rows of one element are loaded several at a time.
TEST(RowRuns, ColumnsOfOpenWidth) {
  const Dim n = Dim::symbol("n"), w = Dim::symbol("w");
  for (const DType type : {DType::u8, DType::i8, DType::boolean, DType::f16, DType::f32, DType::i64}) {
    const Kernel kernel = columns(type, n, w);
    std::vector<LoopInputs> every;
    for (const int64_t rows : {0, 1, 7, 8, 9, 40, 20000})
      for (const int64_t width : {1, 2, 3, 17, 70}) {
        if (rows * width > 20000) continue;
        const SymbolValues symbols{{"n", rows}, {"w", width}};
        every.push_back({random_operands(kernel, symbols), symbols});
      }
    expect_matches(kernel, every);
  }
  for (const char* target : {"x86-64-v3", "x86-64-v4"}) {
    const std::string code = cpu::kernel_assembly(columns(DType::u8, n, w), cpu::cpu_target(*find_target(target)));
    const std::vector<cpu::InnerLoop> loops = cpu::inner_loops(code);
    EXPECT_TRUE(std::any_of(loops.begin(), loops.end(), [](const cpu::InnerLoop& loop) {
      return loop.count({"movb\t"}) >= 8 && loop.count({"movzbl\t"}) == 0;
    })) << target;
  }
}

/// A transposed matrix of few columns whose number only a run knows takes vectors along its rows.
TEST(RowRuns, TransposesOfFewOpenColumns) {
  const Dim m = Dim::symbol("m"), n = Dim::symbol("n");
  for (const DType type : {DType::f32, DType::f64, DType::i8}) {
    const Kernel kernel = map_kernel("transpose", {{type, {4, m, n}}, {type, {4, n, m}}},
                                     [&](const auto& i) { return load(0, type, {i[0], i[2], i[1]}); });
    std::vector<LoopInputs> every;
    for (const int64_t rows : {1, 2, 3, 15, 16, 17})
      for (const int64_t columns : {1, 2, 5, 16, 68}) {
        const SymbolValues symbols{{"m", rows}, {"n", columns}};
        every.push_back({random_operands(kernel, symbols), symbols});
      }
    expect_matches(kernel, every);
  }
}

}  // namespace
}  // namespace gcg::test
