// Building errors, and keeping exceptions (out of memory, no more threads) inside the API.
#pragma once

#include <exception>
#include <new>
#include <utility>

#include "artifact_schema/status.h"
#include "gart/result.h"

namespace gart {

template <class... Parts>
Error error(ErrorCode code, const Parts&... parts) {
  return {code, join({Piece(parts)...})};
}

/// An error on its way up through code whose failures are many and whose callers can only give up: the driver's calls.
/// guarded() turns it into the Result of the API's function.
struct Failure {
  Error error;
};

template <class... Parts>
[[noreturn]] void fail(ErrorCode code, const Parts&... parts) {
  throw Failure{error(code, parts...)};
}

/// `body()`, with what it throws turned into an Error.
template <class Body>
auto guarded(Body&& body) noexcept -> decltype(body()) {
  try {
    return std::forward<Body>(body)();
  } catch (const Failure& failure) {
    return failure.error;
  } catch (const std::bad_alloc&) {
    return Error{ErrorCode::out_of_memory, "out of memory"};
  } catch (const std::exception& e) {
    return error(ErrorCode::unsupported, "the system refused a resource: ", e.what());
  }
}

}  // namespace gart

/// Leaves the function with the error of `expression`, a Result<void>, if it is one.
#define GART_TRY(expression)                                                       \
  do {                                                                             \
    if (auto gart_result = (expression); !gart_result) return gart_result.error(); \
  } while (false)
