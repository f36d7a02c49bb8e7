// Models and artifacts are other people's: their names are printed, but never obeyed by the terminal.
#pragma once

#include <ostream>
#include <streambuf>
#include <string>
#include <string_view>

namespace gcg::tools {

/// Control characters but line ends and tabs become \u001b and the like, which JSON reads as the same character.
std::string printable(std::string_view text);

/// While it lives, what is written to `stream` is printable.
class PrintableStream : private std::streambuf {
 public:
  explicit PrintableStream(std::ostream& stream) : stream_(stream), target_(stream.rdbuf(this)) {}
  ~PrintableStream() override { stream_.rdbuf(target_); }
  PrintableStream(const PrintableStream&) = delete;
  PrintableStream& operator=(const PrintableStream&) = delete;

 private:
  int_type overflow(int_type c) override;
  std::streamsize xsputn(const char* text, std::streamsize count) override;
  int sync() override { return target_->pubsync(); }

  std::ostream& stream_;
  std::streambuf* target_;
};

}  // namespace gcg::tools
