#include "tests/artifact/verdict.h"

#include "artifact_schema/reader.h"
#include "artifact_schema/verify.h"

namespace gart::test {

std::string verdict(ArtifactBuilder& builder) {
  const std::vector<uint8_t> bytes = builder.write({.raw_alignment = 64});
  ArtifactView view;
  Status status = read_artifact(bytes, view);
  if (status.ok()) status = verify_artifact(view);
  return status.message;
}

}  // namespace gart::test
