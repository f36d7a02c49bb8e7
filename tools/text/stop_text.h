// Ends a text, which arrives in pieces, before the first occurrence of a stop word.
#pragma once

#include <string>
#include <vector>

namespace gcg::tools {

class StopText {
 public:
  explicit StopText(std::vector<std::string> stops) : stops_(std::move(stops)) {}

  /// Adds the next piece. Returns the text that can be shown. Holds back a suffix that may be the beginning of a stop
  /// word.
  std::string add(const std::string& piece);
  /// True after a stop word, which ends the text.
  bool has_stopped() const { return stopped_; }
  /// The part that was held back; called at the end of the text.
  std::string held_back() { return std::move(held_); }

 private:
  std::vector<std::string> stops_;
  std::string held_;
  bool stopped_ = false;
};

}  // namespace gcg::tools
