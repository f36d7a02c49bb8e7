#include "compiler/support/error.h"

namespace gcg {

void internal_failure(const char* condition, const char* file, int line, const std::string& message) {
  throw InternalError(concat("internal error (please report): ", message, message.empty() ? "" : " ", "[", condition,
                             " at ", file, ":", line, "]"));
}

}  // namespace gcg
