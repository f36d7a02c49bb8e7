// Artifacts: the container, the manifest, the assembly and all checks that a load makes before it uses an index.
#include <algorithm>
#include <cstring>
#include <vector>

#include "artifact_schema/digest.h"
#include "artifact_schema/reader.h"
#include "artifact_schema/verify.h"
#include "artifact_schema/verify_assembly.h"

namespace {

/// Digests find damage, not forgery. An attacker computes them, so that the checks behind them are reached.
void forge_digests(std::span<uint8_t> bytes) {
  gart::Prologue prologue;
  if (bytes.size() < sizeof prologue) return;
  std::memcpy(&prologue, bytes.data(), sizeof prologue);
  prologue.total_bytes = bytes.size();
  const uint64_t room = (bytes.size() - sizeof prologue) / sizeof(gart::SectionEntry);
  std::vector<gart::SectionEntry> table(
      static_cast<size_t>(std::min({uint64_t{prologue.section_count}, room, uint64_t{gart::kMaxSections}})));
  if (table.empty()) return;
  std::memcpy(table.data(), bytes.data() + sizeof prologue, table.size() * sizeof(gart::SectionEntry));
  for (gart::SectionEntry& s : table)
    if (s.offset <= bytes.size() && s.size <= bytes.size() - s.offset)
      s.digest = gart::digest_section(std::span<const uint8_t>(bytes).subspan(s.offset, s.size));
  prologue.digest = gart::digest_header(prologue, table);
  std::memcpy(bytes.data(), &prologue, sizeof prologue);
  std::memcpy(bytes.data() + sizeof prologue, table.data(), table.size() * sizeof(gart::SectionEntry));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  std::vector<uint64_t> storage((size + 7) / 8);  // aligned, as the reader requires
  const std::span<uint8_t> bytes(reinterpret_cast<uint8_t*>(storage.data()), size);
  if (size > 0) std::memcpy(bytes.data(), data, size);
  forge_digests(bytes);
  gart::ArtifactView view;
  if (!gart::read_artifact(bytes, view).ok() || !gart::verify_artifact(view).ok()) return 0;
  const gart::fb::Assembly* assembly = nullptr;
  (void)gart::verify_assembly(view, assembly);
  return 0;
}
