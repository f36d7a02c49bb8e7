// Rows whose ends are computed differently from their interior, and elements that are stored or read at a stride.
// Covers every row length around the vector widths, with known and unknown extents. Buffers end at inaccessible memory.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>

#include "codegen/cpu/compile_kernel.h"
#include "codegen/cpu/llvm/cpu_target.h"
#include "tests/codegen/inner_loops.h"
#include "tests/codegen/loop_harness.h"
#include "tests/codegen/window_kernels.h"

namespace gcg::test {
namespace {

constexpr int64_t kRows = 5;
constexpr int64_t kPadded = 9;  // rows; tables need at least 8
const std::vector<int64_t> kLengths = {1, 2, 7, 8, 9, 12, 15, 16, 17, 20, 24, 31, 33, 40, 66};

void expect_rows(const std::function<Kernel(const Dim&)>& make, int64_t least = 1, double tolerance = 2e-6) {
  const Kernel open = make(Dim::symbol("n"));
  std::vector<LoopInputs> every;
  for (int64_t n : kLengths) {
    if (n < least) continue;
    const Kernel fixed = make(n);
    expect_matches(fixed, random_operands(fixed, {}), {}, tolerance);
    const SymbolValues symbols{{"n", n}};
    every.push_back({random_operands(open, symbols), symbols});
  }
  expect_matches(open, every, tolerance);
}

TEST(StoreRow, WindowsOfEverySizeAndStride) {
  for (ReduceOp op : {ReduceOp::max, ReduceOp::sum})
    for (int64_t size : {2, 3, 5})
      for (int64_t stride : {1, 2, 3})
        expect_rows([&](const Dim& n) { return window_kernel(op, kRows, n, size, stride, size / 2); }, size);
}

TEST(StoreRow, MaximaPropagateNaNFromEveryTap) {
  for (int64_t n : {9, 20, 40}) {
    const Kernel kernel = window_kernel(ReduceOp::max, kRows, n, 3, 1, 1);
    for (int64_t place = 0; place < kRows * n; place += 7) {
      std::vector<Tensor> operands = random_operands(kernel, {});
      operands[0].set_double(place, std::nan(""));
      expect_matches(kernel, operands);
    }
  }
}

/// If a row fits into a register, each lane's position is known at compile time. Then the kernel reads each row of a
/// window once, and all taps are shuffles, also at the ends of the row.
TEST(StoreRow, ARowThatFitsARegisterIsReadWhole) {
  for (const int64_t width : {7, 14, 16}) {
    const Kernel kernel = window_kernel(ReduceOp::max, 448, width, 3, 1, 1);
    const std::string code = cpu::kernel_assembly(kernel, cpu::cpu_target(*find_target("x86-64-v4")));
    const auto times = [&](std::string_view text) {
      int found = 0;
      for (size_t at = code.find(text); at != std::string::npos; at = code.find(text, at + 1)) ++found;
      return found;
    };
    EXPECT_EQ(times("vgather"), 0) << width;
    EXPECT_LE(times("vmaxps"), 4) << width;
    EXPECT_GT(times("vmaxps"), 0) << width;
  }
}

/// Rows and columns that are not multiples of the tile's sides; most are shorter than a register of bytes.
TEST(StoreRow, TransposesBytesByTiles) {
  for (const auto& [rows, columns] : {std::pair<int64_t, int64_t>{400, 24}, {192, 20}, {33, 17}, {20, 192}}) {
    const Kernel kernel = map_kernel("tiles", {{DType::i8, {2, columns, rows}}, {DType::i8, {2, rows, columns}}},
                                     [](const auto& i) { return load(0, DType::i8, {i[0], i[2], i[1]}); });
    expect_matches(kernel, random_operands(kernel, {}));
    const std::string code = cpu::kernel_assembly(kernel, cpu::cpu_target(*find_target("x86-64-v4")));
    EXPECT_EQ(code.find("vpextrb"), std::string::npos) << "stored one by one: " << rows << " x " << columns;
  }
}

Kernel transpose_kernel(DType type, const Dim& planes, const Dim& columns, const Dim& rows) {
  return map_kernel("tiles", {{type, {planes, columns, rows}}, {type, {planes, rows, columns}}},
                    [&](const auto& i) { return load(0, type, {i[0], i[2], i[1]}); });
}

/// Rows of the result that are shorter than a tile, of every length.
TEST(StoreRow, TransposesToShortRowsByTiles) {
  for (const DType type : {DType::u8, DType::f16, DType::f32, DType::i64})
    for (const int64_t columns : {5, 6, 7, 8, 9, 11, 12, 15})
      for (const int64_t rows : {1, 8, 29}) {
        const Kernel kernel = transpose_kernel(type, 3, columns, rows);
        expect_matches(kernel, random_operands(kernel, {}));
      }
  for (const DType type : {DType::u8, DType::f16, DType::f32, DType::f64}) {
    const Kernel open = transpose_kernel(type, 3, Dim::symbol("c"), Dim::symbol("r"));
    std::vector<LoopInputs> every;
    for (const int64_t columns : {0, 1, 4, 5, 7, 8, 9, 12, 15, 16, 17, 20})
      for (const int64_t rows : {0, 1, 4, 8, 9, 16, 29, 40}) {
        const SymbolValues symbols{{"c", columns}, {"r", rows}};
        every.push_back({random_operands(open, symbols), symbols});
      }
    expect_matches(open, every);
  }
  for (const char* target : {"x86-64-v3", "x86-64-v4"})
    for (const DType type : {DType::u8, DType::f16, DType::f32, DType::i64})
      for (const int64_t columns : {5, 8, 12}) {
        const Kernel kernel = transpose_kernel(type, 3, columns, 40);
        const std::string code = cpu::kernel_assembly(kernel, cpu::cpu_target(*find_target(target)));
        EXPECT_NE(code.find("unpck"), std::string::npos) << target << " " << name_of(type) << " " << columns;
        EXPECT_EQ(code.find("gather"), std::string::npos) << target << " " << name_of(type) << " " << columns;
        EXPECT_EQ(code.find("scatter"), std::string::npos) << target << " " << name_of(type) << " " << columns;
      }
}

/// Tiles whose elements become wider, or narrower, when they are stored.
TEST(StoreRow, TransposesAndConverts) {
  const DType types[] = {DType::u8, DType::f16, DType::f32, DType::f64};
  for (const DType from : types)
    for (const DType to : types) {
      if (to == DType::u8 && from != to) continue;  // negative numbers have no bytes
      const auto make = [&](const Dim& columns, const Dim& rows) {
        return map_kernel(concat("tiles of ", name_of(from), " to ", name_of(to)),
                          {{from, {3, columns, rows}}, {to, {3, rows, columns}}},
                          [&](const auto& i) { return cast(to, load(0, from, {i[0], i[2], i[1]})); });
      };
      std::vector<LoopInputs> every;
      const Kernel open = make(Dim::symbol("c"), Dim::symbol("r"));
      for (const int64_t columns : {1, 4, 5, 8, 12, 16, 20})
        for (const int64_t rows : {1, 4, 9, 16, 40}) {
          const SymbolValues symbols{{"c", columns}, {"r", rows}};
          every.push_back({random_operands(open, symbols), symbols});
          const Kernel fixed = make(columns, rows);
          if (columns > 1) expect_matches(fixed, random_operands(fixed, {}));
        }
      expect_matches(open, every);
    }
}

TEST(StoreRow, Reflections) {
  constexpr int64_t pad = 3;
  expect_rows(
      [&](const Dim& n) {
        return map_kernel("reflect", {{DType::f32, {kRows, n}}, {DType::f32, {kRows, n + 2 * pad}}},
                          [&](const std::vector<Expr>& i) {
                            const Expr from = i[1] - index(pad), front = at_least(from, index(0) - from);
                            return load(0, DType::f32, {i[0], at_most(front, extent(2 * n - 2) - front)});
                          });
      },
      pad + 1);
}

TEST(StoreRow, Wraps) {
  constexpr int64_t pad = 3;
  expect_rows([&](const Dim& n) {
    return map_kernel("wrap", {{DType::f32, {kRows, n}}, {DType::f32, {kRows, n + 2 * pad}}},
                      [&](const std::vector<Expr>& i) {
                        return load(0, DType::f32, {i[0], binary(BinaryOp::mod, i[1] - index(pad), extent(n))});
                      });
  });
}

/// Rows of every length in each mode of Pad, with ends of any width: also rows of a few elements, whose ends are longer
/// than their middle, and crops. All but constant ends read single elements at positions from tables.
TEST(StoreRow, PadsOfOpenRows) {
  const auto at = [](std::string_view mode, const Expr& i, const Dim& n) {
    const Expr period = extent(n * 2 - 2), forth = binary(BinaryOp::mod, i, period);
    if (mode == "edge") return clamped(i, n);
    return mode == "wrap" ? binary(BinaryOp::mod, i, extent(n)) : at_most(forth, period - forth);
  };
  for (const DType dtype : {DType::f32, DType::u8, DType::f16, DType::i64})
    for (const std::string_view mode : {"edge", "wrap", "reflect"})
      for (const auto& [front, back] : {std::pair<int64_t, int64_t>{1, 1}, {3, 2}, {0, 5}, {20, 0}, {-2, 3}}) {
        SCOPED_TRACE(concat(mode, " ", name_of(dtype), " ", front, " ", back));
        expect_rows(
            [&](const Dim& n) {
              return map_kernel("pad", {{dtype, {kPadded, n}}, {dtype, {kPadded, n + front + back}}},
                                [&](const std::vector<Expr>& i) {
                                  const Dim size = front < 0 ? n + front : n;
                                  const Expr from = at(mode, i[1] - index(std::max<int64_t>(front, 0)), size);
                                  return load(0, dtype, {i[0], front < 0 ? from - index(front) : from});
                                });
            },
            front < 0 ? 3 : 1);
      }
}

/// The same elements are read and written: no element may be computed from stored results.
TEST(StoreRow, InPlace) {
  for (int64_t n : kLengths) {
    const Kernel kernel =
        map_kernel("in place", {{DType::f32, {kRows, n}}, {DType::f32, {kRows, n}}}, [&](const std::vector<Expr>& i) {
          const Expr ahead = at_least(i[1] - index(1), index(0));
          return load(0, DType::f32, {i[0], i[1]}) + cast(DType::f32, ahead);
        });
    for (const std::string& target : runnable_targets()) {
      std::vector<Tensor> expected = random_operands(kernel, {});
      Tensor shared = expected[0];
      interpret(kernel, expected, {});
      const RunnableKernel code(kernel, target);
      ASSERT_EQ(code.call({shared.mutable_data(), shared.mutable_data()}, {}, 0, code.tasks({})), 0);
      for (int64_t k = 0; k < kRows * n; ++k)
        ASSERT_NEAR(shared.as<float>()[static_cast<size_t>(k)], expected[1].as<float>()[static_cast<size_t>(k)], 1e-5)
            << target << " " << n << " " << k;
    }
  }
}

/// y[r, j, k] = x[r, k, j]: lanes along j store every second to fourth element.
TEST(StoreRow, Interleaved) {
  for (int64_t parts : {2, 3, 4})
    expect_rows([&](const Dim& n) {
      return map_kernel("interleave", {{DType::f32, {kRows, parts, n}}, {DType::f32, {kRows, n, parts}}},
                        [&](const std::vector<Expr>& i) {
                          return load(0, DType::f32, {i[0], i[2], at_least(i[1] - index(1), index(0))});
                        });
    });
}

/// The mask of the end of a row is one comparison for all parts. LLVM shuffles a mask bit by bit.
TEST(StoreRow, EndsOfInterleavedRowsHaveOneComparison) {
  for (const DType type : {DType::f32, DType::u8, DType::i64}) {
    const Kernel kernel = transpose_kernel(type, kRows, 3, Dim::symbol("n"));
    const std::string code = cpu::kernel_assembly(kernel, cpu::cpu_target(*find_target("x86-64-v4")));
    EXPECT_EQ(code.find("\tkor"), std::string::npos) << name_of(type);
  }
}

TEST(StoreRow, EverySecondToFifthElement) {
  for (DType dtype : {DType::f32, DType::u8, DType::i64})
    for (int64_t step : {2, 3, 4, 5})
      expect_rows([&](const Dim& n) {
        return map_kernel("steps", {{dtype, {kRows, n * step}}, {dtype, {kRows, n}}},
                          [&](const std::vector<Expr>& i) { return load(0, dtype, {i[0], i[1] * index(step)}); });
      });
}

/// Values of several columns are interleaved in registers, although each column is an operand of its own.
TEST(StoreRow, InterleavesColumns) {
  const auto columns = [](DType dtype, const Dim& n) {
    return map_kernel("columns", {{dtype, {n}}, {dtype, {n}}, {dtype, {n}}, {dtype, {n, 3}}},
                      [&](const std::vector<Expr>& i) {
                        const auto is = [&](int64_t k) { return binary(BinaryOp::less, i[1], index(k + 1)); };
                        const auto column = [&](int k) { return load(k, dtype, {i[0]}); };
                        return select(is(0), column(0), select(is(1), column(1), column(2)));
                      });
  };
  for (DType dtype : {DType::f32, DType::f64, DType::u8, DType::f16, DType::i64}) {
    expect_rows([&](const Dim& n) { return columns(dtype, n); });
    const Kernel kernel = columns(dtype, Dim::symbol("n"));
    for (const std::string target : {"x86-64-v3", "x86-64-v4"}) {
      const std::string code = cpu::kernel_assembly(kernel, cpu::cpu_target(*find_target(target)));
      EXPECT_EQ(code.find("scatter"), std::string::npos) << target;
      EXPECT_EQ(code.find("vgather"), std::string::npos) << target;
    }
  }
}

/// Neighbouring lanes read the same element: the scale of their block. Only the end of a row gathers elements.
TEST(StoreRow, ScalesOfBlocks) {
  const auto scaled = [](const Dim& n, int64_t block, int64_t from) {
    return map_kernel("scaled",
                      {{DType::f32, {kRows, n}}, {DType::f32, {kRows, n + from + 1}}, {DType::f32, {kRows, n}}},
                      [&](const std::vector<Expr>& i) {
                        const Expr at = binary(BinaryOp::floor_div, i[1] + index(from), index(block));
                        return load(0, DType::f32, i) * load(1, DType::f32, {i[0], at});
                      });
  };
  for (int64_t block : {1, 3, 4, 8, 15, 16, 32, 48})
    for (int64_t from : {0, 5}) expect_rows([&](const Dim& n) { return scaled(n, block, from); });
  const Kernel kernel = scaled(Dim::symbol("n"), 32, 0);
  const std::string code = cpu::kernel_assembly(kernel, cpu::cpu_target(*find_target("x86-64-v4")));
  const std::vector<cpu::InnerLoop> loops = cpu::inner_loops(code);
  EXPECT_TRUE(std::any_of(loops.begin(), loops.end(), [](const cpu::InnerLoop& loop) {
    return loop.count({"vmulps"}) > 0 && loop.count({"vgather"}) == 0;
  }));
}

/// A maximum that all terms of a sum share.
TEST(StoreRow, ReductionsInsideReductions) {
  expect_rows(
      [&](const Dim& n) {
        return map_kernel("nested", {{DType::f32, {30, n}}, {DType::f32, {n}}}, [&](const std::vector<Expr>& i) {
          const Axis a{10, 30}, b{11, 30};
          const Expr largest = reduce(ReduceOp::max, {a}, load(0, DType::f32, {axis_ref(a), i[0]}));
          return reduce(ReduceOp::sum, {b}, unary(UnaryOp::exp, load(0, DType::f32, {axis_ref(b), i[0]}) - largest));
        });
      },
      1, 1e-5);
}

}  // namespace
}  // namespace gcg::test
