#include "runtime/generate/prompt_lookup.h"

#include <algorithm>

namespace gart::detail {
namespace {

constexpr size_t kShortest = 2, kLongest = 8;  // fewest and most tokens that are compared before a guess

}  // namespace

PromptLookup::PromptLookup(int64_t most, std::span<const int64_t> text) : most_(most), width_(most) {
  if (most > 0) text_.assign(text.begin(), text.end());
}

std::vector<int64_t> PromptLookup::guess(int64_t limit) const {
  const auto most = size_t(std::max<int64_t>(std::min(width_, limit), 0));
  if (most == 0 || text_.size() <= kShortest) return {};
  size_t best = kShortest - 1, from = 0;
  for (size_t end = text_.size() - 1; end >= kShortest && best < kLongest; --end) {  // the latest match wins ties
    size_t equal = 0;
    while (equal < std::min(end, kLongest) && text_[end - 1 - equal] == text_[text_.size() - 1 - equal]) ++equal;
    if (equal <= best) continue;
    best = equal;
    from = end;
  }
  if (from == 0) return {};
  // If the text repeats with a short period, the guess reaches past the end of the text and repeats itself.
  std::vector<int64_t> out;
  while (out.size() < most) {
    const size_t at = from + out.size();
    out.push_back(at < text_.size() ? text_[at] : out[at - text_.size()]);
  }
  return out;
}

void PromptLookup::learn(size_t guessed, size_t right) {
  if (guessed == 0) return;
  width_ = right == guessed ? std::min(most_, 2 * width_) : std::min(most_, int64_t(right) + 1);
}

}  // namespace gart::detail
