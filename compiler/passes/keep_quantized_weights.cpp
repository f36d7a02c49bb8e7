#include "compiler/passes/keep_quantized_weights.h"

#include <functional>
#include <optional>
#include <set>

#include "compiler/ops/infer.h"
#include "compiler/ops/ops.h"
#include "compiler/passes/node_copy.h"
#include "compiler/passes/rewrite.h"

namespace gcg {
namespace {

constexpr int64_t kLeastElements = 64 << 10;  // 256 KB in f32

/// The signed type for weights of 2, 4 or 8 bits, and the number to subtract from each weight of the model.
struct Signed {
  DType type = DType::undefined;
  int middle = 0;
};

std::optional<Signed> signed_form(DType type) {
  switch (type) {
    case DType::i2:
    case DType::i4:
    case DType::i8:
      return Signed{type, 0};
    case DType::u2:
      return Signed{DType::i2, 2};
    case DType::u4:
      return Signed{DType::i4, 8};
    case DType::u8:
      return Signed{DType::i8, 128};
    default:
      return {};
  }
}

int64_t bits_of(DType type) { return small_int_bits(type) > 0 ? small_int_bits(type) : 8; }

/// The elements of a weight matrix [columns, rows], or of its blocks, with any memory layout.
struct Lines {
  const Tensor* tensor = nullptr;
  int64_t column_stride = 0, row_stride = 0;
  int64_t place(int64_t column, int64_t row) const { return column * column_stride + row * row_stride; }
};

using Kept = std::set<const Tensor*>;  // integers that a product keeps

class Product {
 public:
  Product(Rewriter& r, NodeId id, Kept& kept_constants)
      : r_(r), n_(copy_of(r.graph.node(id))), kept_constants_(kept_constants), replaced_{id} {}

  bool rewrite() {
    if (!is_simple() || !read_weights()) return false;
    std::vector<ValueId> inputs = {n_.inputs[0], integers(), scales()};
    if (Tensor t = offsets(); !is_all(&t, 0)) inputs.push_back(r_.add_constant(name_ + ".offsets", std::move(t)));
    ValueId y =
        r_.add(op_gart_QuantizedMatMul, n_.name, inputs,
               {{"block", block_}, {"exact", n_.int_attribute("exact", 0)}, {"transposed", int64_t{by_transposed_}}});
    if (n_.inputs.size() > 2 && n_.inputs[2].valid()) y = r_.add(op_Add, n_.name, {y, n_.inputs[2]});
    r_.replace(n_.outputs[0], y);
    // Removes the replaced nodes before constants are folded: folding them would take as much memory as f32 weights.
    for (NodeId id : replaced_) r_.erase_if_dead(id);
    free_source();
    return true;
  }

 private:
  /// Frees the model's integers if nothing else reads them, before the next product is copied.
  void free_source() {
    if (r_.is_read(source_)) return;
    kept_constants_.erase(weights_.tensor);
    r_.graph.value(source_).constant.reset();
  }

  /// True if the node computes nothing but the product and its bias.
  bool is_simple() const {
    return n_.int_attribute("transA", 0) == 0 && n_.float_attribute("alpha", 1) == 1 &&
           n_.float_attribute("beta", 1) == 1;
  }

  bool read_weights() {
    ValueId v = n_.inputs[1];
    transposed_ = n_.int_attribute("transB", 0) != 0;
    while (const Node* swap = r_.shape(v).size() == 2 ? r_.producer(v, op_Transpose) : nullptr) {
      if (swap->ints_attribute("perm", {1, 0}) == std::vector<int64_t>{1, 0}) transposed_ = !transposed_;
      replaced_.push_back(r_.value(v).producer);
      v = swap->inputs[0];
    }
    replaced_.push_back(r_.value(v).producer);
    const Node* d = r_.producer(v, op_DequantizeLinear);
    if (!d || r_.value(v).dtype != DType::f32) return false;
    const Tensor *q = r_.constant(d->inputs[0]), *scale = r_.constant(d->inputs[1]);
    zero_tensor_ = d->inputs.size() > 2 ? r_.constant(d->inputs[2]) : nullptr;
    if (d->inputs.size() > 2 && d->inputs[2].valid() && !zero_tensor_) return false;
    if (!q || q->rank() != 2 || !scale || !signed_form(q->dtype()) || q->elements() < kLeastElements) return false;
    if (zero_tensor_ && zero_tensor_->shape() != scale->shape()) return false;
    int64_t axis = d->int_attribute("axis", 1);
    if (axis < 0) axis += 2;
    const int64_t block = d->int_attribute("block_size", 0);
    by_transposed_ = block > 0 && axis != (transposed_ ? 1 : 0) && kept_constants_.count(q) != 0;
    if (by_transposed_) transposed_ = !transposed_;
    signed_weights_ = *signed_form(q->dtype());
    source_ = d->inputs[0];
    name_ = r_.value(d->inputs[0]).name;
    weights_ = lines(*q);
    n_columns_ = q->shape()[transposed_ ? 0 : 1];
    k_ = q->shape()[transposed_ ? 1 : 0];
    if (!read_scales(*scale, axis, block)) return false;
    kept_constants_.insert(q);
    return true;
  }

  /// Accepts one scale, one per column, or one per block of a column, but not one per row.
  bool read_scales(const Tensor& scale, int64_t axis, int64_t block) {
    const bool along_k = axis == (transposed_ ? 1 : 0);
    block_ = k_;
    if (scale.elements() == 1) {
      scales_ = {&scale, 0, 0};
    } else if (block == 0 && scale.rank() == 1 && !along_k) {
      scales_ = {&scale, 1, 0};
    } else if (block > 0 && scale.rank() == 2 && along_k) {
      block_ = std::min(block, k_);
      scales_ = lines(scale);
    } else {
      return false;
    }
    zeros_ = scales_;
    zeros_.tensor = zero_tensor_;
    return block_ == k_ || block_ % (32 / bits_of(signed_weights_.type)) == 0;
  }

  Lines lines(const Tensor& t) const { return transposed_ ? Lines{&t, t.shape()[1], 1} : Lines{&t, 1, t.shape()[1]}; }
  int64_t blocks() const { return (k_ + block_ - 1) / block_; }

  ValueId integers() {
    Tensor out(signed_weights_.type, {n_columns_, k_});
    uint8_t* to = out.mutable_data();  // one byte per element, whatever the number of bits
    for (int64_t column = 0; column < n_columns_; ++column)
      for (int64_t row = 0; row < k_; ++row)
        *to++ = static_cast<uint8_t>(weights_.tensor->data()[weights_.place(column, row)] - signed_weights_.middle);
    return r_.add_constant(name_, std::move(out));
  }

  ValueId scales() {
    Tensor out(DType::f32, {n_columns_, blocks()});
    each_block(out,
               [&](int64_t column, int64_t block) { return scales_.tensor->at_double(scales_.place(column, block)); });
    return r_.add_constant(name_ + ".scales", std::move(out));
  }

  /// (zero - middle) * scale.
  Tensor offsets() {
    Tensor out(DType::f32, {n_columns_, blocks()});
    each_block(out, [&](int64_t column, int64_t block) {
      const int64_t zero = zeros_.tensor ? zeros_.tensor->at_int(zeros_.place(column, block)) : 0;
      return static_cast<double>(zero - signed_weights_.middle) *
             scales_.tensor->at_double(scales_.place(column, block));
    });
    return out;
  }

  void each_block(Tensor& out, const std::function<double(int64_t, int64_t)>& element) const {
    for (int64_t column = 0; column < n_columns_; ++column)
      for (int64_t block = 0; block < blocks(); ++block)
        out.set_double(column * blocks() + block, element(column, block));
  }

  Rewriter& r_;
  const Node n_;
  Kept& kept_constants_;
  bool by_transposed_ = false;    // the product's matrix is the transpose of the one that is described here
  std::vector<NodeId> replaced_;  // the product and the nodes that dequantise its factor
  std::string name_;
  ValueId source_;           // the model's integers
  bool transposed_ = false;  // [N, K] in memory
  int64_t n_columns_ = 0, k_ = 0, block_ = 0;
  Signed signed_weights_;
  const Tensor* zero_tensor_ = nullptr;
  Lines weights_, scales_, zeros_;
};

}  // namespace

bool keep_quantized_weights(Graph& graph) {
  return edit_all(graph, [](Rewriter& r) {
    bool any = false;
    Kept kept_constants;
    for (NodeId id : r.graph.order()) {
      const Node& n = r.graph.node(id);
      const bool multiplies = n.op == &op_MatMul || n.op == &op_Gemm;
      if (!multiplies || r.constant(n.inputs[0]) || !r.has_shape(n.inputs[0]) || !r.has_shape(n.outputs[0])) continue;
      if (r.shape(n.inputs[0]).size() >= 2) any |= Product(r, id, kept_constants).rewrite();
    }
    return any;
  });
}

}  // namespace gcg
