#include "tools/text/stop_text.h"

#include <algorithm>
#include <string_view>

namespace gcg::tools {
namespace {

/// The length of the longest suffix of `text` that is a prefix of `word`.
size_t begun(std::string_view text, std::string_view word) {
  size_t length = std::min(text.size(), word.size() - 1);
  while (text.substr(text.size() - length) != word.substr(0, length)) --length;
  return length;
}

}  // namespace

std::string StopText::add(const std::string& piece) {
  held_ += piece;
  size_t end = std::string::npos, unsure = 0;
  for (const std::string& word : stops_) {
    end = std::min(end, held_.find(word));
    unsure = std::max(unsure, begun(held_, word));
  }
  stopped_ = end != std::string::npos;
  std::string out = held_.substr(0, stopped_ ? end : held_.size() - unsure);
  held_ = stopped_ ? std::string() : held_.substr(held_.size() - unsure);
  return out;
}

}  // namespace gcg::tools
