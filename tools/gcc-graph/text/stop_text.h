// Ends a text that comes in pieces before the first of some words.
#pragma once

#include <string>
#include <vector>

namespace gcg::tools {

class StopText {
 public:
  explicit StopText(std::vector<std::string> stops) : stops_(std::move(stops)) {}

  /// Takes the next piece. Returns the text that can be shown: an end that may begin one of the words is held back.
  std::string add(const std::string& piece);
  /// True after one of the words has come: the text has ended.
  bool has_stopped() const { return stopped_; }
  /// At the end of the text: the part that was held back.
  std::string rest() { return std::move(held_); }

 private:
  std::vector<std::string> stops_;
  std::string held_;
  bool stopped_ = false;
};

}  // namespace gcg::tools
