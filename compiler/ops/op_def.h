// An OpDef holds all the compiler's knowledge about one operator. Each family's file in this folder defines its OpDefs
// (inference, upgrade from older opsets, lowering, reference). ops.inc lists them; no other place does.
#pragma once

#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "compiler/ir/graph.h"
#include "compiler/kernel/expr.h"
#include "compiler/ops/declared_types.h"

namespace gcg {

/// True if the extent is 1 in every run that broadcasting allows. This includes an extent that is at most 1 (a slice of
/// one): inference records that it must not be 0.
inline bool broadcasts(const Dim& extent) { return extent.upper_bound().value_or(2) <= 1; }

/// The operator classes that the fuser distinguishes.
enum class OpKind : uint8_t {
  pointwise,  // out[i] depends only on the broadcast inputs at i
  movement,   // out[i] is one element of one input (or a constant), chosen by i: transpose, slice, concat, pad, gather
  view,       // the same elements in the same row-major order: reshape, squeeze, unsqueeze, flatten, identity
  reduction,  // contains reductions along few axes: softmax, layer norm, reduce, pool
  contraction,  // multiply-and-sum over large extents: matmul, conv; its lowering is the slow fallback
  generator,    // reads no elements of tensor inputs: range, constant-of-shape, eye-like
  control,      // If, Loop, Scan
  opaque,       // no lowering
  program,      // has no lowering, but a `program`
};

/// The cost to compute an element of the result, without reductions.
enum class Cost : uint8_t {
  by_kind,    // `cheap` for views and generators, `plain` for all others
  cheap,      // nearly free: an element of the input, at most converted
  plain,      // like an addition
  expensive,  // like ten additions: transcendental functions
};

/// How often a kernel reads an element of the input.
enum class Reads : uint8_t {
  by_kind,  // `window` for contractions, `once` for all others
  once,
  row,     // a few times: statistics of its row are computed first
  window,  // once for each of many results
};

/// Whether operands and results of the operator may be stored in 16 bits.
enum class Narrow : uint8_t {
  by_kind,  // `links` for pointwise, movement, view and contraction; `no` for all others
  no,
  reads,  // operands may be stored in 16 bits, but results may not, because they may exceed the range of f16
  links,  // operands may be stored in 16 bits, and so may results if the operands may
};

/// The magnitude of results.
enum class Magnitude : uint8_t {
  of_operands,
  bounded,  // moderate, whatever the operands are
  exact,    // counts or positions: every bit must be kept
};

/// Properties of an operator for passes and cost models, beyond its kind. The defaults are right for most operators.
struct Traits {
  Cost cost = Cost::by_kind;
  Reads reads = Reads::by_kind;
  Narrow narrow = Narrow::by_kind;
  Magnitude magnitude = Magnitude::of_operands;
  /// True if operands and results are images, and any order of the channels is equally fast. It holds for all pointwise
  /// operators.
  bool keeps_channels = false;
  /// True if result elements lie at affine positions of input 0. It holds for all views that keep the type.
  bool is_strided = false;
  /// From this input on, inputs are parameters (limits, positions, exponents), not data.
  int data_inputs = std::numeric_limits<int>::max();
};

/// The attribute with the names of the symbols for a node's data-dependent extents. It makes a second inference of the
/// node give the same symbols.
constexpr const char* kSymbolsAttribute = "gart.symbols";

/// Type and shape inference of one node. The ranks of the inputs are known when `infer` is called (but see
/// `allows_unknown_rank`).
class InferContext {
 public:
  virtual ~InferContext() = default;

  const Node& node() const { return *node_; }
  int input_count() const { return static_cast<int>(node_->inputs.size()); }
  int output_count() const { return static_cast<int>(node_->outputs.size()); }
  bool has_input(int i) const { return i < input_count() && node_->inputs[static_cast<size_t>(i)].valid(); }
  bool has_output(int i) const { return i < output_count() && node_->outputs[static_cast<size_t>(i)].valid(); }
  const Value& input(int i) const;  // fails when omitted
  DType dtype(int i) const { return input(i).dtype; }
  const Shape& shape(int i) const;  // fails if the rank is unknown
  int64_t rank(int i) const { return static_cast<int64_t>(shape(i).size()); }
  /// Constant data, or null.
  TensorRef constant(int i) const { return has_input(i) ? input(i).constant : nullptr; }
  /// Elements of an integer/bool input of rank 0 or 1, constant or symbolic; nullopt if data-dependent.
  std::optional<std::vector<Dim>> contents(int i) const;
  /// The elements of a vector. Each is nullopt if it depends on data; others may be known, for example in a shape that
  /// is concatenated from numbers and extents. Requires: the vector's extent is constant.
  std::vector<std::optional<Dim>> known_contents(int i) const;
  /// The same, but every element must be a known number.
  std::optional<std::vector<int64_t>> int_contents(int i) const;

  void set_output(int i, DType dtype, Shape shape);  // does nothing for an omitted output
  /// Sets the dtype of an output whose rank depends on data.
  void set_output_unranked(int i, DType dtype);
  void set_contents(int i, std::vector<Dim> contents);

  /// Normalises an axis in [-rank, rank), or fails with "axis 5 out of range [-3, 3)".
  int64_t axis(int64_t value, int64_t rank) const;
  /// Numpy broadcasting of two extents. Symbolic extents that are not provably 1 must agree at run time.
  Dim broadcast(const Dim& a, const Dim& b);
  Shape broadcast(const Shape& a, const Shape& b);
  /// Records that two extents must agree, or fails if they provably differ. Returns the more specific one.
  Dim require_equal(const Dim& a, const Dim& b, const std::string& what);
  /// A fresh symbol for an extent that depends on data.
  Dim fresh_symbol(const std::string& hint);
  [[noreturn]] void fail(const std::string& message) const;  // "Conv 'conv1': message; inputs f32[..], .."
  /// Infers subgraph `i` with these input types and returns the types of its outputs (see Graph). Control flow only.
  virtual std::vector<Value> infer_body(int i, const std::vector<Value>& input_types) = 0;

 protected:
  InferContext(Graph& graph, Node& node, Graph& outermost) : graph_(&graph), node_(&node), outermost_(&outermost) {}
  /// Removes symbols that an earlier inference made with less knowledge. To be called after the node's inference.
  void forget_unused_symbols();
  Graph* graph_;
  Node* node_;
  Graph* outermost_;  // the graph that holds constraints and fresh symbols

 private:
  // Number of symbols requested so far; a second inference gives the same symbols in the same order.
  size_t fresh_symbols_ = 0;
};

/// Lowering of one node: the value of an output element as an expression.
class LowerContext {
 public:
  virtual ~LowerContext() = default;
  virtual const Node& node() const = 0;
  virtual const Value& input_value(int i) const = 0;
  virtual const Value& output_value(int i) const = 0;
  bool has_input(int i) const {
    return i < static_cast<int>(node().inputs.size()) && node().inputs[static_cast<size_t>(i)].valid();
  }
  const Shape& input_shape(int i) const { return *input_value(i).shape; }
  const Shape& output_shape(int i) const { return *output_value(i).shape; }
  /// Element of input i at `index` (one i64 per dimension): the producer's expression if it is fused, else a load.
  virtual Expr input(int i, const std::vector<Expr>& index) = 0;
  /// The same for an element's row-major number.
  virtual Expr flat_input(int i, const Expr& position);
  /// A new axis for a reduction.
  virtual Axis fresh_axis(const Dim& extent) = 0;

  /// input(i, ...) at the element that numpy broadcasting assigns to an output index.
  Expr broadcast_input(int i, const std::vector<Expr>& output_index);
};

class ReferenceContext {
 public:
  virtual ~ReferenceContext() = default;
  virtual const Node& node() const = 0;
  /// Null if omitted.
  virtual const Tensor* input(int i) const = 0;
  int input_count() const { return static_cast<int>(node().inputs.size()); }
  int output_count() const { return static_cast<int>(node().outputs.size()); }
  /// Declared element type of output i (after inference).
  virtual DType output_dtype(int i) const = 0;
  virtual std::vector<Tensor> run_body(int i, std::vector<Tensor> inputs) = 0;
};

/// Upgrades a node of an older opset to the newest form.
struct UpgradeContext {
  Graph& graph;
  Node& node;   // not yet in the graph; its inputs and attributes may be changed
  int version;  // the opset version that the model imports for the operator's domain

  /// Puts a constant at input position `i`; inputs before it that are missing become omitted inputs.
  void set_input(size_t i, Tensor tensor);
  /// Moves an ints attribute to input `i` (Squeeze's axes before opset 13). Does nothing if it is absent.
  void attribute_to_input(const std::string& attribute, size_t i);
};

class ProgramBuilder;  // compiler/ops/program_builder.h

struct OpDef {
  const char* name;                      // ONNX op_type
  const char* domain = "";               // "" is ai.onnx; "gart" marks internal ops
  int since = 1;                         // the oldest opset that `upgrade` supports; the importer refuses older ones
  int min_inputs = 0, max_inputs = 0;    // -1: any number
  int min_outputs = 1, max_outputs = 1;  // -1: any number
  DeclaredTypes types = {};              // types of the inputs; inference refuses others and may check more
  DeclaredTypes results = {Types::as_first};  // of outputs
  OpKind kind = OpKind::opaque;
  Traits traits = {};
  bool allows_unknown_rank = false;  // `infer` accepts inputs of unknown rank (Identity, If, Shape's consumers, ...)
  void (*upgrade)(UpgradeContext&) = nullptr;
  void (*infer)(InferContext&) = nullptr;
  Expr (*lower)(LowerContext&, int output, const std::vector<Expr>& index) = nullptr;
  /// A second way to compute the outputs: a separate kernel of ordered statements. CPUs prefer it; GPUs prefer `lower`.
  void (*program)(ProgramBuilder&) = nullptr;
  /// For an operator with data-dependent extents: computes, from the data, the value (i64, >= 0) of the `symbol`-th
  /// symbol that its inference requested. The context has the node's inputs and attributes, but no outputs.
  Expr (*data_extent)(LowerContext&, int symbol) = nullptr;
  /// A simple implementation, independent of `lower`: plain loops over Tensors that accumulate in double. Tests compare
  /// with it.
  std::vector<Tensor> (*reference)(ReferenceContext&) = nullptr;

  // The traits; `by_kind` is replaced by the value that follows from the kind.
  Cost cost() const;
  Reads reads() const;
  Narrow narrow() const;
  bool keeps_channels() const { return traits.keeps_channels || kind == OpKind::pointwise; }
  bool is_strided() const { return traits.is_strided || kind == OpKind::view; }
};

/// The operator, or null. `domain` "ai.onnx" is the same as "".
const OpDef* find_op(const std::string& name, const std::string& domain = "");
/// The operator, which must exist: op("Add"), op("PackedMatMul", "gart").
const OpDef& op(const std::string& name, const std::string& domain = "");
std::vector<const OpDef*> all_ops();

}  // namespace gcg
