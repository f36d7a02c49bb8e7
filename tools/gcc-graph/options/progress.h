// What a long command is doing.
#pragma once

#include <unistd.h>

#include <cstdio>
#include <string>

namespace gcg::tools {

/// Text of the stage at hand on a terminal, on one line that the next stage overwrites.
class Progress {
 public:
  explicit Progress(bool quiet = false) : terminal_(!quiet && isatty(STDERR_FILENO) != 0) {}
  ~Progress() { clear(); }
  void show(const std::string& text) {
    if (!terminal_) return;
    clear();
    std::fprintf(stderr, "%s ...", text.c_str());
    std::fflush(stderr);
  }

  void clear() const {
    if (terminal_) std::fputs("\r\033[K", stderr);
  }

 private:
  const bool terminal_;
};

}  // namespace gcg::tools
