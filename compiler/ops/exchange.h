// Statistics of a batch that the replicas of a training step share.
#pragma once

namespace gcg {

/// An attribute of gart.TrainingBatchNormalization: 1 if the statistics are those of all replicas' batches together.
/// The expansion then has gart.Exchange nodes.
inline constexpr const char* kExchangedStatistics = "exchanged";

}  // namespace gcg
