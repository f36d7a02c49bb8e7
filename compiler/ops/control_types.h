// Types of values that pass into and out of the bodies of If, Loop and Scan.
#pragma once

#include <optional>
#include <vector>

#include "compiler/ops/op_def.h"

namespace gcg {

/// Set on a Loop: its scan outputs have a row for every turn that its trip count allows; those of turns that its
/// condition ended hold anything.
constexpr const char* kAllRowsAttribute = "gart.all_rows";

/// The node's inputs without its captures.
inline int own_inputs(const Node& node) { return static_cast<int>(node.inputs.size()) - node.captures; }
/// Is own input `i` given?
inline bool own_input(const InferContext& c, int i) { return i < own_inputs(c.node()) && c.has_input(i); }

Value value_type(DType dtype, std::optional<Shape> shape);
std::vector<Value> capture_types(const InferContext& c);
std::vector<Tensor> capture_tensors(const ReferenceContext& c);
/// The elements of a small integer value, where they are known.
std::optional<std::vector<Dim>> known_elements(const Value& value);

/// Output `i` of a body; fails when the body has fewer.
const Value& body_output(const InferContext& c, const std::vector<Value>& outputs, int i);
/// Sets dtype, shape (which may be unknown) and contents of output `i`; nothing where the body's value has no dtype
/// yet.
void set_output_type(InferContext& c, int i, const Value& type);
/// What is true of both: extents that differ become fresh symbols, ranks that differ an unknown rank.
Value merged_type(InferContext& c, const Value& a, const Value& b);
/// The type with fresh symbols in place of extents that only mean something inside the body.
Value visible_outside(InferContext& c, const Value& type);

/// Values that an iteration takes from the one before, in the types that hold in every iteration.
struct Carried {
  std::vector<Value> types;             // as the body's inputs
  std::vector<std::vector<bool>> open;  // per dimension: its extent changes, and is a symbol inside the body
  std::vector<Value> body_outputs;      // all of them
  size_t first_output = 0;              // the body output that is the first carried value's next
};

/// Infers body 0 with inputs `before`, carried, `after` until the types of the carried values, whose next ones are the
/// body's outputs from `first_output` on, do not change any more: extents that change become symbols.
Carried settle_carried(InferContext& c, const std::vector<Value>& before, const std::vector<Value>& initial,
                       const std::vector<Value>& after, size_t first_output);
/// The type of carried value `k` after the loop. An extent that grows by a constant is known if the trip count is.
Value final_type(InferContext& c, const Carried& carried, size_t k, const Value& initial,
                 const std::optional<Dim>& trips);

/// Element `at` along `axis`, that axis removed.
Tensor slice_at(const Tensor& whole, int64_t axis, int64_t at);
/// The parts side by side along a new axis. `part_type` gives dtype and shape where there are no parts.
Tensor stack(const std::vector<Tensor>& parts, int64_t axis, const Value& part_type);

}  // namespace gcg
