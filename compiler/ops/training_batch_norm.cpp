// BatchNormalization with the statistics of the batch. Exporters write it for standardised weights (timm's StdConv2d),
// where it folds to a constant, and for models exported in training mode.
#include <numeric>

#include "compiler/ops/exchange.h"
#include "compiler/ops/expansion.h"
#include "compiler/ops/ops.h"

namespace gcg {
namespace {

enum : size_t { kX, kScale, kBias, kMean, kVariance };

/// before * momentum + now * (1 - momentum), in the type of `before`.
ValueId moved(Expansion& e, size_t before, ValueId now) {
  const double momentum = e.node().float_attribute("momentum", 0.9);
  const DType dtype = e.dtype(before);
  const ValueId kept = e.multiply(e.input(before), e.scalar(dtype, momentum));
  return e.add(kept, e.multiply(e.cast(now, dtype), e.scalar(dtype, 1 - momentum)));
}

std::vector<ValueId> expand_training(Expansion& e) {
  if (e.rank(kX) < 2) e.fail("the input must have a batch and a channel dimension");
  const DType dtype = e.dtype(kX);
  std::vector<int64_t> axes(static_cast<size_t>(e.rank(kX) - 1)), per_channel(axes.size(), 1);
  std::iota(axes.begin(), axes.end(), int64_t{1});
  axes[0] = 0;
  per_channel[0] = -1;
  const auto reduced = [&](const char* op, ValueId v) {
    return e.node(op, {v, e.ints(axes)}, {{"keepdims", int64_t{1}}});
  };
  const bool is_exchanged = e.node().int_attribute(kExchangedStatistics, 0) != 0;
  ValueId count;  // of samples in all replicas
  if (is_exchanged) {
    const ValueId samples = e.node("Div", {e.node("Size", {e.input(kX)}), e.extent_of(e.input(kX), 1)});
    count = e.node(op_gart_Exchange, {e.cast(samples, dtype)});
  }
  const auto mean_of = [&](ValueId v) {
    if (!is_exchanged) return reduced("ReduceMean", v);
    return e.node("Div", {e.node(op_gart_Exchange, {reduced("ReduceSum", v)}), count});
  };
  const auto vector = [&](ValueId v) { return e.reshape(v, {-1}); };
  const auto channels = [&](size_t i) { return e.reshape(e.cast(e.input(i), dtype), per_channel); };
  const ValueId mean = mean_of(e.input(kX));
  const ValueId centred = e.subtract(e.input(kX), mean);
  const ValueId variance = mean_of(e.multiply(centred, centred));
  const ValueId deviation =
      e.node("Sqrt", {e.add(variance, e.scalar(dtype, e.node().float_attribute("epsilon", 1e-5)))});
  const ValueId y = e.add(e.multiply(e.node("Div", {centred, deviation}), channels(kScale)), channels(kBias));
  return {y, e.has_output(1) ? moved(e, kMean, vector(mean)) : ValueId(),
          e.has_output(2) ? moved(e, kVariance, vector(variance)) : ValueId()};
}

}  // namespace

constinit const ExpandedOp op_gart_TrainingBatchNormalization =
    with_batch_statistics(expanded("TrainingBatchNormalization", "gart", 1, 5, 5, {}, expand_training, 3));

}  // namespace gcg
