// A file in memory, for parsers that take a path.
#pragma once

#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <span>
#include <string>

namespace gcg::fuzz {

class InputFile {
 public:
  explicit InputFile(std::span<const uint8_t> bytes) : number_(memfd_create("input", MFD_CLOEXEC)) {
    if (number_ < 0 || write(number_, bytes.data(), bytes.size()) != static_cast<ssize_t>(bytes.size())) std::abort();
  }
  ~InputFile() { close(number_); }
  InputFile(const InputFile&) = delete;
  InputFile& operator=(const InputFile&) = delete;

  std::string path() const { return "/proc/self/fd/" + std::to_string(number_); }

 private:
  int number_;
};

}  // namespace gcg::fuzz
