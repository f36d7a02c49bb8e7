#include "runtime/errors.h"

#include <exception>
#include <new>
#include <system_error>

namespace gart {

void fail_with(ErrorCode code, uint64_t kinds, ...) {
  va_list parts;
  va_start(parts, kinds);
  Failure failure{{code, join_list(kinds, parts)}};
  va_end(parts);
  throw failure;
}

namespace {

Error described_error() {
  try {
    throw;
  } catch (Failure& failure) {
    return std::move(failure.error);
  } catch (const std::system_error& e) {  // only the start of a thread throws it
    return error(ErrorCode::unsupported, "the system refused another thread (", e.code().message(),
                 "): the user, the container or the memory has reached its limit");
  } catch (const std::exception& e) {
    return error(ErrorCode::run_failed, "unexpected exception: ", e.what());
  }
}

}  // namespace

Result<void> guarded_call(void (*body)(void* data), void* data) noexcept {
  try {
    body(data);
    return {};
  } catch (...) {
    return caught_error();
  }
}

/// Messages of at most 15 characters need no memory.
Error caught_error() noexcept {
  try {
    return described_error();
  } catch (const std::bad_alloc&) {
    return {ErrorCode::out_of_memory, "out of memory"};
  } catch (...) {
    return {ErrorCode::run_failed, "C++ exception"};
  }
}

}  // namespace gart
