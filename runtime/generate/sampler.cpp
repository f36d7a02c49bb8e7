#include "runtime/generate/sampler.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "runtime/errors.h"
#include "runtime/generate/exact_math.h"

namespace gart::detail {
namespace {

float widened(uint16_t bits, DType dtype) {
  if (dtype == DType::bf16) return std::bit_cast<float>(uint32_t(bits) << 16);
  const uint32_t sign = uint32_t(bits & 0x8000) << 16, exponent = bits >> 10 & 31, digits = bits & 1023;
  if (exponent == 31) return std::bit_cast<float>(sign | 0x7F800000 | digits << 13);
  if (exponent != 0) return std::bit_cast<float>(sign | (exponent + 112) << 23 | digits << 13);
  const float small = float(digits) * 0x1p-24F;
  return sign != 0 ? -small : small;
}

/// The largest logit in each block. It is NaN if a logit of the block is NaN. NaN is found by comparing each logit with
/// itself, because a sum of differences would also be NaN for infinities.
constexpr size_t kLanes = 16, kBlock = 1024;

float largest(const float* x, size_t count) {
  float lanes[kLanes];
  int32_t unordered[kLanes] = {};
  for (float& lane : lanes) lane = -std::numeric_limits<float>::infinity();
  size_t i = 0;
  for (; i + kLanes <= count; i += kLanes) {
    for (size_t l = 0; l < kLanes; ++l) {
      const float y = x[i + l];
      lanes[l] = y > lanes[l] ? y : lanes[l];
      unordered[l] |= y != y ? -1 : 0;
    }
  }
  for (size_t l = 0; i < count; ++i, ++l) {
    lanes[l] = x[i] > lanes[l] ? x[i] : lanes[l];
    unordered[l] |= x[i] != x[i] ? -1 : 0;
  }
  float out = lanes[0];
  int32_t any = 0;
  for (size_t l = 0; l < kLanes; ++l) {
    out = std::max(out, lanes[l]);
    any |= unordered[l];
  }
  return any != 0 ? std::numeric_limits<float>::quiet_NaN() : out;
}

[[noreturn]] void refuse(std::span<const float> logits) {
  const auto nan = std::find_if(logits.begin(), logits.end(), [](float x) { return x != x; });
  if (nan != logits.end()) fail(ErrorCode::run_failed, "logit ", size_t(nan - logits.begin()), " is NaN");
  fail(ErrorCode::run_failed, "all ", logits.size(), " logits are -infinity");
}

void check(bool holds, const char* what) {
  if (!holds) fail(ErrorCode::invalid_argument, what);
}

void insert(std::vector<int64_t>& sorted, int64_t id) {
  const auto at = std::lower_bound(sorted.begin(), sorted.end(), id);
  if (at == sorted.end() || *at != id) sorted.insert(at, id);
}

}  // namespace

std::span<const float> LogitsRow::read(const void* data, DType dtype, size_t count) {
  if (dtype == DType::f32) return {static_cast<const float*>(data), count};
  widened_.resize(count);
  const auto* bits = static_cast<const uint16_t*>(data);
  for (size_t i = 0; i < count; ++i) widened_[i] = widened(bits[i], dtype);
  return widened_;
}

int64_t most_likely(std::span<const float> logits) {
  float highest = -std::numeric_limits<float>::infinity();
  size_t block = logits.size();
  for (size_t b = 0; b < logits.size(); b += kBlock) {
    const float here = largest(logits.data() + b, std::min(kBlock, logits.size() - b));
    if (here != here) return -1;
    if (here > highest) {
      highest = here;
      block = b;
    }
  }
  const auto from = logits.begin() + std::ptrdiff_t(block);
  return block == logits.size() ? -1 : std::find(from, logits.end(), highest) - logits.begin();
}

Sampler::Sampler(const GenerateOptions& options, std::span<const int64_t> prompt) : options_(options) {
  check(options.max_tokens >= 1, "max_tokens must be at least 1");
  check(options.temperature >= 0 && std::isfinite(options.temperature), "temperature must be 0 or more");
  check(options.top_k >= 0, "top_k must be 0 or more");
  check(options.top_p > 0 && options.top_p <= 1, "top_p must be above 0 and at most 1");
  check(options.min_p >= 0 && options.min_p <= 1, "min_p must be between 0 and 1");
  check(options.repetition_penalty > 0 && std::isfinite(options.repetition_penalty),
        "repetition_penalty must be above 0");
  check(std::isfinite(options.presence_penalty), "presence_penalty must be a number");
  check(options.chunk >= 0, "chunk must be 0 or more");
  if (options.repetition_penalty == 1) return;
  seen_.assign(prompt.begin(), prompt.end());
  std::sort(seen_.begin(), seen_.end());
  seen_.erase(std::unique(seen_.begin(), seen_.end()), seen_.end());
}

bool Sampler::stops(int64_t id) const {
  return std::find(options_.stop_ids.begin(), options_.stop_ids.end(), id) != options_.stop_ids.end();
}

std::span<const float> Sampler::with_penalties(std::span<const float> logits) {
  if (seen_.empty() && generated_.empty()) return logits;
  changed_.assign(logits.begin(), logits.end());
  const auto in_row = [&](int64_t id) { return id >= 0 && size_t(id) < changed_.size(); };
  for (const int64_t id : seen_) {
    if (!in_row(id)) continue;
    float& x = changed_[size_t(id)];
    x = x > 0 ? x / options_.repetition_penalty : x * options_.repetition_penalty;
  }
  for (const int64_t id : generated_) {
    if (in_row(id)) changed_[size_t(id)] -= options_.presence_penalty;
  }
  return changed_;
}

void Sampler::weigh(std::span<const float> logits, float highest) {
  candidates_.clear();
  for (size_t i = 0; i < logits.size(); ++i) {
    const double below = (double(logits[i]) - double(highest)) / double(options_.temperature);
    const double weight = logits[i] == highest ? 1 : exponential(below);  // the highest logit may be infinite
    if (weight > 0) candidates_.push_back({weight, int64_t(i)});
  }
}

namespace {

constexpr auto kMoreLikely = [](const auto& a, const auto& b) {
  return a.weight != b.weight ? a.weight > b.weight : a.id < b.id;
};

}  // namespace

void Sampler::keep_top_k() {
  if (options_.top_k == 0 || size_t(options_.top_k) >= candidates_.size()) return;
  const auto end = candidates_.begin() + options_.top_k;
  std::nth_element(candidates_.begin(), end, candidates_.end(), kMoreLikely);
  candidates_.erase(end, candidates_.end());
}

void Sampler::keep_top_p() {
  if (options_.top_p >= 1) return;
  double all = 0;
  std::sort(candidates_.begin(), candidates_.end(), [](const auto& a, const auto& b) { return a.id < b.id; });
  for (const Candidate& c : candidates_) all += c.weight;
  const double threshold = double(options_.top_p) * all;
  double sum = 0;
  size_t chosen_count = 0;
  for (size_t sorted = 0; chosen_count < candidates_.size() && sum < threshold; ++chosen_count) {
    if (chosen_count == sorted) {  // few tokens are likely, so only the most likely ones are sorted
      sorted = std::min(candidates_.size(), std::max<size_t>(64, 4 * sorted));
      std::partial_sort(candidates_.begin() + std::ptrdiff_t(chosen_count),
                        candidates_.begin() + std::ptrdiff_t(sorted), candidates_.end(), kMoreLikely);
    }
    sum += candidates_[chosen_count].weight;
  }
  candidates_.resize(chosen_count);
}

void Sampler::keep_min_p() {
  if (options_.min_p <= 0) return;
  double highest = 0;
  for (const Candidate& c : candidates_) highest = std::max(highest, c.weight);
  std::erase_if(candidates_, [&](const Candidate& c) { return c.weight < double(options_.min_p) * highest; });
}

int64_t Sampler::draw(uint64_t position) const {
  double all = 0;
  for (const Candidate& c : candidates_) all += c.weight;
  const double threshold = random_at(options_.seed, position) * all;
  double sum = 0;
  for (const Candidate& c : candidates_) {
    sum += c.weight;
    if (sum > threshold) return c.id;
  }
  return candidates_.back().id;
}

int64_t Sampler::next(std::span<const float> logits, uint64_t position) {
  const std::span<const float> row = with_penalties(logits);
  int64_t id = most_likely(row);
  if (id < 0) refuse(row);
  if (options_.temperature > 0) {
    weigh(row, row[size_t(id)]);
    keep_top_k();
    keep_top_p();
    keep_min_p();
    std::sort(candidates_.begin(), candidates_.end(), [](const auto& a, const auto& b) { return a.id < b.id; });
    id = draw(position);
  }
  if (options_.repetition_penalty != 1) insert(seen_, id);
  if (options_.presence_penalty != 0) insert(generated_, id);
  return id;
}

}  // namespace gart::detail
