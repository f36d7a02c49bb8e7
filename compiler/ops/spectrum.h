// Discrete Fourier transforms as sums: what DFT and STFT nodes say, and the matrix they multiply by.
#pragma once

#include "compiler/ops/op_support.h"

namespace gcg {

/// One transform of `length` along one line. Element (row, part) of the input, part 0 real and 1 imaginary, contributes
/// to element (row, part) of the output; rows of the input after `in_rows` do not count.
struct Spectrum {
  Dim length, in_rows, out_rows;
  int64_t in_parts = 1, out_parts = 2;
  bool inverse = false, onesided = false;
};

/// DFT along `axis` of x[..., parts].
struct DftForm {
  int64_t axis = 0;
  Spectrum spectrum;
};
/// Fails naming the node. `length` and `axis` are null where omitted. nullopt where the length or the axis depends on
/// data.
std::optional<DftForm> dft_form(const Node& node, const Shape& x, const Value* length, const Value* axis);

/// STFT of x[batch, samples] or x[batch, samples, parts]: transforms of frames that begin `step` samples after each
/// other.
struct StftForm {
  Dim step, frames;
  Spectrum spectrum;
};
std::optional<StftForm> stft_form(const Node& node, const Shape& x, const Value& step, const Value* window,
                                  const Value* length);

/// What (row, part) of the input counts for (out_row, out_part) of the output, both of `length`.
double spectrum_weight(const Spectrum& spectrum, int64_t length, int64_t row, int64_t part, int64_t out_row,
                       int64_t out_part);

}  // namespace gcg
