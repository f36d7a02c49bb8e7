// The end of a module, behind the kernel's text: what watches its loads and stores, and the table of its kernels, which
// the simulated compiler fills in between GART_SIM_MODULE_BEGIN and GART_SIM_MODULE_END.
//
// With -fsanitize=thread the compiler announces every load and store by a call of __tsan_readN or __tsan_writeN, and
// with -fsanitize=alignment every pointer that is not aligned for its type. Sanitizer libraries are not linked: the
// functions are these. One comparison sends accesses to the stack and to the module's own data away.
#undef threadIdx
#undef blockIdx
#undef blockDim
#undef gridDim
#undef alignas

namespace gart_sim {
__attribute__((visibility("hidden"))) const Hooks* hooks;
__attribute__((visibility("hidden"))) State state;
alignas(16) static __thread char thread_local_anchor[16];

#define GART_SIM_UNWATCHED __attribute__((no_sanitize("thread"), no_sanitize("undefined")))
#define GART_SIM_INLINE_UNWATCHED GART_SIM_UNWATCHED inline __attribute__((always_inline))

GART_SIM_INLINE_UNWATCHED static bool mark(const Window& window, Size address, Size bytes) {
  const Size offset = address - window.begin;
  if (offset >= window.bytes || window.bytes - offset < bytes) return false;
  unsigned word;  // At most 16 bits at an offset of at most 7: the bitmap has 4 bytes to spare at its end.
  __builtin_memcpy(&word, window.bits + offset / 8, 4);
  word |= ((1u << bytes) - 1u) << (offset & 7u);
  __builtin_memcpy(window.bits + offset / 8, &word, 4);
  window.chunks[offset / kChunk] = 1;
  return true;
}

GART_SIM_INLINE_UNWATCHED static void touch(const void* p, Size bytes, Access access) {
  const Size address = (Size)p;
  if (address - state.device_begin < state.device_bytes) {
    if (mark(access == Access::read ? state.read : state.written, address, bytes)) return;
  } else if (address - state.shared_begin >= state.shared_bytes &&
             address - state.static_shared_begin >= state.static_shared_bytes) {
    return;
  }
  hooks->touch(p, bytes, access);
}

GART_SIM_UNWATCHED void touch_atomic(const void* address, Size bytes) {
  if ((Size)address - state.device_begin < state.device_bytes ||
      (Size)address - state.shared_begin < state.shared_bytes ||
      (Size)address - state.static_shared_begin < state.static_shared_bytes) {
    hooks->touch(address, bytes, Access::atomic);
  }
}

// Calls with the arguments read from first to last, for a braced list keeps that order.
template <class... A>
struct Call {
  GART_SIM_UNWATCHED Call(void (*kernel)(A...), A... arguments) { kernel(arguments...); }
};
template <class... A>
GART_SIM_UNWATCHED static void call(void (*kernel)(A...), void** next) {
  Call<A...>{kernel, *(A*)*next++...};
}
template <class... A>
struct Sizes {
  static constexpr unsigned count = sizeof...(A);
  static constexpr unsigned bytes[count + 1] = {sizeof(A)..., 0};
};
template <class... A>
static Sizes<A...> sizes_of(void (*)(A...));

#ifdef GART_SIM_WATCHED
static constexpr bool is_watched = true;
#else
static constexpr bool is_watched = false;
#endif

struct Bounds {
  unsigned max_threads, min_blocks = 1;
};
}  // namespace gart_sim

#define GART_SIM_WATCH(bytes)                                                                                          \
  GART_SIM_UNWATCHED void __tsan_read##bytes(void* p) { gart_sim::touch(p, bytes, gart_sim::Access::read); }           \
  GART_SIM_UNWATCHED void __tsan_write##bytes(void* p) { gart_sim::touch(p, bytes, gart_sim::Access::write); }         \
  GART_SIM_UNWATCHED void __tsan_unaligned_read##bytes(void* p) { gart_sim::touch(p, bytes, gart_sim::Access::read); } \
  GART_SIM_UNWATCHED void __tsan_unaligned_write##bytes(void* p) { gart_sim::touch(p, bytes, gart_sim::Access::write); }

#pragma GCC visibility push(hidden)
extern "C" {
#ifdef GART_SIM_WATCHED
GART_SIM_WATCH(1)
GART_SIM_WATCH(2)
GART_SIM_WATCH(4)
GART_SIM_WATCH(8) GART_SIM_WATCH(16) GART_SIM_UNWATCHED void __tsan_read_range(void* p, gart_sim::Size bytes) {
  gart_sim::hooks->touch(p, bytes, gart_sim::Access::read);
}
GART_SIM_UNWATCHED void __tsan_write_range(void* p, gart_sim::Size bytes) {
  gart_sim::hooks->touch(p, bytes, gart_sim::Access::write);
}
void __tsan_init() {}
void __tsan_func_entry(void*) {}
void __tsan_func_exit() {}

struct gart_sim_mismatch {  // What the compiler tells of a misaligned access.
  const char* file;
  unsigned line, column;
  const void* type;
  unsigned char log_alignment, kind;
};
GART_SIM_UNWATCHED void __ubsan_handle_type_mismatch_v1(void* data, void* address) {
  const gart_sim_mismatch& mismatch = *(const gart_sim_mismatch*)data;
  gart_sim::hooks->misaligned(address, 1u << mismatch.log_alignment, {mismatch.file, (int)mismatch.line});
}
#endif
GART_SIM_UNWATCHED void cudaGraphSetConditional(unsigned long long handle, unsigned value) {
  gart_sim::hooks->set_conditional(handle, value);
}
}
#pragma GCC visibility pop

// clang-format off
#define GART_SIM_MODULE_BEGIN \
  namespace gart_sim {        \
  static const Kernel kernels[] = {
#define GART_SIM_KERNEL(name, ...)                                                              \
  {#name, [](void** parameters) { call(&name, parameters); }, decltype(sizes_of(&name))::count, \
   decltype(sizes_of(&name))::bytes, Bounds{__VA_ARGS__}.max_threads, Bounds{__VA_ARGS__}.min_blocks},
#define GART_SIM_MODULE_END(sm, variant, toolkit)                                                            \
  };                                                                                                         \
  static char* anchor() { return thread_local_anchor; }                                                     \
  static const Module module_table = {                                                                       \
      kAbi, sm, variant, toolkit, is_watched, sizeof kernels / sizeof *kernels, kernels, &state, &anchor};            \
  }                                                                                                          \
  extern "C" __attribute__((visibility("default"))) const gart_sim::Module* gart_sim_module(                 \
      const gart_sim::Hooks* hooks) {                                                                        \
    gart_sim::hooks = hooks;                                                                                 \
    return &gart_sim::module_table;                                                                          \
  }
// clang-format on
