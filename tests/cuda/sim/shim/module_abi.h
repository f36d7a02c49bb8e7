// The interface between a simulated "cubin" (a shared object of the host) and the simulated driver. It has plain
// structs and no includes, so that kernels compile fast. The module exports one function, gart_sim_module(), through
// which the driver passes its hooks.
#ifndef GART_TESTS_CUDA_SIM_SHIM_MODULE_ABI_H
#define GART_TESTS_CUDA_SIM_SHIM_MODULE_ABI_H

namespace gart_sim {

inline constexpr unsigned kAbi = 5;  // version of this header; the driver refuses modules of other versions

using Size = decltype(sizeof 0);

struct Triple {
  unsigned x, y, z;
};

// The place of a call in the kernel's text, for messages.
struct Site {
  const char* file;
  int line;
};

enum class Reduce { none, any, all, count };
enum class Access : unsigned { read = 0, write = 1, atomic = 2 };
enum class Shuffle { index, up, down, exclusive_or };
enum class Vote { ballot, sum, minimum, maximum, bit_and, bit_or, bit_xor };
enum class Mma { f16_k16, bf16_k16, tf32_k8, f16_k8, s8_k32 };

// A product of a warpgroup: 64 x `columns` over the depths of the kind. a and b describe tiles in shared memory.
// `across`: the tile's lines run across the depth, not along it.
struct WideCall {
  Mma kind;
  unsigned columns;
  void* sums;  // the thread's sums: columns / 2 of 4 bytes
  unsigned long long a, b;
  const unsigned* left;  // four registers that replace a, or null
  bool a_across, b_across;
  bool adds;  // true: adds to the sums
};

// A copy or reduction of a box between a tensor and shared memory.
struct BoxCall {
  void* shared;
  const void* map;
  const int* at;
  unsigned rank;
  void* barrier;       // for a copy
  unsigned blocks;     // bits of the cluster's blocks that receive it; 0: this block
  const int* offsets;  // for images, per spatial dimension; else null
};

// The functions of the simulated device that a kernel calls. Every thread of a block is a fiber; these calls may switch
// to another fiber.
struct Hooks {
  // Waits for `threads` threads of the block (0: all live threads) at barrier `id`; returns the reduction of
  // `predicate`.
  int (*barrier)(unsigned id, unsigned threads, Reduce reduce, int predicate, Site site);
  void (*barrier_arrive)(unsigned id, unsigned threads, Site site);  // does not wait
  void (*warp_barrier)(unsigned mask, Site site);
  // Exchanges `bytes` (at most 16) bytes between the lanes of `mask`, in segments of `width` lanes.
  void (*shuffle)(Shuffle kind, unsigned mask, void* value, unsigned bytes, int lane, int width, Site site);
  unsigned (*vote)(Vote kind, unsigned mask, unsigned value, Site site);
  unsigned (*active_mask)();
  // d = a*b + c on the fragments of m16n8; `c` has four elements of 32 bits, updated in place.
  void (*mma)(Mma kind, void* c, const void* a, const void* b, Site site);
  // Loads `matrices` 8x8 matrices of 16-bit elements, whose rows the lanes address.
  void (*ldmatrix)(unsigned* r, unsigned matrices, bool transposed, const void* row, Site site);
  void (*stmatrix)(void* row, unsigned matrices, bool transposed, const unsigned* r, Site site);
  // Asynchronous copies. The target is poisoned at once, and filled by the wait that covers the copy.
  void (*copy_async)(void* shared, const void* global, unsigned bytes, unsigned source_bytes, Site site);
  void (*copy_commit)();
  void (*copy_wait)(unsigned groups_left, Site site);
  // wgmma (sm_90a). The wait of this thread for the group computes the product; until then no thread may touch the
  // sums.
  void (*wgmma)(const WideCall& call, Site site);
  void (*wgmma_fence)();
  void (*wgmma_commit)();
  void (*wgmma_wait)(unsigned groups_left, Site site);
  // After this call, wgmma may read the bytes that the thread has written to shared memory.
  void (*proxy_fence)();
  // This thread waits until the launches that its own launch overlaps have ended (griddepcontrol.wait).
  void (*grid_wait)();
  // Barriers in shared memory (mbarrier). arrive announces `bytes` of box copies; wait returns when the phase of that
  // parity is over. A box copy's target is poisoned at once, and filled at the end of the phase that it counts for.
  void (*phase_init)(void* barrier, unsigned arrivals, Site site);
  void (*phase_arrive)(void* barrier, unsigned bytes, Site site);
  void (*phase_arrive_in_cluster)(void* barrier, unsigned rank, Site site);
  void (*phase_wait)(void* barrier, unsigned parity, Site site);
  void (*copy_box)(const BoxCall& call, Site site);
  // Stores from shared memory. The thread's wait for the group reads the bytes.
  void (*store_box)(const BoxCall& call, Site site);
  void (*store_commit)();
  void (*store_wait)(unsigned groups_left);
  // Clusters. Addresses have the form that the shim's in_cluster makes.
  unsigned (*cluster_rank)();
  void (*cluster_arrive)(bool relaxed, Site site);
  void (*cluster_wait)(Site site);
  void (*load_in_cluster)(unsigned address, void* out, unsigned bytes, Site site);
  // setmaxnreg. If `more`, takes registers that other warpgroups give.
  void (*set_registers)(unsigned count, bool more, Site site);
  // A load or store that the module's own check cannot prove to be inside its last allocation.
  void (*touch)(const void* address, Size bytes, Access access);
  void (*misaligned)(const void* address, unsigned alignment, Site site);
  void (*trap)(const char* what, Site site);
  void (*set_conditional)(unsigned long long handle, unsigned value);
};

// The device allocation of the last access: one bit per byte that the running block has read (or written), and one byte
// per kChunk bytes that contain such a bit.
struct Window {
  Size begin, bytes;
  unsigned char *bits, *chunks;
};
inline constexpr Size kChunk = 4096;

// The state of the running thread, like special registers: the driver writes it at every switch, the kernel reads it.
struct State {
  Triple thread, block, block_size, grid;
  unsigned char* shared;  // dynamic shared memory
  // The watched addresses: the device's memory, the block's shared memory with a guard zone on either side, its static
  // shared memory.
  Size device_begin, device_bytes;
  Size shared_begin, shared_bytes;
  Size static_shared_begin, static_shared_bytes;
  Window read, written;
  bool is_early;  // the thread has not waited yet for overlapped launches, so every access must call touch()
};

struct Kernel {
  const char* name;
  void (*run)(void** parameters);
  unsigned parameters;
  const unsigned* sizes;  // bytes of each parameter
  unsigned max_threads, min_blocks;
  unsigned cluster;  // number of blocks; 1: no cluster
};

struct Module {
  unsigned abi;
  unsigned sm;       // 80 for sm_80, also for sm_80a.
  char sm_variant;   // 'a', 'f', 0; 'p' for PTX.
  unsigned toolkit;  // Major version of the NVRTC that made it.
  bool is_watched;   // whether its loads and stores are watched
  unsigned kernel_count;
  const Kernel* kernels;
  State* state;
  char* (*thread_local_anchor)();  // returns an address within the calling thread's copy of the static shared memory
};

}  // namespace gart_sim
#endif
