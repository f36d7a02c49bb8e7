// Types of the values that enter and leave the subgraphs of If, Loop and Scan.
#pragma once

#include <optional>
#include <vector>

#include "compiler/ops/op_def.h"

namespace gcg {

/// Attribute of a Loop whose scan outputs have one row for every iteration that its trip count allows. If the condition
/// ends the loop, the rows of iterations that did not run are undefined.
constexpr const char* kAllRowsAttribute = "gart.all_rows";

/// The number of the node's inputs without its captures.
inline int own_inputs(const Node& node) { return static_cast<int>(node.inputs.size()) - node.captures; }
/// True if input `i` is given and is not a capture.
inline bool own_input(const InferContext& c, int i) { return i < own_inputs(c.node()) && c.has_input(i); }

Value value_type(DType dtype, std::optional<Shape> shape);
std::vector<Value> capture_types(const InferContext& c);
std::vector<Tensor> capture_tensors(const ReferenceContext& c);
/// The elements of a small integer value, if they are known.
std::optional<std::vector<Dim>> known_elements(const Value& value);

/// Output `i` of a subgraph; fails if it has fewer outputs.
const Value& body_output(const InferContext& c, const std::vector<Value>& outputs, int i);
/// Sets dtype, shape (which may be unknown) and contents of output `i`. Does nothing if the subgraph's value has no
/// dtype yet.
void set_output_type(InferContext& c, int i, const Value& type);
/// The most specific type that holds for both: different extents become fresh symbols, different ranks an unknown rank.
Value merged_type(InferContext& c, const Value& a, const Value& b);
/// The type with fresh symbols in place of extents that are only defined inside the subgraph.
Value visible_outside(InferContext& c, const Value& type);

/// Values that an iteration takes from the previous one, with types that hold in every iteration.
struct CarriedValues {
  std::vector<Value> types;             // types of the subgraph's inputs
  std::vector<std::vector<bool>> open;  // per dimension: true if its extent changes; it is a symbol inside
  std::vector<Value> body_outputs;      // all of them
  size_t first_output = 0;              // the output with the next value of the first carried value
};

/// Infers subgraph 0 with inputs `before`, carried, `after` until the types of the carried values are stable. Their
/// next values are the subgraph's outputs from `first_output` on. Extents that change become symbols.
CarriedValues settle_carried(InferContext& c, const std::vector<Value>& before, const std::vector<Value>& initial,
                             const std::vector<Value>& after, size_t first_output);
/// The type of carried value `k` after the loop. An extent that grows by a constant is known if the trip count is.
Value final_type(InferContext& c, const CarriedValues& carried, size_t k, const Value& initial,
                 const std::optional<Dim>& trips);

/// Slice `at` along `axis`, with that axis removed.
Tensor slice_at(const Tensor& tensor, int64_t axis, int64_t at);
/// Stacks the parts along a new axis. `part_type` gives dtype and shape if there are no parts.
Tensor stack(const std::vector<Tensor>& parts, int64_t axis, const Value& part_type);

}  // namespace gcg
