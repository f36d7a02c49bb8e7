// Discrete Fourier transforms as sums: the parameters of DFT and STFT nodes, and the matrix that they multiply by.
#pragma once

#include "compiler/ops/op_support.h"

namespace gcg {

/// One transform of `length` along one line. Element (row, part) of the input contributes to element (row, part) of the
/// output; part 0 is real, part 1 imaginary. Input rows from `in_rows` on do not count.
struct Spectrum {
  Dim length, in_rows, out_rows;
  int64_t in_parts = 1, out_parts = 2;
  bool inverse = false, onesided = false;
};

/// DFT along `axis` of x[..., parts].
struct DftParams {
  int64_t axis = 0;
  Spectrum spectrum;
};
/// Fails, naming the node. `length` and `axis` are null if omitted. nullopt if the length or the axis depends on data.
std::optional<DftParams> dft_params(const Node& node, const Shape& x, const Value* length, const Value* axis);

/// STFT of x[batch, samples] or x[batch, samples, parts]. It transforms frames, each starting `step` samples after the
/// previous one.
struct StftParams {
  Dim step, frames;
  Spectrum spectrum;
};
std::optional<StftParams> stft_params(const Node& node, const Shape& x, const Value& step, const Value* window,
                                      const Value* length);

/// The weight of input element (row, part) in output element (out_row, out_part), for a transform of `length`.
double spectrum_weight(const Spectrum& spectrum, int64_t length, int64_t row, int64_t part, int64_t out_row,
                       int64_t out_part);

}  // namespace gcg
