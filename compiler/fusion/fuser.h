// Decides the fusion of a graph: internal to fuser.cpp and the fuse_*.cpp beside it.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <vector>

#include "compiler/fusion/fuse.h"
#include "compiler/fusion/fusion_costs.h"
#include "compiler/kernel/device_traits.h"

namespace gcg {

class Fuser {
 public:
  Fuser(const Graph& graph, DeviceClass device) : g_(graph), traits_(traits_of(device)), order_(graph.order()) {
    const auto n = static_cast<size_t>(g_.value_count());
    uses_.resize(n);
    out_.materialized.assign(n, false);
    out_.view_of.resize(n);
    for (size_t i = 0; i < n; ++i) out_.view_of[i] = ValueId(static_cast<int64_t>(i));
    node_group_.assign(static_cast<size_t>(g_.node_count()), -1);
    position_.resize(static_cast<size_t>(g_.node_count()));
    for (size_t i = 0; i < order_.size(); ++i) position_[static_cast<size_t>(order_[i].index)] = i;
  }

  Fusion run();

 private:
  struct Use {
    bool must = false;         // needs storage whatever it costs
    std::set<int> groups;      // groups that would compute it on the fly
    std::set<int> contexts;    // loop nests it would be evaluated in (reduction passes are nests of their own)
    bool broadcast = false;    // some use reads an element several times
    bool in_epilogue = false;  // used in a contraction's epilogue
  };
  const Node& node(NodeId id) const { return g_.node(id); }
  const Value& value(ValueId id) const { return g_.value(id); }
  Use& use(ValueId v) { return uses_[static_cast<size_t>(out_.view_of[static_cast<size_t>(v.index)].index)]; }
  bool live(NodeId id) const { return live_.count(id) != 0; }
  /// Inputs whose elements a node really reads at run time.
  bool reads(ValueId v) const { return v.valid() && !value(v).is_constant() && !is_symbolic_content(value(v)); }

  void resolve_views();
  void find_live();
  /// Every graph output gets storage that is its alone; a copy where it is an input, a constant or given out already.
  bool is_late_view(ValueId v) const;
  void own_outputs();
  int new_group(FusionGroup group);
  int fresh_context() { return next_context_++; }

  bool same_extents(ValueId a, ValueId b) const { return *value(a).shape == *value(b).shape; }

  // ---- fuse_contractions.cpp ----------------------------------------------------------------------------------------

  /// Follows the pointwise nodes after a contraction as long as, in the end, one value leaves the set.
  void absorb_epilogue(NodeId anchor);
  /// The Transpose that alone reads a product and leaves its rows (the last axis) in one piece: then the product can be
  /// stored in the transposed order at no cost.
  NodeId row_keeping_transpose(ValueId v, const std::vector<std::vector<NodeId>>& users) const;
  const std::vector<std::vector<NodeId>>& users_of();
  /// Is this a type that values in the epilogue of a contraction may have? Integers are what quantised models compute
  /// with.
  bool in_epilogues(DType dtype) const;
  /// A pointwise node of such values and booleans.
  bool fits_epilogues(const Node& n) const;
  /// May the epilogue that has `v` take in its reader?
  bool may_follow(NodeId reader, ValueId v) const;
  void decide_contraction(NodeId id, const FusionGroup& group);
  /// The input is read at every one of `elements` that group `id` computes.
  void read_in_epilogue(ValueId in, int id, const Dim& elements);
  int node_group_of(ValueId v) const;

  // ---- fuser.cpp: everything else -----------------------------------------------------------------------------------

  void decide(NodeId id);
  void decide_control(NodeId id);
  bool runs_program(const Node& n) const;
  bool runs_launches(const Node& n) const;
  void decide_program(NodeId id);
  void decide_value(const Node& n, ValueId v);
  void record_inputs(const Node& n, ValueId v, const Use& u);
  /// Has `out`, whose elements are those of `in`, so many more that computing `in` for each would be a waste?
  bool repeats_elements(ValueId in, ValueId out) const;

  // ---- fuse_concat.cpp ----------------------------------------------------------------------------------------------

  /// A launch per part is expensive on a GPU: where several parts would be copied, one kernel reads them all, and it
  /// may be the Concat's reader.
  bool gathers_parts(const Node& n);
  /// A Concat or Interleave has storage; each part is written into it by a group of its own, which is where fusion goes
  /// on.
  void materialize_parts(const Node& n, ValueId v);
  /// Of each input of a Concat or Interleave, where its elements go.
  std::vector<std::vector<FusionGroup::StridedSlice>> strided_slices(const Node& n) const;
  /// A contraction whose only reader is a Concat or Interleave writes straight into it.
  bool is_direct(ValueId in);
  bool direct_part(ValueId in, const FusionGroup& part);

  // ---- fuse_inlining.cpp --------------------------------------------------------------------------------------------

  bool inlines(const Node& n, ValueId v, const Use& u);
  /// Arithmetic of one epilogue, once for each of its elements: no more work there, and no storage on the way.
  bool is_own_arithmetic(const Node& n, const Use& u) const;
  /// Is the value index arithmetic that masks an attention's scores? The kernel then sees which keys count, at no more
  /// work than a load.
  bool is_mask(ValueId v, const Use& u) const;
  /// Work of one element of such a mask, in additions; infinite for other values, and if it reads many numbers beside
  /// the `scores` of a head.
  double mask_cost(ValueId v, double scores) const;
  /// May the kernels of all groups that use `v` grow by its node, too?
  bool has_room(const Node& n, const Use& u) const;
  /// Does some input of `n` come from a reduction that may join this group, so that `n` is a per-row scalar?
  bool depends_on_row(const Node& n, int group);
  /// `v` has the extents of `result` with one or more trailing ones instead.
  bool row_shaped(ValueId v, ValueId result) const;
  /// A reduction joins a group if its result is computed once per row of the group, or element for element, and that
  /// costs no more than a kernel of its own.
  bool reduction_fits(ValueId v, const FusionGroup& group, int id);
  /// A contraction without a kernel form of its own joins the group of its reader element for element.
  bool sum_fits(const Node& n, ValueId v, const Use& u);
  /// Has a node that was decided already a use for it?
  bool is_read(ValueId v) const;
  std::vector<ValueId> moved_inputs(const Node& n) const;
  /// Is computing `v` where the group's kernel reads it less work than storing and loading it? What `v` reads counts as
  /// stored, on both sides, but for moved_inputs.
  bool saves_work(ValueId v, const FusionGroup& group);
  /// What a kernel for the group would do, as far as decisions have gone.
  double probed_work(const FusionGroup& group) const;

  const Graph& g_;
  const DeviceTraits& traits_;
  std::vector<NodeId> order_;
  std::vector<size_t> position_;  // of nodes in order_
  std::set<NodeId> live_;
  std::vector<Use> uses_;  // by the value that a use's value views
  std::vector<std::vector<NodeId>> users_;
  std::vector<int> node_group_;       // contraction group of a node, or -1
  std::map<int, double> group_cost_;  // of what is computed on the fly, per element
  std::map<int, std::optional<Shape>> group_rows_;
  std::set<int> group_elementwise_reduction_;
  std::set<ValueId> row_value_;
  int next_context_ = 1;
  Fusion out_;
  Fusion probe_;  // the same graph, with everything stored that is not decided to be computed on the fly; no groups
};

}  // namespace gcg
