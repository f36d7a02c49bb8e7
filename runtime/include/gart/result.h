// Errors as values: no exception crosses the runtime's API.
#pragma once

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <string>
#include <utility>

namespace gart {

enum class ErrorCode : int32_t {
  invalid_argument = 1,  ///< an argument is invalid: a name, dtype, shape, pointer or option
  invalid_artifact = 2,  ///< the file is damaged, inconsistent or of another format version
  unsupported = 3,       ///< the file is valid, but not for this machine or this runtime
  io = 4,                ///< the file cannot be opened, read or mapped
  out_of_memory = 5,
  run_failed = 6,   ///< the model failed on this data: an index out of range, a size that overflows
  device_lost = 7,  ///< the device failed, and its memory is lost: this program will not run again
  cancelled = 8,    ///< cancel() ended the run
  timed_out = 9,    ///< the run did not end before its deadline
  busy = 10,        ///< too many runs are in progress or waiting: try again later
  untrusted = 11,   ///< no trusted key has signed the artifact
};

struct Error {
  ErrorCode code = ErrorCode::invalid_argument;
  std::string message;  ///< one sentence that names place, value and limit
};

/// A T or an Error. Accessing the value of an error prints its message and aborts, so test first.
template <class T>
class [[nodiscard]] Result {
 public:
  Result(T value) : value_(std::move(value)) {}      // NOLINT: implicit, so that a T can be returned as a Result
  Result(Error error) : error_(std::move(error)) {}  // NOLINT
  bool ok() const { return value_.has_value(); }
  explicit operator bool() const { return ok(); }
  const Error& error() const { return error_; }  ///< meaningful if !ok()
  T& value() & { return require(), *value_; }
  const T& value() const& { return require(), *value_; }
  T value() && { return require(), std::move(*value_); }
  T& operator*() & { return value(); }
  const T& operator*() const& { return value(); }
  T* operator->() { return &value(); }
  const T* operator->() const { return &value(); }

 private:
  void require() const {
    if (ok()) return;
    std::fprintf(stderr, "gart: %s\n", error_.message.c_str());
    std::abort();
  }
  std::optional<T> value_;
  Error error_;
};

template <>
class [[nodiscard]] Result<void> {
 public:
  Result() = default;
  Result(Error error) : error_(std::move(error)) {}  // NOLINT
  bool ok() const { return !error_.has_value(); }
  explicit operator bool() const { return ok(); }
  const Error& error() const { return *error_; }  ///< only if !ok()

 private:
  std::optional<Error> error_;
};

}  // namespace gart
