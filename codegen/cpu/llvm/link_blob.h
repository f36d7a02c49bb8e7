// Links the objects of all kernels of a target into one position-independent blob.
//
// The blob holds only code and read-only data. It has no relocations left, and calls only functions that kernels fetch
// from their import table. It may be mapped at any multiple of 4096 (aarch64 addresses data by page).
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace gcg::cpu {

struct LinkedBlob {
  struct Function {
    uint64_t offset = 0;  // offset of the entry point
    uint64_t size = 0;    // bytes of the code and of the object's data
  };
  std::vector<uint8_t> bytes;
  std::vector<Function> functions;  // one per object
};

/// Each object (an ELF relocatable file) defines one function called `entry`, in its own section. It may define others
/// that later objects call by name. Equal objects share their bytes. Throws InternalError if an object has writable
/// data, an undefined symbol or a relocation that needs an absolute address.
LinkedBlob link_blob(const std::vector<std::span<const char>>& objects, const std::string& entry);

}  // namespace gcg::cpu
