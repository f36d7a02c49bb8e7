#include "runtime/cuda/driver/symbols.h"

#include <dlfcn.h>

#include <cstring>

namespace gart::cuda {

const char* find_symbols(void* library, const char* names, void* table) {
  void** function = static_cast<void**>(table);
  for (; *names != '\0'; names += std::strlen(names) + 1) {
    const bool optional = *names == '?';
    *function = dlsym(library, names + (optional ? 1 : 0));
    if (*function++ == nullptr && !optional) return names;
  }
  return nullptr;
}

}  // namespace gart::cuda
