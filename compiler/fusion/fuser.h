// Decides the fusion of a graph. Internal to fuser.cpp and the fuse_*.cpp files beside it.
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
  Fuser(const Graph& graph, DeviceClass device)
      : g_(graph),
        traits_(traits_of(device)),
        order_(graph.order()),
        position_(nodes_of(graph)),
        uses_(values_of(graph)),
        node_group_(nodes_of(graph), -1) {
    out_.materialized = IndexedVector<ValueId, bool>(values_of(graph), false);
    for (int64_t v = 0; v < graph.value_count(); ++v) out_.view_of.push_back(ValueId(v));
    for (size_t i = 0; i < order_.size(); ++i) position_[order_[i]] = i;
  }

  Fusion run();

 private:
  using Users = IndexedVector<ValueId, std::vector<NodeId>>;
  struct Use {
    bool must = false;         // the value must have storage
    std::set<int> groups;      // groups that would compute the value on the fly
    std::set<int> contexts;    // loop nests in which the value would be evaluated (each reduction pass is a nest)
    bool broadcast = false;    // a use reads an element several times
    bool in_epilogue = false;  // used in a contraction's epilogue
  };
  static size_t nodes_of(const Graph& graph) { return static_cast<size_t>(graph.node_count()); }
  static size_t values_of(const Graph& graph) { return static_cast<size_t>(graph.value_count()); }
  const Node& node(NodeId id) const { return g_.node(id); }
  const Value& value(ValueId id) const { return g_.value(id); }
  Use& use(ValueId v) { return uses_[out_.view_of[v]]; }
  bool live(NodeId id) const { return live_.count(id) != 0; }
  /// True if a node that has this input reads its elements at run time.
  bool reads(ValueId v) const { return v.valid() && !value(v).is_constant() && !is_symbolic_content(value(v)); }

  void resolve_views();
  void find_live();
  /// True if the value is a view whose extents may depend on data.
  bool is_run_bound_view(ValueId v) const;
  /// Gives every graph output its own storage. Inputs, constants and values that are already outputs are copied.
  void own_outputs();
  int new_group(FusionGroup group);
  FusionGroup& group_at(int number) { return out_.groups[static_cast<size_t>(number)]; }
  const FusionGroup& group_at(int number) const { return out_.groups[static_cast<size_t>(number)]; }
  int fresh_context() { return next_context_++; }

  bool same_extents(ValueId a, ValueId b) const { return *value(a).shape == *value(b).shape; }

  // ---- fuse_contractions.cpp ----------------------------------------------------------------------------------------

  /// Adds the pointwise nodes after a contraction to its epilogue, as long as in the end only one value leaves the set.
  void absorb_epilogue(NodeId anchor);
  /// The Transpose that is the only reader of a product and keeps its rows (the last axis) contiguous. The product can
  /// then be stored in the transposed order at no cost.
  NodeId row_keeping_transpose(ValueId v, const Users& users) const;
  const Users& users_of();
  /// True if values in the epilogue of a contraction may have this type. Integers are for quantised models.
  bool in_epilogues(DType dtype) const;
  /// True if the node is pointwise and its values are booleans or have types that in_epilogues accepts.
  bool fits_epilogues(const Node& n) const;
  /// True if an epilogue that contains `v` may also contain this reader of `v`.
  bool may_follow(NodeId reader, ValueId v) const;
  void decide_contraction(NodeId id, const FusionGroup& group);
  /// Records that group `id` reads the input once for each of the `elements` that it computes.
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
  /// True if `out` repeats elements of `in` so often that computing `in` for each element of `out` is wasteful.
  bool repeats_elements(ValueId in, ValueId out) const;

  // ---- fuse_concat.cpp ----------------------------------------------------------------------------------------------

  /// True if one kernel reads all parts of a Concat: if it interleaves them, or on a GPU, where several parts would
  /// otherwise be copied with a launch each. On a GPU it may be the kernel of the Concat's reader.
  bool gathers_parts(const Node& n);
  /// True if a CPU kernel interleaves the parts of a Concat in registers, because an element's parts are so short that
  /// storing each part would scatter single elements. The Concat has storage.
  bool interleaves_parts(const Node& n);
  /// Gives a Concat or Interleave storage. Each part gets its own group, which writes into that storage. Fusion
  /// continues in these groups.
  void materialize_parts(const Node& n, ValueId v);
  /// For each input of a Concat or Interleave: the places of its elements in the result.
  std::vector<std::vector<FusionGroup::StridedSlice>> strided_slices(const Node& n) const;
  /// True if the value's contraction writes directly into the Concat or Interleave that is the value's only reader.
  bool is_direct(ValueId in);
  bool direct_part(ValueId in, const FusionGroup& part);

  // ---- fuse_inlining.cpp --------------------------------------------------------------------------------------------

  bool inlines(const Node& n, ValueId v, const Use& u);
  /// True if the node is arithmetic that one epilogue needs once per element. Inlining then adds no work and saves
  /// storage.
  bool is_own_arithmetic(const Node& n, const Use& u) const;
  /// True if the value is index arithmetic that masks an attention's scores. The attention kernel then computes which
  /// keys count, at no more than the cost of a load.
  bool is_mask(ValueId v, const Use& u) const;
  /// Work of one element of an attention mask, in additions. Infinite for other values, and for masks that read many
  /// numbers compared to the number of `scores` of a head.
  double mask_cost(ValueId v, double scores) const;
  /// True if the kernels of all groups that use the node's value have room to compute the node too.
  bool has_room(const Node& n, const Use& u) const;
  /// True if some input of `n` comes from a reduction that may join this group, so that `n` is a per-row scalar.
  bool depends_on_row(const Node& n, int group);
  /// True if `v` has the extents of `result`, with one or more trailing extents replaced by 1.
  bool row_shaped(ValueId v, ValueId result) const;
  /// True if the reduction joins the group. Its result is then computed once per row or per element of the group, at no
  /// more cost than in its own kernel.
  bool reduction_fits(ValueId v, const FusionGroup& group, int id);
  /// True if a contraction that is lowered to a loop joins its reader's group. Each element of the group's result then
  /// computes one element of the contraction.
  bool sum_fits(const Node& n, ValueId v, const Use& u);
  /// True if a node that is already decided uses the value.
  bool is_read(ValueId v) const;
  std::vector<ValueId> moved_inputs(const Node& n) const;
  /// True if it is cheaper to compute `v` inside the group's kernel than to store and load it. Both costs assume that
  /// the inputs of `v` are stored, except moved_inputs.
  bool saves_work(ValueId v, const FusionGroup& group);
  /// Work of the group's kernel, with the decisions made so far.
  double probed_work(const FusionGroup& group) const;

  const Graph& g_;
  const DeviceTraits& traits_;
  std::vector<NodeId> order_;
  IndexedVector<NodeId, size_t> position_;  // its index in order_
  std::set<NodeId> live_;
  IndexedVector<ValueId, Use> uses_;  // uses of a view are recorded at the viewed value
  Users users_;
  IndexedVector<NodeId, int> node_group_;  // contraction group of a node, or -1
  std::map<int, double> group_cost_;       // by group: cost of the values computed on the fly, per element
  std::map<int, std::optional<Shape>> group_rows_;
  std::set<int> group_elementwise_reduction_;
  std::set<ValueId> row_value_;
  int next_context_ = 1;
  Fusion out_;
  // a copy of the graph's Fusion without groups: all values are stored, except those decided to be computed on the fly.
  Fusion probe_;
};

}  // namespace gcg
