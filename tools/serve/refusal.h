// The error reply to a request: the HTTP status, and one sentence.
#pragma once

#include <sstream>
#include <stdexcept>
#include <string>

namespace gcg::serve {

class Refusal : public std::runtime_error {
 public:
  /// `parameter`: the member of the request that is at fault, if there is one.
  Refusal(unsigned status, const std::string& message, std::string parameter = {})
      : std::runtime_error(message), status_(status), parameter_(std::move(parameter)) {}
  unsigned status() const { return status_; }
  const std::string& parameter() const { return parameter_; }

 private:
  unsigned status_;
  std::string parameter_;
};

template <class... Parts>
[[noreturn]] void refuse(unsigned status, const Parts&... parts) {
  std::ostringstream out;
  (out << ... << parts);
  throw Refusal(status, out.str());
}

}  // namespace gcg::serve
