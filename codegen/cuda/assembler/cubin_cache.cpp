#include "codegen/cuda/assembler/cubin_cache.h"

#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <sstream>

#include "codegen/cuda/text/text_hash.h"
#include "compiler/support/error.h"

namespace gcg::cuda {
namespace {

constexpr std::string_view kMagic = "gcc-graph program 2\n";
constexpr size_t kHashDigits = 32;

/// Hash of an entry's content and its key. So an entry that is stored under another key is invalid.
std::string entry_hash(const std::string& key, std::string_view payload) {
  return hash_text(key + std::string(payload));
}

/// the file: magic, hash of key and rest, size of the code in 8 bytes, code, log
std::string to_file(const std::string& key, const AssembledProgram& program) {
  const uint64_t size = program.code.size();
  std::string payload(sizeof size, '\0');
  std::memcpy(payload.data(), &size, sizeof size);
  payload.append(reinterpret_cast<const char*>(program.code.data()), program.code.size());
  payload += program.log;
  return std::string(kMagic) + entry_hash(key, payload) + payload;
}

std::optional<AssembledProgram> from_file(const std::string& key, std::string_view bytes) {
  uint64_t size = 0;
  if (!bytes.starts_with(kMagic) || bytes.size() < kMagic.size() + kHashDigits + sizeof size) return std::nullopt;
  const std::string_view hash = bytes.substr(kMagic.size(), kHashDigits);
  std::string_view payload = bytes.substr(kMagic.size() + kHashDigits);
  if (entry_hash(key, payload) != hash) return std::nullopt;
  std::memcpy(&size, payload.data(), sizeof size);
  payload.remove_prefix(sizeof size);
  if (size > payload.size()) return std::nullopt;
  const auto* code = reinterpret_cast<const uint8_t*>(payload.data());
  return AssembledProgram{{code, code + size}, std::string(payload.substr(size))};
}

}  // namespace

std::filesystem::path CubinCache::default_folder() {
  const char* cache = std::getenv("XDG_CACHE_HOME");
  if (cache != nullptr && *cache == '/') return std::filesystem::path(cache) / "gcc-graph";
  const char* home = std::getenv("HOME");
  if (home != nullptr && *home == '/') return std::filesystem::path(home) / ".cache" / "gcc-graph";
  return {};
}

std::optional<AssembledProgram> CubinCache::find(const std::string& key) const {
  if (folder_.empty()) return std::nullopt;
  std::ifstream file(path(key), std::ios::binary);
  std::ostringstream bytes;  // a stringstream records read errors; iterators over the file would throw them
  if (!(bytes << file.rdbuf())) return std::nullopt;
  return from_file(key, bytes.str());
}

void CubinCache::put(const std::string& key, const AssembledProgram& program) const {
  if (folder_.empty()) return;
  static std::atomic<int> counter{0};
  const std::filesystem::path target = path(key);
  std::error_code error;
  std::filesystem::create_directories(target.parent_path(), error);
  std::filesystem::path temporary = target;
  temporary += concat(".", getpid(), ".", counter++);
  std::ofstream file(temporary, std::ios::binary);
  const std::string bytes = to_file(key, program);
  file.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  file.close();
  if (file) std::filesystem::rename(temporary, target, error);
  if (!file || error) std::filesystem::remove(temporary, error);
}

}  // namespace gcg::cuda
