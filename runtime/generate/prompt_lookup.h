// Guesses the next tokens of a text that repeats itself.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace gart::detail {

class PromptLookup {
 public:
  /// `most`: tokens of a guess; 0: none.
  PromptLookup(int64_t most, std::span<const int64_t> text);

  void add(int64_t id) { text_.push_back(id); }
  /// At most `limit` tokens that followed the longest end of the text that occurred before; none if it has one token.
  std::vector<int64_t> guess(int64_t limit) const;
  /// The number of tokens of a guess that were right. Guesses become longer while all are right, and short after
  /// others.
  void learn(size_t guessed, size_t right);

 private:
  int64_t most_, width_;
  std::vector<int64_t> text_;
};

}  // namespace gart::detail
