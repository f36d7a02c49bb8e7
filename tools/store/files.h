// The store's files beside its database: artifacts named by their digests, and the lock of writers.
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

namespace gart::store {

/// A file descriptor with an exclusive lock, which the kernel releases if the process dies.
class FileLock {
 public:
  /// Waits for the lock. Creates the file.
  explicit FileLock(const std::string& path);
  ~FileLock();
  FileLock(const FileLock&) = delete;
  FileLock& operator=(const FileLock&) = delete;

 private:
  int descriptor_;
};

/// A file in memory, for reading.
class FileMap {
 public:
  explicit FileMap(const std::string& path);
  ~FileMap();
  FileMap(const FileMap&) = delete;
  FileMap& operator=(const FileMap&) = delete;
  std::span<const uint8_t> bytes() const { return bytes_; }

 private:
  std::span<const uint8_t> bytes_;
};

/// A copy of a file that becomes an object of the store, or is removed. It is locked, so that clean_incoming() keeps
/// it.
class Incoming {
 public:
  /// Copies `from` to a new file in `folder`, and writes it to the disk. Shares blocks if the file system supports it.
  Incoming(const std::string& from, const std::string& folder);
  ~Incoming();
  Incoming(const Incoming&) = delete;
  Incoming& operator=(const Incoming&) = delete;
  const std::string& path() const { return path_; }
  /// Moves the copy to `target`, and replaces an existing file.
  void move_to(const std::string& target);

 private:
  std::string path_;
  int descriptor_ = -1;
  bool is_moved_ = false;
};

/// "5f0c...": the tree digest of the bytes, XXH3-128, as 32 hexadecimal digits.
std::string digest_text(std::span<const uint8_t> bytes);
/// Writes the folder's entries to the disk.
void sync_folder(const std::string& path);
/// Removes copies in `folder` whose process died. Returns their names.
std::vector<std::string> clean_incoming(const std::string& folder, bool removes);

}  // namespace gart::store
