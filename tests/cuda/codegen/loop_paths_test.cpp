// Thread mappings of loop kernels on a GPU: each one is chosen where expected, and computes the right result.
#include <gtest/gtest.h>

#include "codegen/cuda/text/kernel_text.h"
#include "compiler/support/error.h"
#include "tests/codegen/loop_harness.h"
#include "tests/codegen/loop_kernels.h"

namespace gcg::test {
namespace {

/// Checks the kernel's values, and that its text or note contains `wanted`.
void expect_path(const Kernel& kernel, const std::string& wanted, const SymbolValues& symbols,
                 double tolerance = 2e-6) {
  const cuda::KernelText text = cuda::emit_kernel(kernel, *find_target("sm_80"));
  EXPECT_NE((text.source + text.note).find(wanted), std::string::npos) << wanted << " in\n" << text.source << text.note;
  expect_matches(kernel, random_operands(kernel, symbols), symbols, tolerance);
}

Expr guarded(const Expr& e) {
  auto copy = std::make_shared<ExprNode>(*e);
  copy->guarded = true;
  return copy;
}

const Dim kBatch = Dim::symbol("b");

TEST(LoopPaths, ConcatenationReadsVectorsUnderItsCondition) {
  const Kernel kernel = map_kernel(
      "concat", {{DType::f32, {kBatch, 3, 64}}, {DType::f32, {kBatch, 4, 64}}, {DType::f32, {kBatch, 7, 64}}},
      [](const auto& i) {
        return select(binary(BinaryOp::less, i[1], index(3)), guarded(load(0, DType::f32, i)),
                      guarded(load(1, DType::f32, {i[0], i[1] - index(3), i[2]})));
      });
  expect_path(kernel, "gart_load<4>(p1", {{"b", 5}});
}

TEST(LoopPaths, AConditionPerElementKeepsScalarLoads) {
  const Kernel kernel =
      map_kernel("concat", {{DType::f32, {kBatch, 24}}, {DType::f32, {kBatch, 40}}, {DType::f32, {kBatch, 64}}},
                 [](const auto& i) {
                   return select(binary(BinaryOp::less, i[1], index(24)), guarded(load(0, DType::f32, i)),
                                 guarded(load(1, DType::f32, {i[0], i[1] - index(24)})));
                 });
  expect_path(kernel, "gart_store", {{"b", 5}});
}

TEST(LoopPaths, VectorsOfSmallElementsAndTails) {
  for (DType dtype : {DType::u8, DType::f16, DType::f32, DType::f64, DType::boolean})
    for (int64_t n : {0, 1, 15, 16, 17, 2050}) {
      const Operand x{dtype, {Dim::symbol("n")}};
      const Kernel kernel = map_kernel("copy", {x, x, x}, [&](const auto& i) {
        return select(binary(BinaryOp::less, i[0], index(100)), load(0, dtype, i), load(1, dtype, i));
      });
      expect_path(kernel, concat("gart_load<", 16 / size_of(dtype), ">"), {{"n", n}});
    }
}

TEST(LoopPaths, TransposesOfEveryElementSize) {
  for (DType dtype : {DType::u8, DType::f16, DType::boolean, DType::f64}) {
    const Dim m = Dim::symbol("m"), n = Dim::symbol("n");
    const Kernel kernel = map_kernel("tiles", {{dtype, {2, n, m}}, {dtype, {2, m, n}}},
                                     [&](const auto& i) { return load(0, dtype, {i[0], i[2], i[1]}); });
    expect_path(kernel, "in tiles", {{"m", 45}, {"n", 33}});
  }
}

/// Softmax along the middle axis of [b, n, m].
Kernel strided_softmax(const Dim& n, const Dim& m) {
  const Axis b{0, kBatch}, s{1, m}, j{2, n}, k{3, n}, l{4, n};
  auto x = [&](const Axis& a) { return load(0, DType::f32, refs({b, a, s})); };
  auto e = [&](const Axis& a) { return unary(UnaryOp::exp, x(a) - local_ref(0, DType::f32)); };
  Kernel kernel;
  kernel.name = "softmax";
  kernel.operands = {{DType::f32, {kBatch, n, m}}, {DType::f32, {kBatch, n, m}, true}};
  LoopKernel loop;
  loop.outer = {b, s};
  loop.stages = {reduce_stage(0, ReduceOp::max, {j}, x(j)), reduce_stage(1, ReduceOp::sum, {k}, e(k)),
                 store_stage(1, {l}, refs({b, l, s}), binary(BinaryOp::div, e(l), local_ref(1, DType::f32)))};
  kernel.body = loop;
  return kernel;
}

TEST(LoopPaths, RowsAcrossMemoryAreSharedByThreadsAWarpApart) {
  expect_path(strided_softmax(10, 37), "1 threads each", {{"b", 3}});
  expect_path(strided_softmax(100, 37), "gart_across_reduce<4, ", {{"b", 3}});
  expect_path(strided_softmax(Dim::symbol("n"), Dim::symbol("m")), "gart_across_reduce<",
              {{"b", 2}, {"n", 70}, {"m", 5}});
}

TEST(LoopPaths, LongReductionsInsideAStoreAreShared) {
  // The mean over the rows of [b, 50, 40], plus the sum of a window; the window's sum stays inside the store.
  const Axis row{10, 50}, w{11, 3};
  const Operand x{DType::f32, {kBatch, 50, 40}};
  const Kernel kernel = map_kernel("mean", {x, {DType::f32, {kBatch, 38}}}, [&](const auto& i) {
    const Expr mean = reduce(ReduceOp::sum, {row}, load(0, DType::f32, {i[0], axis_ref(row), i[1]}));
    return mean * f32(0.02) + reduce(ReduceOp::sum, {w}, load(0, DType::f32, {i[0], index(7), i[1] + axis_ref(w)}));
  });
  expect_path(kernel, "gart_across_reduce<4, ", {{"b", 3}}, 1e-5);
}

/// (x - mean(x)) * scale, along the last axis.
Kernel centre(const Dim& rows, const Dim& columns) {
  const Axis i{0, rows}, j{1, columns}, k{2, columns};
  Kernel kernel;
  kernel.name = "centre";
  kernel.operands = {{DType::f32, {rows, columns}}, {DType::f32, {columns}}, {DType::f32, {rows, columns}, true}};
  LoopKernel loop;
  loop.outer = {i};
  const Expr mean = binary(BinaryOp::div, local_ref(0, DType::f32), cast(DType::f32, extent(columns)));
  loop.stages = {reduce_stage(0, ReduceOp::sum, {j}, load(0, DType::f32, refs({i, j}))),
                 store_stage(2, {k}, refs({i, k}),
                             (load(0, DType::f32, refs({i, k})) - mean) * load(1, DType::f32, {axis_ref(k)}))};
  kernel.body = loop;
  return kernel;
}

TEST(LoopPaths, RowsStayInRegistersOfAWarpOrABlock) {
  for (int64_t columns : {12, 100, 384, 512, 1023, 1024, 2000, 8192})
    expect_path(centre(kBatch, columns), "rows in registers", {{"b", 5}}, 2e-5);
  expect_path(centre(kBatch, 1024), "32 threads each", {{"b", 5}}, 2e-5);
  expect_path(centre(3, 1024), "128 threads each", {}, 2e-5);
  expect_path(centre(kBatch, 2000), "256 threads each", {{"b", 2}}, 2e-5);
}

TEST(LoopPaths, LongRowsAreReadAgain) {
  const Kernel kernel = centre(kBatch, 40000);
  EXPECT_EQ(cuda::emit_kernel(kernel, *find_target("sm_80")).note.find("registers"), std::string::npos);
  expect_path(kernel, "1024 threads each", {{"b", 2}}, 1e-4);
}

/// A kernel that reduces `value` over x's last `axes` dimensions, for each point of the first ones.
Kernel reduction(ReduceOp op, DType dtype, const Shape& shape, size_t axes,
                 const std::function<Expr(const Expr&, const std::vector<Axis>&)>& value) {
  Kernel kernel;
  kernel.name = "reduce";
  LoopKernel loop;
  std::vector<Axis> all, row;
  for (size_t d = 0; d < shape.size(); ++d) {
    all.push_back({static_cast<int>(d), shape[d]});
    (d + axes < shape.size() ? loop.outer : row).push_back(all.back());
  }
  Expr x = load(0, dtype, refs(all));
  if (dtype == DType::f16) x = cast(DType::f32, x);
  const Expr e = value(x, all);
  const Shape points(shape.begin(), shape.end() - static_cast<std::ptrdiff_t>(axes));
  kernel.operands = {{dtype, shape}, {e->dtype, points, true}};
  loop.stages = {reduce_stage(0, op, row, e), store_stage(1, {}, refs(loop.outer), local_ref(0, e->dtype))};
  kernel.body = loop;
  return kernel;
}

TEST(LoopPaths, FewPointsWithLongRowsAreSharedByBlocks) {
  const auto same = [](const Expr& x, const std::vector<Axis>&) { return x; };
  expect_path(reduction(ReduceOp::sum, DType::f32, {300, 1000}, 2, same), "points 1, 73 blocks each", {}, 1e-4);
  expect_path(reduction(ReduceOp::max, DType::f16, {50257}, 1, same), "gart_load<8>(", {});
  expect_path(reduction(ReduceOp::sum, DType::f64, {3, 20001}, 1, same), "points 3, 4 blocks each", {}, 1e-9);
  expect_path(reduction(ReduceOp::sum, DType::f32, {Dim::symbol("n"), Dim::symbol("m")}, 2, same),
              "points 1, 264 blocks each", {{"n", 7}, {"m", 501}}, 1e-4);
  expect_path(reduction(ReduceOp::sum, DType::f32, {Dim::symbol("n")}, 1, same), "points 1, 264 blocks each",
              {{"n", 0}});
  expect_path(reduction(ReduceOp::logical_or, DType::f32, {2, 9000}, 1,
                        [](const Expr& x, const auto&) { return binary(BinaryOp::greater, x, f32(2.5)); }),
              "points 2, 2 blocks each", {});
  expect_path(reduction(ReduceOp::min, DType::f32, {3, 8192}, 1,
                        [](const Expr& x, const auto& axes) {
                          return select(binary(BinaryOp::greater, x, f32(0.9)), axis_ref(axes[1]), index(1 << 20));
                        }),
              "points 3, 2 blocks each", {});
}

TEST(LoopPaths, RowsOfOnePointWaitForEachLaunch) {
  expect_path(centre(2, 40000), "points 2, 9 blocks each", {}, 1e-4);
  expect_path(centre(1, 50257), "points 1, 12 blocks each", {}, 1e-4);
  const cuda::KernelText text = cuda::emit_kernel(centre(2, 40000), *find_target("sm_90a"));
  ASSERT_EQ(text.then.size(), 1u);
  EXPECT_TRUE(text.waits && text.then[0].waits);
}

TEST(LoopPaths, FewPointsAcrossMemoryAreSharedByBlocks) {
  Kernel kernel = strided_softmax(3000, 8);
  for (Operand& o : kernel.operands) o.shape[0] = Dim(2);
  std::get<LoopKernel>(kernel.body).outer[0].extent = Dim(2);
  expect_path(kernel, "points 16, 11 blocks each", {}, 2e-5);
  expect_path(kernel, "gart_across_reduce<16, ", {}, 2e-5);
}

/// A depthwise convolution of 3x3 around each pixel of x [n, h, w, c], by weights [3, 3, c], with a ReLU.
Kernel depthwise(DType dtype, const Dim& n, int64_t side, int64_t channels) {
  const Axis r{10, 3}, s{11, 3};
  return map_kernel(
      "depthwise", {{dtype, {n, side, side, channels}}, {dtype, {3, 3, channels}}, {dtype, {n, side, side, channels}}},
      [&](const auto& i) {
        const auto at = [&](const Expr& o, const Axis& tap) { return o + axis_ref(tap) - index(1); };
        const auto clamped = [&](const Expr& p) {
          return binary(BinaryOp::max, binary(BinaryOp::min, p, index(side - 1)), index(0));
        };
        const auto inside = [&](const Expr& p) {
          return binary(BinaryOp::logical_and, binary(BinaryOp::greater_equal, p, index(0)),
                        binary(BinaryOp::less_equal, p, index(side - 1)));
        };
        const Expr y = at(i[1], r), x = at(i[2], s);
        const Expr image = load(0, dtype, {i[0], clamped(y), clamped(x), i[3]}),
                   weight = load(1, dtype, {axis_ref(r), axis_ref(s), i[3]});
        const Expr term = cast(DType::f32, image) * cast(DType::f32, weight);
        const Expr sum =
            reduce(ReduceOp::sum, {r, s}, select(binary(BinaryOp::logical_and, inside(y), inside(x)), term, f32(0)));
        return cast(dtype, binary(BinaryOp::max, sum, f32(0)));
      });
}

TEST(LoopPaths, WindowsOfNeighbouringChannelsAreSummedSideBySide) {
  expect_path(depthwise(DType::f32, 3, 60, 32), "gart_load<4>(p1", {}, 1e-5);
  expect_path(depthwise(DType::f16, 3, 60, 32), "gart_load<8>(p1", {}, 2e-3);
  expect_path(depthwise(DType::f32, kBatch, 9, 12), "gart_load<4>(p1", {{"b", 2}}, 1e-5);
}

TEST(LoopPaths, ShortAxesAreWalkedTogether) {
  // The mean of 40 x 6 elements; rows are 8 elements apart.
  const Axis n{0, kBatch}, h{1, 40}, w{2, 6};
  Kernel kernel;
  kernel.name = "mean";
  kernel.operands = {{DType::f32, {kBatch, 40, 8}}, {DType::f32, {kBatch}, true}};
  LoopKernel loop;
  loop.outer = {n};
  loop.stages = {reduce_stage(0, ReduceOp::sum, {h, w}, load(0, DType::f32, refs({n, h, w}))),
                 store_stage(1, {}, refs({n}), local_ref(0, DType::f32))};
  kernel.body = loop;
  expect_path(kernel, "int i", {{"b", 7}}, 1e-5);
}

}  // namespace
}  // namespace gcg::test
