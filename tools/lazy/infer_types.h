// Infers the types of an operator's results.
#pragma once

#include <span>
#include <vector>

#include "tools/lazy/intern.h"
#include "tools/lazy/node.h"

namespace gcc_graph::lazy {

struct InferredTypes {
  std::vector<const Type*> outputs;  // one per result; null: its extents depend on data
  bool is_closed = true;             // True if all extents are known
};

/// Calls the operator's own inference, once for each combination of operator and operand types. Throws Error.
const InferredTypes& infer_types(const Op& op, std::span<Node* const> inputs, const Extents* ints);

/// Provides an operator's static operands when its node is made.
struct OperandSource {
  virtual ~OperandSource() = default;
  /// `values`: the integers of static operand `k`. They start at index `first` in the list of all integers of the node.
  virtual gcg::ValueId integers(size_t first, std::span<const int64_t> values, bool is_scalar) = 0;
};
/// All operands of `op` for its node in `graph`, from `inputs` (one per letter x) and `ints`.
std::vector<gcg::ValueId> operands_of(gcg::Graph& graph, const Op& op, std::span<const gcg::ValueId> inputs,
                                      const Extents* ints, OperandSource& source);
/// Adds the node of `op` with these operands.
gcg::NodeId add_operator(gcg::Graph& graph, const Op& op, const std::string& name, std::span<const gcg::ValueId> inputs,
                         const Extents* ints, OperandSource& source);
/// Adds a value of this type without a producer.
gcg::ValueId add_operand(gcg::Graph& graph, const Type& type);

/// Provides static operands as constants.
class ConstantOperands final : public OperandSource {
 public:
  explicit ConstantOperands(gcg::Graph& graph) : graph_(graph) {}
  gcg::ValueId integers(size_t first, std::span<const int64_t> values, bool is_scalar) override;

 private:
  gcg::Graph& graph_;
};

}  // namespace gcc_graph::lazy
