#include "tools/gcc-graph/io/artifact_identity.h"

#include "artifact_schema/digest.h"

namespace gcg::tools {

std::string artifact_identity(const gart::ArtifactView& artifact) {
  std::vector<gart::SectionEntry> sections;
  for (const gart::SectionEntry& section : artifact.sections) {
    if (section.kind == gart::SectionKind::assembly) continue;
    sections.push_back(section);
    sections.back().offset = 0;  // the offset is left out, because it depends on the assembly's size
  }
  const gart::Digest digest = gart::digest_header({}, sections);
  std::string text;
  for (const uint8_t byte : digest) {
    text += "0123456789abcdef"[byte >> 4];
    text += "0123456789abcdef"[byte & 15];
  }
  return text;
}

}  // namespace gcg::tools
