// Loop kernels that compute an axis's indices and weights once, and read neighbouring lanes from one register. Also
// loops over planes inside a vector of positions that depend on data.
#include <gtest/gtest.h>

#include "tests/codegen/loop_harness.h"
#include "tests/codegen/window_kernels.h"

namespace gcg::test {
namespace {

/// Resizes rows of `in` elements to `out` elements by linear interpolation.
Kernel stretched(const Dim& rows, const Dim& in, const Dim& out, int64_t up, int64_t down) {
  return map_kernel("stretched", {{DType::f32, {rows, in}}, {DType::f32, {rows, out}}},
                    [&](const std::vector<Expr>& i) {
                      const Expr at = i[1] * index(2 * down) + index(down - up), divisor = index(2 * up);
                      const Expr first = binary(BinaryOp::floor_div, at, divisor),
                                 rest = cast(DType::f32, binary(BinaryOp::mod, at, divisor));
                      const Expr t = binary(BinaryOp::div, rest, cast(DType::f32, divisor));
                      const auto x = [&](const Expr& place) { return load(0, DType::f32, {i[0], clamped(place, in)}); };
                      return x(first) * (f32(1) - t) + x(first + index(1)) * t;
                    });
}

void expect_stretched(int64_t rows, int64_t in, int64_t up, int64_t down) {
  const int64_t out = in * up / down;
  const Kernel fixed = stretched(rows, in, out, up, down);
  expect_matches(fixed, random_operands(fixed, {}));
  const SymbolValues symbols = {{"r", rows}, {"w", in}, {"o", out}};
  const Kernel open = stretched(Dim::symbol("r"), Dim::symbol("w"), Dim::symbol("o"), up, down);
  expect_matches(open, random_operands(open, symbols), symbols);
}

TEST(AxisTables, StretchedRows) {
  for (const auto& [up, down] : {std::pair{39, 10}, {7, 5}, {11, 3}, {101, 100}})
    for (int64_t in : {1, 5, 8, 33}) expect_stretched(21, in, up, down);
}

TEST(AxisTables, ShrunkRows) {
  for (const auto& [up, down] : {std::pair{5, 7}, {3, 11}})
    for (int64_t in : {11, 40}) expect_stretched(21, in, up, down);
}

/// The ratio is known only at run time. If rows grow, lanes read neighbouring elements; if rows shrink, they do not.
TEST(AxisTables, RowsOfAnyRatio) {
  const Dim in = Dim::symbol("w"), out = Dim::symbol("o");
  const Kernel open =
      map_kernel("any", {{DType::f32, {5, in}}, {DType::f32, {5, out}}}, [&](const std::vector<Expr>& i) {
        const Expr first = binary(BinaryOp::floor_div, i[1] * extent(in * 2), extent(out * 2 + 1));
        const auto x = [&](const Expr& place) { return load(0, DType::f32, {i[0], clamped(place, in)}); };
        return x(first) + x(first + index(1)) * f32(0.5);
      });
  for (int64_t w : {1, 5, 16, 33, 90})
    for (int64_t o : {1, 7, 16, 40, 160, 300}) {
      const SymbolValues symbols = {{"w", w}, {"o", o}};
      expect_matches(open, random_operands(open, symbols), symbols);
    }
}

/// y[c, j] interpolates between x[c, floor(p[j])] and the next element, like a sampled grid: all planes use the same
/// positions.
Kernel sampled(const Dim& planes, int64_t size, const Dim& places) {
  return map_kernel("sampled", {{DType::f32, {planes, size}}, {DType::f32, {places}}, {DType::f32, {planes, places}}},
                    [&](const std::vector<Expr>& i) {
                      const Expr p = load(1, DType::f32, {i[1]}) * f32(3) + f32(1), floor = unary(UnaryOp::floor, p),
                                 t = p - floor;
                      const auto x = [&](const Expr& place) {
                        return select(inside(place, size), load(0, DType::f32, {i[0], clamped(place, size)}), f32(0));
                      };
                      const Expr first = cast(DType::i64, floor);
                      return x(first) * (f32(1) - t) + x(first + index(1)) * t;
                    });
}

TEST(AxisTables, PlacesOfAllPlanes) {
  for (int64_t places : {1, 3, 8, 21, 257, 700})
    for (int64_t planes : {1, 4, 9}) {
      const Kernel fixed = sampled(planes, 12, places);
      expect_matches(fixed, random_operands(fixed, {}));
      const SymbolValues symbols = {{"c", planes}, {"p", places}};
      const Kernel open = sampled(Dim::symbol("c"), 12, Dim::symbol("p"));
      expect_matches(open, random_operands(open, symbols), symbols);
    }
}

/// Pads rows by reflection, with ends of any width.
TEST(AxisTables, WideEnds) {
  for (int64_t pad : {1, 7, 8, 9, 30})
    for (int64_t in : {31, 32, 60, 200}) {
      const auto kernel_of = [&](const Dim& width) {
        return map_kernel("mirrored", {{DType::f32, {3, width}}, {DType::f32, {3, width + 2 * pad}}},
                          [&](const std::vector<Expr>& i) {
                            const Expr period = extent(width * 2 - 2),
                                       forth = binary(BinaryOp::mod, i[1] - index(pad), period);
                            return load(0, DType::f32, {i[0], at_most(forth, period - forth)});
                          });
      };
      const Kernel fixed = kernel_of(in), open = kernel_of(Dim::symbol("w"));
      expect_matches(fixed, random_operands(fixed, {}));
      expect_matches(open, random_operands(open, {{"w", in}}), {{"w", in}});
    }
}

}  // namespace
}  // namespace gcg::test
