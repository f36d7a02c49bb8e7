#include "compiler/passes/expand_fourier.h"

#include <numeric>

#include "compiler/ops/infer.h"
#include "compiler/ops/ops.h"
#include "compiler/ops/spectrum.h"
#include "compiler/ops/node_builder.h"

namespace gcg {
namespace {

using Ints = std::vector<int64_t>;

constexpr int64_t kMostElements = int64_t{1} << 24;  // of a matrix

bool fits(const Spectrum& s) {
  if (!s.length.is_constant() || !s.in_rows.is_constant() || !s.out_rows.is_constant()) return false;
  return s.in_rows.constant() * s.in_parts <= kMostElements / (s.out_rows.constant() * s.out_parts);
}

/// [in_rows, in_parts * out_rows * out_parts]
Tensor matrix(const Spectrum& s, DType dtype) {
  const int64_t length = s.length.constant(), rows = s.in_rows.constant(), out_rows = s.out_rows.constant();
  Tensor m(dtype, {rows, s.in_parts * out_rows * s.out_parts});
  for_each_index({rows, s.in_parts, out_rows, s.out_parts}, [&, i = int64_t{0}](const Ints& at) mutable {
    m.set_double(i++, spectrum_weight(s, length, at[0], at[1], at[2], at[3]));
  });
  return m;
}

class FourierWriter {
 public:
  FourierWriter(Graph& graph, NodeId id) : graph_(graph), id_(id), b_(graph, graph.node(id).name) {}

  /// False where the node has to stay.
  bool run() { return graph_.node(id_).op == &op_DFT ? dft() : stft(); }

 private:
  ValueId input(size_t i) const {
    const auto& inputs = graph_.node(id_).inputs;
    return i < inputs.size() ? inputs[i] : ValueId();
  }
  const Value* value(size_t i) const { return input(i).valid() ? &graph_.value(input(i)) : nullptr; }
  ValueId reshape(ValueId x, const Ints& shape) { return b_.node("Reshape", {x, b_.ints(shape)}); }
  void finish(ValueId y) {
    b_.replace(graph_.node(id_).outputs[0], y);
    graph_.erase_node(id_);
  }

  bool dft() {
    const auto form = dft_form(graph_.node(id_), *value(0)->shape, value(1), value(2));
    if (!form || !fits(form->spectrum)) return false;
    const Spectrum& s = form->spectrum;
    const DType dtype = value(0)->dtype;
    const auto rank = static_cast<int64_t>(value(0)->shape->size());
    Ints to_end(static_cast<size_t>(rank));
    std::iota(to_end.begin(), to_end.end(), 0);
    std::swap(to_end[static_cast<size_t>(form->axis)], to_end[static_cast<size_t>(rank - 2)]);
    const bool moves = form->axis != rank - 2;
    ValueId x = moves ? b_.transpose(input(0), to_end) : input(0);
    if (!((*value(0)->shape)[static_cast<size_t>(form->axis)] == s.in_rows))
      x = b_.slice(x, rank - 2, 0, s.in_rows.constant());
    Ints lines(static_cast<size_t>(rank - 2), 0);  // extents that stay
    Ints vectors = lines, result = lines;
    vectors.push_back(s.in_rows.constant() * s.in_parts);
    result.insert(result.end(), {s.out_rows.constant(), s.out_parts});
    const ValueId m = reshape(b_.constant(matrix(s, dtype)), {vectors.back(), s.out_rows.constant() * s.out_parts});
    const ValueId y = reshape(b_.node("MatMul", {reshape(x, vectors), m}), result);
    finish(moves ? b_.transpose(y, to_end) : y);
    return true;
  }

  bool stft() {
    const auto form = stft_form(graph_.node(id_), *value(0)->shape, *value(1), value(2), value(3));
    if (!form || !fits(form->spectrum) || !form->step.is_constant()) return false;
    const Spectrum& s = form->spectrum;
    const int64_t length = s.length.constant(), outputs = s.out_rows.constant() * s.out_parts;
    ValueId m = b_.constant(matrix(s, value(0)->dtype));
    if (input(2).valid()) m = b_.multiply(m, b_.unsqueeze(input(2), 1));
    const ValueId vectors = reshape(frames(length, form->step.constant()), {0, 0, length * s.in_parts});
    finish(reshape(b_.node("MatMul", {vectors, reshape(m, {length * s.in_parts, outputs})}),
                   {0, 0, s.out_rows.constant(), s.out_parts}));
    return true;
  }

  /// [B, frames, length, parts]
  ValueId frames(int64_t length, int64_t step) {
    const auto number = [&](int64_t n) { return b_.constant(Tensor::scalar_i64(n)); };
    const ValueId samples = b_.element(b_.node("Shape", {input(0)}), 0, 1);
    const ValueId behind_last = b_.add(b_.subtract(samples, number(length)), number(1));  // of where frames begin
    const ValueId starts = b_.node("Range", {number(0), behind_last, number(step)});
    const ValueId within = b_.node("Range", {number(0), number(length), number(1)});
    return b_.node("Gather", {input(0), b_.add(b_.unsqueeze(starts, 1), within)}, {{"axis", int64_t{1}}});
  }

  Graph& graph_;
  NodeId id_;
  NodeBuilder b_;
};

bool expand_all(Graph& graph) {
  bool changed = false;
  for (NodeId id : graph.order()) {
    for (size_t i = 0; i < graph.node(id).bodies.size(); ++i) changed |= expand_all(*graph.node(id).bodies[i]);
    const OpDef* op_def = graph.node(id).op;
    if (op_def == &op_DFT || op_def == &op_STFT) changed |= FourierWriter(graph, id).run();
  }
  return changed;
}

}  // namespace

bool expand_fourier(Graph& graph) {
  const bool changed = expand_all(graph);
  if (changed) infer_graph(graph);
  return changed;
}

}  // namespace gcg
