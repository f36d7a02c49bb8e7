// A failure of the store, in one sentence.
#pragma once

#include <sstream>
#include <stdexcept>

namespace gart::store {

class StoreError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

template <class... Parts>
[[noreturn]] void refuse(const Parts&... parts) {
  std::ostringstream out;
  (out << ... << parts);
  throw StoreError(out.str());
}

}  // namespace gart::store
