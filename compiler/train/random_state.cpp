#include "compiler/train/random_state.h"

#include <algorithm>

#include "compiler/ops/expansion.h"
#include "compiler/ops/ops.h"
#include "compiler/train/formula.h"

namespace gcg {
namespace {

/// One iteration adds these numbers to {seed, offset}, by the depth of the loop. The number of steps stays below 2^32,
/// and seeds are small, so the streams of iterations do not overlap.
constexpr int64_t kPerIteration[][2] = {{0, int64_t{1} << 32}, {int64_t{1} << 32, 0}, {int64_t{1} << 48, 0}};

bool draws(const Graph& graph) {
  const std::vector<NodeId> order = graph.order();
  return std::any_of(order.begin(), order.end(), [&](NodeId id) {
    const Node& node = graph.node(id);
    return node.op == &op_gart_RandomBits ||
           std::any_of(node.bodies.begin(), node.bodies.end(), [](const auto& body) { return draws(*body); });
  });
}

ValueId add_input(Graph& graph) {
  Value state;
  state.name = kRandomState;
  state.dtype = DType::i64;
  state.shape = {Dim(2)};
  graph.inputs.push_back(graph.add_value(std::move(state)));
  return graph.inputs.back();
}

class Drawing {
 public:
  explicit Drawing(Graph& outermost) : outermost_(outermost) {}

  /// Makes the nodes of the graph read `state`, a value of the graph. `loops`: how many loops surround the graph.
  void read(Graph& graph, ValueId state, size_t loops) {
    for (NodeId id : graph.order()) {
      Node& node = graph.node(id);
      if (node.op == &op_gart_RandomBits) node.inputs.push_back(state);
      if (std::none_of(node.bodies.begin(), node.bodies.end(), [](const auto& body) { return draws(*body); })) continue;
      node.inputs.push_back(state);
      ++node.captures;
      const bool is_loop = node.op == &op_Loop;
      for (const auto& body : node.bodies) {
        const ValueId inside = add_input(*body);
        read(*body, is_loop ? of_iteration(*body, inside, loops) : inside, loops + (is_loop ? 1 : 0));
      }
    }
  }

 private:
  ValueId of_iteration(Graph& body, ValueId state, size_t loops) {
    FormulaWriter w(body, outermost_, "random.iteration");
    const int64_t(&step)[2] = kPerIteration[std::min(loops, std::size(kPerIteration) - 1)];
    return (w.of(state) + (w.of(body.inputs[0]) + 1) * w.ints({step[0], step[1]})).id;
  }

  Graph& outermost_;
};

}  // namespace

TensorRef first_random_state() { return std::make_shared<Tensor>(DType::i64, std::vector<int64_t>{2}); }

ValueId next_random_state(Graph& graph, ValueId before) {
  FormulaWriter w(graph, graph, "random");
  return (w.of(before) + w.ints({0, 1})).id;
}

std::optional<RandomState> add_random_state(Graph& graph) {
  if (!draws(graph)) return std::nullopt;
  const ValueId in = add_input(graph);
  Drawing(graph).read(graph, in, 0);
  return RandomState{in, next_random_state(graph, in), first_random_state()};
}

}  // namespace gcg
