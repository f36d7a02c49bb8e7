// What the verifier says of an artifact that a test has made, and changes that it must reject.
#pragma once

#include <functional>
#include <string>

#include "tests/artifact/artifact_builder.h"

namespace gart::test {

/// The verifier's message; empty if all is well.
std::string verdict(ArtifactBuilder& builder);
/// A kernel of 2 operands, of which it writes the second one, in a code section of 100 bytes.
ArtifactBuilder with_kernel();

struct Nonsense {
  const char* message;  // a part of it
  std::function<void(ArtifactBuilder&)> commit;
};

}  // namespace gart::test
