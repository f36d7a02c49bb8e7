// One step of a recurrent cell as nodes.
#pragma once

#include <vector>

#include "compiler/ops/node_builder.h"
#include "compiler/ops/quantize.h"
#include "compiler/ops/recurrent.h"

namespace gcg {

/// The factor of X or of a state, [depth, G*H]. It holds floats, or bytes if it has a scale. With a scale, the other
/// operand is quantised by its range.
using RecurrentFactor = QuantizedFactor;
ValueId recurrent_product(NodeBuilder& b, ValueId x, const RecurrentFactor& factor);

/// The inputs of a step. Shapes: B batch, H hidden, G gates.
struct CellInputs {
  ValueId projected;          // [B, G*H]: x W^T and all biases that may be added before the step
  ValueId h, c;               // [B, H]; c only for LSTM
  RecurrentFactor recurrent;  // [H, G*H]: R^T
  ValueId peepholes;          // [3*H], or none
  ValueId reset_bias;         // [H]: GRU with linear_before_reset, the bias inside the reset product; or none
};

struct CellState {
  ValueId h, c;
};

/// Writes one step for direction `direction` of the node. `dtype` is the type of all values, `hidden` is H.
CellState write_cell(NodeBuilder& b, const RecurrentParams& params, size_t direction, DType dtype, int64_t hidden,
                     const CellInputs& in);

}  // namespace gcg
