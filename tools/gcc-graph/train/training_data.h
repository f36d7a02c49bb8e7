// The samples of a training run, and the order in which steps take them.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "tools/gcc-graph/io/npz.h"

namespace gcg::tools {

/// The samples' order in an epoch. The same seed and epoch give the same order on every machine.
std::vector<int64_t> epoch_order(int64_t samples, uint64_t seed, int64_t epoch, bool shuffle);

/// The memory of a batch, which the next one reuses.
struct BatchMemory {
  std::map<std::string, std::vector<uint8_t>> rows;
  std::map<std::string, gart::TensorView> views;
};

/// Arrays by input name; their first axis counts samples.
class TrainingData {
 public:
  /// Reads F.npz. `infos`: the inputs of the entry point. Throws Error for an array that is not an input, for one with
  /// another type or shape than its input, and for arrays with different numbers of samples.
  TrainingData(const std::string& path, std::span<const gart::TensorInfo> infos);

  int64_t samples() const { return samples_; }
  bool has(const std::string& input) const { return arrays_.count(input) != 0; }
  /// The number of samples that a step must take, if the model fixes it; otherwise 0.
  int64_t fixed_batch() const { return fixed_batch_; }
  /// Collects these samples of each array in `memory`. Threads may collect batches at the same time.
  const std::map<std::string, gart::TensorView>& batch(std::span<const int64_t> samples, BatchMemory& memory) const;

 private:
  void check(const std::string& name, const HostTensor& array, std::span<const gart::TensorInfo> infos);

  NamedTensors arrays_;
  int64_t samples_ = -1, fixed_batch_ = 0;
};

}  // namespace gcg::tools
