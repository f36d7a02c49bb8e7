#include "compiler/train/lora.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include "compiler/ops/expansion.h"
#include "compiler/ops/infer.h"
#include "compiler/ops/ops.h"
#include "compiler/ops/random.h"
#include "compiler/partition/runs_on.h"
#include "compiler/support/error.h"
#include "compiler/support/nearest.h"

namespace gcg {
namespace {

/// The rows and columns of a product's constant matrix.
struct Matrix {
  int64_t rows, columns;
};

/// Nullopt if the packed weights are not as large as K and N say; the node's expansion says what is wrong.
std::optional<Matrix> packed_matrix_of(const Graph& graph, const Node& node) {
  const int64_t k = node.int_attribute("K", 0), n = node.int_attribute("N", 0), bits = node.int_attribute("bits", 4);
  const TensorRef& packed = graph.value(node.inputs[1]).constant;
  if (!packed || k < 1 || n < 1 || bits < 1 || k > packed->elements() * 8 / bits / n) return std::nullopt;
  return Matrix{k, n};
}

std::optional<Matrix> matrix_of(const Graph& graph, const Node& node) {
  if (node.op == &op_microsoft_MatMulNBits.def) return packed_matrix_of(graph, node);
  const bool is_gemm = node.op == &op_Gemm;
  if (!is_gemm && node.op != &op_MatMul) return std::nullopt;
  const TensorRef& weights = graph.value(node.inputs[1]).constant;
  if (!weights || weights->rank() != 2 || !is_float(weights->dtype())) return std::nullopt;
  if (is_gemm && node.int_attribute("transA", 0) != 0) return std::nullopt;
  Matrix m{weights->shape()[0], weights->shape()[1]};
  if (is_gemm && node.int_attribute("transB", 0) != 0) std::swap(m.rows, m.columns);
  return m;
}

/// The part of the name, or all of it, that the pattern matches; empty if there is none.
std::string matched_part(const std::string& pattern, const std::string& name) {
  for (size_t end = name.size(); end > 0; --end) {
    if (end < name.size() && name[end] != '/' && name[end] != '.') continue;
    if (std::string part = name.substr(0, end); fits_pattern(pattern, part)) return part;
  }
  return {};
}

/// Uniform pseudo-random numbers between -1/sqrt(rows) and 1/sqrt(rows). The name is the seed.
Tensor first_numbers(DType dtype, const std::string& name, std::vector<int64_t> shape) {
  const double limit = 1 / std::sqrt(static_cast<double>(shape[0]));
  const auto key = static_cast<uint64_t>(hash_of(name));
  Tensor t(dtype, std::move(shape));
  for (int64_t i = 0; i < t.elements(); ++i) {
    const auto words = philox({static_cast<uint32_t>(i), static_cast<uint32_t>(i >> 32), 0, 0},
                              {static_cast<uint32_t>(key), static_cast<uint32_t>(key >> 32)});
    t.set_double(i, (words[0] * 0x1p-31 - 1) * limit);
  }
  return t;
}

class AdapterMaker {
 public:
  AdapterMaker(Graph& graph, const LoraOptions& options)
      : graph_(graph), options_(options), used_(options.targets.size(), false) {}

  std::set<std::string> make() {
    for (NodeId id : graph_.order())
      if (const std::optional<Matrix> m = matrix_of(graph_, graph_.node(id)))
        if (const std::string name = matched(graph_.node(id)); !name.empty()) add(id, *m, name);
    for (size_t i = 0; i < used_.size(); ++i)
      if (!used_[i])
        fail("--train: the target ", options_.targets[i], " of lora matches no product with constant weights",
             nearest(options_.targets[i], candidates_));
    infer_graph(graph_);
    return std::move(parameters_);
  }

 private:
  std::string matched(const Node& node) {
    candidates_.push_back(node.name);
    for (size_t i = 0; i < used_.size(); ++i)
      for (const std::string& name : {node.name, graph_.value(node.inputs[1]).name})
        if (std::string part = matched_part(options_.targets[i], name); !part.empty()) {
          used_[i] = true;
          return part;
        }
    return {};
  }

  ValueId parameter(const std::string& name, Tensor tensor) {
    const ValueId id = graph_.add_constant(name, std::move(tensor));
    parameters_.insert(graph_.value(id).name);
    return id;
  }

  /// The sum of the node's result and the adapter's becomes the new result, with the same name and readers.
  void add(NodeId id, Matrix m, const std::string& name) {
    const ValueId x = graph_.node(id).inputs[0], y = graph_.node(id).outputs[0];
    const DType dtype = graph_.value(y).dtype, compute_type = dtype == DType::f64 ? dtype : DType::f32;
    NodeBuilder b(graph_, name + ".lora");
    const auto cast = [&](ValueId v, DType from, DType to) {
      return from == to ? v : b.node("Cast", {v}, {{"to", int64_t{dtype_to_onnx(to)}}});
    };
    ValueId v = cast(x, dtype, compute_type);
    if (options_.dropout > 0) v = b.node(op_gart_TrainingDropout.def, {v, b.scalar(DType::f32, options_.dropout)});
    v = b.node("MatMul", {v, parameter(name + ".lora_A", first_numbers(compute_type, name, {m.rows, options_.rank}))});
    v = b.node("MatMul", {v, parameter(name + ".lora_B", Tensor(compute_type, {options_.rank, m.columns}))});
    v = b.multiply(v, b.scalar(compute_type, options_.alpha / static_cast<double>(options_.rank)));
    v = cast(v, compute_type, dtype);
    Value base;
    base.name = name + ".base";
    base.producer = id;
    base.dtype = dtype;
    base.shape = graph_.value(y).shape;
    const ValueId product = graph_.add_value(std::move(base));
    graph_.node(id).outputs[0] = product;
    graph_.value(y).producer = NodeId();
    Node sum;
    sum.op = &op("Add");
    sum.name = b.name();
    sum.inputs = {product, v};
    sum.outputs = {y};
    graph_.add_node(std::move(sum));
  }

  Graph& graph_;
  const LoraOptions& options_;
  std::vector<bool> used_;  // by target
  std::vector<std::string> candidates_;
  std::set<std::string> parameters_;
};

}  // namespace

std::set<std::string> add_adapters(Graph& graph, const LoraOptions& options) {
  return AdapterMaker(graph, options).make();
}

}  // namespace gcg
