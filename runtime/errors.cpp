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

Error caught_error() noexcept {
  try {
    throw;
  } catch (const Failure& failure) {
    return failure.error;
  } catch (const std::bad_alloc&) {
    return {ErrorCode::out_of_memory, "out of memory"};
  } catch (const std::system_error& e) {  // only the start of a thread throws it
    return error(ErrorCode::unsupported, "the system refused another thread (", e.code().message(),
                 "): the user, the container or the memory has reached its limit");
  } catch (const std::exception& e) {
    return error(ErrorCode::unsupported, "the system refused a resource: ", e.what());
  }
}

}  // namespace gart
