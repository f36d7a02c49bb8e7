#include "tools/lazy/disk_cache.h"

#include <dlfcn.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <fstream>

#include "artifact_schema/digest.h"
#include "compiler/gir/gir.h"
#include "compiler/support/error.h"

namespace gcc_graph::lazy {
namespace {

namespace fs = std::filesystem;

/// Identifies the build of the compiler by the file that contains it.
std::string build_stamp() {
  Dl_info info{};
  struct stat file{};
  if (dladdr(reinterpret_cast<const void*>(&build_stamp), &info) == 0 || stat(info.dli_fname, &file) != 0) return "";
  return gcg::concat(file.st_size, " ", file.st_mtim.tv_sec, ".", file.st_mtim.tv_nsec);
}

std::string hex(const void* bytes, size_t size) {
  std::string out;
  for (size_t i = 0; i < size; ++i)
    for (const int shift : {4, 0}) out += "0123456789abcdef"[(static_cast<const uint8_t*>(bytes)[i] >> shift) & 15];
  return out;
}

}  // namespace

fs::path DiskCache::default_folder() {
  const auto absolute = [](const char* name) -> const char* {
    const char* value = std::getenv(name);
    return value != nullptr && *value == '/' ? value : nullptr;
  };
  if (const char* folder = std::getenv("GCC_GRAPH_LAZY_CACHE")) return folder;
  if (const char* cache = absolute("XDG_CACHE_HOME")) return fs::path(cache) / "gcc-graph" / "lazy";
  if (const char* home = absolute("HOME")) return fs::path(home) / ".cache" / "gcc-graph" / "lazy";
  return {};
}

std::string DiskCache::key(const gcg::Graph& graph, const std::string& target) const {
  if (folder_.empty()) return {};
  static const std::string stamp = build_stamp();
  const std::string text = gcg::concat(stamp, "\n", target, "\n", gcg::print_graph(graph));
  const gart::Digest digest = gart::digest_section({reinterpret_cast<const uint8_t*>(text.data()), text.size()});
  return hex(&digest, sizeof digest);
}

std::optional<std::vector<uint8_t>> DiskCache::find(const std::string& key) const {
  if (folder_.empty()) return std::nullopt;
  std::ifstream file(path(key), std::ios::binary | std::ios::ate);
  if (!file) return std::nullopt;
  std::vector<uint8_t> bytes(static_cast<size_t>(std::max<std::streamoff>(0, file.tellg())));
  file.seekg(0);
  if (!file.read(reinterpret_cast<char*>(bytes.data()), static_cast<std::streamsize>(bytes.size())))
    return std::nullopt;
  return bytes;
}

void DiskCache::put(const std::string& key, const std::vector<uint8_t>& artifact) const {
  if (folder_.empty()) return;
  static std::atomic<int> counter{0};
  if (counter % 64 == 0) make_room();
  const fs::path target = path(key);
  std::error_code error;
  fs::create_directories(target.parent_path(), error);
  fs::path temporary = target;
  temporary += gcg::concat(".", getpid(), ".", counter++);
  std::ofstream file(temporary, std::ios::binary);
  file.write(reinterpret_cast<const char*>(artifact.data()), static_cast<std::streamsize>(artifact.size()));
  file.close();
  if (file) fs::rename(temporary, target, error);
  if (!file || error) fs::remove(temporary, error);
}

void DiskCache::make_room() const {
  struct Found {
    fs::file_time_type time;
    int64_t bytes;
    fs::path path;
  };
  std::vector<Found> all;
  std::error_code error;
  int64_t total = 0;
  for (fs::recursive_directory_iterator it(folder_, error), end; !error && it != end; it.increment(error)) {
    std::error_code gone;
    if (!it->is_regular_file(gone) || gone) continue;
    all.push_back({it->last_write_time(gone), static_cast<int64_t>(it->file_size(gone)), it->path()});
    total += all.back().bytes;
  }
  std::sort(all.begin(), all.end(), [](const Found& a, const Found& b) { return a.time < b.time; });
  for (const Found& found : all) {
    if (total <= max_bytes_) return;
    fs::remove(found.path, error);
    total -= found.bytes;
  }
}

}  // namespace gcc_graph::lazy
