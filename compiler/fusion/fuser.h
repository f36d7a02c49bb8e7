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
    bool must = false;         // needs storage at any cost
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
  /// Does a node read this input's elements at run time?
  bool reads(ValueId v) const { return v.valid() && !value(v).is_constant() && !is_symbolic_content(value(v)); }

  void resolve_views();
  void find_live();
  /// Is the value a view whose extents may depend on data?
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
  /// May values in the epilogue of a contraction have this type? Integers are for quantised models.
  bool in_epilogues(DType dtype) const;
  /// Is it a pointwise node on values of such types and on booleans?
  bool fits_epilogues(const Node& n) const;
  /// May an epilogue that contains `v` also contain this reader of it?
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
  /// `out` repeats elements of `in`. Does it repeat them so often that computing `in` for each would be a waste?
  bool repeats_elements(ValueId in, ValueId out) const;

  // ---- fuse_concat.cpp ----------------------------------------------------------------------------------------------

  /// Should one kernel read all parts? A launch per part is expensive on a GPU, so this is done if several parts would
  /// be copied. The kernel may be that of the Concat's reader.
  bool gathers_parts(const Node& n);
  /// Gives a Concat or Interleave storage. Each part gets its own group, which writes into that storage and where
  /// fusion continues.
  void materialize_parts(const Node& n, ValueId v);
  /// For each input of a Concat or Interleave: the places of its elements in the result.
  std::vector<std::vector<FusionGroup::StridedSlice>> strided_slices(const Node& n) const;
  /// Does the value's contraction write directly into the Concat or Interleave that is its only reader?
  bool is_direct(ValueId in);
  bool direct_part(ValueId in, const FusionGroup& part);

  // ---- fuse_inlining.cpp --------------------------------------------------------------------------------------------

  bool inlines(const Node& n, ValueId v, const Use& u);
  /// Is it arithmetic that one epilogue needs once per element? Inlining then adds no work and saves storage.
  bool is_own_arithmetic(const Node& n, const Use& u) const;
  /// Is the value index arithmetic that masks an attention's scores? The kernel then knows which keys count, for no
  /// more work than a load.
  bool is_mask(ValueId v, const Use& u) const;
  /// Work of one element of such a mask, in additions. Infinite for other values, and for masks that read many numbers
  /// compared to the `scores` of a head.
  double mask_cost(ValueId v, double scores) const;
  /// May the kernels of all groups that use `v` also compute its node?
  bool has_room(const Node& n, const Use& u) const;
  /// Does some input of `n` come from a reduction that may join this group, so that `n` is a per-row scalar?
  bool depends_on_row(const Node& n, int group);
  /// Does `v` have the extents of `result`, with one or more trailing extents replaced by 1?
  bool row_shaped(ValueId v, ValueId result) const;
  /// Does the reduction join the group? It does if its result is computed once per row or per element of the group, at
  /// no more cost than in its own kernel.
  bool reduction_fits(ValueId v, const FusionGroup& group, int id);
  /// Does a contraction without its own kind of kernel join its reader's group, computed element by element?
  bool sum_fits(const Node& n, ValueId v, const Use& u);
  /// Does a node that is already decided use the value?
  bool is_read(ValueId v) const;
  std::vector<ValueId> moved_inputs(const Node& n) const;
  /// Is computing `v` where the group's kernel reads it less work than storing and loading it? Both sides count the
  /// inputs of `v` as stored, except moved_inputs.
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
