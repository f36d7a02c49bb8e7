#include "compiler/passes/expand_optimizers.h"

#include <array>

#include "compiler/ops/node_builder.h"
#include "compiler/ops/ops.h"
#include "compiler/passes/expand_each.h"

namespace gcg {
namespace {

class OptimizerWriter {
 public:
  OptimizerWriter(Graph& graph, NodeId id) : graph_(graph), id_(id), b_(graph, graph.node(id).name) {}

  /// `update` computes the new value and state of one tensor from its value, gradient and state.
  template <size_t kLists>
  void run(std::vector<ValueId> (OptimizerWriter::*update)(const std::array<ValueId, kLists>&)) {
    const std::vector<ValueId> inputs = graph_.node(id_).inputs, outputs = graph_.node(id_).outputs;
    const size_t count = (inputs.size() - 2) / kLists;
    for (size_t k = 0; k < count; ++k) {
      std::array<ValueId, kLists> in;
      for (size_t list = 0; list < kLists; ++list) in[list] = inputs[2 + list * count + k];
      dtype_ = graph_.value(in[0]).dtype;
      rate_ = scalar_input(0);
      steps_ = scalar_input(1);
      const std::vector<ValueId> now = (this->*update)(in);
      for (size_t list = 0; list + 1 < kLists; ++list)
        if (const size_t o = list * count + k; o < outputs.size() && outputs[o].valid())
          b_.replace(outputs[o], now[list]);
    }
    graph_.erase_node(id_);
  }

  std::vector<ValueId> adagrad(const std::array<ValueId, 3>& in) {
    const ValueId g = regularized(in[0], in[1]), h = b_.add(in[2], b_.multiply(g, g));
    const ValueId rate = divide(rate_, b_.add(one(), b_.multiply(steps_, attribute("decay_factor", 0))));
    return {b_.subtract(in[0], divide(b_.multiply(rate, g), root(h))), h};
  }

  std::vector<ValueId> adam(const std::array<ValueId, 4>& in) {
    const ValueId alpha = attribute("alpha", 0.9), beta = attribute("beta", 0.999), g = regularized(in[0], in[1]);
    const ValueId v = b_.add(b_.multiply(alpha, in[2]), b_.multiply(rest("alpha", 0.9), g));
    const ValueId h = b_.add(b_.multiply(beta, in[3]), b_.multiply(rest("beta", 0.999), b_.multiply(g, g)));
    const auto missing = [&](ValueId base) { return b_.subtract(one(), b_.node("Pow", {base, steps_})); };
    const ValueId corrected = divide(b_.multiply(rate_, b_.node("Sqrt", {missing(beta)})), missing(alpha));
    const ValueId rate = b_.node("Where", {begun(), corrected, rate_});
    const ValueId x = b_.subtract(in[0], b_.multiply(rate, divide(v, root(h))));
    return {b_.multiply(rest("norm_coefficient_post", 0), x), v, h};
  }

  std::vector<ValueId> momentum(const std::array<ValueId, 3>& in) {
    const ValueId alpha = attribute("alpha", 0), g = regularized(in[0], in[1]);
    const ValueId beta = b_.node("Where", {begun(), attribute("beta", 0), one()});
    const ValueId v = b_.add(b_.multiply(alpha, in[2]), b_.multiply(beta, g));
    const bool nesterov = graph_.node(id_).string_attribute("mode", "standard") == "nesterov";
    const ValueId direction = nesterov ? b_.add(g, b_.multiply(alpha, v)) : v;
    return {b_.subtract(in[0], b_.multiply(rate_, direction)), v};
  }

 private:
  double number(const char* name, double otherwise) const { return graph_.node(id_).float_attribute(name, otherwise); }
  ValueId attribute(const char* name, double otherwise) { return b_.scalar(dtype_, number(name, otherwise)); }
  /// 1 minus the attribute.
  ValueId rest(const char* name, double otherwise) { return b_.scalar(dtype_, 1 - number(name, otherwise)); }
  ValueId one() { return b_.scalar(dtype_, 1); }
  ValueId divide(ValueId a, ValueId by) { return b_.node("Div", {a, by}); }
  ValueId scalar_input(size_t i) {
    const ValueId cast = b_.node("Cast", {graph_.node(id_).inputs[i]}, {{"to", int64_t{dtype_to_onnx(dtype_)}}});
    return b_.node("Reshape", {cast, b_.ints({})});
  }
  ValueId begun() { return b_.node("Greater", {steps_, b_.scalar(dtype_, 0)}); }
  ValueId regularized(ValueId x, ValueId g) { return b_.add(b_.multiply(attribute("norm_coefficient", 0), x), g); }
  ValueId root(ValueId h) { return b_.add(b_.node("Sqrt", {h}), attribute("epsilon", 1e-6)); }

  Graph& graph_;
  NodeId id_;
  NodeBuilder b_;
  DType dtype_ = DType::f32;
  ValueId rate_, steps_;
};

}  // namespace

bool expand_optimizers(Graph& graph) {
  bool changed = expand_each(graph, op_Adagrad,
                             [](Graph& g, NodeId id) { OptimizerWriter(g, id).run(&OptimizerWriter::adagrad); });
  changed |=
      expand_each(graph, op_Adam, [](Graph& g, NodeId id) { OptimizerWriter(g, id).run(&OptimizerWriter::adam); });
  changed |= expand_each(graph, op_Momentum,
                         [](Graph& g, NodeId id) { OptimizerWriter(g, id).run(&OptimizerWriter::momentum); });
  return changed;
}

}  // namespace gcg
