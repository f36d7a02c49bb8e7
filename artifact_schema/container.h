// The outermost layer of a .gart file: the positions and the digests of its sections. All numbers are little-endian.
//
//   offset 0   Prologue                              64 bytes
//          64  SectionEntry[section_count]           48 bytes each
//              manifest                              FlatBuffers, gart.fbs
//              code, one section per CPU target      aligned to 64 KiB, so that it can be mapped executable
//              weights                               aligned to 64 KiB
//              assembly, of models cut for fleets    FlatBuffers, assembly.fbs
//
// Sections follow each other in table order and tile the file. Each begins at the first multiple of its alignment after
// the end of the previous one, the bytes between are zero, and the file ends where the last section ends. Therefore
// every bit of the file is either digested, required to be zero, or compared (magic, version, the digests themselves).
#pragma once

#include <array>
#include <bit>
#include <cstdint>

namespace gart {

static_assert(std::endian::native == std::endian::little, "the container is read and written in place");

/// As in PNG: a byte with the high bit set, the name, and line ends that a text-mode transfer would change.
inline constexpr std::array<uint8_t, 8> kMagic = {0x89, 'G', 'A', 'R', 'T', '\r', '\n', 0x1a};
inline constexpr uint16_t kFormatMajor = 2;
inline constexpr uint16_t kFormatMinor = 0;

inline constexpr uint64_t kManifestAlignment = 64;
inline constexpr uint64_t kRawAlignment = 64 << 10;  ///< a multiple of every page size in use
inline constexpr uint32_t kMaxSections = 1024;
inline constexpr uint64_t kMaxManifestBytes = (uint64_t{1} << 31) - 1;  ///< FlatBuffers offsets are 32-bit signed

/// The digest algorithm of the sections. The file names it, so that a signature can require a cryptographic one later.
enum class DigestAlgorithm : uint32_t {
  xxh3_128_tree =
      1,  ///< XXH3-128 of the XXH3-128 digests of the consecutive 1 MiB chunks (the last one may be shorter)
};

using Digest = std::array<uint8_t, 16>;  ///< big-endian, as XXH128_canonicalFromHash writes it

enum class SectionKind : uint32_t { manifest = 1, code = 2, weights = 3, assembly = 4 };

struct SectionEntry {
  SectionKind kind;
  uint32_t reserved;   // 0
  uint64_t offset;     // from the start of the file
  uint64_t size;       // bytes, without padding
  uint64_t alignment;  // power of two, at least 64
  Digest digest;
};
static_assert(sizeof(SectionEntry) == 48);

struct Prologue {
  std::array<uint8_t, 8> magic;
  uint16_t format_major;
  uint16_t format_minor;
  DigestAlgorithm digest_algorithm;
  uint64_t total_bytes;           // size of the whole file
  uint64_t section_table_offset;  // 64
  uint32_t section_count;
  std::array<uint8_t, 12> reserved;  // 0
  Digest digest;                     // digest of the 48 bytes above, followed by the section table
};
static_assert(sizeof(Prologue) == 64);
inline constexpr uint64_t kPrologueDigestedBytes = 48;

/// Rounds `value` up to a multiple of `alignment`, a power of two. The caller makes sure that it does not overflow.
constexpr uint64_t align_up(uint64_t value, uint64_t alignment) { return (value + alignment - 1) & ~(alignment - 1); }

}  // namespace gart
