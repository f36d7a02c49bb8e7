// Kernels that would be many times slower as scalar code. Each kernel is compared with a plain sum that has as many
// loads and elements. The limits are far above measured times, and far below the time of scalar code.
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <utility>

#include "tests/codegen/conv_harness.h"
#include "tests/codegen/loop_harness.h"
#include "tests/codegen/window_kernels.h"

namespace gcg::test {
namespace {

constexpr double kSlowest = 6;  // limit of the time, relative to the plain sum

/// A kernel for one target, and the shortest of its runs.
class Timed {
 public:
  Timed(Kernel kernel, const std::string& target, SymbolValues symbols = {})
      : kernel_(std::move(kernel)),
        code_(kernel_, target),
        symbols_(std::move(symbols)),
        operands_(random_operands(kernel_, symbols_)) {
    for (Tensor& t : operands_) buffers_.push_back(t.mutable_data());
  }
  void run() {
    const auto begin = std::chrono::steady_clock::now();
    EXPECT_EQ(code_.call(buffers_, symbols_, 0, code_.tasks(symbols_)), 0);
    seconds_ = std::min(seconds_, std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count());
  }
  double seconds() const { return seconds_; }

 private:
  Kernel kernel_;
  RunnableKernel code_;
  SymbolValues symbols_;
  std::vector<Tensor> operands_;
  std::vector<void*> buffers_;
  double seconds_ = 1e9;
};

/// y[i] = the sum of x[t, i] over `loads` values of t.
Kernel plain_sum(int64_t loads, int64_t elements) {
  return map_kernel("plain", {{DType::f32, {loads, elements}}, {DType::f32, {elements}}},
                    [&](const std::vector<Expr>& i) {
                      Expr sum;
                      for (int64_t t = 0; t < loads; ++t) {
                        const Expr x = load(0, DType::f32, {index(t), i[0]});
                        sum = sum ? sum + x : x;
                      }
                      return sum;
                    });
}

/// Other processes may use caches and cores for a while. So both kernels run in turns, and for longer if the measured
/// kernel is still too slow.
void expect_near_plain_sum(const Kernel& kernel, int64_t loads, const SymbolValues& symbols = {}) {
  const Shape& shape = kernel.operands.back().shape;
  int64_t elements = 1;
  for (const Dim& d : shape) elements *= d.evaluate(symbols);
  for (const std::string& target : runnable_targets()) {
    Timed measured(kernel, target, symbols), plain(plain_sum(loads, elements), target);
    const auto near = [&] { return measured.seconds() < kSlowest * plain.seconds(); };
    for (int turn = 0; turn < 60 || (turn < 3000 && !near()); ++turn) {
      measured.run();
      plain.run();
    }
    EXPECT_TRUE(near()) << kernel.name << " for " << target << ": " << measured.seconds() * 1e6 << " us, a plain sum "
                        << plain.seconds() * 1e6 << " us";
  }
}

TEST(FormerCliffs, Windows) {
  expect_near_plain_sum(window_kernel(ReduceOp::max, 112, 112, 3, 2, 1), 9);
  expect_near_plain_sum(window_kernel(ReduceOp::sum, 112, 112, 3, 2, 1), 9);
  expect_near_plain_sum(window_kernel(ReduceOp::max, 112, 112, 3, 1, 1), 9);
  expect_near_plain_sum(window_kernel(ReduceOp::max, 80, 80, 5, 1, 2), 25);
}

/// Rows have a symbolic extent. At the end of a row, lanes have fixed positions relative to that extent.
TEST(FormerCliffs, WindowsOfOpenRows) {
  const Dim w = Dim::symbol("w");
  expect_near_plain_sum(window_kernel(ReduceOp::max, 192, w, 3, 1, 1), 9, {{"w", 28}});
  expect_near_plain_sum(window_kernel(ReduceOp::sum, 192, w, 3, 1, 1), 9, {{"w", 28}});
  expect_near_plain_sum(window_kernel(ReduceOp::max, 192, w, 5, 1, 2), 25, {{"w", 28}});
}

/// The interior of a row is only half a register wide.
TEST(FormerCliffs, WideWindowsOfShortOpenRows) {
  const Dim w = Dim::symbol("w");
  const Axis tap{10, 13};
  const Kernel kernel = map_kernel("wide", {{DType::f32, {400, w}}, {DType::f32, {400, w}}}, [&](const auto& i) {
    return reduce(ReduceOp::max, {tap}, load(0, DType::f32, {i[0], clamped(i[1] - index(6) + axis_ref(tap), w)}));
  });
  expect_near_plain_sum(kernel, 13, {{"w", 20}});
}

/// The last window with a stride ends at the end of the row or next to it.
TEST(FormerCliffs, WindowsWithAStrideOfOpenRows) {
  const Dim w = Dim::symbol("w");
  for (const ReduceOp op : {ReduceOp::max, ReduceOp::sum})
    for (const int64_t width : {112, 113}) expect_near_plain_sum(window_kernel(op, 112, w, 3, 2, 1), 9, {{"w", width}});
}

/// Rows of symbolic extent that wrap around or are reflected.
TEST(FormerCliffs, WrappedAndReflectedOpenRows) {
  const Dim w = Dim::symbol("w");
  const auto rows = [&](const Dim& period, bool reflects) {
    return map_kernel("wrapped", {{DType::f32, {200, w}}, {DType::f32, {200, w + 2}}}, [&](const std::vector<Expr>& i) {
      const Expr from = binary(BinaryOp::mod, i[1] - index(1), extent(period));
      return load(0, DType::f32, {i[0], reflects ? at_most(from, extent(period) - from) : from});
    });
  };
  expect_near_plain_sum(rows(w, false), 1, {{"w", 56}});
  expect_near_plain_sum(rows(w * 2 - 2, true), 1, {{"w", 56}});
}

/// Whether the operand is broadcast along rows is known only at run time.
TEST(FormerCliffs, BroadcastsThatARunDecides) {
  const Dim n = Dim::symbol("n"), moves = max(min(n - 1, 1), 0);
  const Kernel kernel =
      map_kernel("stretch", {{DType::f32, {n}}, {DType::f32, {300, 768}}},
                 [&](const std::vector<Expr>& i) { return load(0, DType::f32, {i[1] * extent(moves)}); });
  for (const int64_t extent : {1, 768}) {
    expect_near_plain_sum(kernel, 1, {{"n", extent}});
    expect_matches(kernel, random_operands(kernel, {{"n", extent}}), {{"n", extent}});
  }
}

/// Windows whose result rows are shorter than a register.
TEST(FormerCliffs, WindowsOfNarrowRows) {
  expect_near_plain_sum(window_kernel(ReduceOp::max, 224, 28, 2, 2, 0), 4);
  expect_near_plain_sum(window_kernel(ReduceOp::sum, 224, 30, 3, 3, 0), 9);
  expect_near_plain_sum(window_kernel(ReduceOp::max, 448, 7, 3, 1, 1), 9);
  expect_near_plain_sum(window_kernel(ReduceOp::max, 224, 14, 3, 1, 1), 9);
}

/// Transposes blocks of 16 rows, the last of which is not full.
TEST(FormerCliffs, BlocksOfRows) {
  constexpr int64_t rows = 40, width = 1024, blocks = (rows + 15) / 16;
  expect_near_plain_sum(map_kernel("blocks", {{DType::f32, {rows, width}}, {DType::f32, {blocks, width, 16}}},
                                   [&](const std::vector<Expr>& i) {
                                     const Expr row = i[0] * index(16) + i[2];
                                     return select(binary(BinaryOp::less_equal, row, index(rows - 1)),
                                                   load(0, DType::f32, {at_most(row, index(rows - 1)), i[1]}), f32(0));
                                   }),
                        1);
}

TEST(FormerCliffs, ClampedRows) {
  constexpr int64_t rows = 200, width = 58;
  expect_near_plain_sum(map_kernel("reflect", {{DType::f32, {rows, width - 2}}, {DType::f32, {rows, width}}},
                                   [&](const std::vector<Expr>& i) {
                                     const Expr from = i[1] - index(1), front = at_least(from, index(0) - from);
                                     return load(0, DType::f32, {i[0], at_most(front, index(2 * (width - 3)) - front)});
                                   }),
                        1);
}

/// Doubles a row: each element lies between two elements of the input.
TEST(FormerCliffs, DoubledRows) {
  constexpr int64_t rows = 200, width = 28;
  expect_near_plain_sum(
      map_kernel("doubled", {{DType::f32, {rows, width}}, {DType::f32, {rows, 2 * width}}},
                 [&](const std::vector<Expr>& i) {
                   const Expr first = binary(BinaryOp::floor_div, i[1] + index(1), index(2)) - index(1);
                   const Expr odd = binary(BinaryOp::mod, i[1], index(2));
                   const Expr weight = select(binary(BinaryOp::equal, odd, index(0)), f32(0.25), f32(0.75));
                   const auto x = [&](const Expr& at) { return load(0, DType::f32, {i[0], clamped(at, width)}); };
                   return x(first) * weight + x(first + index(1)) * (f32(1) - weight);
                 }),
      4);
}

/// Each term of a sum over rows needs a maximum over rows.
TEST(FormerCliffs, ReductionsInsideReductions) {
  constexpr int64_t rows = 30, width = 2000;
  expect_near_plain_sum(
      map_kernel("nested", {{DType::f32, {rows, width}}, {DType::f32, {width}}},
                 [&](const std::vector<Expr>& i) {
                   const Axis a{10, rows}, b{11, rows};
                   const Expr largest = reduce(ReduceOp::max, {a}, load(0, DType::f32, {axis_ref(a), i[0]}));
                   return reduce(ReduceOp::sum, {b}, load(0, DType::f32, {axis_ref(b), i[0]}) - largest);
                 }),
      2 * rows);
}

/// Interpolates between two elements of a row, with a ratio that is not a small integer. Two loads, each with its
/// position and a permutation, take as many instructions as six loads.
TEST(FormerCliffs, StretchedRows) {
  constexpr int64_t rows = 200, width = 33, wide = 128;
  expect_near_plain_sum(
      map_kernel("stretched", {{DType::f32, {rows, width}}, {DType::f32, {rows, wide}}},
                 [&](const std::vector<Expr>& i) {
                   const Expr at = i[1] * index(20) - index(29), first = binary(BinaryOp::floor_div, at, index(78));
                   const Expr t = cast(DType::f32, binary(BinaryOp::mod, at, index(78))) * f32(1.0 / 78);
                   const auto x = [&](const Expr& place) { return load(0, DType::f32, {i[0], clamped(place, width)}); };
                   return x(first) * (f32(1) - t) + x(first + index(1)) * t;
                 }),
      6);
}

/// The same with a ratio that is known only at run time.
TEST(FormerCliffs, RowsStretchedByARun) {
  const Dim width = Dim::symbol("w"), wide = Dim::symbol("o");
  expect_near_plain_sum(
      map_kernel("open", {{DType::f32, {200, width}}, {DType::f32, {200, wide}}},
                 [&](const std::vector<Expr>& i) {
                   const Expr at = i[1] * extent(width), first = binary(BinaryOp::floor_div, at, extent(wide + 1));
                   const Expr t = cast(DType::f32, binary(BinaryOp::mod, at, extent(wide + 1))) * f32(1.0 / 128);
                   const auto x = [&](const Expr& place) { return load(0, DType::f32, {i[0], clamped(place, width)}); };
                   return x(first) * (f32(1) - t) + x(first + index(1)) * t;
                 }),
      8, {{"w", 33}, {"o", 127}});
}

/// A long row with reflected ends that are many registers wide.
TEST(FormerCliffs, WideEnds) {
  constexpr int64_t width = 16000, pad = 200;
  expect_near_plain_sum(map_kernel("wide", {{DType::f32, {width}}, {DType::f32, {width + 2 * pad}}},
                                   [&](const std::vector<Expr>& i) {
                                     const Expr period = index(2 * (width - 1)),
                                                forth = binary(BinaryOp::mod, i[0] - index(pad), period);
                                     return load(0, DType::f32, {at_most(forth, period - forth)});
                                   }),
                        1);
}

/// Stores rows of three elements into rows of eight, as Concat does.
TEST(FormerCliffs, ShortRows) {
  constexpr int64_t rows = 6400;
  Kernel kernel = map_kernel("short", {{DType::f32, {rows, 3}}, {DType::f32, {rows, 3}}},
                             [&](const std::vector<Expr>& i) { return load(0, DType::f32, {i[0], i[1]}); });
  kernel.operands[1].shape = {rows, 8};
  expect_near_plain_sum(kernel, 1);
}

/// Maxima of bytes in rows that have no interior. Each element may cost only its own loads, not those of all lanes.
TEST(FormerCliffs, OpenRowsWithoutAMiddle) {
  constexpr int64_t rows = 512, taps = 5, lanes = 16;
  const Dim width = Dim::symbol("w");
  const Axis tap{10, taps};
  expect_near_plain_sum(map_kernel("bytes", {{DType::i8, {rows, width}}, {DType::i8, {rows, width}}},
                                   [&](const std::vector<Expr>& i) {
                                     const Expr from = i[1] + axis_ref(tap) - index(2);
                                     return reduce(ReduceOp::max, {tap},
                                                   load(0, DType::i8, {i[0], clamped(from, width)}));
                                   }),
                        taps * lanes, {{"w", 3}});
}

/// Pairs of bytes in rows of six. A register must hold one row; it must not gather from as many rows as it has lanes.
TEST(FormerCliffs, ShortRowsOfBytes) {
  const Kernel kernel = map_kernel("pairs", {{DType::i8, {2048, 6}}, {DType::i8, {2048, 6, 2}}},
                                   [&](const std::vector<Expr>& i) { return load(0, DType::i8, {i[0], i[1]}); });
  for (const std::string& target : runnable_targets()) {
    const std::string note = RunnableKernel(kernel, target).info().note;
    EXPECT_EQ(note.find("store 2048 by"), std::string::npos) << target << ": " << note;
  }
}

/// Samples many planes at positions that depend on data.
TEST(FormerCliffs, PlacesOfAllPlanes) {
  constexpr int64_t planes = 64, size = 1024, places = 1024;
  expect_near_plain_sum(
      map_kernel("sampled", {{DType::f32, {planes, size}}, {DType::f32, {places}}, {DType::f32, {planes, places}}},
                 [&](const std::vector<Expr>& i) {
                   const Expr p = load(1, DType::f32, {i[1]}) * f32(100), floor = unary(UnaryOp::floor, p),
                              t = p - floor, first = cast(DType::i64, floor);
                   const auto x = [&](const Expr& place) {
                     return select(inside(place, size), load(0, DType::f32, {i[0], clamped(place, size)}), f32(0));
                   };
                   return x(first) * (f32(1) - t) + x(first + index(1)) * t;
                 }),
      16);
}

/// Stores every second element in rows of 14. The batch is symbolic and may be 1, so lanes must run along static
/// extents.
TEST(FormerCliffs, ScatteredRowsOfOpenBatches) {
  const Dim batch = Dim::symbol("n");
  Kernel kernel = map_kernel("scattered", {{DType::f32, {batch, 14, 14, 16}}, {DType::f32, {batch, 8, 14, 14}}},
                             [&](const std::vector<Expr>& i) { return load(0, DType::f32, {i[0], i[2], i[3], i[1]}); });
  kernel.operands[1].shape = {batch, 8, 14, 28};
  Expr& column = std::get<LoopKernel>(kernel.body).stages[0].index[3];
  column = column * index(2);
  for (const std::string& target : runnable_targets()) {
    const std::string note = RunnableKernel(kernel, target).info().note;
    EXPECT_EQ(note.find("store n by"), std::string::npos) << target << ": " << note;
  }
}

/// Rows of 6 outputs with symbolic extents: the kernel must use one tile instead of two of half the size.
TEST(FormerCliffs, ConvolutionsOfNarrowOpenRows) {
  constexpr double kSlowestOpen = 1.35;  // limit of the time, relative to static extents
  cpu::ConvCase c = cpu::conv_case(64, 12, 128, 3, 2, 1);
  c.height = 16;
  for (const std::string& target : runnable_targets()) {
    if (target == "x86-64-v3") continue;  // AVX2 tiles have only 6 pixels, so this case does not apply
    const cpu::CompiledConv fixed(c, target);
    c.symbolic_height = c.symbolic_width = true;
    const cpu::CompiledConv open(c, target);
    const cpu::ConvData data(c);
    double shortest[2] = {1e9, 1e9};
    const auto near = [&] { return shortest[1] < kSlowestOpen * shortest[0]; };
    for (int turn = 0; turn < 60 || (turn < 3000 && !near()); ++turn)
      for (int i = 0; i < 2; ++i) {
        const auto begin = std::chrono::steady_clock::now();
        (i == 0 ? fixed : open).run(data);
        const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - begin;
        shortest[i] = std::min(shortest[i], taken.count());
      }
    EXPECT_TRUE(near()) << target << ": open " << shortest[1] * 1e6 << " us, known " << shortest[0] * 1e6 << " us";
    c.symbolic_height = c.symbolic_width = false;
  }
}

}  // namespace
}  // namespace gcg::test
