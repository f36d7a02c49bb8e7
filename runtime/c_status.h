// Statuses of the C APIs of libraries beside libgart. Each library keeps the message of its last error per thread.
#pragma once

#include <string>

#include "gart/gart.h"
#include "runtime/errors.h"

namespace gart {

/// Runs `body()`, which may throw Failure, and returns its status. The message of a failure goes to `last_error`.
template <class Body>
gart_status status_of(std::string& last_error, Body&& body) noexcept {
  const Result<void> done = guarded(body);
  if (done) return GART_OK;
  try {
    last_error = done.error().message;
  } catch (...) {
    last_error.clear();
  }
  return static_cast<gart_status>(done.error().code);
}

/// Throws Failure (invalid_argument) if a pointer is null.
template <class... Pointers>
void require(const Pointers*... pointers) {
  if ((... || (pointers == nullptr))) fail(ErrorCode::invalid_argument, "an argument is null");
}

}  // namespace gart
