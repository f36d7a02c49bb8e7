// A connection's bytes that are not read yet. It finds folded lines in headers: Beast accepts them and does not report
// them.
#pragma once

#include <boost/beast/core/flat_buffer.hpp>
#include <span>

namespace gcg::serve {

/// A folded line begins with a space or a tab and continues the line before. A proxy that takes it for a field of its
/// own would see another request than this server, so such requests are refused, as RFC 9112 (5.2) allows.
class HeaderBuffer : public boost::beast::flat_buffer {
 public:
  /// From now on the bytes are those of a header, up to its end.
  void begin_header() {
    is_header_ = true;
    has_folded_line_ = has_begun_ = false;
    last_ = '\0';
    length_ = 0;
    const auto held = data();
    scan({static_cast<const char*>(held.data()), held.size()});
  }
  void commit(size_t bytes) {
    const size_t before = size();
    basic_flat_buffer::commit(bytes);
    const auto held = data();
    scan({static_cast<const char*>(held.data()) + before, size() - before});
  }
  bool has_folded_line() const { return has_folded_line_; }

 private:
  void scan(std::span<const char> bytes) {
    for (size_t i = 0; i < bytes.size() && is_header_; ++i) {
      const char c = bytes[i];
      if (last_ == '\n' && (c == ' ' || c == '\t')) has_folded_line_ = true;
      if (c == '\n') {
        is_header_ = length_ > 0 || !has_begun_;  // an empty line ends the header, but may also come before it
        length_ = 0;
      } else if (c != '\r') {
        has_begun_ = true;
        ++length_;
      }
      last_ = c;
    }
  }

  bool is_header_ = false, has_begun_ = false, has_folded_line_ = false;
  char last_ = '\0';
  size_t length_ = 0;  // length of the current line
};

}  // namespace gcg::serve
