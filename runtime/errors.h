// Building errors, and keeping exceptions (out of memory, no more threads) inside the API.
#pragma once

#include <type_traits>
#include <utility>

#include "artifact_schema/status.h"
#include "gart/result.h"

namespace gart {

template <class... Parts>
Error error(ErrorCode code, const Parts&... parts) {
  return {code, join({Piece(parts)...})};
}

/// How the runtime reports errors inside: thrown here, turned into the Result of the API's function by guarded().
struct Failure {
  Error error;
};

template <class... Parts>
[[noreturn]] void fail(ErrorCode code, const Parts&... parts) {
  throw Failure{error(code, parts...)};
}

/// The exception that is being handled, as an Error.
Error caught_error() noexcept;

/// `body()`, a T or void, as a Result; with what it throws turned into its Error.
template <class Body>
auto guarded(Body&& body) noexcept {
  using Value = decltype(body());
  try {
    if constexpr (std::is_void_v<Value>) {
      body();
      return Result<void>();
    } else {
      return Result<Value>(body());
    }
  } catch (...) {
    return Result<Value>(caught_error());
  }
}

/// The value of an API's function used inside.
template <class T>
T value_or_fail(Result<T> result) {
  if (!result) throw Failure{result.error()};
  return std::move(*result);
}

}  // namespace gart
