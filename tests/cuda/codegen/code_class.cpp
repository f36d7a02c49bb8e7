#include "tests/cuda/codegen/code_class.h"

#include <elf.h>

#include <cstring>

#include "compiler/support/error.h"

namespace gcg::test {

std::string code_class(const Target& target) { return target.is_ptx() ? target.name : concat("sm_", target.sm); }

std::map<std::string, std::vector<uint8_t>> functions_of(const std::vector<uint8_t>& cubin) {
  std::map<std::string, std::vector<uint8_t>> functions;
  const auto read = [&](auto& to, uint64_t at) {
    GCG_CHECK(at + sizeof to <= cubin.size(), "a cubin of ", cubin.size(), " bytes has no ", at);
    std::memcpy(&to, cubin.data() + at, sizeof to);
  };
  Elf64_Ehdr header;
  Elf64_Shdr names, section;
  read(header, 0);
  read(names, header.e_shoff + header.e_shstrndx * sizeof section);
  for (uint64_t i = 0; i < header.e_shnum; ++i) {
    read(section, header.e_shoff + i * sizeof section);
    const std::string name = reinterpret_cast<const char*>(cubin.data() + names.sh_offset + section.sh_name);
    if (!name.starts_with(".text")) continue;
    const auto begin = cubin.begin() + static_cast<std::ptrdiff_t>(section.sh_offset);
    functions[name].assign(begin, begin + static_cast<std::ptrdiff_t>(section.sh_size));
  }
  return functions;
}

}  // namespace gcg::test
