#include "compiler/passes/expand_non_max_suppression.h"

#include <array>

#include "compiler/ops/node_builder.h"
#include "compiler/ops/non_max_suppression.h"
#include "compiler/ops/ops.h"
#include "compiler/passes/expand_each.h"

namespace gcg {
namespace {

/// Corners and areas of the boxes, [B, C, N], in descending order of scores.
struct Boxes {
  ValueId top, left, bottom, right, area;
};

class SuppressionWriter {
 public:
  SuppressionWriter(Graph& graph, NodeId id)
      : graph_(graph),
        id_(id),
        b_(graph, graph.node(id).name),
        boxes_dtype_(graph.value(input(kNmsBoxes)).dtype),
        scores_dtype_(graph.value(input(kNmsScores)).dtype) {}

  void run() {
    const NodeId sort = graph_.add_node(op_TopK, b_.name(), {input(kNmsScores), count()}, 2, {{"axis", int64_t{-1}}});
    const ValueId sorted = graph_.node(sort).outputs[0];
    order_ = graph_.node(sort).outputs[1];
    const ValueId good = input(kNmsScore).valid() ? b_.node("Greater", {sorted, scalar(kNmsScore, scores_dtype_)})
                                                  : b_.node("Expand", {truth(), b_.node("Shape", {order_})});
    const ValueId kept = suppress(sorted_boxes(), good);
    const ValueId places = b_.node("NonZero", {kept});  // [3, selected]
    const ValueId box = b_.node("GatherND", {order_, b_.transpose(places, {1, 0})});
    const ValueId rows = b_.concat({b_.slice(places, 0, 0, 2), b_.unsqueeze(box, 0)}, 0);
    b_.replace(graph_.node(id_).outputs[0], b_.transpose(rows, {1, 0}));
    graph_.erase_node(id_);
  }

 private:
  ValueId input(size_t i) const {
    const auto& inputs = graph_.node(id_).inputs;
    return i < inputs.size() ? inputs[i] : ValueId();
  }
  ValueId truth() { return b_.constant(Tensor::from<uint8_t>(DType::boolean, {}, {1})); }
  ValueId scalar(size_t i, DType dtype) {
    const ValueId cast = b_.node("Cast", {input(i)}, {{"to", int64_t{dtype_to_onnx(dtype)}}});
    return b_.node("Reshape", {cast, b_.ints({})});
  }
  /// [1]: the number of boxes.
  ValueId count() { return b_.slice(b_.node("Shape", {input(kNmsScores)}), 0, 2, 3); }

  Boxes sorted_boxes() {
    std::array<ValueId, 4> corners;
    for (int64_t k = 0; k < 4; ++k) {
      const ValueId all = b_.unsqueeze(b_.element(input(kNmsBoxes), 2, k), 1);  // [B, 1, N]
      const ValueId spread = b_.node("Expand", {all, b_.node("Shape", {order_})});
      corners[static_cast<size_t>(k)] = b_.node("GatherElements", {spread, order_}, {{"axis", int64_t{2}}});
    }
    Boxes boxes;
    if (graph_.node(id_).int_attribute("center_point_box", 0) != 0) {
      const auto half = [&](size_t k) { return b_.multiply(corners[k], b_.scalar(boxes_dtype_, 0.5)); };
      boxes = {b_.subtract(corners[1], half(3)),
               b_.subtract(corners[0], half(2)),
               b_.add(corners[1], half(3)),
               b_.add(corners[0], half(2)),
               {}};
    } else {
      const auto ends = [&](const char* which, size_t k) { return b_.node(which, {corners[k], corners[k + 2]}); };
      boxes = {ends("Min", 0), ends("Min", 1), ends("Max", 0), ends("Max", 1), {}};
    }
    boxes.area = b_.multiply(b_.subtract(boxes.bottom, boxes.top), b_.subtract(boxes.right, boxes.left));
    return boxes;
  }

  /// Flags, [B, C, N], of the boxes that stay among those that are `good` enough.
  ValueId suppress(const Boxes& boxes, ValueId good) {
    const ValueId most = input(kNmsMost).valid() ? scalar(kNmsMost, DType::i64) : b_.constant(Tensor::scalar_i64(0));
    const ValueId limit = input(kNmsOverlap).valid() ? scalar(kNmsOverlap, boxes_dtype_) : b_.scalar(boxes_dtype_, 0);
    return b_.node(op_gart_Suppress, {boxes.top, boxes.left, boxes.bottom, boxes.right, boxes.area, good, most, limit});
  }

  Graph& graph_;
  NodeId id_;
  NodeBuilder b_;
  DType boxes_dtype_, scores_dtype_;
  ValueId order_;
};

}  // namespace

bool expand_non_max_suppression(Graph& graph) {
  return expand_each(graph, op_NonMaxSuppression, [](Graph& g, NodeId id) { SuppressionWriter(g, id).run(); });
}

}  // namespace gcg
