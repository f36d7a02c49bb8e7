// A request for nodes that has no effect.
#pragma once

#include <string>

namespace gcg {

/// A request for nodes, "PATTERN=DEVICE" or "PATTERN=GROUP", that has no effect.
struct UnmatchedRequest {
  std::string option, request;  // "--label", "b=mine"
  std::string reason;           // "passes removed all work of 'b'"
};

}  // namespace gcg
