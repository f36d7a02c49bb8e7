#include "artifact_schema/digest.h"

#include <algorithm>
#include <cstring>
#include <thread>
#include <vector>

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace gart {
namespace {

Digest canonical(XXH128_hash_t hash) {
  XXH128_canonical_t bytes;
  XXH128_canonicalFromHash(&bytes, hash);
  Digest digest;
  std::memcpy(digest.data(), bytes.digest, sizeof(digest));
  return digest;
}

void digest_chunks(std::span<const uint8_t> bytes, size_t begin, size_t end, Digest* digests) {
  for (size_t i = begin; i < end; ++i) {
    auto chunk = bytes.subspan(i * kDigestChunk, std::min<uint64_t>(kDigestChunk, bytes.size() - i * kDigestChunk));
    digests[i] = canonical(XXH3_128bits(chunk.data(), chunk.size()));
  }
}

}  // namespace

Digest digest_section(std::span<const uint8_t> bytes, int threads) {
  constexpr size_t kChunksPerThread = 8;  // with fewer chunks, starting a thread costs more than it saves
  const size_t chunks = (bytes.size() + kDigestChunk - 1) / kDigestChunk;
  std::vector<Digest> digests(chunks);
  const size_t workers = std::clamp<size_t>(chunks / kChunksPerThread, 1, std::max(threads, 1));
  std::vector<std::thread> pool;
  for (size_t w = 1; w < workers; ++w) {
    pool.emplace_back(digest_chunks, bytes, chunks * w / workers, chunks * (w + 1) / workers, digests.data());
  }
  digest_chunks(bytes, 0, chunks / workers, digests.data());
  for (std::thread& worker : pool) worker.join();
  return canonical(XXH3_128bits(digests.data(), digests.size() * sizeof(Digest)));
}

Digest digest_header(const Prologue& prologue, std::span<const SectionEntry> sections) {
  std::vector<uint8_t> bytes(kPrologueDigestedBytes + sections.size_bytes());
  std::memcpy(bytes.data(), &prologue, kPrologueDigestedBytes);
  if (!sections.empty()) std::memcpy(bytes.data() + kPrologueDigestedBytes, sections.data(), sections.size_bytes());
  return canonical(XXH3_128bits(bytes.data(), bytes.size()));
}

}  // namespace gart
