// What LSTM, GRU and RNN nodes have in common.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "compiler/ir/graph.h"

namespace gcg {

/// One activation function of a recurrent node. `alpha` and `beta` mean what they do in the operator of that name.
struct Activation {
  std::string name;  // "sigmoid", "tanh", ... in lower case
  double alpha = 0, beta = 0;

  double operator()(double x) const;
};

/// The attributes of a recurrent node, defaults filled in.
///
/// Inputs: X, W, R, B, sequence_lens, initial_h, and for LSTM initial_c, P. Gates stand in W, R and B in the order
/// LSTM: i o f c, GRU: z r h, RNN: one; P in the order i o f. W and R are [directions, gates * H, of]; of a quantised
/// LSTM they are [directions, of, gates * H], and after P come scale and zero point of W and of R, each one for a
/// direction or for a column.
struct RecurrentForm {
  int gates = 1;
  std::vector<bool> backward;                        // per direction
  std::vector<std::vector<Activation>> activations;  // per direction: LSTM f g h, GRU f g, RNN f
  std::optional<double> clip;                        // of what the gates' activations are applied to
  bool batch_first = false;                          // layout 1: X and initial states begin with the batch
  bool linear_before_reset = false;                  // GRU
  bool input_forget = false;                         // LSTM: the forget gate is 1 - input gate
  bool quantized = false;                            // W and R are bytes, what they are multiplied by becomes so

  int directions() const { return static_cast<int>(backward.size()); }
};

namespace recurrent {
enum : int { kX, kW, kR, kB, kSequenceLens, kInitialH, kInitialC, kP, kWScale, kWZero, kRScale, kRZero };
}  // namespace recurrent

bool is_recurrent(const Node& node);
/// Throws CompileError for a direction or activation that does not exist.
RecurrentForm recurrent_form(const Node& node);

}  // namespace gcg
