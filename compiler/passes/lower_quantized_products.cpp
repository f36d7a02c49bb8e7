#include "compiler/passes/lower_quantized_products.h"

#include <algorithm>

#include "compiler/ir/deferred.h"
#include "compiler/kernel/block_products.h"
#include "compiler/kernel/device_traits.h"
#include "compiler/kernel/pack_panels.h"
#include "compiler/kernel/packing.h"
#include "compiler/ops/infer.h"
#include "compiler/ops/ops.h"
#include "compiler/passes/node_copy.h"
#include "compiler/passes/rewrite.h"

namespace gcg {
namespace {

class Lowering {
 public:
  Lowering(Rewriter& r, const Node& n, const Target& target)
      : r_(r),
        target_(target),
        n_(copy_of(n)),
        q_(*r.constant(n.inputs[1])),
        columns_(q_.shape()[0]),
        k_(q_.shape()[1]) {
    const int bits = small_int_bits(q_.dtype());
    packing_ = {.rows = k_,
                .bits = bits > 0 ? bits : 8,
                .block = n_.int_attribute("block", 0),
                .offsets = n_.inputs.size() > 3,
                .exact = n_.int_attribute("exact", 0) != 0};
  }

  ValueId lower() {
    if (is_transposed()) return traits_of(target_.device).multiplies_blocks ? by_rows() : by_floats();
    return multiplies_blocks(target_, packing_, rows()) ? by_words() : by_floats();
  }

 private:
  static constexpr int64_t kFloatsAtOnce = 4 << 20;  // 16 MB

  bool is_transposed() const { return n_.int_attribute("transposed", 0) != 0; }

  Dim rows() const {
    Shape shape = r_.shape(n_.inputs[0]);
    shape.pop_back();
    return product(shape);
  }

  ValueId by_words() {
    std::vector<ValueId> inputs = {n_.inputs[0], r_.add_constant(name(), words())};
    for (size_t i = 2; i < n_.inputs.size(); ++i) inputs.push_back(add_numbers(i));
    const std::map<std::string, Attribute> attributes = {{"k", k_},
                                                         {"n", columns_},
                                                         {"columns", kPanelColumns},
                                                         {"bits", packing_.bits},
                                                         {"block", packing_.block},
                                                         {"exact", static_cast<int64_t>(packing_.exact)}};
    if (traits_of(target_.device).multiplies_blocks && !packing_.offsets && columns_ >= kLeastPackedRows)
      for (NodeId id : r_.graph.order())
        if (is_same_matrix(id)) read_packed_rows(id, inputs, attributes);
    return r_.add(op_gart_PackedMatMul, n_.name, inputs, attributes);
  }

  /// True if the node dequantises the same integers with the same scales, and only nodes that choose rows read it.
  bool is_same_matrix(NodeId id) const {
    const Node& d = r_.graph.node(id);
    if (d.op != &op_DequantizeLinear || r_.graph.is_output(d.outputs[0])) return false;
    const Tensor *q = r_.constant(d.inputs[0]), *scales = r_.constant(d.inputs[1]);
    const bool has_zeros = d.inputs.size() > 2 && d.inputs[2].valid();
    const Tensor* zeros = has_zeros ? r_.constant(d.inputs[2]) : nullptr;
    const int64_t axis = d.int_attribute("axis", 1);
    if (!q || !scales || q->shape() != q_.shape() || (axis != 1 && axis != -1) ||
        d.int_attribute("block_size", 0) != packing_.block || r_.value(d.outputs[0]).dtype != DType::f32)
      return false;
    const bool is_unsigned = q->dtype() == DType::u2 || q->dtype() == DType::u4 || q->dtype() == DType::u8;
    const int middle = is_unsigned ? 1 << (packing_.bits - 1) : 0;
    const bool same = (has_zeros ? is_all(zeros, middle) : middle == 0) &&
                      same_elements(*scales, *r_.constant(n_.inputs[kScales])) &&
                      std::equal(q->data(), q->data() + q->bytes(), q_.data(),
                                 [&](uint8_t x, uint8_t y) { return static_cast<uint8_t>(x - middle) == y; });
    if (!same) return false;
    const std::vector<NodeId> readers = r_.graph.users()[static_cast<size_t>(d.outputs[0].index)];
    return std::all_of(readers.begin(), readers.end(), [&](NodeId reader) {
      const Node& n = r_.graph.node(reader);
      return n.op == &op_Gather && n.inputs[1] != d.outputs[0] && n.int_attribute("axis", 0) == 0;
    });
  }

  /// Reads rows of the table that `dequantised` computes from the panels of the product.
  void read_packed_rows(NodeId dequantised, const std::vector<ValueId>& product,
                        const std::map<std::string, Attribute>& attributes) {
    const ValueId table = r_.graph.node(dequantised).outputs[0];
    const std::vector<NodeId> readers = r_.graph.users()[static_cast<size_t>(table.index)];
    for (NodeId id : readers) {
      const Node gather = copy_of(r_.graph.node(id));
      r_.replace(gather.outputs[0],
                 r_.add(op_gart_PackedRows, gather.name, {product[1], gather.inputs[1], product[2]}, attributes));
      r_.erase_if_dead(id);
    }
    r_.erase_if_dead(dequantised);
  }

  /// Sums products by some rows of the matrix at a time, so that few of them are floats at any moment.
  ValueId by_rows() {
    std::vector<ValueId> packed = {r_.add_constant(name(), words())};
    for (size_t i = 2; i < n_.inputs.size(); ++i) packed.push_back(add_numbers(i));
    const int64_t at_once = std::max(kPanelColumns, kFloatsAtOnce / k_ / kPanelColumns * kPanelColumns);
    ValueId sum;
    for (int64_t first = 0; first < columns_; first += at_once) {
      const int64_t count = std::min(at_once, columns_ - first);
      const ValueId rows =
          r_.add(op_gart_UnpackWeights, n_.name, packed,
                 {{"k", k_}, {"bits", packing_.bits}, {"block", packing_.block}, {"first", first}, {"count", count}});
      const ValueId part = count == columns_ ? n_.inputs[0] : last_axis(first, first + count);
      const ValueId y = r_.add(op_MatMul, n_.name, {part, rows});
      sum = sum.valid() ? r_.add(op_Add, n_.name, {sum, y}) : y;
    }
    return sum;
  }

  ValueId last_axis(int64_t from, int64_t to) {
    const auto ints = [&](int64_t value) { return r_.add_constant(name() + ".bound", Tensor::vector_i64({value})); };
    return r_.add(op_Slice, n_.name, {n_.inputs[0], ints(from), ints(to), ints(-1)});
  }

  ValueId by_floats() {
    const bool transposed = is_transposed();
    Tensor w(DType::f32, transposed ? std::vector<int64_t>{columns_, k_} : std::vector<int64_t>{k_, columns_});
    const std::span<const float> scales = r_.constant(n_.inputs[2])->as<float>();
    const std::span<const float> offsets =
        packing_.offsets ? r_.constant(n_.inputs[3])->as<float>() : std::span<const float>();
    const std::span<float> to = w.as_mutable<float>();
    for (int64_t column = 0; column < columns_; ++column)
      for (int64_t row = 0; row < k_; ++row) {
        const auto block = static_cast<size_t>(column * packing_.blocks() + row / packing_.block);
        to[static_cast<size_t>(transposed ? column * k_ + row : row * columns_ + column)] =
            static_cast<float>(integer(column, row)) * scales[block] - (offsets.empty() ? 0 : offsets[block]);
      }
    return r_.add(op_MatMul, n_.name, {n_.inputs[0], r_.add_constant(name(), std::move(w))});
  }

  /// Scales or offsets. GPUs read them as f16 if that is exact: with blocks of 32, scales are a fourth of all bytes.
  ValueId add_numbers(size_t input) {
    Tensor numbers = in_panels(*r_.constant(n_.inputs[input]));
    const std::span<const float> all = numbers.as<float>();
    const bool are_half =
        input == kScales && !traits_of(target_.device).multiplies_blocks &&
        std::all_of(all.begin(), all.end(), [](float x) { return f16_to_float(float_to_f16(x)) == x; });
    const ValueId v = r_.add_constant(r_.value(n_.inputs[input]).name, std::move(numbers));
    if (are_half) r_.graph.value(v).stored = DType::f16;
    return v;
  }

  const std::string& name() const { return r_.value(n_.inputs[1]).name; }
  int64_t panels() const { return blocks_of(columns_, kPanelColumns); }
  int integer(int64_t column, int64_t row) const { return static_cast<int8_t>(q_.data()[column * k_ + row]); }

  Tensor words() const {
    Tensor out(DType::i32, {panels(), packing_.words(), kPanelColumns});
    const std::span<uint32_t> to = out.as_mutable<uint32_t>();
    const uint32_t mask = (uint32_t{1} << packing_.bits) - 1;
    for (int64_t column = 0; column < columns_; ++column)
      for (int64_t row = 0; row < k_; ++row) {
        const int64_t line = column / kPanelColumns * packing_.words() + row / packing_.per_word();
        to[static_cast<size_t>(line * kPanelColumns + column % kPanelColumns)] |=
            (static_cast<uint32_t>(integer(column, row)) & mask) << (row % packing_.per_word() * packing_.bits);
      }
    return out;
  }

  /// Packs [N, blocks] into panels.
  Tensor in_panels(const Tensor& lines) const {
    const int64_t blocks = packing_.blocks();
    Tensor out(DType::f32, {panels(), blocks, kPanelColumns});
    for (int64_t column = 0; column < columns_; ++column)
      for (int64_t block = 0; block < blocks; ++block)
        out.as_mutable<float>()[static_cast<size_t>((column / kPanelColumns * blocks + block) * kPanelColumns +
                                                    column % kPanelColumns)] =
            lines.as<float>()[static_cast<size_t>(column * blocks + block)];
    return out;
  }

  static constexpr size_t kScales = 2;  // position among the inputs
  Rewriter& r_;
  const Target& target_;
  const Node n_;
  const Tensor& q_;
  int64_t columns_, k_;
  BlockPacking packing_;
};

}  // namespace

bool lower_quantized_products(Graph& graph, const Target& target) {
  return edit_all(graph, [&](Rewriter& r) {
    bool any = false;
    for (NodeId id : r.graph.order()) {
      if (r.graph.node(id).op != &op_gart_QuantizedMatMul) continue;
      const ValueId y = r.graph.node(id).outputs[0];
      r.replace(y, Lowering(r, r.graph.node(id), target).lower());
      r.erase_if_dead(id);
      any = true;
    }
    return any;
  });
}

}  // namespace gcg
