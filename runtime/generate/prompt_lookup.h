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
  /// Finds the longest suffix of the text that also occurs earlier. Returns at most `limit` tokens that follow the
  /// earlier occurrence; none if the suffix has only one token.
  std::vector<int64_t> guess(int64_t limit) const;
  /// Reports that `right` of the `guessed` tokens were right. Guesses become longer while all tokens are right; after a
  /// wrong token they become short.
  void learn(size_t guessed, size_t right);

 private:
  int64_t most_, width_;
  std::vector<int64_t> text_;
};

}  // namespace gart::detail
