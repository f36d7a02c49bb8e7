#include "compiler/passes/open_fourier.h"

#include <memory>
#include <numbers>
#include <numeric>

#include "compiler/ops/node_builder.h"
#include "compiler/ops/ops.h"

namespace gcg {
namespace {

/// The longest line that is multiplied by a matrix. The matrix then has at most 16 MB, and f32 holds the product of two
/// row numbers exactly.
constexpr int64_t kMostRows = 1024;

class OpenDftWriter {
 public:
  OpenDftWriter(Graph& graph, NodeId id, const DftParams& params)
      : graph_(graph),
        id_(id),
        params_(params),
        b_(graph, graph.node(id).name),
        rank_(static_cast<int64_t>(graph.value(x()).shape->size())) {}

  void run() {
    const ValueId extent = b_.extent_of(x(), params_.axis), n = b_.node("Min", {extent, number(kMostRows)});
    Node branch{.op = &op("If"), .name = b_.name()};
    branch.inputs = {b_.node("LessOrEqual", {extent, number(kMostRows)}), x(), matrix(n)};
    branch.captures = 2;
    branch.bodies.push_back(std::make_unique<Graph>(product()));
    branch.bodies.push_back(std::make_unique<Graph>(sum()));
    branch.outputs = {graph_.add_value(Value{.name = graph_.value(graph_.node(id_).outputs[0]).name})};
    const NodeId written = graph_.add_node(std::move(branch));
    b_.replace(graph_.node(id_).outputs[0], graph_.node(written).outputs[0]);
    graph_.erase_node(id_);
  }

 private:
  ValueId x() const { return graph_.node(id_).inputs[0]; }
  ValueId number(int64_t n) { return b_.constant(Tensor::scalar_i64(n)); }
  static ValueId half_of(NodeBuilder& b, ValueId n) {
    return b.add(b.node("Div", {n, b.constant(Tensor::scalar_i64(2))}), b.constant(Tensor::scalar_i64(1)));
  }

  /// 0, 1, ... as floats.
  ValueId count_to(ValueId n) {
    return b_.node("Cast", {b_.node("Range", {number(0), n, number(1)})}, {{"to", int64_t{1}}});
  }

  ValueId pair(ValueId a, ValueId b, int64_t axis) {
    return b_.concat({b_.unsqueeze(a, axis), b_.unsqueeze(b, axis)}, axis);
  }

  /// [n * parts, out_rows * 2]
  ValueId matrix(ValueId n) {
    const Spectrum& s = params_.spectrum;
    const ValueId out_rows = s.onesided ? half_of(b_, n) : n, length = b_.node("Cast", {n}, {{"to", int64_t{1}}});
    const ValueId rows = b_.unsqueeze(count_to(n), 1), columns = count_to(out_rows);
    const ValueId turns = b_.multiply(rows, columns);
    const ValueId whole = b_.multiply(b_.node("Floor", {b_.node("Div", {turns, length})}), length);
    const ValueId angle = b_.node(
        "Div", {b_.multiply(b_.subtract(turns, whole), b_.scalar(DType::f32, (s.inverse ? -2 : 2) * std::numbers::pi)),
                length});
    ValueId cosine = b_.node("Cos", {angle}), sine = b_.node("Sin", {angle});
    if (s.inverse) cosine = b_.node("Div", {cosine, length}), sine = b_.node("Div", {sine, length});
    ValueId m = pair(cosine, b_.node("Neg", {sine}), 2);
    if (s.in_parts == 2) m = pair(m, pair(sine, cosine, 2), 1);
    return b_.node("Reshape", {m, b_.concat({b_.unsqueeze(b_.multiply(n, number(s.in_parts)), 0),
                                             b_.unsqueeze(b_.multiply(out_rows, number(2)), 0)},
                                            0)});
  }

  /// A subgraph with the inputs x and the matrix.
  Graph new_body(const char* name) const {
    Graph body;
    body.name = name;
    for (const char* input : {"x", "matrix"}) body.inputs.push_back(body.add_value(Value{.name = input}));
    return body;
  }

  Graph sum() const {
    Graph body = new_body("sum");
    Node dft = {.op = graph_.node(id_).op, .name = b_name(), .attributes = graph_.node(id_).attributes};
    NodeBuilder b(body, b_name());
    dft.inputs = {body.inputs[0], ValueId(), b.constant(Tensor::scalar_i64(params_.axis))};
    dft.outputs = {body.add_value(Value{.name = "y"})};
    body.outputs = body.node(body.add_node(std::move(dft))).outputs;
    return body;
  }

  Graph product() const {
    Graph body = new_body("product");
    NodeBuilder b(body, b_name());
    std::vector<int64_t> to_end(static_cast<size_t>(rank_));
    std::iota(to_end.begin(), to_end.end(), 0);
    std::swap(to_end[static_cast<size_t>(params_.axis)], to_end[static_cast<size_t>(rank_ - 2)]);
    const auto with_last = [&](std::vector<ValueId> last) {
      last.insert(last.begin(), b.ints(std::vector<int64_t>(static_cast<size_t>(rank_ - 2), 0)));
      return b.concat(std::move(last), 0);
    };
    const ValueId extent = b.extent_of(body.inputs[0], params_.axis);
    // Longer lines take the other branch. The slice bounds the lines by kMostRows, as the matrix is bounded.
    ValueId lines = b.transpose(b.slice(body.inputs[0], params_.axis, 0, kMostRows), to_end);
    const ValueId row = b.node("Shape", {body.inputs[1]}, {{"end", int64_t{1}}});
    lines = b.node("MatMul", {b.node("Reshape", {lines, with_last({row})}), body.inputs[1]});
    const ValueId out_rows = params_.spectrum.onesided ? half_of(b, extent) : extent;
    const ValueId y = b.node("Reshape", {lines, with_last({b.unsqueeze(out_rows, 0), b.ints({2})})});
    body.outputs = {b.transpose(y, to_end)};
    return body;
  }

  std::string b_name() const { return graph_.node(id_).name; }

  Graph& graph_;
  NodeId id_;
  const DftParams& params_;
  NodeBuilder b_;
  int64_t rank_;
};

}  // namespace

bool write_open_dft(Graph& graph, NodeId id, const DftParams& params) {
  const Node& node = graph.node(id);
  const Spectrum& s = params.spectrum;
  const bool has_length = node.inputs.size() > 1 && node.inputs[1].valid();
  if (has_length || s.length.is_constant() || s.out_parts != 2 || graph.value(node.inputs[0]).dtype != DType::f32)
    return false;
  OpenDftWriter(graph, id, params).run();
  return true;
}

}  // namespace gcg
