// Errors of the compiler. `fail(...)` is for the user's input and carries one clear sentence; `GCG_CHECK` is for our
// own invariants and says that it is our bug. Both throw CompileError, which tools/ catches once.
#pragma once

#include <sstream>
#include <stdexcept>
#include <string>

namespace gcg {

/// A sentence for the user. `what()` is complete: it names node, index, value and limit where they apply.
class CompileError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// Our bug, never the user's: an invariant of the compiler does not hold.
class InternalError : public CompileError {
 public:
  using CompileError::CompileError;
};

/// Builds a message from its parts: `concat("axis ", axis, " out of range")`.
template <class... Parts>
std::string concat(const Parts&... parts) {
  std::ostringstream out;
  (out << ... << parts);
  return out.str();
}

template <class... Parts>
[[noreturn]] void fail(const Parts&... parts) {
  throw CompileError(concat(parts...));
}

[[noreturn]] void internal_failure(const char* condition, const char* file, int line, const std::string& message);

}  // namespace gcg

#define GCG_CHECK(condition, ...)                                                                          \
  do {                                                                                                     \
    if (!(condition)) ::gcg::internal_failure(#condition, __FILE__, __LINE__, ::gcg::concat(__VA_ARGS__)); \
  } while (false)
