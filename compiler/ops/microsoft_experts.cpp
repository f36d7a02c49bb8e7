// com.microsoft: mixtures of experts, MoE and QMoE. For each token, a router selects k of E experts. Each expert has
// two layers. A product by a selected expert reads only that expert's weights, which stay packed in QMoE.
#include <limits>

#include "compiler/ops/microsoft.h"

namespace gcg {
namespace {

using Results = std::vector<ValueId>;

/// The inputs that belong to one layer of the experts; -1: the operator has no such input.
struct Layer {
  int weights, bias, scales = -1, zeros = -1;
  const char* bits = "";  // the attribute that overrides expert_weight_bits
};

/// The inputs of MoE or QMoE.
struct Inputs {
  Layer first, second, third;
  int mixing = -1;      // the weights of the experts' results; without it, the router's probabilities
  int unsupported = 0;  // the first input that belongs to other quantisations
};
constexpr Inputs kPlain = {{2, 3}, {4, 5}, {6, 7}, -1, 8};
constexpr Inputs kQuantised = {{2, 4, 3, 11, "fc1_expert_weight_bits"},
                               {5, 7, 6, 12, "fc2_expert_weight_bits"},
                               {8, 10, 9, 13, "fc3_expert_weight_bits"},
                               14,
                               15};

class Experts {
 public:
  Experts(Expansion& x, const Inputs& inputs) : x_(x), inputs_(inputs), activation_(activation_of(x)) {
    check();
    tokens_ = x_.reshape(x_.input(0), {-1, x_.extent(0, -1)});
  }

  Results run() {
    choose();
    ValueId hidden = product(inputs_.first, tokens_, 1);
    ValueId other;
    if (has(inputs_.third.weights)) other = product(inputs_.third, tokens_, 1);
    hidden = activated(hidden, other);
    const ValueId y = x_.multiply(product(inputs_.second, hidden, 2), x_.unsqueeze(mixing_, 2));
    const ValueId sum = x_.node("ReduceSum", {y, x_.ints({1})}, {{"keepdims", int64_t{0}}});
    return {x_.node("Reshape", {sum, x_.node("Shape", {x_.input(0)})})};
  }

 private:
  static std::string activation_of(const Expansion& x) { return x.node().string_attribute("activation_type", "relu"); }
  bool has(int input) const { return input >= 0 && x_.has_input(static_cast<size_t>(input)); }
  ValueId input(int i) const { return x_.input(static_cast<size_t>(i)); }
  bool is_gated() const { return activation_ == "swiglu" || activation_ == "geglu"; }
  int64_t fusion() const { return x_.node().int_attribute("swiglu_fusion", 0); }

  void check() {
    if (x_.node().int_attribute("use_sparse_mixer", 0) != 0) x_.fail("use_sparse_mixer is not supported");
    for (size_t i = static_cast<size_t>(inputs_.unsupported); i < x_.input_count(); ++i)
      if (x_.has_input(i)) x_.fail(concat("input ", i, " (a scale of other quantisations) is not supported"));
    const bool separate = has(inputs_.third.weights), needs = activation_ == "swiglu" && fusion() == 0;
    if (separate != needs)
      x_.fail(concat("activation_type is '", activation_, "' and swiglu_fusion is ", fusion(), ", so fc3 (input ",
                     inputs_.third.weights, needs ? ") must be given" : ") must be omitted"));
    if (activation_ == "geglu" && fusion() == 0) x_.fail("geglu needs swiglu_fusion to be 1 or 2, it is 0");
    if (fusion() < 0 || fusion() > 2) x_.fail(concat("swiglu_fusion is ", fusion(), ", it must be 0, 1 or 2"));
    const int64_t experts = x_.extent(static_cast<size_t>(inputs_.first.weights), 0),
                  k = x_.node().int_attribute("k", 1);
    if (k < 1 || k > experts) x_.fail(concat("k is ", k, ", it must be between 1 and the ", experts, " experts"));
    if (inputs_.first.scales >= 0) check_layout();
  }

  /// Without weights_prepacked, weights for GPUs may be in the order of onnxruntime's CUDA kernels.
  void check_layout() {
    const int64_t packed = x_.node().int_attribute("weights_prepacked", -1);
    if (packed == 0 || (packed == -1 && x_.dtype(0) == DType::f32)) return;
    x_.fail(concat("weights_prepacked is ", packed, " and the input is ", name_of(x_.dtype(0)),
                   ", so the weights may be in an order of onnxruntime's CUDA kernels; export with "
                   "qmoe_weights_prepacked=0"));
  }

  /// The selected experts of each token and the weights of their results, both [tokens, k].
  void choose() {
    const std::map<std::string, Attribute> last = {{"axis", int64_t{-1}}};
    const ValueId probabilities = x_.node("Softmax", {input(1)}, last);
    const Results best = x_.outputs(op("TopK"), {probabilities, x_.ints({x_.node().int_attribute("k", 1)})}, 2, last);
    chosen_ = best[1];
    mixing_ = has(inputs_.mixing) ? x_.node("GatherElements", {input(inputs_.mixing), chosen_}, {{"axis", int64_t{1}}})
                                  : best[0];
    if (x_.node().int_attribute("normalize_routing_weights", 0) != 0)
      mixing_ = x_.node("Div", {mixing_, x_.node("ReduceSum", {mixing_, x_.ints({1})})});
  }

  /// The part of a tensor [experts, ...] for each token and selected expert: [tokens, k, ...].
  ValueId of_chosen(ValueId all) { return x_.node("Gather", {all, chosen_}); }

  /// The products of each row with the weights of its experts, plus their bias: [tokens, k, columns]. `rows` is
  /// [tokens, K] (rank 1: the same row for all selected experts) or [tokens, k, K].
  ValueId product(const Layer& layer, ValueId rows, int64_t rank) {
    ValueId y = layer.scales < 0 ? plain_product(layer, rows, rank) : packed_product(layer, rows, rank);
    if (has(layer.bias)) y = x_.add(y, of_chosen(input(layer.bias)));
    return y;
  }

  ValueId plain_product(const Layer& layer, ValueId rows, int64_t rank) {
    rows = x_.node("Unsqueeze", {rows, x_.ints(rank == 1 ? std::vector<int64_t>{1, 2} : std::vector<int64_t>{2})});
    return x_.node("ReduceSum", {x_.multiply(of_chosen(input(layer.weights)), rows), x_.ints({-1})},
                   {{"keepdims", int64_t{0}}});
  }

  int64_t bits_of(const Layer& layer) {
    const int64_t bits = x_.node().int_attribute(layer.bits, x_.node().int_attribute("expert_weight_bits", 4));
    if (bits != 2 && bits != 4 && bits != 8)
      x_.fail(concat("weights of ", bits, " bits are not supported; expert_weight_bits must be 2, 4 or 8"));
    return bits;
  }

  /// Weights [experts, columns, K * bits / 8], whose bytes have the first number in their lowest bits. One number of
  /// each byte at a time is multiplied with its element of the row.
  ValueId packed_product(const Layer& layer, ValueId rows, int64_t rank) {
    const auto weights = static_cast<size_t>(layer.weights);
    const int64_t bits = bits_of(layer), per_byte = 8 / bits, columns = x_.extent(weights, 1),
                  bytes = x_.extent(weights, 2), blocks = blocks_of(layer, bytes * per_byte);
    const ValueId packed = of_chosen(x_.reshape(input(layer.weights), {0, columns, blocks, bytes / blocks}));
    const ValueId zeros = zeros_of(layer, bits, columns, blocks);
    rows = x_.reshape(rows, {-1, rank == 1 ? 1 : x_.node().int_attribute("k", 1), 1, blocks, bytes / blocks, per_byte});
    ValueId sum;
    for (int64_t i = 0; i < per_byte; ++i) {
      ValueId number = packed;
      if (i > 0) number = x_.node("BitShift", {number, byte(i * bits)}, {{"direction", std::string("RIGHT")}});
      if (bits < 8) number = x_.node("BitwiseAnd", {number, byte((1 << bits) - 1)});
      const ValueId term = x_.multiply(x_.subtract(x_.cast(number, x_.dtype(0)), zeros), x_.element(rows, 5, i));
      sum = sum.valid() ? x_.add(sum, term) : term;
    }
    const ValueId scales =
        x_.unsqueeze(of_chosen(x_.reshape(x_.cast(input(layer.scales), x_.dtype(0)), {0, columns, blocks})), 4);
    return x_.node("ReduceSum", {x_.multiply(sum, scales), x_.ints({-2, -1})}, {{"keepdims", int64_t{0}}});
  }

  int64_t blocks_of(const Layer& layer, int64_t depth) {
    if (!has(layer.scales)) x_.fail(concat("scales (input ", layer.scales, ") are missing"));
    const int64_t block = x_.node().int_attribute("block_size", 0);
    if (block < 0 || (block > 0 && (block < 16 || depth % block != 0)))
      x_.fail(concat("block_size is ", block, ", it must be at least 16 and divide the depth ", depth, " of input ",
                     layer.weights));
    return block == 0 ? 1 : depth / block;
  }

  /// The zero points, which broadcast against [tokens, k, columns, blocks, bytes of a block].
  ValueId zeros_of(const Layer& layer, int64_t bits, int64_t columns, int64_t blocks) {
    if (!has(layer.zeros)) return x_.scalar(x_.dtype(0), 1 << (bits - 1));
    // The numbers of a row of bytes, in the order of the blocks. The last byte may have spare bits. Without blocks,
    // the numbers of all columns are one row.
    const auto zeros = static_cast<size_t>(layer.zeros);
    const int64_t rows = x_.rank(zeros) == 3 ? columns : 1, per_row = columns * blocks / rows;
    const ValueId packed = x_.reshape(input(layer.zeros), {0, rows, -1, 1});
    Results numbers;
    for (int64_t i = 0; i < 8 / bits; ++i)
      numbers.push_back(
          x_.node("BitwiseAnd", {x_.node("BitShift", {packed, byte(i * bits)}, {{"direction", std::string("RIGHT")}}),
                                 byte((1 << bits) - 1)}));
    const ValueId all = x_.slice(x_.reshape(x_.concat(numbers, 3), {0, rows, -1}), 2, 0, per_row);
    return x_.unsqueeze(of_chosen(x_.cast(x_.reshape(all, {0, columns, blocks}), x_.dtype(0))), 4);
  }

  ValueId byte(int64_t value) { return x_.scalar(DType::u8, static_cast<double>(value)); }

  // ---- activations

  ValueId number(double value) { return x_.scalar(x_.dtype(0), value); }
  ValueId tanh_gelu(ValueId v) { return x_.node("Gelu", {v}, {{"approximate", std::string("tanh")}}); }

  ValueId activated(ValueId v, ValueId other) {
    if (is_gated()) {
      const int64_t end = std::numeric_limits<int64_t>::max(), half = fusion() == 2 ? halves() : 0;
      ValueId gate = v, linear = other;
      if (fusion() == 1) gate = x_.slice(v, 2, 0, end, 2), linear = x_.slice(v, 2, 1, end, 2);
      if (fusion() == 2) gate = x_.slice(v, 2, 0, half), linear = x_.slice(v, 2, half, end);
      return activation_ == "geglu" ? x_.multiply(tanh_gelu(gate), linear) : swiglu(gate, linear);
    }
    if (activation_ == "identity") return v;
    if (activation_ == "relu") return x_.node("Relu", {v});
    if (activation_ == "relu2") return x_.multiply(x_.node("Relu", {v}), v);
    if (activation_ == "gelu") return tanh_gelu(v);
    if (activation_ == "silu") return x_.multiply(v, x_.node("Sigmoid", {v}));
    x_.fail(concat("activation_type is '", activation_,
                   "', it must be identity, relu, relu2, gelu, silu, swiglu or geglu"));
  }

  int64_t halves() { return x_.extent(static_cast<size_t>(inputs_.first.weights), 1) / 2; }

  ValueId swiglu(ValueId gate, ValueId linear) {
    const double limit = x_.node().float_attribute("swiglu_limit", std::numeric_limits<double>::infinity());
    const bool limited = limit != std::numeric_limits<double>::infinity(),
               after = x_.node().int_attribute("swiglu_limit_after_activation", 0) != 0;
    if (limited && !after) gate = x_.node("Min", {gate, number(limit)});
    if (limited) linear = x_.node("Clip", {linear, number(-limit), number(limit)});
    const ValueId slope = x_.multiply(gate, number(x_.node().float_attribute("activation_alpha", 1)));
    ValueId active = x_.multiply(gate, x_.node("Sigmoid", {slope}));
    if (limited && after) active = x_.node("Min", {active, number(limit)});
    return x_.multiply(active, x_.add(linear, number(x_.node().float_attribute("activation_beta", 0))));
  }

  Expansion& x_;
  const Inputs& inputs_;
  const std::string activation_;
  ValueId tokens_;           // [tokens, hidden]
  ValueId chosen_, mixing_;  // [tokens, k]
};

Results expand_moe(Expansion& x) { return Experts(x, kPlain).run(); }
Results expand_qmoe(Expansion& x) { return Experts(x, kQuantised).run(); }

}  // namespace

constinit const ExpandedOp op_microsoft_MoE = microsoft("MoE", 5, 8, {Types::floats, Types::as_first}, expand_moe);
constinit const ExpandedOp op_microsoft_QMoE =
    microsoft("QMoE", 7, 21,
              {Types::floats, Types::as_first, Types::u8, Types::floats, Types::as_first, Types::u8, Types::floats,
               Types::as_first, Types::u8, Types::floats, Types::as_first, Types::any},
              expand_qmoe);

}  // namespace gcg
