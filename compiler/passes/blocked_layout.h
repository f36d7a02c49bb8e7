// Values and their blocked forms during block_channels.
#pragma once

#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "compiler/ir/graph.h"

namespace gcg {

/// The blocked form of an activation [N, C, (D,) H, W] is [N, ceil(C/16), (D,) H, W, 16]. An activation [N, C, L]
/// counts as [N, C, 1, L].
class BlockedLayout {
 public:
  /// `transforms_weights`: Winograd convolutions may read weights that were transformed ahead of time.
  BlockedLayout(Graph& graph, Graph& outermost, bool transforms_weights)
      : graph_(graph), outermost_(outermost), transforms_weights_(transforms_weights) {}

  Graph& graph() { return graph_; }
  bool transforms_weights() const { return transforms_weights_; }
  const Value& value(ValueId id) const { return graph_.value(id); }

  /// True for a value of rank 3 to 5 with a known channel count and a type that regions support: f32, bytes and their
  /// sums, booleans.
  bool is_activation(ValueId id) const;
  /// Requires is_activation.
  int64_t channels(ValueId id) const { return (*value(id).shape)[1].constant(); }
  /// True if the value was computed in blocked form.
  bool is_blocked(ValueId id) const { return computed_.count(id) != 0; }
  /// True if there is a blocked form, computed or converted.
  bool has_form(ValueId id) const { return forms_.count(id) != 0; }

  /// The blocked form. A value without one is converted, once.
  ValueId blocked(ValueId id);
  /// The blocked form of the result of a Pad of rows and columns only; invalid for any other Pad.
  ValueId blocked_pad(const Node& pad);
  /// The activation, or a convolution's weights, with two or three spatial dimensions.
  ValueId image(ValueId id);
  /// For a value that broadcasts (numpy) against an activation of this rank and channel count: True if it can also be
  /// made to broadcast against the activation's blocked form.
  bool fits(ValueId id, int64_t rank, int64_t channel_count) const;
  /// True if the value has exactly one number per channel.
  bool is_vector(ValueId id, int64_t channel_count) const;
  /// Returns the form in which a value that fits() broadcasts against the activation's blocked form. An omitted input
  /// stays omitted.
  ValueId operand(ValueId id, int64_t rank, int64_t channel_count);
  /// A vector of one element per channel, shaped to broadcast against the blocked form of an activation of this rank.
  ValueId channel_vector(ValueId id, int64_t rank);
  /// The value whose blocked form is `blocked_value`, as [N, C, H, W].
  ValueId unblocked(ValueId blocked_value, const std::string& name, const Shape& image);

  /// Adds a node with one output, and infers it.
  ValueId add(const std::string& op, const std::string& domain, const std::string& name, std::vector<ValueId> inputs,
              std::map<std::string, Attribute> attributes = {});
  ValueId add(const OpDef& op, const std::string& name, std::vector<ValueId> inputs,
              std::map<std::string, Attribute> attributes = {});
  ValueId add_ints(const std::string& name, const std::vector<int64_t>& values);
  /// Declares `blocked_value` the blocked form of `plain`. `blocked_value` replaces the producer of `plain`.
  void replace(ValueId plain, ValueId blocked_value);
  /// Computes `plain`, [N, C], from the blocked form of [N, C, 1, 1(, 1)], instead of by its producer.
  void replace_vector(ValueId plain, ValueId blocked_value);
  /// Converts values that are read outside the regions back, and removes the replaced nodes. True if there were any.
  bool finish();

 private:
  ValueId blocked_constant(const Value& constant, int64_t rank, int64_t channel_count);

  Graph& graph_;
  Graph& outermost_;
  const bool transforms_weights_;
  std::map<ValueId, ValueId> forms_;  // plain value -> blocked form, computed or converted
  std::set<ValueId> computed_;        // plain values whose form replaces their producer
  std::vector<NodeId> replaced_;
  std::map<ValueId, ValueId> images_;
  std::map<std::pair<ValueId, int64_t>, ValueId> operands_;
};

}  // namespace gcg
