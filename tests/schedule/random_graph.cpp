#include "tests/schedule/random_graph.h"

#include <algorithm>
#include <random>

#include "compiler/ops/infer.h"
#include "compiler/ops/op_def.h"

namespace gcg::test {
namespace {

class Generator {
 public:
  explicit Generator(uint32_t seed) : rng_(seed), symbolic_(seed % 2 == 1) {}

  Graph run() {
    g_.name = "random";
    add_input({rows(), 6, 8});
    add_input({rows(), 6, 8});
    if (chance(2)) add_input({rows(), 3, 5, 4});
    const int64_t nodes = 4 + pick(17);
    for (int64_t i = 0; i < nodes; ++i) add_node(any());
    choose_outputs();
    infer_graph(g_);
    return std::move(g_);
  }

 private:
  int64_t pick(int64_t count) { return static_cast<int64_t>(rng_() % static_cast<uint32_t>(count)); }
  bool chance(int64_t one_in) { return pick(one_in) == 0; }
  Dim rows() const { return symbolic_ ? Dim::symbol("n") : Dim(3); }
  const Shape& shape(ValueId v) const { return *g_.value(v).shape; }
  int64_t rank(ValueId v) const { return static_cast<int64_t>(shape(v).size()); }

  void add_input(Shape shape) {
    Value v;
    v.name = concat("x", g_.inputs.size());
    v.dtype = DType::f32;
    v.shape = std::move(shape);
    values_.push_back(g_.add_value(std::move(v)));
    g_.inputs.push_back(values_.back());
  }

  /// Recent values are more likely, so that chains form.
  ValueId any() {
    const auto count = static_cast<int64_t>(values_.size());
    return values_[static_cast<size_t>(chance(3) ? pick(count) : std::max(pick(count), pick(count)))];
  }

  ValueId same_shape(ValueId v) {
    std::vector<ValueId> fitting;
    for (ValueId o : values_)
      if (shape(o) == shape(v)) fitting.push_back(o);
    return fitting[static_cast<size_t>(pick(static_cast<int64_t>(fitting.size())))];
  }

  ValueId weight(std::vector<int64_t> extents) {
    Tensor t(DType::f32, std::move(extents));
    for (int64_t i = 0; i < t.elements(); ++i) t.set_double(i, static_cast<double>(pick(17) - 8) / 16);
    return g_.add_constant(g_.unique_name("w"), std::move(t));
  }

  void node(const char* op_name, std::vector<ValueId> inputs, std::map<std::string, Attribute> attributes = {}) {
    const NodeId id = g_.add_node(op(op_name), g_.unique_name(op_name), std::move(inputs), 1, std::move(attributes));
    infer_node(g_, id, g_);
    values_.push_back(g_.node(id).outputs[0]);
  }

  void add_node(ValueId v) {
    switch (pick(9)) {
      case 0:
      case 1:
        return unary(v);
      case 2:
        return node(chance(2) ? "Add" : "Mul", {v, chance(3) ? weight({}) : same_shape(v)});
      case 3:
        return reduce_and_join(v);
      case 4:
        return node("Softmax", {v}, {{"axis", pick(rank(v))}});
      case 5:
        return transpose(v);
      case 6:
        return node("Concat", {v, same_shape(v)}, {{"axis", 1 + pick(rank(v) - 1)}});
      case 7:
        return product(v);
      default:
        return rank(v) == 4 ? convolution(v) : product(v);
    }
  }

  void unary(ValueId v) {
    static constexpr const char* names[] = {"Relu", "Neg", "Sigmoid", "Tanh", "Abs"};
    node(names[pick(5)], {v});
  }

  /// A reduction, or the value minus its reduction in each row.
  void reduce_and_join(ValueId v) {
    const ValueId axes = g_.add_constant(g_.unique_name("axes"), Tensor::vector_i64({1 + pick(rank(v) - 1)}));
    node(chance(2) ? "ReduceMax" : "ReduceMean", {v, axes});
    if (chance(2)) node("Sub", {v, values_.back()});
  }

  void transpose(ValueId v) {
    std::vector<int64_t> perm;
    for (int64_t i = 0; i < rank(v); ++i) perm.push_back(i);
    std::shuffle(perm.begin() + 1, perm.end(), rng_);  // the symbolic extent stays first
    node("Transpose", {v}, {{"perm", perm}});
  }

  void product(ValueId v) {
    const Dim& k = shape(v).back();
    std::vector<int64_t> perm(static_cast<size_t>(rank(v)));
    if (chance(3)) {  // with itself, transposed
      for (size_t i = 0; i < perm.size(); ++i) perm[i] = static_cast<int64_t>(i);
      std::swap(perm[perm.size() - 1], perm[perm.size() - 2]);
      node("Transpose", {same_shape(v)}, {{"perm", perm}});
      const ValueId turned = values_.back();
      if (!chance(4)) values_.pop_back();
      node("MatMul", {v, turned});
    } else {
      node("MatMul", {v, weight({k.constant(), 1 + pick(9)})});
    }
    if (chance(2)) node("Add", {values_.back(), weight({shape(values_.back()).back().constant()})});
  }

  void convolution(ValueId v) {
    const int64_t channels = shape(v)[1].constant(), filters = 1 + pick(20);
    node("Conv", {v, weight({filters, channels, 3, 3}), weight({filters})},
         {{"pads", std::vector<int64_t>{1, 1, 1, 1}}});
  }

  void choose_outputs() {
    const auto users = g_.users();
    for (ValueId v : values_) {
      const bool read = !users[static_cast<size_t>(v.index)].empty(), input = !g_.value(v).producer.valid();
      if (input ? chance(12) : !read || chance(6)) g_.outputs.push_back(v);
    }
  }

  std::mt19937 rng_;
  bool symbolic_;
  Graph g_;
  std::vector<ValueId> values_;
};

}  // namespace

Graph random_graph(uint32_t seed) { return Generator(seed).run(); }

}  // namespace gcg::test
