#include "runtime/errors.h"

#include <exception>
#include <new>

namespace gart {

Error caught_error() noexcept {
  try {
    throw;
  } catch (const Failure& failure) {
    return failure.error;
  } catch (const std::bad_alloc&) {
    return {ErrorCode::out_of_memory, "out of memory"};
  } catch (const std::exception& e) {
    return error(ErrorCode::unsupported, "the system refused a resource: ", e.what());
  }
}

}  // namespace gart
