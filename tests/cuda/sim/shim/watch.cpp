// Watches the loads and stores of a module. It is compiled once and is part of every module.
//
// With -fsanitize=thread the compiler announces every load and store by a call of __tsan_readN or __tsan_writeN, and
// with -fsanitize=alignment every pointer that is not aligned for its type. Sanitizer libraries are not linked; this
// file defines the functions instead. One comparison filters out accesses to the stack and to the module's own data.
#include "tests/cuda/sim/shim/module_abi.h"

namespace gart_sim {
const Hooks* hooks;
State state;
namespace {

// Sets at most 16 bits at an offset of at most 7. The bitmap has spare bytes at its end.
inline bool mark(const Window& window, Size address, Size bytes) {
  const Size offset = address - window.begin;
  if (offset >= window.bytes || window.bytes - offset < bytes) return false;
  unsigned word;
  __builtin_memcpy(&word, window.bits + offset / 8, 4);
  word |= ((1u << bytes) - 1u) << (offset & 7u);
  __builtin_memcpy(window.bits + offset / 8, &word, 4);
  window.chunks[offset / kChunk] = 1;
  return true;
}

inline bool is_watched(Size address) {
  return address - state.device_begin < state.device_bytes || address - state.shared_begin < state.shared_bytes ||
         address - state.static_shared_begin < state.static_shared_bytes;
}

inline void touch(const void* p, Size bytes, Access access) {
  const Size address = reinterpret_cast<Size>(p);
  if (!is_watched(address)) return;
  if (!state.is_early && mark(access == Access::read ? state.read : state.written, address, bytes)) return;
  hooks->touch(p, bytes, access);
}

/// Reports an access to more bytes than mark() accepts.
inline void touch_range(const void* p, Size bytes, Access access) {
  if (is_watched(reinterpret_cast<Size>(p))) hooks->touch(p, bytes, access);
}

}  // namespace

void touch_atomic(const void* address, Size bytes);
void touch_atomic(const void* address, Size bytes) { touch_range(address, bytes, Access::atomic); }

}  // namespace gart_sim

using gart_sim::Access;

// The compiler's description of a misaligned access.
struct Mismatch {
  const char* file;
  unsigned line, column;
  const void* type;
  unsigned char log_alignment, kind;
};

#define GART_SIM_WATCH(bytes)                                                             \
  void __tsan_read##bytes(void* p) { gart_sim::touch(p, bytes, Access::read); }           \
  void __tsan_write##bytes(void* p) { gart_sim::touch(p, bytes, Access::write); }         \
  void __tsan_unaligned_read##bytes(void* p) { gart_sim::touch(p, bytes, Access::read); } \
  void __tsan_unaligned_write##bytes(void* p) { gart_sim::touch(p, bytes, Access::write); }

#pragma GCC diagnostic ignored "-Wmissing-declarations"
extern "C" {
// clang-format off
GART_SIM_WATCH(1)
GART_SIM_WATCH(2)
GART_SIM_WATCH(4)
GART_SIM_WATCH(8)
GART_SIM_WATCH(16)
// clang-format on
void __tsan_read_range(void* p, gart_sim::Size bytes) { gart_sim::touch_range(p, bytes, Access::read); }
void __tsan_write_range(void* p, gart_sim::Size bytes) { gart_sim::touch_range(p, bytes, Access::write); }
void __tsan_init() {}
void __tsan_func_entry(void*) {}
void __tsan_func_exit() {}
void __ubsan_handle_type_mismatch_v1(void* data, void* address) {
  const Mismatch& mismatch = *static_cast<const Mismatch*>(data);
  gart_sim::hooks->misaligned(address, 1u << mismatch.log_alignment, {mismatch.file, static_cast<int>(mismatch.line)});
}
void cudaGraphSetConditional(unsigned long long handle, unsigned value) {
  gart_sim::hooks->set_conditional(handle, value);
}
}
