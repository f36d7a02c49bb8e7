// The passes that run, and the reasons for their order.
#include "compiler/passes/append_states.h"
#include "compiler/passes/appends_as_rows.h"
#include "compiler/passes/block_channels.h"
#include "compiler/passes/bound_slices.h"
#include "compiler/passes/canonicalize.h"
#include "compiler/passes/chain_concats.h"
#include "compiler/passes/channels_last.h"
#include "compiler/passes/compute_in_f32.h"
#include "compiler/passes/count_in_integers.h"
#include "compiler/passes/eliminate_common_subexpressions.h"
#include "compiler/passes/eliminate_dead_code.h"
#include "compiler/passes/expand_attention.h"
#include "compiler/passes/expand_conv_transpose.h"
#include "compiler/passes/expand_deform_conv.h"
#include "compiler/passes/expand_einsum.h"
#include "compiler/passes/expand_flex_attention.h"
#include "compiler/passes/expand_fourier.h"
#include "compiler/passes/expand_linear_attention.h"
#include "compiler/passes/expand_max_unpool.h"
#include "compiler/passes/expand_non_max_suppression.h"
#include "compiler/passes/expand_operators.h"
#include "compiler/passes/expand_optimizers.h"
#include "compiler/passes/expand_recurrent.h"
#include "compiler/passes/expand_scan.h"
#include "compiler/passes/expand_selection.h"
#include "compiler/passes/expand_tf_idf.h"
#include "compiler/passes/expand_top_k.h"
#include "compiler/passes/fold_constants.h"
#include "compiler/passes/fold_factors.h"
#include "compiler/passes/fold_scale_shift.h"
#include "compiler/passes/fuse_attention.h"
#include "compiler/passes/group_queries.h"
#include "compiler/passes/grow_scan_outputs.h"
#include "compiler/passes/hoist_projections.h"
#include "compiler/passes/integer_contractions.h"
#include "compiler/passes/keep_quantized_weights.h"
#include "compiler/passes/lower_integers.h"
#include "compiler/passes/lower_quantized_products.h"
#include "compiler/passes/merge_products.h"
#include "compiler/passes/merge_quantization.h"
#include "compiler/passes/multiply_by_vectors.h"
#include "compiler/passes/multiply_patches.h"
#include "compiler/passes/multiply_points.h"
#include "compiler/passes/narrow_ends.h"
#include "compiler/passes/narrow_storage.h"
#include "compiler/passes/narrow_weights.h"
#include "compiler/passes/pack_conv_weights.h"
#include "compiler/passes/pack_weights.h"
#include "compiler/passes/pass.h"
#include "compiler/passes/resolve_ranks.h"
#include "compiler/passes/select_branches.h"
#include "compiler/passes/separate_pools.h"
#include "compiler/passes/separate_resize.h"
#include "compiler/passes/settle_extents.h"
#include "compiler/passes/sink_constants.h"
#include "compiler/passes/split_by_phase.h"
#include "compiler/passes/split_last_block.h"
#include "compiler/passes/stack_taps.h"
#include "compiler/passes/stack_unknown_rows.h"
#include "compiler/passes/tabulate_bytes.h"
#include "compiler/passes/take_sequences_apart.h"
#include "compiler/passes/transpose_weights.h"
#include "compiler/passes/unify_extents.h"
#include "compiler/passes/update_states.h"

namespace gcg {
namespace {

constexpr Pass kFoldConstants = {"fold-constants", [](Graph& g, const Target*) { return fold_constants(g); }};
/// Used before clean-up: weights stay quantised until integer-contractions and keep-quantized-weights have run.
constexpr Pass kFoldButQuantized = {"fold-constants", [](Graph& g, const Target*) { return fold_constants(g, true); }};
constexpr Pass kSinkConstants = {"sink-constants", [](Graph& g, const Target*) { return sink_constants(g); }};
constexpr Pass kMergeProducts = {"merge-products", [](Graph& g, const Target*) { return merge_products(g); }};
/// Runs last, because passes do not see inside the fused node.
constexpr Pass kFuseAttention = {"fuse-attention", [](Graph& g, const Target* t) { return fuse_attention(g, *t); }};
constexpr Pass kDeadCode = {"eliminate-dead-code", [](Graph& g, const Target*) { return eliminate_dead_code(g); }};

/// Repeats, because a pass may make another one possible. For example, folding a shape can show that a view changes
/// nothing; without the view, two nodes are equal.
const PassGroup& clean_up() {
  static const PassGroup group = {
      {
          kSinkConstants,
          kFoldConstants,
          // Runs here, because --dim can make a padding known that depends on the input's extent.
          {"expand-conv-transpose", [](Graph& g, const Target*) { return expand_conv_transpose(g); }},
          {"canonicalize", [](Graph& g, const Target*) { return canonicalize(g); }},
          {"split-by-phase", [](Graph& g, const Target*) { return split_by_phase(g); }},
          kFoldConstants,  // folds constants that canonicalize computes, because fold-scale-shift needs them
          {"fold-scale-shift", [](Graph& g, const Target*) { return fold_scale_shift(g); }},
          {"fold-factors", [](Graph& g, const Target*) { return fold_factors(g); }},
          {"hoist-projections", [](Graph& g, const Target*) { return hoist_projections(g); }},
          {"merge-quantization", [](Graph& g, const Target*) { return merge_quantization(g); }},
          {"eliminate-common-subexpressions",
           [](Graph& g, const Target*) { return eliminate_common_subexpressions(g); }},
          kDeadCode,
      },
      8};
  return group;
}

}  // namespace

const std::vector<PassGroup>& model_passes() {
  static const std::vector<PassGroup> groups = {
      // Ranks come first, because no other pass can handle a value of unknown rank. A known rank may allow a shape to
      // be folded, and a folded shape may make a rank known.
      {{kSinkConstants,
        kFoldButQuantized,
        {"settle-extents", [](Graph& g, const Target*) { return settle_extents(g); }},
        {"bound-slices", [](Graph& g, const Target*) { return bound_slices(g); }},
        {"take-sequences-apart", [](Graph& g, const Target*) { return take_sequences_apart(g); }},
        {"resolve-ranks", [](Graph& g, const Target*) { return resolve_ranks(g); }}},
       4},
      {{{"expand-operators", [](Graph& g, const Target*) { return expand_operators(g); }},
        {"compute-in-f32", [](Graph& g, const Target*) { return compute_in_f32(g); }},
        {"integer-contractions", [](Graph& g, const Target*) { return integer_contractions(g); }},
        kFoldButQuantized,  // folds scales that an expanded operator reshapes
        {"keep-quantized-weights", [](Graph& g, const Target*) { return keep_quantized_weights(g); }},
        {"count-in-integers", [](Graph& g, const Target*) { return count_in_integers(g); }},
        {"expand-attention", [](Graph& g, const Target*) { return expand_attention(g); }},
        {"expand-deform-conv", [](Graph& g, const Target*) { return expand_deform_conv(g); }},
        {"expand-einsum", [](Graph& g, const Target*) { return expand_einsum(g); }},
        {"expand-flex-attention", [](Graph& g, const Target*) { return expand_flex_attention(g); }},
        {"expand-fourier", [](Graph& g, const Target*) { return expand_fourier(g); }},
        {"expand-linear-attention", [](Graph& g, const Target*) { return expand_linear_attention(g); }},
        {"expand-max-unpool", [](Graph& g, const Target*) { return expand_max_unpool(g); }},
        {"expand-non-max-suppression", [](Graph& g, const Target*) { return expand_non_max_suppression(g); }},
        {"expand-optimizers", [](Graph& g, const Target*) { return expand_optimizers(g); }},
        {"expand-recurrent", [](Graph& g, const Target*) { return expand_recurrent(g); }},
        {"expand-selection", [](Graph& g, const Target*) { return expand_selection(g); }},
        {"expand-tf-idf", [](Graph& g, const Target*) { return expand_tf_idf(g); }},
        {"separate-resize", [](Graph& g, const Target*) { return separate_resize(g); }},
        {"expand-scan", [](Graph& g, const Target*) { return expand_scan(g); }},
        {"stack-unknown-rows", [](Graph& g, const Target*) { return stack_unknown_rows(g); }},
        {"appends-as-rows", [](Graph& g, const Target*) { return appends_as_rows(g); }},
        {"grow-scan-outputs", [](Graph& g, const Target*) { return grow_scan_outputs(g); }}}},
      clean_up(),
      // Runs last, because clean-up leaves the Concat that appends to a state next to the state's input.
      {{{"append-states", [](Graph& g, const Target*) { return append_states(g); }},
        {"update-states", [](Graph& g, const Target*) { return update_states(g); }}}},
  };
  return groups;
}

const std::vector<PassGroup>& shape_passes() {
  static const std::vector<PassGroup> groups = {clean_up()};  // again, because --dim has replaced symbols by numbers
  return groups;
}

namespace {

constexpr Pass kUnifyExtents = {"unify-extents", [](Graph& g, const Target*) { return unify_extents(g); }};

std::vector<PassGroup> cpu_passes(const Pass& block) {
  return {
      {{
          kUnifyExtents,
          {"lower-integers", [](Graph& g, const Target* t) { return lower_integers(g, *t); }},
          {"lower-quantized-products", [](Graph& g, const Target* t) { return lower_quantized_products(g, *t); }},
          kFoldConstants,  // computes corrections for zero points before block-channels
          kMergeProducts,
          {"multiply-by-vectors", [](Graph& g, const Target*) { return multiply_by_vectors(g); }},
          {"separate-pools", [](Graph& g, const Target*) { return separate_pools(g); }},
          {"multiply-points", [](Graph& g, const Target* t) { return multiply_points(g, *t); }},
          block,
          {"separate-interpolation", [](Graph& g, const Target*) { return separate_interpolation(g); }},
          {"chain-concats", [](Graph& g, const Target*) { return chain_concats(g); }},
          {"split-last-block", [](Graph& g, const Target*) { return split_last_block(g); }},
          {"tabulate-bytes", [](Graph& g, const Target*) { return tabulate_bytes(g); }},
          {"pack-weights", [](Graph& g, const Target* t) { return pack_weights(g, *t); }},
          kFoldConstants,  // packs the weights
          kDeadCode,
          {"narrow-weights", [](Graph& g, const Target* t) { return narrow_weights(g, *t); }},
          kFuseAttention,
          // Runs after fuse-attention, whose kernel reads shared keys and values itself.
          {"group-queries", [](Graph& g, const Target*) { return group_queries(g); }},
          kDeadCode,
      }},
  };
}

}  // namespace

const std::vector<PassGroup>& device_passes(DeviceClass device, bool keeps_weights) {
  static const std::vector<PassGroup> cpu =
      cpu_passes({"block-channels", [](Graph& g, const Target* t) { return block_channels(g, *t, false); }});
  static const std::vector<PassGroup> keeping =
      cpu_passes({"block-channels", [](Graph& g, const Target* t) { return block_channels(g, *t, true); }});
  static const std::vector<PassGroup> cuda = {
      {{
          kUnifyExtents,
          {"select-branches", [](Graph& g, const Target*) { return select_branches(g); }},
          {"expand-top-k", [](Graph& g, const Target*) { return expand_top_k(g); }},
          {"lower-integers", [](Graph& g, const Target* t) { return lower_integers(g, *t); }},
          {"lower-quantized-products", [](Graph& g, const Target* t) { return lower_quantized_products(g, *t); }},
          kFoldConstants,  // weights in floats
          kMergeProducts,
          {"multiply-patches", [](Graph& g, const Target*) { return multiply_patches(g); }},
          {"stack-taps", [](Graph& g, const Target*) { return stack_taps(g); }},
          {"pack-conv-weights", [](Graph& g, const Target*) { return pack_conv_weights(g); }},
          kFoldConstants,  // transposes the weights
          {"transpose-weights", [](Graph& g, const Target* t) { return transpose_weights(g, *t); }},
          kDeadCode,
          // These three run after the passes above, because they must see the values that those passes make.
          {"narrow-storage", [](Graph& g, const Target* t) { return narrow_storage(g, *t); }},
          {"narrow-ends", [](Graph& g, const Target* t) { return narrow_ends(g, *t); }},
          {"channels-last", [](Graph& g, const Target*) { return channels_last(g); }},
          kFuseAttention,
      }},
  };
  if (device != DeviceClass::cpu) return cuda;
  return keeps_weights ? keeping : cpu;
}

}  // namespace gcg
