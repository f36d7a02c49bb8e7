#include "compiler/passes/expand_fourier.h"

#include <numeric>
#include <optional>

#include "compiler/ops/infer.h"
#include "compiler/ops/node_builder.h"
#include "compiler/ops/ops.h"
#include "compiler/ops/spectrum.h"
#include "compiler/passes/open_fourier.h"

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

/// A length as outer * inner: x[inner * i + j] is row i, column j of a matrix. The columns are transformed, the results
/// are multiplied by twiddle factors, then the rows are transformed. This gives the whole transform: element k + outer
/// * l is in row k, column l.
struct Factors {
  int64_t outer = 1, inner = 1;
  int64_t columns = 1;  // columns of the result; fewer than `inner` if only the first half of the elements is needed
};

/// The factors with which two short products are less work than one long product.
std::optional<Factors> factors_of(const Spectrum& s) {
  if (!s.length.is_constant() || !(s.in_rows == s.length) || s.out_parts != 2) return std::nullopt;
  const int64_t length = s.length.constant();
  Factors f;
  for (int64_t d = 2; d * d <= length; ++d)
    if (length % d == 0) f.inner = d;
  f.outer = length / f.inner;
  f.columns = s.onesided ? f.inner / 2 + 1 : f.inner;
  const int64_t two = length * (2 * f.outer * s.in_parts + 4 * f.columns),
                one = length * s.in_parts * 2 * s.out_rows.constant();
  if (2 * two > one || f.outer > kMostElements / (4 * f.outer)) return std::nullopt;
  return f;
}

class FourierWriter {
 public:
  FourierWriter(Graph& graph, NodeId id) : graph_(graph), id_(id), b_(graph, graph.node(id).name) {}

  /// Returns false if the node must stay.
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
    const auto params = dft_params(graph_.node(id_), *value(0)->shape, value(1), value(2));
    if (!params) return false;
    const Spectrum& s = params->spectrum;
    const auto factors = factors_of(s);
    if (!factors && !fits(s)) return write_open_dft(graph_, id_, *params);
    const auto rank = static_cast<int64_t>(value(0)->shape->size());
    Ints to_end(static_cast<size_t>(rank));
    std::iota(to_end.begin(), to_end.end(), 0);
    std::swap(to_end[static_cast<size_t>(params->axis)], to_end[static_cast<size_t>(rank - 2)]);
    const bool moves = params->axis != rank - 2;
    ValueId x = moves ? b_.transpose(input(0), to_end) : input(0);
    if (!((*value(0)->shape)[static_cast<size_t>(params->axis)] == s.in_rows))
      x = b_.slice(x, rank - 2, 0, s.in_rows.constant());
    const ValueId y = factors ? in_two_steps(x, s, *factors, rank - 2) : at_once(x, s, rank - 2);
    finish(moves ? b_.transpose(y, to_end) : y);
    return true;
  }

  /// Reshapes x to [`lines` extents that stay, `last`...].
  ValueId reshape_lines(ValueId x, int64_t lines, const Ints& last) {
    Ints shape(static_cast<size_t>(lines), 0);
    shape.insert(shape.end(), last.begin(), last.end());
    return reshape(x, shape);
  }

  ValueId at_once(ValueId x, const Spectrum& s, int64_t lines) {
    const int64_t inputs = s.in_rows.constant() * s.in_parts, out_rows = s.out_rows.constant();
    const ValueId m = reshape(b_.constant(matrix(s, value(0)->dtype)), {inputs, out_rows * s.out_parts});
    return reshape_lines(b_.node("MatMul", {reshape_lines(x, lines, {inputs}), m}), lines, {out_rows, s.out_parts});
  }

  ValueId in_two_steps(ValueId x, Spectrum s, const Factors& f, int64_t lines) {
    const int64_t length = s.length.constant(), out_rows = s.out_rows.constant();
    // One-sided applies to the whole transform, so both parts compute all elements.
    s.onesided = false;
    // Only the second part of an inverse divides by the length.
    const double whole = s.inverse ? static_cast<double>(length) : 1;
    const auto weight = [&](int64_t row, int64_t part, int64_t out_row, int64_t out_part) {
      return spectrum_weight(s, length, row % length, part, out_row, out_part);
    };
    x = swap_rows(reshape_lines(x, lines, {f.outer, f.inner, s.in_parts}), lines);
    x = product(x, lines, {f.inner, f.outer, s.in_parts}, f.outer,
                [&](const Ints& at) { return whole * weight(f.inner * at[0], at[1], at[2], at[3]); });
    s.in_parts = 2;
    const auto turns = [&](bool same) {
      return tensor({f.outer, f.inner, 2},
                    [&](const Ints& at) { return whole * weight(at[1], same ? at[2] : 1 - at[2], at[0], at[2]); });
    };
    x = swap_rows(x, lines);
    x = b_.add(b_.multiply(x, turns(true)), b_.multiply(b_.reversed(x, lines + 2), turns(false)));
    x = product(x, lines, {f.outer, f.inner, 2}, f.columns,
                [&](const Ints& at) { return weight(f.outer * at[0], at[1], at[2], at[3]); });
    x = reshape_lines(swap_rows(x, lines), lines, {f.columns * f.outer, 2});
    return f.columns * f.outer == out_rows ? x : b_.slice(x, lines, 0, out_rows);
  }

  /// x[lines..., rows, columns, parts] times weights(column, part, new column, new part).
  template <class Weight>
  ValueId product(ValueId x, int64_t lines, const Ints& shape, int64_t columns, const Weight& weight) {
    const ValueId m = reshape(tensor({shape[1], shape[2], columns, 2}, weight), {shape[1] * shape[2], columns * 2});
    return reshape_lines(b_.node("MatMul", {reshape_lines(x, lines, {shape[0], shape[1] * shape[2]}), m}), lines,
                         {shape[0], columns, 2});
  }

  template <class Weight>
  ValueId tensor(const Ints& shape, const Weight& weight) {
    Tensor t(value(0)->dtype, shape);
    for_each_index(shape, [&, i = int64_t{0}](const Ints& at) mutable { t.set_double(i++, weight(at)); });
    return b_.constant(std::move(t));
  }

  /// [lines..., rows, columns, parts] -> [lines..., columns, rows, parts]
  ValueId swap_rows(ValueId x, int64_t lines) {
    Ints order(static_cast<size_t>(lines + 3));
    std::iota(order.begin(), order.end(), 0);
    std::swap(order[static_cast<size_t>(lines)], order[static_cast<size_t>(lines) + 1]);
    return b_.transpose(x, order);
  }

  bool stft() {
    const auto params = stft_params(graph_.node(id_), *value(0)->shape, *value(1), value(2), value(3));
    if (!params || !fits(params->spectrum) || !params->step.is_constant()) return false;
    const Spectrum& s = params->spectrum;
    const int64_t length = s.length.constant(), outputs = s.out_rows.constant() * s.out_parts;
    ValueId m = b_.constant(matrix(s, value(0)->dtype));
    if (input(2).valid()) m = b_.multiply(m, b_.unsqueeze(input(2), 1));
    const ValueId vectors = reshape(frames(length, params->step.constant()), {0, 0, length * s.in_parts});
    finish(reshape(b_.node("MatMul", {vectors, reshape(m, {length * s.in_parts, outputs})}),
                   {0, 0, s.out_rows.constant(), s.out_parts}));
    return true;
  }

  /// [B, frames, length, parts]
  ValueId frames(int64_t length, int64_t step) {
    const auto number = [&](int64_t n) { return b_.constant(Tensor::scalar_i64(n)); };
    const ValueId samples = b_.element(b_.node("Shape", {input(0)}), 0, 1);
    // The end of the positions at which frames start.
    const ValueId after_last = b_.add(b_.subtract(samples, number(length)), number(1));
    const ValueId starts = b_.node("Range", {number(0), after_last, number(step)});
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
