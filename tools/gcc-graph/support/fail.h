// Reports a failure in one sentence: fail("--dim ", text, ": ...") throws gcc_graph::Error, which main() prints.
#pragma once

#include <sstream>
#include <string>

#include "gcc_graph/types.h"

namespace gcg::tools {

using gcc_graph::Error;

/// Joins parts to a text such as "axis 3 of 2".
template <class... Parts>
std::string concat(const Parts&... parts) {
  std::ostringstream out;
  (out << ... << parts);
  return out.str();
}

template <class... Parts>
[[noreturn]] void fail(const Parts&... parts) {
  throw Error(concat(parts...));
}

}  // namespace gcg::tools
