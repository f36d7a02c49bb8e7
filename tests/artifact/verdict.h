// The verifier's message for an artifact that a test has made, and changes that the verifier must reject.
#pragma once

#include <functional>
#include <string>

#include "tests/artifact/artifact_builder.h"

namespace gart::test {

/// The verifier's message; empty if all is well.
std::string verdict(ArtifactBuilder& builder);
/// An artifact with one kernel in a code section of 100 bytes. The kernel has 2 operands and writes the second one.
ArtifactBuilder with_kernel();

struct Nonsense {
  const char* message;  // a part of it
  std::function<void(ArtifactBuilder&)> commit;
};

}  // namespace gart::test
