// The common parameters of LSTM, GRU and RNN nodes.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "compiler/ir/graph.h"

namespace gcg {

/// One activation function of a recurrent node. `alpha` and `beta` are as in the operator of that name.
struct Activation {
  std::string name;  // "sigmoid", "tanh", ... in lower case
  double alpha = 0, beta = 0;

  double operator()(double x) const;
};

/// The attributes of a recurrent node, with defaults filled in.
///
/// Inputs: X, W, R, B, sequence_lens, initial_h, and for LSTM initial_c, P. Order of gates in W, R and B: LSTM i o f c,
/// GRU z r h, RNN one gate. Order in P: i o f. W and R are [directions, gates * H, depth], or in a quantised LSTM
/// [directions, depth, gates * H]. The depth is the size of X's rows for W, and H for R. A quantised LSTM has more
/// inputs after P: scale and zero point of W and of R. Each is one number for each direction or for each column.
struct RecurrentParams {
  int gates = 1;
  std::vector<bool> backward;                        // per direction
  std::vector<std::vector<Activation>> activations;  // per direction: LSTM f g h, GRU f g, RNN f
  std::optional<double> clip;                        // limit of the arguments of the gates' activations
  bool batch_first = false;                          // layout 1: X and initial states begin with the batch
  bool linear_before_reset = false;                  // GRU
  bool input_forget = false;                         // LSTM: the forget gate is 1 minus the input gate
  bool quantized = false;                            // W and R are 8-bit, and their operands are quantised

  int directions() const { return static_cast<int>(backward.size()); }
};

namespace recurrent {
enum : int { kX, kW, kR, kB, kSequenceLens, kInitialH, kInitialC, kP, kWScale, kWZero, kRScale, kRZero };
}  // namespace recurrent

bool is_recurrent(const Node& node);
/// Throws CompileError for an unknown direction or activation.
RecurrentParams recurrent_params(const Node& node);

}  // namespace gcg
