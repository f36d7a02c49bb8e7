// Errors of the compiler. `fail(...)` reports a problem of the user's input in one sentence. `GCG_CHECK` checks our own
// invariants and reports a bug of the compiler. Both throw CompileError, which tools/ catches once.
#pragma once

#include <sstream>
#include <stdexcept>
#include <string>

namespace gcg {

/// what() is a complete sentence for the user, which names node, index, value and limit where they apply.
class CompileError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// A violated invariant: a bug of the compiler, never an error of the user.
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
