// Read-only memory-mapped files.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>

namespace gcg {

/// The bytes of a file, mapped as long as the object lives.
class MappedFile {
 public:
  /// Opens any regular file. Throws CompileError: "cannot read model.onnx: No such file or directory".
  static std::shared_ptr<const MappedFile> open(const std::string& path);
  /// Takes ownership of an open descriptor of a regular file of `size` bytes; `path` is for messages.
  static std::shared_ptr<const MappedFile> adopt(int descriptor, int64_t size, const std::string& path);
  ~MappedFile();
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;

  std::span<const uint8_t> bytes() const { return {data_, static_cast<size_t>(size_)}; }

 private:
  MappedFile(const uint8_t* data, int64_t size) : data_(data), size_(size) {}
  const uint8_t* data_;
  int64_t size_;
};

}  // namespace gcg
