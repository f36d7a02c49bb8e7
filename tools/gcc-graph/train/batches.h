// The batches of a training run, in order.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "tools/gcc-graph/train/checkpoint.h"
#include "tools/gcc-graph/train/training_data.h"

namespace gcg::tools {

struct Batch {
  std::vector<int64_t> samples;
  int64_t epoch = 0;    // from 0
  TrainingPlace after;  // the place of the training run after this batch's step
  bool ends_epoch = false;
};

class Batches {
 public:
  /// Continues at `place`, up to the end of epoch `epochs`. `data` must outlive the object.
  Batches(const TrainingData& data, const TrainingFacts& facts, int64_t epochs, const TrainingPlace& place)
      : data_(data), facts_(facts), epochs_(epochs), place_(place) {}

  /// The next batches, at most `count`. None are left if the result is empty.
  std::vector<Batch> take(size_t count);

 private:
  std::optional<Batch> next();
  /// The samples of the batch that begins at this position of an epoch; 0 at the epoch's end.
  int64_t count_at(int64_t position) const;

  const TrainingData& data_;
  const TrainingFacts facts_;
  const int64_t epochs_;
  TrainingPlace place_;
  std::optional<int64_t> ordered_;  // the epoch whose order this is
  std::vector<int64_t> order_;
};

}  // namespace gcg::tools
