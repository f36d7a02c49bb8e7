#include "compiler/passes/recurrent_cell.h"

namespace gcg {
namespace {

class CellWriter {
 public:
  CellWriter(NodeBuilder& b, const RecurrentParams& params, size_t direction, DType dtype, int64_t hidden,
             const CellInputs& in)
      : b_(b), params_(params), activations_(params.activations[direction]), dtype_(dtype), hidden_(hidden), in_(in) {}

  CellState lstm() {
    const ValueId gates = b_.add(in_.projected, of_state());
    const ValueId i = activate(0, with_peephole(gate(gates, 0), 0, in_.c));
    const ValueId f = params_.input_forget ? one_minus(i) : activate(0, with_peephole(gate(gates, 2), 2, in_.c));
    const ValueId c = b_.add(b_.multiply(f, in_.c), b_.multiply(i, activate(1, gate(gates, 3))));
    const ValueId o = activate(0, with_peephole(gate(gates, 1), 1, c));
    return {b_.multiply(o, apply(activations_[2], c)), c};
  }

  CellState gru() {
    // If the reset is applied to the product, one product computes all gates.
    const bool resets_product = params_.linear_before_reset;
    const ValueId weights = in_.recurrent.values;
    const ValueId of_h = resets_product ? of_state() : b_.node("MatMul", {in_.h, b_.slice(weights, 1, 0, 2 * hidden_)});
    const ValueId both = b_.add(z_and_r(in_.projected), resets_product ? z_and_r(of_h) : of_h);
    const ValueId z = activate(0, gate(both, 0)), r = activate(0, gate(both, 1));
    ValueId recurrent;
    if (resets_product) {
      recurrent = gate(of_h, 2);
      if (in_.reset_bias.valid()) recurrent = b_.add(recurrent, in_.reset_bias);
      recurrent = b_.multiply(r, recurrent);
    } else {
      recurrent = b_.node("MatMul", {b_.multiply(r, in_.h), gate(weights, 2)});
    }
    const ValueId candidate = activate(1, b_.add(gate(in_.projected, 2), recurrent));
    return {b_.add(b_.multiply(one_minus(z), candidate), b_.multiply(z, in_.h)), ValueId()};
  }

  CellState rnn() { return {activate(0, b_.add(in_.projected, of_state())), ValueId()}; }

 private:
  ValueId of_state() { return recurrent_product(b_, in_.h, in_.recurrent); }
  /// Columns of gate `g`.
  ValueId gate(ValueId x, int64_t g) { return b_.slice(x, 1, g * hidden_, (g + 1) * hidden_); }
  ValueId z_and_r(ValueId x) { return b_.slice(x, 1, 0, 2 * hidden_); }
  ValueId number(double value) { return b_.scalar(dtype_, value); }
  ValueId one_minus(ValueId x) { return b_.subtract(number(1), x); }

  ValueId with_peephole(ValueId x, int64_t g, ValueId c) {
    if (!in_.peepholes.valid()) return x;
    return b_.add(x, b_.multiply(b_.slice(in_.peepholes, 0, g * hidden_, (g + 1) * hidden_), c));
  }

  ValueId activate(size_t f, ValueId x) {
    if (params_.clip) x = b_.node("Clip", {x, number(-*params_.clip), number(*params_.clip)});
    return apply(activations_[f], x);
  }

  ValueId apply(const Activation& f, ValueId x) {
    if (f.name == "affine") return b_.add(b_.multiply(x, number(f.alpha)), number(f.beta));
    if (f.name == "scaledtanh") return b_.multiply(b_.node("Tanh", {b_.multiply(x, number(f.beta))}), number(f.alpha));
    if (f.name == "hardsigmoid") return b_.node("HardSigmoid", {x}, {{"alpha", f.alpha}, {"beta", f.beta}});
    if (f.name == "elu") return b_.node("Elu", {x}, {{"alpha", f.alpha}});
    if (f.name == "leakyrelu") return b_.node("LeakyRelu", {x}, {{"alpha", f.alpha}});
    if (f.name == "thresholdedrelu") return b_.node("ThresholdedRelu", {x}, {{"alpha", f.alpha}});
    if (f.name == "relu") return b_.node("Relu", {x});
    if (f.name == "sigmoid") return b_.node("Sigmoid", {x});
    if (f.name == "softplus") return b_.node("Softplus", {x});
    if (f.name == "softsign") return b_.node("Softsign", {x});
    GCG_CHECK(f.name == "tanh", "activation ", f.name);
    return b_.node("Tanh", {x});
  }

  NodeBuilder& b_;
  const RecurrentParams& params_;
  const std::vector<Activation>& activations_;
  DType dtype_;
  int64_t hidden_;
  const CellInputs& in_;
};

}  // namespace

ValueId recurrent_product(NodeBuilder& b, ValueId x, const RecurrentFactor& factor) {
  if (!factor.scale.valid()) return b.node("MatMul", {x, factor.values});
  return scaled_product(b, dynamically_quantized(b, x), factor);
}

CellState write_cell(NodeBuilder& b, const RecurrentParams& params, size_t direction, DType dtype, int64_t hidden,
                     const CellInputs& in) {
  CellWriter writer(b, params, direction, dtype, hidden, in);
  return params.gates == 4 ? writer.lstm() : params.gates == 3 ? writer.gru() : writer.rnn();
}

}  // namespace gcg
