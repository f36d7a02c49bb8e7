// Shows the progress of a long command.
#pragma once

#include <unistd.h>

#include <cstdio>
#include <string>

namespace gcg::tools {

/// Prints the current stage on a terminal, on one line that the next stage overwrites.
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
