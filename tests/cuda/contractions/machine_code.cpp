#include "tests/cuda/contractions/machine_code.h"

#include <elf.h>

#include <cstring>
#include <string>

namespace gcg::test {

std::vector<Instruction> instructions_of(const std::vector<uint8_t>& cubin) {
  Elf64_Ehdr header;
  std::memcpy(&header, cubin.data(), sizeof header);
  const auto section = [&](unsigned i) {
    Elf64_Shdr s;
    std::memcpy(&s, cubin.data() + header.e_shoff + i * sizeof s, sizeof s);
    return s;
  };
  const Elf64_Shdr names = section(header.e_shstrndx);
  std::vector<Instruction> out;
  for (unsigned i = 0; i < header.e_shnum; ++i) {
    const Elf64_Shdr s = section(i);
    if (std::string(reinterpret_cast<const char*>(cubin.data() + names.sh_offset + s.sh_name)).rfind(".text.", 0) != 0)
      continue;
    for (uint64_t at = 0; at + 16 <= s.sh_size; at += 16)
      std::memcpy(&out.emplace_back(), cubin.data() + s.sh_offset + at, sizeof(Instruction));
  }
  return out;
}

}  // namespace gcg::test
