#include "compiler/artifact/verify_own.h"

#include "artifact_schema/reader.h"
#include "artifact_schema/verify.h"
#include "artifact_schema/verify_assembly.h"
#include "compiler/support/error.h"

namespace gcg {

void verify_own(std::span<const uint8_t> artifact) {
  gart::ArtifactView view;
  gart::Status status = gart::read_artifact(artifact, view, {.digests = false});
  if (status.ok()) status = gart::verify_artifact(view);
  const gart::fb::Assembly* assembly = nullptr;
  if (status.ok()) status = gart::verify_assembly(view, assembly);
  GCG_CHECK(status.ok(), "the verifier refuses the artifact: ", status.message);
}

}  // namespace gcg
