// Loop kernels of stores: element types, broadcasting, odd and symbolic extents, vector axes, guards, gathers, errors.
#include <gtest/gtest.h>

#include <cmath>

#include "artifact_schema/kernel_abi.h"
#include "tests/codegen/loop_harness.h"
#include "tests/codegen/loop_kernels.h"

namespace gcg::test {
namespace {

TEST(LoopKernel, AddsTensorsOfOddExtents) {
  for (int64_t n : {0, 1, 2, 7, 8, 15, 16, 17, 31, 49, 64, 100, 129, 1000}) {
    const Operand x{DType::f32, {3, n}};
    expect_matches(
        map_kernel("add", {x, x, x}, [](const auto& i) { return load(0, DType::f32, i) + load(1, DType::f32, i); }),
        random_operands(map_kernel("add", {x, x, x}, [](const auto& i) { return load(0, DType::f32, i); }), {}));
  }
}

TEST(LoopKernel, SymbolicExtentsAreParameters) {
  const Dim batch = Dim::symbol("batch"), n = Dim::symbol("n");
  const Operand x{DType::f32, {batch, n}}, row{DType::f32, {n}};
  const Kernel kernel = map_kernel("bias_relu", {x, row, x}, [](const auto& i) {
    return binary(BinaryOp::max, load(0, DType::f32, i) + load(1, DType::f32, {i[1]}), f32(0));
  });
  for (int64_t b : {0, 1, 3})
    for (int64_t e : {0, 1, 5, 16, 33, 200, 40000}) {
      const SymbolValues symbols{{"batch", b}, {"n", e}};
      expect_matches(kernel, random_operands(kernel, symbols), symbols);
    }
}

TEST(LoopKernel, WithoutOuterAxesTheRowIsSplitIntoTasks) {
  const Operand x{DType::f32, {100000}};
  const Kernel kernel =
      map_kernel("square", {x, x}, [](const auto& i) { return load(0, DType::f32, i) * load(0, DType::f32, i); });
  expect_matches(kernel, random_operands(kernel, {}));
  EXPECT_GT(RunnableKernel(kernel, runnable_targets()[0]).tasks({}), 4);
}

TEST(LoopKernel, BroadcastsEveryWay) {
  const Operand full{DType::f32, {4, 5, 37}};
  const std::vector<Operand> operands{full, {DType::f32, {37}}, {DType::f32, {5, 1}}, {DType::f32, {}}, full};
  const Kernel kernel = map_kernel("broadcast", operands, [](const auto& i) {
    return (load(0, DType::f32, i) + load(1, DType::f32, {i[2]})) * load(2, DType::f32, {i[1], index(0)}) -
           load(3, DType::f32, {});
  });
  expect_matches(kernel, random_operands(kernel, {}));
}

TEST(LoopKernel, TransposesWithTheBetterVectorAxis) {
  const Kernel kernel = map_kernel("transpose", {{DType::f32, {3, 33, 70}}, {DType::f32, {70, 3, 33}}},
                                   [](const auto& i) { return load(0, DType::f32, {i[1], i[2], i[0]}); });
  expect_matches(kernel, random_operands(kernel, {}));
  const Kernel to_channels_last = map_kernel("nhwc", {{DType::f32, {2, 5, 49}}, {DType::f32, {2, 49, 5}}},
                                             [](const auto& i) { return load(0, DType::f32, {i[0], i[2], i[1]}); });
  expect_matches(to_channels_last, random_operands(to_channels_last, {}));
}

TEST(LoopKernel, TransposesByTiles) {
  // Rows and columns below, at and above whole tiles; 4- and 8-byte elements; another operand in addition to the
  // transposed one.
  for (DType dtype : {DType::f32, DType::i64})
    for (int64_t rows : {16, 33, 40})
      for (int64_t columns : {16, 35, 64}) {
        const Kernel kernel =
            map_kernel("tiles", {{dtype, {2, columns, rows}}, {dtype, {columns}}, {dtype, {2, rows, columns}}},
                       [&](const auto& i) { return load(0, dtype, {i[0], i[2], i[1]}) + load(1, dtype, {i[2]}); });
        expect_matches(kernel, random_operands(kernel, {}));
      }
  for (DType dtype : {DType::f16, DType::bf16, DType::u8, DType::i32})  // elements are widened
    for (int64_t rows : {16, 33, 40})
      for (int64_t columns : {16, 35}) {
        const Kernel kernel = map_kernel("widened", {{dtype, {columns, rows}}, {DType::f32, {rows, columns}}},
                                         [&](const auto& i) { return cast(DType::f32, load(0, dtype, {i[1], i[0]})); });
        expect_matches(kernel, random_operands(kernel, {}));
      }
  // Several columns may read the same row, and rows may depend on data.
  const Kernel clamped = map_kernel("clamped", {{DType::f32, {20, 40}}, {DType::f32, {40, 35}}}, [](const auto& i) {
    return load(0, DType::f32, {binary(BinaryOp::min, i[1], index(19)), i[0]});
  });
  expect_matches(clamped, random_operands(clamped, {}));
  const Kernel named =
      map_kernel("named", {{DType::f32, {20, 40}}, {DType::i64, {35}}, {DType::f32, {40, 35}}}, [](const auto& i) {
        const Expr row = binary(BinaryOp::max, binary(BinaryOp::min, load(1, DType::i64, {i[1]}), index(19)), index(0));
        return load(0, DType::f32, {row, i[0]});
      });
  expect_matches(named, random_operands(named, {}));
  const Dim m = Dim::symbol("m"), n = Dim::symbol("n");
  const Kernel symbolic = map_kernel("tiles", {{DType::f32, {n, m}}, {DType::f32, {m, n}}},
                                     [&](const auto& i) { return load(0, DType::f32, {i[1], i[0]}); });
  for (int64_t rows : {0, 1, 31, 48})
    for (int64_t columns : {0, 7, 64}) {
      const SymbolValues symbols{{"m", rows}, {"n", columns}};
      expect_matches(symbolic, random_operands(symbolic, symbols), symbols);
    }
}

TEST(LoopKernel, SlicesWithSteps) {
  const Kernel kernel = map_kernel("slice", {{DType::f32, {10, 101}}, {DType::f32, {10, 33}}}, [](const auto& i) {
    return load(0, DType::f32, {index(9) - i[0], index(1) + i[1] * index(3)});
  });
  expect_matches(kernel, random_operands(kernel, {}));
  const Kernel reverse = map_kernel("reverse", {{DType::f32, {101}}, {DType::f32, {101}}},
                                    [](const auto& i) { return load(0, DType::f32, {index(100) - i[0]}); });
  expect_matches(reverse, random_operands(reverse, {}));
}

Expr guarded(const Expr& e) {
  auto copy = std::make_shared<ExprNode>(*e);
  copy->guarded = true;
  return copy;
}

TEST(LoopKernel, PadsWithGuardedLoads) {
  for (const DType dtype : {DType::f32, DType::u8, DType::f16, DType::i64}) {
    const Kernel kernel = map_kernel("pad", {{dtype, {5, 21}}, {dtype, {9, 40}}}, [&](const auto& i) {
      Expr row = i[0] - index(2), column = i[1] - index(7);
      auto inside = [](const Expr& v, int64_t n) {
        return binary(BinaryOp::logical_and, binary(BinaryOp::greater_equal, v, index(0)),
                      binary(BinaryOp::less, v, index(n)));
      };
      return select(binary(BinaryOp::logical_and, inside(row, 5), inside(column, 21)),
                    guarded(load(0, dtype, {row, column})), constant_int(dtype, 3));
    });
    expect_matches(kernel, random_operands(kernel, {}));
  }
}

TEST(LoopKernel, ConcatenatesAlongInnerAndOuterAxes) {
  const Kernel outer =
      map_kernel("concat0", {{DType::f32, {3, 20}}, {DType::f32, {4, 20}}, {DType::f32, {7, 20}}}, [](const auto& i) {
        return select(binary(BinaryOp::less, i[0], index(3)), guarded(load(0, DType::f32, i)),
                      guarded(load(1, DType::f32, {i[0] - index(3), i[1]})));
      });
  expect_matches(outer, random_operands(outer, {}));
  const Kernel inner =
      map_kernel("concat1", {{DType::f32, {3, 20}}, {DType::f32, {3, 9}}, {DType::f32, {3, 29}}}, [](const auto& i) {
        return select(binary(BinaryOp::less, i[1], index(20)), guarded(load(0, DType::f32, i)),
                      guarded(load(1, DType::f32, {i[0], i[1] - index(20)})));
      });
  expect_matches(inner, random_operands(inner, {}));
}

TEST(LoopKernel, ReshapesThatDoNotSimplify) {
  const Kernel kernel = map_kernel("reshape", {{DType::f32, {6, 35}}, {DType::f32, {10, 21}}}, [](const auto& i) {
    Expr flat = i[0] * index(21) + i[1];
    return load(0, DType::f32, {binary(BinaryOp::floor_div, flat, index(35)), binary(BinaryOp::mod, flat, index(35))});
  });
  expect_matches(kernel, random_operands(kernel, {}));
}

/// result[i, j] = table[ids[i], j]
Kernel embedding(DType dtype, DType index_type) {
  return map_kernel("embedding", {{dtype, {11, 50}}, {index_type, {7}}, {dtype, {7, 50}}}, [=](const auto& i) {
    return load(0, dtype, {cast(DType::i64, load(1, index_type, {i[0]})), i[1]});
  });
}

TEST(LoopKernel, GathersRows) {
  for (DType dtype : {DType::f32, DType::f16, DType::i64, DType::u8, DType::boolean})
    for (DType index_type : {DType::i32, DType::i64}) {
      const Kernel kernel = embedding(dtype, index_type);
      auto operands = random_operands(kernel, {});
      for (int64_t i = 0; i < 7; ++i) operands[1].set_int(i, (i * 5) % 11);
      expect_matches(kernel, operands);
    }
}

TEST(LoopKernel, GathersElements) {
  const Kernel kernel = map_kernel("take", {{DType::f32, {40}}, {DType::i64, {100}}, {DType::f32, {100}}},
                                   [](const auto& i) { return load(0, DType::f32, {load(1, DType::i64, i)}); });
  auto operands = random_operands(kernel, {});
  for (int64_t i = 0; i < 100; ++i) operands[1].set_int(i, (i * 7) % 40);
  expect_matches(kernel, operands);
}

TEST(LoopKernel, IndexOutOfRangeIsAnErrorAndTouchesNothing) {
  for (int64_t bad : {int64_t{-1}, int64_t{11}, int64_t{1} << 40}) {
    const Kernel rows = embedding(DType::f32, DType::i64);
    const Kernel elements = map_kernel("take", {{DType::f32, {11}}, {DType::i64, {21}}, {DType::f32, {21}}},
                                       [](const auto& i) { return load(0, DType::f32, {load(1, DType::i64, i)}); });
    for (const Kernel& kernel : {rows, elements})
      for (const std::string& target : runnable_targets()) {
        auto operands = random_operands(kernel, {});
        for (int64_t i = 0; i < operands[1].elements(); ++i) operands[1].set_int(i, i % 11);
        EXPECT_EQ(RunnableKernel(kernel, target).run(operands, {}, false), GART_KERNEL_OK);
        operands[1].set_int(operands[1].elements() - 1, bad);
        EXPECT_EQ(RunnableKernel(kernel, target).run(operands, {}, false), GART_KERNEL_INDEX_OUT_OF_RANGE) << bad;
      }
  }
}

TEST(LoopKernel, CastsBetweenAllTypes) {
  const std::vector<DType> all{DType::f32, DType::f64, DType::f16, DType::bf16, DType::i8,  DType::i16,    DType::i32,
                               DType::i64, DType::u8,  DType::u16, DType::u32,  DType::u64, DType::boolean};
  for (DType from : all)
    for (DType to : all) {
      Kernel kernel =
          map_kernel("cast", {{from, {45}}, {to, {45}}}, [&](const auto& i) { return cast(to, load(0, from, i)); });
      kernel.name = concat("cast ", name_of(from), " to ", name_of(to));
      auto operands = random_operands(kernel, {}, 100);
      if (is_float(from)) {
        const std::vector<double> special{
            0.0,   -0.0,           0.5,          -0.5,          1e9,  -1e9,  1e30,   -1e30, HUGE_VAL, -HUGE_VAL, 65519,
            65520, 0.333333333333, 1.0009765625, 1.00146484375, 3e-8, 127.9, -128.9, 255.5};
        for (size_t k = 0; k < special.size(); ++k) operands[0].set_double(static_cast<int64_t>(k), special[k]);
      } else if (is_int(from)) {
        const std::vector<int64_t> special{0,         1,         -1,       127,     128,           255,
                                           256,       32767,     65535,    1 << 24, (1 << 24) + 1, INT32_MAX,
                                           INT32_MIN, INT64_MAX, INT64_MIN};
        for (size_t k = 0; k < special.size(); ++k) operands[0].set_int(static_cast<int64_t>(k), special[k]);
      }
      expect_matches(kernel, operands, {}, 0);
    }
}

TEST(LoopKernel, IntegerOperatorsNeverTrap) {
  for (DType dtype : {DType::i8, DType::i32, DType::i64, DType::u8, DType::u32, DType::u64})
    for (BinaryOp op : {BinaryOp::add, BinaryOp::sub, BinaryOp::mul, BinaryOp::div, BinaryOp::mod, BinaryOp::fmod,
                        BinaryOp::max, BinaryOp::min, BinaryOp::bit_and, BinaryOp::bit_or, BinaryOp::bit_xor}) {
      const Operand x{dtype, {50}};
      Kernel kernel =
          map_kernel("int", {x, x, x}, [&](const auto& i) { return binary(op, load(0, dtype, i), load(1, dtype, i)); });
      kernel.name = concat("operator ", static_cast<int>(op), " on ", name_of(dtype));
      auto operands = random_operands(kernel, {}, 100);
      for (int64_t i = 0; i < 4; ++i) operands[1].set_int(i * 7, i - 1);
      operands[0].set_int(0, INT64_MIN);
      if (dtype == DType::i32) operands[0].set_int(0, INT32_MIN);
      if (dtype == DType::i8) operands[0].set_int(0, -128);
      expect_matches(kernel, operands);
    }
}

/// A signed 4-bit integer is stored in one byte; a shift left and a shift right restore its sign.
TEST(LoopKernel, SignsOfShiftedIntegersAreKept) {
  for (const auto& [exact, to] : {std::pair(DType::i64, DType::i64),
                                  {DType::i32, DType::i32},
                                  {DType::i64, DType::f32},
                                  {DType::i32, DType::f32}}) {
    Kernel kernel = map_kernel("sign", {{DType::u8, {77}}, {to, {77}}}, [exact = exact, to = to](const auto& i) {
      const Expr bits = cast(DType::i32, load(0, DType::u8, i)), by = constant_int(DType::i32, 28);
      const Expr value = cast(exact, binary(BinaryOp::shift_right, binary(BinaryOp::shift_left, bits, by), by));
      return cast(to, value - constant_int(exact, 3));
    });
    auto operands = random_operands(kernel, {}, 0);
    for (int64_t i = 0; i < 77; ++i) operands[0].set_int(i, i % 16);
    expect_matches(kernel, operands, {}, 0);
  }
}

TEST(LoopKernel, ComparesAndSelects) {
  for (DType dtype : {DType::f32, DType::f64, DType::i64, DType::u8})
    for (BinaryOp op : {BinaryOp::equal, BinaryOp::not_equal, BinaryOp::less, BinaryOp::less_equal, BinaryOp::greater,
                        BinaryOp::greater_equal}) {
      const Operand x{dtype, {77}};
      const Kernel to_bool = map_kernel("compare", {x, x, {DType::boolean, {77}}}, [&](const auto& i) {
        return binary(op, load(0, dtype, i), load(1, dtype, i));
      });
      auto operands = random_operands(to_bool, {}, 3);
      if (is_float(dtype)) operands[0].set_double(3, NAN);
      expect_matches(to_bool, operands);
      const Kernel where = map_kernel("where", {{DType::boolean, {77}}, x, x, x}, [&](const auto& i) {
        return select(load(0, DType::boolean, i), load(1, dtype, i), load(2, dtype, i));
      });
      expect_matches(where, random_operands(where, {}, 3));
    }
}

TEST(LoopKernel, MaximumAndMinimumPropagateNaN) {
  const Operand x{DType::f32, {40}};
  for (BinaryOp op : {BinaryOp::max, BinaryOp::min})
    for (bool constant : {false, true}) {
      const Kernel kernel = map_kernel("extremum", {x, x, x}, [&](const auto& i) {
        return binary(op, load(0, DType::f32, i), constant ? f32(0.25) : load(1, DType::f32, i));
      });
      auto operands = random_operands(kernel, {});
      operands[0].set_double(1, NAN);
      operands[1].set_double(2, NAN);
      expect_matches(kernel, operands);
    }
}

TEST(LoopKernel, ImportedFunctions) {
  for (DType dtype : {DType::f32, DType::f64})
    for (UnaryOp op : {UnaryOp::sin,        UnaryOp::cos,   UnaryOp::tan,   UnaryOp::asin,       UnaryOp::acos,
                       UnaryOp::atan,       UnaryOp::sinh,  UnaryOp::cosh,  UnaryOp::asinh,      UnaryOp::acosh,
                       UnaryOp::atanh,      UnaryOp::exp,   UnaryOp::log,   UnaryOp::erf,        UnaryOp::tanh,
                       UnaryOp::sigmoid,    UnaryOp::floor, UnaryOp::ceil,  UnaryOp::round_even, UnaryOp::sign,
                       UnaryOp::reciprocal, UnaryOp::sqrt,  UnaryOp::rsqrt, UnaryOp::neg,        UnaryOp::abs}) {
      const Operand x{dtype, {37}};
      Kernel kernel = map_kernel("unary", {x, x}, [&](const auto& i) { return unary(op, load(0, dtype, i)); });
      kernel.name = concat("unary ", static_cast<int>(op), " on ", name_of(dtype));
      expect_matches(kernel, random_operands(kernel, {}, 3));
    }
  for (BinaryOp op : {BinaryOp::pow, BinaryOp::fmod}) {
    const Operand x{DType::f32, {37}};
    const Kernel kernel = map_kernel(
        "binary", {x, x, x}, [&](const auto& i) { return binary(op, load(0, DType::f32, i), load(1, DType::f32, i)); });
    expect_matches(kernel, random_operands(kernel, {}, 3));
  }
}

TEST(LoopKernel, PoolingWindowsInsideAVectorLoop) {
  // 3x3 windows, stride 2, over [2, 9, 9, 16] channel-blocked maps.
  const Axis kh{10, 3}, kw{11, 3};
  const Kernel kernel =
      map_kernel("max_pool", {{DType::f32, {2, 9, 9, 16}}, {DType::f32, {2, 4, 4, 16}}}, [&](const auto& i) {
        return reduce(
            ReduceOp::max, {kh, kw},
            load(0, DType::f32, {i[0], i[1] * index(2) + axis_ref(kh), i[2] * index(2) + axis_ref(kw), i[3]}));
      });
  expect_matches(kernel, random_operands(kernel, {}));
}

TEST(LoopKernel, LongReductionsInsideAVectorLoop) {
  const Axis k{10, Dim::symbol("k")};
  const Kernel kernel = map_kernel(
      "matmul", {{DType::f32, {5, k.extent}}, {DType::f32, {k.extent, 41}}, {DType::f32, {5, 41}}}, [&](const auto& i) {
        return reduce(ReduceOp::sum, {k},
                      load(0, DType::f32, {i[0], axis_ref(k)}) * load(1, DType::f32, {axis_ref(k), i[1]}));
      });
  for (int64_t extent : {0, 1, 50}) {
    const SymbolValues symbols{{"k", extent}};
    expect_matches(kernel, random_operands(kernel, symbols, 1), symbols, 1e-5);
  }
}

TEST(LoopKernel, SeveralOutputs) {
  const Axis i{0, 6}, j{1, 45};
  Kernel kernel;
  kernel.name = "split";
  kernel.operands = {{DType::f32, {6, 45}}, {DType::f32, {6, 20}, true}, {DType::f32, {6, 25}, true}};
  LoopKernel loop;
  loop.outer = {i};
  const Axis a{1, 20}, b{2, 25};
  loop.stages = {store_stage(1, {a}, refs({i, a}), load(0, DType::f32, refs({i, a}))),
                 store_stage(2, {b}, refs({i, b}), load(0, DType::f32, {axis_ref(i), axis_ref(b) + index(20)}))};
  kernel.body = loop;
  expect_matches(kernel, random_operands(kernel, {}));
}

}  // namespace
}  // namespace gcg::test
