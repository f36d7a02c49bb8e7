#include "artifact_schema/writer.h"

#include <cstring>
#include <span>

#include "artifact_schema/digest.h"

namespace gart {
namespace {

struct Section {
  SectionKind kind;
  uint64_t alignment;
  std::span<const uint8_t> bytes;
};

/// The sections after the manifest, in file order; notes their numbers in the manifest.
std::vector<Section> raw_sections(ArtifactContent& content, uint64_t alignment) {
  std::vector<Section> sections;
  int number = 1;  // the manifest is section 0
  for (size_t i = 0; i < content.manifest.targets.size(); ++i) {
    content.manifest.targets[i]->code_section = -1;
    if (i >= content.code.size() || content.code[i].empty()) continue;
    content.manifest.targets[i]->code_section = number++;
    sections.push_back({SectionKind::code, alignment, content.code[i]});
  }
  content.manifest.weights_section = content.weights.empty() ? -1 : number;
  if (!content.weights.empty()) sections.push_back({SectionKind::weights, alignment, content.weights});
  return sections;
}

std::vector<SectionEntry> lay_out(std::span<const Section> sections) {
  std::vector<SectionEntry> table;
  uint64_t end = sizeof(Prologue) + sections.size() * sizeof(SectionEntry);
  for (const Section& section : sections) {
    const uint64_t offset = align_up(end, section.alignment);
    table.push_back({section.kind, 0, offset, section.bytes.size(), section.alignment, digest_section(section.bytes)});
    end = offset + section.bytes.size();
  }
  return table;
}

}  // namespace

std::vector<uint8_t> write_artifact(ArtifactContent content, const WriteOptions& options) {
  std::vector<Section> sections = raw_sections(content, options.raw_alignment);
  flatbuffers::FlatBufferBuilder builder;
  fb::FinishManifestBuffer(builder, fb::Manifest::Pack(builder, &content.manifest));
  const Section manifest = {SectionKind::manifest, kManifestAlignment, {builder.GetBufferPointer(), builder.GetSize()}};
  sections.insert(sections.begin(), manifest);

  const std::vector<SectionEntry> table = lay_out(sections);
  Prologue prologue = {};
  prologue.magic = kMagic;
  prologue.format_major = kFormatMajor;
  prologue.format_minor = kFormatMinor;
  prologue.digest_algorithm = DigestAlgorithm::xxh3_128_tree;
  prologue.total_bytes = table.back().offset + table.back().size;
  prologue.section_table_offset = sizeof(Prologue);
  prologue.section_count = static_cast<uint32_t>(table.size());
  prologue.digest = digest_header(prologue, table);

  std::vector<uint8_t> file(prologue.total_bytes);
  std::memcpy(file.data(), &prologue, sizeof(prologue));
  std::memcpy(file.data() + sizeof(prologue), table.data(), table.size() * sizeof(SectionEntry));
  for (size_t i = 0; i < table.size(); ++i) {
    if (table[i].size > 0) std::memcpy(file.data() + table[i].offset, sections[i].bytes.data(), table[i].size);
  }
  return file;
}

}  // namespace gart
