#include "tests/cuda/sim/engine/module.h"

#include <dlfcn.h>
#include <elf.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>

#include "tests/cuda/sim/engine/block.h"

namespace gart_sim {

size_t LoadedModule::size_of(const void* image) {
  Elf64_Ehdr header;
  memcpy(&header, image, sizeof header);
  if (memcmp(header.e_ident, ELFMAG, SELFMAG) != 0) return 0;
  size_t size = header.e_shoff + size_t{header.e_shnum} * header.e_shentsize;
  for (unsigned i = 0; i < header.e_shnum; ++i) {
    Elf64_Shdr section;
    memcpy(&section, static_cast<const char*>(image) + header.e_shoff + i * sizeof section, sizeof section);
    if (section.sh_type != SHT_NOBITS) size = std::max(size, static_cast<size_t>(section.sh_offset + section.sh_size));
  }
  return size;
}

namespace {
// The size of the module's thread-local data, without the 16 bytes that the shim adds.
unsigned static_shared_of(std::string_view bytes) {
  Elf64_Ehdr header;
  memcpy(&header, bytes.data(), sizeof header);
  for (unsigned i = 0; i < header.e_phnum; ++i) {
    Elf64_Phdr part;
    memcpy(&part, bytes.data() + header.e_phoff + i * sizeof part, sizeof part);
    if (part.p_type == PT_TLS) return static_cast<unsigned>(part.p_memsz - 16);
  }
  return 0;
}
}  // namespace

std::unique_ptr<LoadedModule> LoadedModule::load(std::string_view bytes, std::string& error) {
  std::unique_ptr<LoadedModule> loaded(new LoadedModule);
  loaded->file_ = memfd_create("gart-sim-module", MFD_CLOEXEC);
  if (loaded->file_ < 0 || write(loaded->file_, bytes.data(), bytes.size()) != static_cast<ssize_t>(bytes.size())) {
    error = "cannot write the module to memory";
    return nullptr;
  }
  const std::string path = "/proc/self/fd/" + std::to_string(loaded->file_);
  loaded->library_ = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!loaded->library_) {
    error = dlerror();
    return nullptr;
  }
  using Entry = const Module* (*)(const Hooks*);
  const auto entry = reinterpret_cast<Entry>(dlsym(loaded->library_, "gart_sim_module"));
  loaded->module_ = entry ? entry(&hooks()) : nullptr;
  if (!loaded->module_ || loaded->module_->abi != kAbi) {
    error = "not a module of this simulation's version";
    return nullptr;
  }
  loaded->static_shared_bytes_ = static_shared_of(bytes);
  return loaded;
}

LoadedModule::~LoadedModule() {
  if (library_) dlclose(library_);
  if (file_ >= 0) close(file_);
}

const Kernel* LoadedModule::find(std::string_view name) const {
  for (unsigned i = 0; i < module_->kernel_count; ++i) {
    if (name == module_->kernels[i].name) return &module_->kernels[i];
  }
  return nullptr;
}

}  // namespace gart_sim
