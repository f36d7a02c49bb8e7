// The end of a module, after the kernel's text: the table of its kernels, which the simulated compiler fills in
// between GART_SIM_MODULE_BEGIN and GART_SIM_MODULE_END.
#undef threadIdx
#undef blockIdx
#undef blockDim
#undef gridDim
#undef alignas

namespace gart_sim {
alignas(16) static __thread char thread_local_anchor[16];

#define GART_SIM_UNWATCHED __attribute__((no_sanitize("thread"), no_sanitize("undefined")))

// A braced list reads the arguments from first to last; a call would not guarantee this order.
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

// clang-format off
#define GART_SIM_MODULE_BEGIN \
  namespace gart_sim {        \
  static const Kernel kernels[] = {
#define GART_SIM_KERNEL(name, cluster, ...)                                                     \
  {#name, [](void** parameters) { call(&name, parameters); }, decltype(sizes_of(&name))::count, \
   decltype(sizes_of(&name))::bytes, Bounds{__VA_ARGS__}.max_threads, Bounds{__VA_ARGS__}.min_blocks, cluster},
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
