// A graph that is built operator by operator, or read from an ONNX file. compile.h compiles it.
//
//   gcc_graph::Graph graph("classifier");
//   auto image = graph.input("image", DType::f32, {"batch", "784"});
//   auto weights = graph.constant<float>({784, 10}, numbers);
//   auto logits = graph.op("MatMul", {image, weights});
//   graph.output("probabilities", graph.op("Softmax", {logits}, {{"axis", int64_t{-1}}}));
//
// op() takes the name of any ONNX operator in its newest form (docs/operators.md), or "com.microsoft::Gelu" for another
// domain. Types and shapes are inferred at once, so a wrong operator throws Error on its own line and names operator,
// types and limit.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "gcc_graph/types.h"

namespace gcc_graph {

class Graph;
namespace detail {
struct GraphState;
}

/// A value of a graph. It keeps the graph's content alive. A default-constructed value means an omitted operand.
class GCC_GRAPH_API Value {
 public:
  Value() = default;
  explicit operator bool() const { return state_ != nullptr; }
  DType dtype() const;
  bool has_rank() const;  ///< false if the rank depends on data
  /// "224", "batch" or "2*s+1", outermost first. Throws if the rank is not known.
  std::vector<std::string> shape() const;
  std::string name() const;
  std::string text() const;  ///< "f32[batch,784]"

 private:
  friend class Graph;
  Value(std::shared_ptr<detail::GraphState> state, int32_t id) : state_(std::move(state)), id_(id) {}
  std::shared_ptr<detail::GraphState> state_;
  int32_t id_ = -1;
};

class GCC_GRAPH_API Graph {
 public:
  explicit Graph(const std::string& name = "graph");
  /// Reads an ONNX file, external data included. `custom_ops`, `functions` (files) and `outputs` mean the same as
  /// gcc-graph compile --custom-op, --functions and --outputs.
  static Graph import_onnx(const std::string& path, const std::vector<std::string>& custom_ops = {},
                           const std::vector<std::string>& functions = {},
                           const std::vector<std::string>& outputs = {});
  static Graph import_onnx(std::span<const uint8_t> bytes);

  /// Dims are numbers, names of symbols, or expressions of symbols.
  Value input(const std::string& name, DType dtype, const std::vector<std::string>& dims);
  /// Copies dense, row-major elements.
  Value constant(DType dtype, const std::vector<int64_t>& shape, const void* data, const std::string& name = {});
  template <class T>
  Value constant(const std::vector<int64_t>& shape, std::span<const T> elements, const std::string& name = {}) {
    check_count(shape, elements.size());
    return constant(dtype_of<T>(), shape, elements.data(), name);
  }
  template <class T>
  Value constant(const std::vector<int64_t>& shape, const std::vector<T>& elements, const std::string& name = {}) {
    return constant(shape, std::span<const T>(elements), name);
  }

  /// Returns the operator's first result.
  Value op(const std::string& name, const std::vector<Value>& operands, const Attributes& attributes = {},
           const std::string& node_name = {});
  /// Returns `outputs` results.
  std::vector<Value> ops(const std::string& name, const std::vector<Value>& operands, int outputs,
                         const Attributes& attributes = {}, const std::string& node_name = {});
  void output(const std::string& name, const Value& value);

  std::vector<Value> inputs() const;
  std::vector<Value> outputs() const;
  int64_t node_count() const;
  std::string text() const;  ///< readable text: a line per node, without large constants

  const std::shared_ptr<detail::GraphState>& state() const { return state_; }

 private:
  template <class T>
  static constexpr DType dtype_of() {
    if constexpr (std::is_same_v<T, float>)
      return DType::f32;
    else if constexpr (std::is_same_v<T, double>)
      return DType::f64;
    else if constexpr (std::is_same_v<T, int8_t>)
      return DType::i8;
    else if constexpr (std::is_same_v<T, int16_t>)
      return DType::i16;
    else if constexpr (std::is_same_v<T, int32_t>)
      return DType::i32;
    else if constexpr (std::is_same_v<T, int64_t>)
      return DType::i64;
    else if constexpr (std::is_same_v<T, uint8_t>)
      return DType::u8;
    else if constexpr (std::is_same_v<T, uint16_t>)
      return DType::u16;
    else if constexpr (std::is_same_v<T, uint32_t>)
      return DType::u32;
    else if constexpr (std::is_same_v<T, uint64_t>)
      return DType::u64;
    else {
      static_assert(std::is_same_v<T, bool>, "elements of this C++ type have no DType; give it, and a pointer");
      return DType::boolean;
    }
  }
  static void check_count(const std::vector<int64_t>& shape, size_t elements);
  std::shared_ptr<detail::GraphState> state_;
};

}  // namespace gcc_graph
