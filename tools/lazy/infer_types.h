// The types of an operator's results.
#pragma once

#include <span>
#include <vector>

#include "tools/lazy/intern.h"
#include "tools/lazy/node.h"

namespace gcc_graph::lazy {

struct Inferred {
  std::vector<const Type*> outputs;  // one per result; null: its extents depend on data
  bool is_closed = true;             // all are known
};

/// By the operator's own inference, which is asked once for each operator and types of operands. Throws Error.
const Inferred& infer_types(const Op& op, std::span<Node* const> inputs, const Extents* ints);

/// Where an operator's static operands come from when its node is made.
struct OperandSource {
  virtual ~OperandSource() = default;
  /// Integers `values` of static operand `k`, which start at `first` among all of the node's.
  virtual gcg::ValueId integers(size_t first, std::span<const int64_t> values, bool is_scalar) = 0;
};
/// All operands of `op`, of `inputs` (one per x) and `ints`, to be read by its node in `graph`.
std::vector<gcg::ValueId> operands_of(gcg::Graph& graph, const Op& op, std::span<const gcg::ValueId> inputs,
                                      const Extents* ints, OperandSource& source);
/// That node.
gcg::NodeId add_operator(gcg::Graph& graph, const Op& op, const std::string& name, std::span<const gcg::ValueId> inputs,
                         const Extents* ints, OperandSource& source);
/// A value of the type that nothing makes.
gcg::ValueId add_operand(gcg::Graph& graph, const Type& type);

/// Static operands as constants.
class ConstantOperands final : public OperandSource {
 public:
  explicit ConstantOperands(gcg::Graph& graph) : graph_(graph) {}
  gcg::ValueId integers(size_t first, std::span<const int64_t> values, bool is_scalar) override;

 private:
  gcg::Graph& graph_;
};

}  // namespace gcc_graph::lazy
