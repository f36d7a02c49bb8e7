#include "tools/gcc-graph/io/rewrite_artifact.h"

#include <utility>

#include "tools/gcc-graph/io/artifact_file.h"
#include "tools/gcc-graph/support/fail.h"

namespace gcg::tools {
namespace {

/// The file's sections, ready to be written again.
gart::ArtifactContent content_of(const gart::ArtifactView& artifact) {
  gart::ArtifactContent content;
  artifact.manifest->UnPackTo(&content.manifest);
  for (const auto& target : content.manifest.targets) {
    content.code.emplace_back();
    if (target->code_section < 0) continue;
    const auto code = artifact.section(static_cast<size_t>(target->code_section));
    content.code.back().assign(code.begin(), code.end());
  }
  const auto weights = artifact.weights(), assembly = artifact.assembly();
  content.weights.assign(weights.begin(), weights.end());
  content.assembly.assign(assembly.begin(), assembly.end());
  return content;
}

uint64_t raw_alignment(const gart::ArtifactView& artifact) {
  for (const gart::SectionEntry& section : artifact.sections)
    if (section.kind == gart::SectionKind::code || section.kind == gart::SectionKind::weights) return section.alignment;
  return gart::kRawAlignment;
}

}  // namespace

std::vector<uint8_t> rewritten(const gart::ArtifactView& artifact,
                               const std::function<void(gart::ArtifactContent&)>& change) {
  gart::ArtifactContent content = content_of(artifact);
  change(content);
  std::vector<uint8_t> bytes = gart::write_artifact(std::move(content), {.raw_alignment = raw_alignment(artifact)});
  gart::ArtifactView written;
  gart::Status status = gart::read_artifact(bytes, written, {.digests = false});
  if (status.ok()) status = verify_whole(written);
  if (!status.ok()) fail("nothing was written: ", status.message);
  return bytes;
}

}  // namespace gcg::tools
