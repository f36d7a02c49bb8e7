// Builds errors, and converts exceptions (out of memory, no more threads) into errors at the API.
#pragma once

#include <cstdint>
#include <type_traits>
#include <utility>

#include "artifact_schema/status.h"
#include "gart/result.h"

namespace gart {

template <class... Parts>
Error error(ErrorCode code, const Parts&... parts) {
  return {code, text(parts...)};
}

/// The runtime's internal exception. guarded() turns it into the Result of the API's function.
struct Failure {
  Error error;
};

/// Throws a Failure. `kinds` and the parts that follow: see join().
[[noreturn]] void fail_with(ErrorCode code, uint64_t kinds, ...);

template <class... Parts>
[[noreturn]] void fail(ErrorCode code, const Parts&... parts) {
  fail_with(code, detail::kinds_of<Parts...>(), detail::passed(parts)...);
}

/// The exception that is currently handled, as an Error.
Error caught_error() noexcept;

/// Calls body(data), and returns the error of its exception. All calls share this function, because each exception
/// handler adds code.
Result<void> guarded_call(void (*body)(void* data), void* data) noexcept;

/// Calls `body()`, which returns a T or void, and returns the value or the Error of its exception as a Result.
template <class Body>
auto guarded(Body&& body) noexcept {
  using Value = decltype(body());
  if constexpr (std::is_void_v<Value>) {
    using Called = std::remove_reference_t<Body>;
    return guarded_call([](void* called) { (*static_cast<Called*>(called))(); },
                        const_cast<void*>(static_cast<const void*>(&body)));
  } else {
    try {
      return Result<Value>(body());
    } catch (...) {
      return Result<Value>(caught_error());
    }
  }
}

/// The value of a Result; throws its error. For uses of the API inside the runtime.
template <class T>
T value_or_fail(Result<T> result) {
  if (!result) throw Failure{result.error()};
  return std::move(*result);
}

}  // namespace gart
