#include "compiler/passes/expand_non_max_suppression.h"

#include <array>

#include "compiler/ops/node_builder.h"
#include "compiler/ops/non_max_suppression.h"
#include "compiler/ops/ops.h"
#include "compiler/passes/expand_each.h"
#include "compiler/passes/loop_writer.h"

namespace gcg {
namespace {

/// Corners and areas, [B, C, N] in descending order of scores.
struct Boxes {
  ValueId top, left, bottom, right, area;
};

class SuppressionWriter {
 public:
  SuppressionWriter(Graph& graph, NodeId id)
      : graph_(graph), id_(id), b_(graph, graph.node(id).name), boxes_dtype_(graph.value(input(kNmsBoxes)).dtype),
        scores_dtype_(graph.value(input(kNmsScores)).dtype) {}

  void run() {
    const NodeId sort = graph_.add_node(op_TopK, b_.name(), {input(kNmsScores), count()}, 2, {{"axis", int64_t{-1}}});
    const ValueId sorted = graph_.node(sort).outputs[0];
    order_ = graph_.node(sort).outputs[1];
    ValueId left = b_.node("Expand", {truth(b_, true), b_.node("Shape", {order_})});
    if (input(kNmsScore).valid()) left = b_.node("Greater", {sorted, scalar(kNmsScore, scores_dtype_)});
    const ValueId kept = loop(sorted_boxes(), left);
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
  static ValueId truth(NodeBuilder& b, bool value) {
    return b.constant(Tensor::from<uint8_t>(DType::boolean, {}, {static_cast<uint8_t>(value)}));
  }
  ValueId scalar(size_t i, DType dtype) {
    const ValueId cast = b_.node("Cast", {input(i)}, {{"to", int64_t{dtype_to_onnx(dtype)}}});
    return b_.node("Reshape", {cast, b_.ints({})});
  }
  /// [1]: how many boxes there are.
  ValueId count() { return b_.slice(b_.node("Shape", {input(kNmsScores)}), 0, 2, 3); }

  Boxes sorted_boxes() {
    std::array<ValueId, 4> given;
    for (int64_t k = 0; k < 4; ++k) {
      const ValueId all = b_.unsqueeze(b_.element(input(kNmsBoxes), 2, k), 1);  // [B, 1, N]
      const ValueId spread = b_.node("Expand", {all, b_.node("Shape", {order_})});
      given[static_cast<size_t>(k)] = b_.node("GatherElements", {spread, order_}, {{"axis", int64_t{2}}});
    }
    Boxes boxes;
    if (graph_.node(id_).int_attribute("center_point_box", 0) != 0) {
      const auto half = [&](size_t k) { return b_.multiply(given[k], b_.scalar(boxes_dtype_, 0.5)); };
      boxes = {b_.subtract(given[1], half(3)), b_.subtract(given[0], half(2)), b_.add(given[1], half(3)),
               b_.add(given[0], half(2)), {}};
    } else {
      const auto ends = [&](const char* which, size_t k) { return b_.node(which, {given[k], given[k + 2]}); };
      boxes = {ends("Min", 0), ends("Min", 1), ends("Max", 0), ends("Max", 1), {}};
    }
    boxes.area = b_.multiply(b_.subtract(boxes.bottom, boxes.top), b_.subtract(boxes.right, boxes.left));
    return boxes;
  }

  /// Which boxes stay of those that are `left`, [B, C, N].
  ValueId loop(const Boxes& outer, ValueId left) {
    const ValueId most = input(kNmsMost).valid() ? scalar(kNmsMost, DType::i64) : b_.constant(Tensor::scalar_i64(0));
    const ValueId none = b_.node("Expand", {truth(b_, false), b_.node("Shape", {order_})});
    LoopWriter loop(b_.name(), {most, any(b_, left), left, none});
    loop.body_input("iteration");
    loop.body_input("condition");
    const ValueId now = loop.body_input("left"), kept = loop.body_input("kept");
    const Boxes boxes{loop.capture(outer.top, "top"), loop.capture(outer.left, "left_side"), loop.capture(outer.bottom, "bottom"),
                      loop.capture(outer.right, "right"), loop.capture(outer.area, "area")};
    const ValueId overlap = input(kNmsOverlap).valid() ? scalar(kNmsOverlap, boxes_dtype_) : b_.scalar(boxes_dtype_, 0);
    const ValueId limit = loop.capture(overlap, "limit"), numbers = loop.capture(positions(), "numbers");
    Graph& body = *loop.node.bodies[0];
    NodeBuilder b(body, b_.name());
    const ValueId flags = b.node("Cast", {now}, {{"to", int64_t{dtype_to_onnx(DType::i32)}}});
    const ValueId first = b.node("ArgMax", {flags}, {{"axis", int64_t{2}}, {"keepdims", int64_t{1}}});  // [B, C, 1]
    const ValueId taken = b.node("And", {now, b.node("Equal", {numbers, first})});
    const ValueId gone = b.node("Or", {taken, overlapping(b, boxes, first, limit)});
    const ValueId rest = b.node("And", {now, b.node("Not", {gone})});
    body.outputs = {any(b, rest), rest, b.node("Or", {kept, taken})};
    Value out;
    out.name = graph_.unique_name(b_.name() + ".kept");
    loop.node.outputs = {ValueId(), graph_.add_value(std::move(out))};
    const ValueId result = loop.node.outputs[1];
    graph_.add_node(std::move(loop.node));
    return result;
  }

  static ValueId any(NodeBuilder& b, ValueId flags) { return b.node("ReduceMax", {flags}, {{"keepdims", int64_t{0}}}); }

  ValueId positions() {
    const ValueId zero = b_.constant(Tensor::scalar_i64(0)), one = b_.constant(Tensor::scalar_i64(1));
    return b_.node("Range", {zero, b_.node("Reshape", {count(), b_.ints({})}), one});
  }

  /// Which boxes overlap box `first` of their class by more than the limit.
  ValueId overlapping(NodeBuilder& b, const Boxes& boxes, ValueId first, ValueId limit) const {
    const auto of_first = [&](ValueId x) { return b.node("GatherElements", {x, first}, {{"axis", int64_t{2}}}); };
    const auto shared = [&](ValueId low, ValueId high) {
      return b.subtract(b.node("Min", {high, of_first(high)}), b.node("Max", {low, of_first(low)}));
    };
    const auto positive = [&](ValueId x) { return b.node("Greater", {x, b.scalar(boxes_dtype_, 0)}); };
    const ValueId height = shared(boxes.top, boxes.bottom), width = shared(boxes.left, boxes.right);
    const ValueId both = b.multiply(height, width), area = of_first(boxes.area);
    const ValueId ratio = b.node("Div", {both, b.subtract(b.add(boxes.area, area), both)});
    const auto all = [&](std::initializer_list<ValueId> conditions) {
      ValueId result;
      for (ValueId c : conditions) result = result.valid() ? b.node("And", {result, c}) : c;
      return result;
    };
    return all({b.node("Greater", {ratio, limit}), positive(height), positive(width), positive(boxes.area), positive(area)});
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
