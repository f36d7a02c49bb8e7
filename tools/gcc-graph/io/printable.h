// Makes text safe to print. Models and artifacts come from other people, and their names must not control the terminal.
#pragma once

#include <ostream>
#include <streambuf>
#include <string>
#include <string_view>

namespace gcg::tools {

/// Replaces control characters, except line ends and tabs, by \u001b and the like. JSON reads these as the same
/// characters.
std::string printable(std::string_view text);

/// While it exists, all text written to `stream` becomes printable.
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
