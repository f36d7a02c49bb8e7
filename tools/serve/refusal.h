// The error reply to a request: the HTTP status, and one sentence.
#pragma once

#include <sstream>
#include <stdexcept>
#include <string>

namespace gcg::serve {

class Refusal : public std::runtime_error {
 public:
  Refusal(unsigned status, const std::string& message) : std::runtime_error(message), status_(status) {}
  unsigned status() const { return status_; }

 private:
  unsigned status_;
};

template <class... Parts>
[[noreturn]] void refuse(unsigned status, const Parts&... parts) {
  std::ostringstream out;
  (out << ... << parts);
  throw Refusal(status, out.str());
}

}  // namespace gcg::serve
