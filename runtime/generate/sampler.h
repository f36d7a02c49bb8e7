// Chooses the next token from logits.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "gart/generate.hpp"

namespace gart::detail {

/// One row of a model's logits, of any float type, as f32. Valid until the next call.
class LogitsRow {
 public:
  /// `data`: `count` elements of f32, f16 or bf16.
  std::span<const float> read(const void* data, DType dtype, size_t count);

 private:
  std::vector<float> widened_;
};

/// The position of the largest logit; the first one if several are equal. -1: a logit is NaN, or all are -infinity.
int64_t most_likely(std::span<const float> logits);

class Sampler {
 public:
  /// Throws Failure for options that contradict each other or are out of range. `prompt`: tokens to which the
  /// repetition penalty applies.
  Sampler(const GenerateOptions& options, std::span<const int64_t> prompt);

  /// The next token after `position` tokens. Throws Failure if a logit is NaN, or no token is possible.
  int64_t next(std::span<const float> logits, uint64_t position);
  bool stops(int64_t id) const;

 private:
  struct Candidate {
    double weight;  // the token's probability before normalisation
    int64_t id;
  };

  std::span<const float> with_penalties(std::span<const float> logits);
  void weigh(std::span<const float> logits, float highest);
  void keep_top_k();
  void keep_top_p();
  void keep_min_p();
  int64_t draw(uint64_t position) const;

  const GenerateOptions& options_;
  std::vector<int64_t> seen_, generated_;  // ascending, each once
  std::vector<float> changed_;
  std::vector<Candidate> candidates_;
};

}  // namespace gart::detail
