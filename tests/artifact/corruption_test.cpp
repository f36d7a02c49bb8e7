// Damaged files: the reader detects every flipped bit and every truncation.
#include <gtest/gtest.h>

#include <cstring>

#include "artifact_schema/digest.h"
#include "artifact_schema/reader.h"
#include "artifact_schema/verify.h"
#include "tests/artifact/artifact_builder.h"

namespace gart {
namespace {

Status read_and_verify(std::span<const uint8_t> bytes) {
  ArtifactView view;
  Status status = read_artifact(bytes, view);
  return status.ok() ? verify_artifact(view) : status;
}

/// All sections, code included, with as little padding as possible.
std::vector<uint8_t> compact_artifact(uint64_t alignment = 64) {
  test::ArtifactBuilder builder = test::small_artifact();
  builder.content.code.push_back(std::vector<uint8_t>(100, 0xc3));
  return builder.write({.raw_alignment = alignment});
}

TEST(Corruption, SoundFileIsAccepted) {
  EXPECT_EQ(read_and_verify(compact_artifact()).message, "");
  EXPECT_EQ(read_and_verify(compact_artifact(kRawAlignment)).message, "");
}

TEST(Corruption, EveryFlippedBitIsRejected) {
  std::vector<uint8_t> bytes = compact_artifact();
  ASSERT_LT(bytes.size(), 8192u);
  for (size_t bit = 0; bit < bytes.size() * 8; ++bit) {
    bytes[bit / 8] ^= uint8_t(1 << bit % 8);
    ASSERT_NE(read_and_verify(bytes).message, "") << "bit " << bit;
    bytes[bit / 8] ^= uint8_t(1 << bit % 8);
  }
}

TEST(Corruption, EveryTruncationIsRejected) {
  const std::vector<uint8_t> bytes = compact_artifact();
  for (size_t size = 0; size < bytes.size(); ++size) {
    ASSERT_NE(read_and_verify(std::span(bytes).first(size)).message, "") << size;
  }
}

TEST(Corruption, FlippedBitsInPaddingAreRejected) {
  std::vector<uint8_t> bytes = compact_artifact(kRawAlignment);
  for (size_t byte = 0; byte < bytes.size(); byte += 61) {
    bytes[byte] ^= uint8_t(1 << byte % 8);
    ASSERT_NE(read_and_verify(bytes).message, "") << byte;
    bytes[byte] ^= uint8_t(1 << byte % 8);
  }
}

TEST(Corruption, TrailingBytesAreRejected) {
  std::vector<uint8_t> bytes = compact_artifact();
  bytes.resize(bytes.size() + 8);
  EXPECT_NE(read_and_verify(bytes).message.find("cut short or appended to"), std::string::npos);
}

/// An artifact that a test changes as an attacker would: its digests match the changed bytes.
struct Forgery {
  std::vector<uint8_t> bytes = compact_artifact();
  Prologue& prologue() { return *reinterpret_cast<Prologue*>(bytes.data()); }
  std::span<SectionEntry> sections() {
    return {reinterpret_cast<SectionEntry*>(bytes.data() + sizeof(Prologue)), prologue().section_count};
  }
  Status sign_and_read() {
    for (SectionEntry& section : sections()) {
      if (section.offset <= bytes.size() && section.size <= bytes.size() - section.offset) {
        section.digest = digest_section(std::span(bytes).subspan(section.offset, section.size));
      }
    }
    prologue().digest = digest_header(prologue(), sections());
    return read_and_verify(bytes);
  }
};

void expect_rejected(Forgery& forgery, const char* part) {
  const Status status = forgery.sign_and_read();
  EXPECT_NE(status.message.find(part), std::string::npos) << "'" << status.message << "' lacks '" << part << "'";
}

TEST(Corruption, ForgedLayoutsAreRejected) {
  {
    Forgery f;
    EXPECT_EQ(f.sign_and_read().message, "");
  }
  {
    Forgery f;
    f.prologue().format_major = 1;
    expect_rejected(f, "the file has format 1.0, this runtime reads format 2.0");
  }
  {
    Forgery f;
    f.prologue().format_minor = kFormatMinor + 1;
    expect_rejected(f, ("format 2." + std::to_string(kFormatMinor + 1)).c_str());
  }
  {
    Forgery f;
    f.prologue().digest_algorithm = DigestAlgorithm(9);
    expect_rejected(f, "digest algorithm 9");
  }
  {
    Forgery f;
    f.prologue().section_table_offset = 128;
    expect_rejected(f, "section table at 128");
  }
  {
    Forgery f;
    f.prologue().reserved[3] = 1;
    expect_rejected(f, "reserved bytes");
  }
  {
    Forgery f;
    f.sections()[1].kind = SectionKind(17);
    expect_rejected(f, "kind 17");
  }
  {
    Forgery f;
    f.sections()[1].kind = SectionKind::manifest;
    expect_rejected(f, "one manifest");
  }
  {
    Forgery f;
    f.sections()[1].kind = SectionKind::weights;
    expect_rejected(f, "at most one");
  }
  {
    Forgery f;
    f.sections()[1].alignment = 96;
    expect_rejected(f, "alignment 96");
  }
  {
    Forgery f;
    f.sections()[1].offset += 64;
    expect_rejected(f, "does not follow");
  }
  {
    Forgery f;
    f.sections()[1].offset -= 64;
    expect_rejected(f, "does not follow");
  }
  {
    Forgery f;
    f.sections()[2].size += 1;
    expect_rejected(f, "does not fit");
  }
  {
    Forgery f;
    f.sections()[2].size = ~uint64_t{0};
    expect_rejected(f, "does not fit");
  }
  {
    Forgery f;
    f.sections()[2].size -= 1;
    expect_rejected(f, "after its last section");
  }
  {
    Forgery f;
    f.bytes[f.sections()[1].offset + f.sections()[1].size] = 1;
    expect_rejected(f, "padding");
  }
}

/// Flips every bit of the manifest and makes the digests valid again. The checks may accept a harmless change (a name),
/// but they may not crash or read outside the file; the asan-ubsan build detects such reads.
TEST(Corruption, FlippedManifestBitsWithValidDigestsDoNoHarm) {
  Forgery forgery;
  const SectionEntry manifest = forgery.sections()[0];
  size_t rejected = 0;
  for (size_t bit = 0; bit < manifest.size * 8; ++bit) {
    uint8_t& byte = forgery.bytes[manifest.offset + bit / 8];
    byte ^= uint8_t(1 << bit % 8);
    rejected += !forgery.sign_and_read().ok();
    byte ^= uint8_t(1 << bit % 8);
  }
  EXPECT_GT(rejected, manifest.size);
}

}  // namespace
}  // namespace gart
