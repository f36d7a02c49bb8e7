#include "tools/gcc-graph/train/batches.h"

#include <algorithm>

namespace gcg::tools {

std::vector<Batch> Batches::take(size_t count) {
  std::vector<Batch> group;
  while (group.size() < count) {
    std::optional<Batch> batch = next();
    if (!batch) break;
    group.push_back(std::move(*batch));
  }
  return group;
}

std::optional<Batch> Batches::next() {
  while (place_.epoch < epochs_ && count_at(place_.position) == 0) {
    ++place_.epoch;
    place_.position = 0;
  }
  if (place_.epoch >= epochs_) return std::nullopt;
  if (ordered_ != place_.epoch) {
    order_ = epoch_order(data_.samples(), facts_.seed, place_.epoch, facts_.shuffle);
    ordered_ = place_.epoch;
  }
  const auto begin = order_.begin() + place_.position;
  Batch batch;
  batch.samples.assign(begin, begin + count_at(place_.position));
  batch.epoch = place_.epoch;
  place_.position += static_cast<int64_t>(batch.samples.size());
  ++place_.steps;
  batch.after = place_;
  batch.ends_epoch = count_at(place_.position) == 0;
  return batch;
}

int64_t Batches::count_at(int64_t position) const {
  const int64_t count = std::min(facts_.batch, data_.samples() - position);
  return count < facts_.batch && data_.fixed_batch() > 0 ? 0 : count;
}

}  // namespace gcg::tools
