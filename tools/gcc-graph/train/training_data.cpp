#include "tools/gcc-graph/train/training_data.h"

#include <algorithm>
#include <cstring>
#include <numeric>
#include <random>

#include "gcc_graph/values.h"
#include "tools/gcc-graph/support/fail.h"

namespace gcg::tools {
namespace {

/// The extent, if it is a number; otherwise -1.
int64_t fixed_extent(const std::string& extent) {
  return gcc_graph::symbols_of_extent(extent).empty() ? gcc_graph::extent_value(extent, {}) : -1;
}

/// A random number below `limit`; all are equally likely.
uint64_t below(std::mt19937_64& random, uint64_t limit) {
  // The range of the generator has this many numbers too many for a multiple of `limit`.
  const uint64_t excess = (UINT64_MAX % limit + 1) % limit;
  for (;;) {
    const uint64_t number = random();
    if (number <= UINT64_MAX - excess) return number % limit;
  }
}

}  // namespace

std::vector<int64_t> epoch_order(int64_t samples, uint64_t seed, int64_t epoch, bool shuffle) {
  std::vector<int64_t> order(static_cast<size_t>(samples));
  std::iota(order.begin(), order.end(), 0);
  if (!shuffle) return order;
  std::seed_seq mixed = {static_cast<uint32_t>(seed), static_cast<uint32_t>(seed >> 32), static_cast<uint32_t>(epoch)};
  std::mt19937_64 random(mixed);
  for (size_t i = order.size(); i > 1; --i) std::swap(order[i - 1], order[below(random, i)]);
  return order;
}

TrainingData::TrainingData(const std::string& path, std::span<const gart::TensorInfo> infos) : arrays_(read_npz(path)) {
  if (arrays_.empty()) fail("--data ", path, ": it holds no arrays");
  for (const auto& [name, array] : arrays_) check(name, array, infos);
  if (samples_ == 0) fail("--data ", path, ": it has no samples");
}

void TrainingData::check(const std::string& name, const HostTensor& array, std::span<const gart::TensorInfo> infos) {
  const auto info = std::find_if(infos.begin(), infos.end(), [&](const auto& i) { return i.name == name; });
  if (info == infos.end()) {
    std::string known;
    for (const auto& i : infos) known += concat(known.empty() ? "'" : ", '", i.name, "'");
    fail("--data: the entry point has no input '", name, "', only ", known);
  }
  const gart::TensorView view = array.view();
  bool fits = array.dtype == info->dtype && array.shape.size() == info->dims.size() && !array.shape.empty();
  for (size_t d = 1; fits && d < array.shape.size(); ++d) {
    const int64_t fixed = fixed_extent(info->dims[d]);
    fits = fixed < 0 || fixed == array.shape[d];
  }
  if (!fits)
    fail("--data: array '", name, "' is ", gart::name_of(array.dtype), view.shape.text(), ", but the input is ",
         info->text(), ", whose first axis counts samples");
  if (samples_ >= 0 && samples_ != array.shape[0])
    fail("--data: array '", name, "' has ", array.shape[0], " samples, '", arrays_.begin()->first, "' has ", samples_);
  samples_ = array.shape[0];
  const int64_t batch = std::max<int64_t>(fixed_extent(info->dims[0]), 0);
  if (fixed_batch_ > 0 && batch > 0 && batch != fixed_batch_)
    fail("--data: a step takes ", batch, " samples of '", name, "', but ", fixed_batch_, " of another input");
  fixed_batch_ = std::max(fixed_batch_, batch);
}

const std::map<std::string, gart::TensorView>& TrainingData::batch(std::span<const int64_t> samples,
                                                                   BatchMemory& memory) const {
  for (const auto& [name, array] : arrays_) {
    const size_t size = array.bytes.size() / static_cast<size_t>(samples_);
    std::vector<uint8_t>& rows = memory.rows[name];
    rows.resize(size * samples.size());
    for (size_t i = 0; i < samples.size(); ++i)
      if (size > 0)
        std::memcpy(rows.data() + i * size, array.bytes.data() + static_cast<size_t>(samples[i]) * size, size);
    std::vector<int64_t> shape = array.shape;
    shape[0] = static_cast<int64_t>(samples.size());
    memory.views[name] = {rows.data(), array.dtype, gart::Shape(shape), "cpu"};
  }
  return memory.views;
}

}  // namespace gcg::tools
