#include "artifact_schema/reader.h"

#include <algorithm>
#include <cstring>

#include "artifact_schema/digest.h"

namespace gart {
namespace {

constexpr uint64_t kMaxAlignment = 1 << 30;

bool all_zero(std::span<const uint8_t> bytes) {
  return std::all_of(bytes.begin(), bytes.end(), [](uint8_t byte) { return byte == 0; });
}

const char* name_of(SectionKind kind) {
  switch (kind) {
    case SectionKind::manifest:
      return "manifest";
    case SectionKind::code:
      return "code";
    case SectionKind::weights:
      return "weights";
    case SectionKind::assembly:
      return "assembly";
  }
  return "unknown";
}

Status check_identity(const Prologue& prologue, uint64_t file_bytes) {
  if (prologue.magic != kMagic) return failure("this is not a .gart file: it does not begin with the magic bytes");
  if (prologue.format_major != kFormatMajor || prologue.format_minor > kFormatMinor) {
    return failure("the file has format ", prologue.format_major, ".", prologue.format_minor,
                   ", this runtime reads format ", kFormatMajor, ".", kFormatMinor);
  }
  if (prologue.digest_algorithm != DigestAlgorithm::xxh3_128_tree) {
    return failure("the file uses digest algorithm ", uint32_t(prologue.digest_algorithm),
                   ", this runtime knows only 1");
  }
  if (prologue.total_bytes != file_bytes) {
    return failure("the file is ", file_bytes, " bytes long, but says it has ", prologue.total_bytes,
                   ": it was cut short or appended to");
  }
  return {};
}

Status read_section_table(std::span<const uint8_t> bytes, ArtifactView& view) {
  Prologue prologue;
  if (bytes.size() < sizeof(prologue)) {
    return failure("the file is ", bytes.size(), " bytes long, a .gart file has at least ", sizeof(prologue));
  }
  std::memcpy(&prologue, bytes.data(), sizeof(prologue));
  if (Status status = check_identity(prologue, bytes.size()); !status.ok()) return status;
  if (prologue.section_table_offset != sizeof(Prologue) || !all_zero(prologue.reserved)) {
    return failure("the prologue is damaged: section table at ", prologue.section_table_offset, " instead of ",
                   sizeof(Prologue), ", or reserved bytes that are not zero");
  }
  if (prologue.section_count == 0 || prologue.section_count > kMaxSections ||
      prologue.section_count * sizeof(SectionEntry) > bytes.size() - sizeof(Prologue)) {
    return failure("the file has ", prologue.section_count, " sections; 1 to ", kMaxSections,
                   " are possible, and their table must fit into its ", bytes.size(), " bytes");
  }
  view.sections.resize(prologue.section_count);
  std::memcpy(view.sections.data(), bytes.data() + sizeof(Prologue), view.sections.size() * sizeof(SectionEntry));
  if (digest_header(prologue, view.sections) != prologue.digest) {
    return failure("the prologue or section table is damaged: its digest does not match");
  }
  return {};
}

/// Checks that sections tile the file and that the manifest is the first of them.
Status check_layout(const ArtifactView& view) {
  uint64_t end = sizeof(Prologue) + view.sections.size() * sizeof(SectionEntry);
  size_t weights = 0;
  for (size_t i = 0; i < view.sections.size(); ++i) {
    const SectionEntry& s = view.sections[i];
    if (s.kind < SectionKind::manifest || s.kind > SectionKind::assembly || s.reserved != 0) {
      return failure("section ", i, " is of kind ", uint32_t(s.kind), ", or its reserved field is not zero");
    }
    if ((s.kind == SectionKind::manifest) != (i == 0) || (s.kind == SectionKind::weights && ++weights > 1) ||
        (s.kind == SectionKind::assembly && i + 1 != view.sections.size())) {
      return failure("section ", i, " is a ", name_of(s.kind),
                     " section; a file has one manifest, as section 0, at most one weights section, and an assembly "
                     "only as the last one");
    }
    if (!std::has_single_bit(s.alignment) || s.alignment < 64 || s.alignment > kMaxAlignment) {
      return failure("section ", i, " has alignment ", s.alignment, ", not a power of two from 64 to ", kMaxAlignment);
    }
    if (s.offset != align_up(end, s.alignment) || s.offset > view.file.size() || s.size > view.file.size() - s.offset) {
      return failure("section ", i, " (offset ", s.offset, ", size ", s.size, ") does not follow the ", end,
                     " bytes before it or does not fit into the file's ", view.file.size());
    }
    if (!all_zero(view.file.subspan(end, s.offset - end))) {
      return failure("the padding before section ", i, " (offset ", end, " to ", s.offset, ") is not zero");
    }
    end = s.offset + s.size;
  }
  if (end != view.file.size()) return failure("the file has ", view.file.size() - end, " bytes after its last section");
  return {};
}

Status check_digests(const ArtifactView& view, const ReadOptions& options) {
  for (size_t i = 0; i < view.sections.size(); ++i) {
    const SectionEntry& section = view.sections[i];
    if (!options.digests && section.kind != SectionKind::manifest) continue;
    if (digest_section(view.section(i), options.threads) != section.digest) {
      return failure("section ", i, " (", name_of(section.kind), ", ", section.size,
                     " bytes) is damaged: its digest does not match");
    }
  }
  return {};
}

Status open_manifest(ArtifactView& view) {
  const std::span<const uint8_t> bytes = view.section(0);
  if (bytes.size() > kMaxManifestBytes || bytes.size() < 8) {
    return failure("the manifest has ", bytes.size(), " bytes; 8 to ", kMaxManifestBytes, " are possible");
  }
  // A table takes at least 8 bytes (itself and the offset that leads to it), unless tables are shared. The writer never
  // shares tables, and with shared tables the check could take forever.
  flatbuffers::Verifier verifier(bytes.data(), bytes.size(), 64, flatbuffers::uoffset_t(bytes.size() / 8 + 16));
  if (!fb::VerifyManifestBuffer(verifier))
    return failure("the manifest is not a well-formed FlatBuffer of this schema");
  view.manifest = fb::GetManifest(bytes.data());
  return {};
}

}  // namespace

Status read_artifact(std::span<const uint8_t> bytes, ArtifactView& view, const ReadOptions& options) {
  view = {};
  view.file = bytes;
  if (bytes.data() == nullptr && !bytes.empty())
    return failure("the artifact has ", bytes.size(), " bytes at a null pointer");
  if (reinterpret_cast<uintptr_t>(bytes.data()) % 8 != 0)
    return failure("the artifact's bytes must be 8-byte aligned in memory");
  if (Status status = read_section_table(bytes, view); !status.ok()) return status;
  if (Status status = check_layout(view); !status.ok()) return status;
  if (Status status = check_digests(view, options); !status.ok()) return status;
  return open_manifest(view);
}

}  // namespace gart
