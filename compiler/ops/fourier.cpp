// DFT and STFT. expand_fourier rewrites transforms of known length as products with a matrix. The lowering here sums
// term by term and works for any length.
#include <algorithm>
#include <cmath>
#include <complex>
#include <numbers>

#include "compiler/ops/index.h"
#include "compiler/ops/movement.h"
#include "compiler/ops/ops.h"
#include "compiler/ops/pointwise.h"
#include "compiler/ops/spectrum.h"

namespace gcg {
namespace {

// ---- lowering

/// Sum over the rows and parts of the input. `x(row, part)` is the input element.
template <class Input>
Expr transform(LowerContext& ctx, const Spectrum& s, const Expr& out_row, const Expr& out_part, Input x) {
  const Axis row = ctx.fresh_axis(s.in_rows);
  const Expr n = axis_ref(row), length = extent(s.length);
  const auto f = [](const Expr& e) { return cast(DType::f32, e); };
  const auto literal = [](double v) { return constant_float(DType::f32, v); };
  const Expr turns = binary(BinaryOp::div, f(binary(BinaryOp::mod, n * out_row, length)), f(length));
  const Expr angle = literal((s.inverse ? -2 : 2) * std::numbers::pi) * turns;
  const Expr cosine = unary(UnaryOp::cos, angle), sine = unary(UnaryOp::sin, angle);
  const Expr real = binary(BinaryOp::equal, out_part, index(0));
  Expr term = x(n, 0) * select(real, cosine, unary(UnaryOp::neg, sine));
  if (s.in_parts == 2) term = term + x(n, 1) * select(real, sine, cosine);
  if (s.inverse) {
    if (s.onesided) {
      const Expr once =
          binary(BinaryOp::logical_or, binary(BinaryOp::equal, n, index(0)), binary(BinaryOp::equal, n + n, length));
      term = term * select(once, literal(1), literal(2));
    }
    return binary(BinaryOp::div, reduce(ReduceOp::sum, {row}, term), f(length));
  }
  return reduce(ReduceOp::sum, {row}, term);
}

const Value* optional_input(const LowerContext& ctx, int i) { return ctx.has_input(i) ? &ctx.input_value(i) : nullptr; }

Expr lower_dft(LowerContext& ctx, int output, const std::vector<Expr>& at) {
  const auto params = dft_params(ctx.node(), ctx.input_shape(0), optional_input(ctx, 1), optional_input(ctx, 2));
  const auto axis = static_cast<size_t>(params->axis);
  const auto x = [&](const Expr& row, int64_t part) {
    Index from = at;
    from[axis] = row;
    from.back() = index(part);
    return cast(DType::f32, ctx.input(0, from));
  };
  return as_output(ctx, output, transform(ctx, params->spectrum, at[axis], at.back(), x));
}

Expr lower_stft(LowerContext& ctx, int output, const std::vector<Expr>& at) {
  const auto params =
      stft_params(ctx.node(), ctx.input_shape(0), ctx.input_value(1), optional_input(ctx, 2), optional_input(ctx, 3));
  const bool has_parts = ctx.input_shape(0).size() == 3;
  const auto x = [&](const Expr& row, int64_t part) {
    Index from = {at[0], at[1] * extent(params->step) + row};
    if (has_parts) from.push_back(index(part));
    const Expr sample = cast(DType::f32, ctx.input(0, from));
    return ctx.has_input(2) ? sample * cast(DType::f32, ctx.input(2, {row})) : sample;
  };
  return as_output(ctx, output, transform(ctx, params->spectrum, at[2], at[3], x));
}

// ---- inference

const Value* optional_input(const InferContext& ctx, int i) { return ctx.has_input(i) ? &ctx.input(i) : nullptr; }

void infer_dft(InferContext& ctx) {
  const auto params = dft_params(ctx.node(), ctx.shape(0), optional_input(ctx, 1), optional_input(ctx, 2));
  if (!params) ctx.fail("the axis must be known at compile time, and the length must not depend on data");
  Shape y = ctx.shape(0);
  y[static_cast<size_t>(params->axis)] = params->spectrum.out_rows;
  y.back() = params->spectrum.out_parts;
  ctx.set_output(0, ctx.dtype(0), std::move(y));
}

void infer_stft(InferContext& ctx) {
  if (ctx.has_input(2) && ctx.rank(2) != 1) ctx.fail("the window (input 2) must be a vector");
  const auto params =
      stft_params(ctx.node(), ctx.shape(0), ctx.input(1), optional_input(ctx, 2), optional_input(ctx, 3));
  if (!params) ctx.fail("frame_step and frame_length must not depend on data");
  if (ctx.has_input(2)) ctx.require_equal(ctx.shape(2)[0], params->spectrum.length, "window and frame_length");
  ctx.set_output(0, ctx.dtype(0), {ctx.shape(0)[0], params->frames, params->spectrum.out_rows, 2});
}

/// Before opset 20 the axis is an attribute. Its default, 1, counts from the front; the newer default counts from the
/// end.
void upgrade_dft(UpgradeContext& ctx) {
  if (ctx.version >= 20) return;
  const int64_t axis = ctx.node.int_attribute("axis", 1);
  ctx.node.attributes.erase("axis");
  ctx.set_input(2, Tensor::scalar_i64(axis));
}

// ---- reference

using Complex = std::complex<double>;

/// The definition: every output is a sum over all inputs, zero-padded or cut to `length`.
std::vector<Complex> transformed(std::vector<Complex> x, int64_t length, bool inverse, bool onesided) {
  const auto size = static_cast<size_t>(length);
  x.resize(inverse && onesided ? std::min(x.size(), size / 2 + 1) : size);
  if (inverse && onesided) {
    const std::vector<Complex> half = x;
    x.assign(size, Complex());
    for (size_t k = 0; k < half.size(); ++k) x[k] = half[k];
    for (size_t k = 1; k < half.size(); ++k)
      if (2 * k != size) x[size - k] = std::conj(half[k]);
  }
  std::vector<Complex> y(onesided && !inverse ? size / 2 + 1 : size);
  for (size_t k = 0; k < y.size(); ++k) {
    for (size_t n = 0; n < size; ++n) {
      const double fraction = static_cast<double>(k * n % size) / static_cast<double>(size);
      y[k] += x[n] * std::polar(1.0, (inverse ? 2 : -2) * std::numbers::pi * fraction);
    }
    if (inverse) y[k] /= static_cast<double>(length);
  }
  return y;
}

std::vector<Tensor> reference_dft(ReferenceContext& ctx) {
  const Tensor &x = *ctx.input(0), *length = ctx.input(1), *axis_input = ctx.input(2);
  const bool inverse = ctx.node().int_attribute("inverse", 0) != 0,
             onesided = ctx.node().int_attribute("onesided", 0) != 0;
  const auto axis = static_cast<size_t>(wrap_axis(axis_input ? axis_input->at_int(0) : -2, x.rank()));
  const int64_t rows = x.shape()[axis], parts = x.shape().back();
  const int64_t size = length ? length->at_int(0) : inverse && onesided ? 2 * (rows - 1) : rows;
  std::vector<int64_t> shape = x.shape();
  shape[axis] = onesided && !inverse ? size / 2 + 1 : size;
  shape.back() = inverse && onesided ? 1 : 2;
  Tensor y(x.dtype(), shape);
  std::vector<int64_t> lines = shape;
  lines[axis] = lines.back() = 1;
  for_each_index(lines, [&](std::vector<int64_t> at) {
    std::vector<Complex> line;
    for (at[axis] = 0; at[axis] < rows; ++at[axis]) {
      const int64_t here = position(at, x.shape());
      line.emplace_back(x.at_double(here), parts == 2 ? x.at_double(here + 1) : 0);
    }
    line = transformed(std::move(line), size, inverse, onesided);
    for (at[axis] = 0; at[axis] < shape[axis]; ++at[axis]) {
      const int64_t here = position(at, shape);
      const Complex value = line[static_cast<size_t>(at[axis])];
      y.set_double(here, value.real());
      if (shape.back() == 2) y.set_double(here + 1, value.imag());
    }
  });
  return {std::move(y)};
}

std::vector<Tensor> reference_stft(ReferenceContext& ctx) {
  const Tensor &x = *ctx.input(0), *window = ctx.input(2), *given = ctx.input(3);
  const bool onesided = ctx.node().int_attribute("onesided", 1) != 0;
  const int64_t samples = x.shape()[1], parts = x.rank() == 3 ? x.shape()[2] : 1, step = ctx.input(1)->at_int(0);
  const int64_t length = given ? given->at_int(0) : window ? window->elements() : samples;
  const int64_t frames = (samples - length) / step + 1, bins = onesided ? length / 2 + 1 : length;
  Tensor y(x.dtype(), {x.shape()[0], frames, bins, 2});
  for_each_index({x.shape()[0], frames}, [&, o = int64_t{0}](const std::vector<int64_t>& at) mutable {
    std::vector<Complex> line;
    for (int64_t t = 0; t < length; ++t) {
      const int64_t here = (at[0] * samples + at[1] * step + t) * parts;
      const Complex sample(x.at_double(here), parts == 2 ? x.at_double(here + 1) : 0);
      line.push_back(window ? sample * window->at_double(t) : sample);
    }
    for (const Complex& value : transformed(std::move(line), length, false, onesided)) {
      y.set_double(o++, value.real());
      y.set_double(o++, value.imag());
    }
  });
  return {std::move(y)};
}

}  // namespace

constinit const OpDef op_DFT{.name = "DFT",
                             .since = 17,
                             .min_inputs = 1,
                             .max_inputs = 3,
                             .types = {Types::floats, Types::integers},
                             .kind = OpKind::reduction,
                             .traits = {.reads = Reads::window},
                             .upgrade = upgrade_dft,
                             .infer = infer_dft,
                             .lower = lower_dft,
                             .reference = reference_dft};
constinit const OpDef op_STFT{.name = "STFT",
                              .since = 17,
                              .min_inputs = 2,
                              .max_inputs = 4,
                              .types = {Types::floats, Types::integers, Types::as_first, Types::integers},
                              .kind = OpKind::reduction,
                              .traits = {.reads = Reads::window},
                              .infer = infer_stft,
                              .lower = lower_stft,
                              .reference = reference_stft};

}  // namespace gcg
