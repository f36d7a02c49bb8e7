// com.microsoft: layer normalisation fused with the operators before it in transformers. SimplifiedLayerNormalization
// belongs to ai.onnx, because onnxruntime's optimiser writes it in that domain.
#include "compiler/ops/microsoft.h"

namespace gcg {
namespace {

using Results = std::vector<ValueId>;

/// LayerNormalization over the last axis, with mean and inverse deviation.
Results layer_norm(Expansion& x, ValueId of, ValueId gamma, ValueId beta, double epsilon) {
  Results operands = {of, gamma};
  if (beta.valid()) operands.push_back(beta);
  return x.outputs(op("LayerNormalization"), operands, 3, {{"axis", int64_t{-1}}, {"epsilon", epsilon}});
}

/// input + skip (+ bias)
ValueId residual(Expansion& x, size_t bias) {
  const ValueId sum = x.add(x.input(0), x.input(1));
  return x.has_input(bias) ? x.add(sum, x.input(bias)) : sum;
}

Results expand_skip_layer_norm(Expansion& x) {
  const ValueId sum = residual(x, 4);
  Results y = layer_norm(x, sum, x.input(2), x.input(3), x.node().float_attribute("epsilon", 1e-12));
  y.push_back(sum);
  return y;
}

Results expand_skip_simplified(Expansion& x) {
  const ValueId sum = residual(x, 3);
  const double epsilon = x.node().float_attribute("epsilon", 1e-12);
  const ValueId y = x.node("RMSNormalization", {sum, x.input(2)}, {{"axis", int64_t{-1}}, {"epsilon", epsilon}});
  return {y, ValueId(), ValueId(), sum};
}

Results expand_simplified(Expansion& x) {
  return {x.node("RMSNormalization", {x.input(0), x.input(1)}, x.attributes({"axis", "epsilon", "stash_type"}))};
}

enum : size_t { kIds, kSegments, kWords, kPlaces, kSegmentTable, kGamma, kBeta, kMask, kPlaceIds };

Results expand_embed_layer_norm(Expansion& x) {
  const ValueId places = x.has_input(kPlaceIds) ? x.input(kPlaceIds) : positions(x, x.extent_of(x.input(kIds), 1));
  ValueId sum = x.add(x.node("Gather", {x.input(kWords), x.input(kIds)}), x.node("Gather", {x.input(kPlaces), places}));
  if (x.has_input(kSegments)) sum = x.add(sum, x.node("Gather", {x.input(kSegmentTable), x.input(kSegments)}));
  const ValueId y = layer_norm(x, sum, x.input(kGamma), x.input(kBeta), x.node().float_attribute("epsilon", 1e-12))[0];
  ValueId counted = x.input(x.has_input(kMask) ? kMask : kIds);
  if (!x.has_input(kMask)) counted = x.subtract(counted, counted);
  const ValueId counts = x.cast(x.node("ReduceSum", {counted, x.ints({1})}, {{"keepdims", int64_t{0}}}), DType::i32);
  return {y, counts, sum};
}

}  // namespace

constinit const ExpandedOp op_microsoft_SkipLayerNormalization =
    giving({Types::as_first, Types::floats, Types::floats, Types::as_first},
           microsoft("SkipLayerNormalization", 3, 5, {Types::floats, Types::as_first}, expand_skip_layer_norm, 4));
constinit const ExpandedOp op_microsoft_SkipSimplifiedLayerNormalization = giving(
    {Types::as_first, Types::floats, Types::floats, Types::as_first},
    microsoft("SkipSimplifiedLayerNormalization", 3, 4, {Types::floats, Types::as_first}, expand_skip_simplified, 4));
constinit const ExpandedOp op_microsoft_EmbedLayerNormalization =
    giving({Types::floats, Types::i32, Types::floats},
           microsoft("EmbedLayerNormalization", 7, 9,
                     {Types::integers, Types::integers, Types::floats, Types::floats, Types::floats, Types::floats,
                      Types::floats, Types::integers},
                     expand_embed_layer_norm, 3));
constinit const ExpandedOp op_SimplifiedLayerNormalization =
    giving({Types::as_first, Types::floats},
           expanded("SimplifiedLayerNormalization", "", 1, 2, 2, {Types::floats}, expand_simplified, 2));

}  // namespace gcg
