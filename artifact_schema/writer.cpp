#include "artifact_schema/writer.h"

#include <cstring>
#include <span>

#include "artifact_schema/digest.h"

namespace gart {
namespace {

struct Section {
  SectionKind kind;
  uint64_t alignment, size;
  std::vector<WeightPiece> pieces;  // of the section
};

Section section_of(SectionKind kind, uint64_t alignment, std::span<const uint8_t> bytes) {
  const auto copy = [bytes](std::span<uint8_t> to) { std::memcpy(to.data(), bytes.data(), bytes.size()); };
  return {kind, alignment, bytes.size(), {{0, bytes.size(), copy}}};
}

/// The sections after the manifest, in file order; stores their numbers in the manifest.
std::vector<Section> raw_sections(ArtifactContent& content, uint64_t alignment) {
  std::vector<Section> sections;
  int number = 1;  // the manifest is section 0
  for (size_t i = 0; i < content.manifest.targets.size(); ++i) {
    content.manifest.targets[i]->code_section = -1;
    if (i >= content.code.size() || content.code[i].empty()) continue;
    content.manifest.targets[i]->code_section = number++;
    sections.push_back(section_of(SectionKind::code, alignment, content.code[i]));
  }
  const bool in_pieces = content.weights.empty();
  const bool any = !in_pieces || content.weight_bytes > 0;
  content.manifest.weights_section = any ? number : -1;
  if (!any) return sections;
  sections.push_back(in_pieces ? Section{SectionKind::weights, alignment, content.weight_bytes, content.weight_pieces}
                               : section_of(SectionKind::weights, alignment, content.weights));
  return sections;
}

/// Entries without digests.
std::vector<SectionEntry> lay_out(std::span<const Section> sections) {
  std::vector<SectionEntry> table;
  uint64_t end = sizeof(Prologue) + sections.size() * sizeof(SectionEntry);
  for (const Section& section : sections) {
    const uint64_t offset = align_up(end, section.alignment);
    table.push_back({section.kind, 0, offset, section.size, section.alignment, {}});
    end = offset + section.size;
  }
  return table;
}

void write_section(const Section& section, std::span<uint8_t> to) {
  for (const WeightPiece& piece : section.pieces)
    if (piece.size > 0) piece.write(to.subspan(piece.offset, piece.size));
}

std::vector<uint8_t> write_sections(std::span<const Section> sections) {
  std::vector<SectionEntry> table = lay_out(sections);
  std::vector<uint8_t> file(table.back().offset + table.back().size);
  for (size_t i = 0; i < table.size(); ++i) {
    const std::span<uint8_t> place(file.data() + table[i].offset, table[i].size);
    write_section(sections[i], place);
    table[i].digest = digest_section(place);
  }
  Prologue prologue = {};
  prologue.magic = kMagic;
  prologue.format_major = kFormatMajor;
  prologue.format_minor = kFormatMinor;
  prologue.digest_algorithm = DigestAlgorithm::xxh3_128_tree;
  prologue.total_bytes = file.size();
  prologue.section_table_offset = sizeof(Prologue);
  prologue.section_count = static_cast<uint32_t>(table.size());
  prologue.digest = digest_header(prologue, table);
  std::memcpy(file.data(), &prologue, sizeof(prologue));
  std::memcpy(file.data() + sizeof(prologue), table.data(), table.size() * sizeof(SectionEntry));
  return file;
}

}  // namespace

std::vector<uint8_t> write_artifact(ArtifactContent content, const WriteOptions& options) {
  std::vector<Section> sections = raw_sections(content, options.raw_alignment);
  if (!content.assembly.empty())
    sections.push_back(section_of(SectionKind::assembly, kManifestAlignment, content.assembly));
  flatbuffers::FlatBufferBuilder builder;
  fb::FinishManifestBuffer(builder, fb::Manifest::Pack(builder, &content.manifest));
  sections.insert(sections.begin(), section_of(SectionKind::manifest, kManifestAlignment,
                                               {builder.GetBufferPointer(), builder.GetSize()}));

  return write_sections(sections);
}

}  // namespace gart
