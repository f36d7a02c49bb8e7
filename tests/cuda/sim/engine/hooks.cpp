// The functions that a module calls. Each finds the running block and forwards the call.
#include <algorithm>
#include <cstring>

#include "tests/cuda/sim/engine/block.h"
#include "tests/cuda/sim/engine/warp.h"

namespace gart_sim {
namespace {

using Kind = WarpRequest::Kind;
constexpr unsigned kWholeWarp = 0xffffffffu;
void (*conditional_callback)(unsigned long long, unsigned) = nullptr;

BlockRunner& runner() { return BlockRunner::get(); }

int barrier(unsigned id, unsigned threads, Reduce reduce, int predicate, Site site) {
  return runner().barrier(id, threads, reduce, predicate, site);
}

void barrier_arrive(unsigned id, unsigned threads, Site site) { runner().barrier_arrive(id, threads, site); }

void warp_barrier(unsigned mask, Site site) {
  WarpRequest request{Kind::barrier, 0, mask, site, nullptr, nullptr, nullptr, 0, 0};
  runner().collective(request);
}

void shuffle(Shuffle kind, unsigned mask, void* value, unsigned bytes, int lane, int width, Site site) {
  const unsigned detail = static_cast<unsigned>(kind) | static_cast<unsigned>(width) << 8;
  WarpRequest request{Kind::shuffle, detail, mask, site, value, nullptr, nullptr, lane, bytes};
  runner().collective(request);
}

unsigned vote(Vote kind, unsigned mask, unsigned value, Site site) {
  WarpRequest request{Kind::vote, static_cast<unsigned>(kind), mask, site, &value, nullptr, nullptr, 0, 0};
  runner().collective(request);
  return value;
}

unsigned active_mask() { return runner().active_mask(); }

void mma(Mma kind, void* c, const void* a, const void* b, Site site) {
  WarpRequest request{Kind::mma, static_cast<unsigned>(kind), kWholeWarp, site, c, a, b, 0, 0};
  runner().collective(request);
}

// Checks the row of 16 bytes at the address that this lane gives. Lanes after the last matrix give no address.
void check_row(const void* row, unsigned matrices, Site site) {
  const State& state = *BlockRunner::get().state();
  const auto address = reinterpret_cast<uint64_t>(row);
  if (state.thread.x % 32 / 8 >= matrices) return;
  if (address % 16)
    runner().fault(Finding::misaligned, 716, "a matrix row that is not 16-aligned at " + runner().at(site));
  if (!runner().is_shared(address, 16)) {
    runner().fault(Finding::out_of_bounds, 700, "a matrix row outside of shared memory at " + runner().at(site));
  }
}

void ldmatrix(unsigned* r, unsigned matrices, bool transposed, const void* row, Site site) {
  check_row(row, matrices, site);
  if (BlockRunner::get().state()->thread.x % 32 / 8 < matrices)
    runner().touch(reinterpret_cast<uint64_t>(row), 16, Access::read, "a matrix load");
  WarpRequest request{Kind::ldmatrix, matrices << 1 | transposed, kWholeWarp, site, r, row, nullptr, 0, 0};
  runner().collective(request);
}

void stmatrix(void* row, unsigned matrices, bool transposed, const unsigned* r, Site site) {
  check_row(row, matrices, site);
  WarpRequest request{Kind::stmatrix, matrices << 1 | transposed, kWholeWarp, site, row, nullptr, r, 0, 0};
  runner().collective(request);
}

void copy_async(void* shared, const void* global, unsigned bytes, unsigned source_bytes, Site site) {
  runner().copy_async(
      {static_cast<unsigned char*>(shared), static_cast<const unsigned char*>(global), bytes, source_bytes}, site);
}
void copy_commit() { runner().copy_commit(); }
void copy_wait(unsigned groups_left, Site) { runner().copy_wait(groups_left); }

// Checks that the warp is converged. The threads of the other three warps check their own warps.
void wgmma(const WideCall& call, Site site) {
  WideProduct product{call, {}};
  const unsigned detail = call.columns | static_cast<unsigned>(call.kind) << 16 | (call.left != nullptr ? 1u << 24 : 0);
  WarpRequest request{Kind::wgmma, detail, kWholeWarp, site, &product, call.left, nullptr, 0, 0};
  runner().collective(request);
  runner().wgmma(product, site);
}
void wgmma_fence() { runner().wgmma_fence(); }
void wgmma_commit() { runner().wgmma_commit(); }
// The lanes of a warp continue together, when all their products are done.
void wgmma_wait(unsigned groups_left, Site site) {
  runner().wgmma_wait(groups_left, site);
  WarpRequest request{Kind::wgmma_wait, groups_left, kWholeWarp, site, nullptr, nullptr, nullptr, 0, 0};
  runner().collective(request);
}
void proxy_fence() { runner().proxy_fence(); }
void grid_wait() { runner().grid_wait(); }

void phase_init(void* barrier, unsigned arrivals, Site site) { runner().phase_init(barrier, arrivals, site); }
void phase_arrive(void* barrier, unsigned bytes, Site site) { runner().phase_arrive(barrier, bytes, site); }
void phase_arrive_in_cluster(void* barrier, unsigned rank, Site site) {
  runner().phase_arrive_in_cluster(barrier, rank, site);
}
void phase_wait(void* barrier, unsigned parity, Site site) { runner().phase_wait(barrier, parity, site); }
void copy_box(const BoxCall& call, Site site) { runner().copy_box(call, site); }
void store_box(const BoxCall& call, Site site) { runner().store_box(call, site); }
void store_commit() { runner().store_commit(); }
void store_wait(unsigned groups_left) { runner().store_wait(groups_left); }

unsigned cluster_rank() { return runner().cluster_rank(); }
// `.aligned`: the lanes of a warp arrive together.
void come_together(unsigned detail, Site site) {
  WarpRequest request{Kind::cluster, detail, kWholeWarp, site, nullptr, nullptr, nullptr, 0, 0};
  runner().collective(request);
}
void cluster_arrive(bool relaxed, Site site) {
  come_together(relaxed ? 1 : 0, site);
  runner().cluster_arrive(relaxed, site);
}
void cluster_wait(Site site) {
  come_together(2, site);
  runner().cluster_wait(site);
}
void load_in_cluster(unsigned address, void* out, unsigned bytes, Site site) {
  runner().load_in_cluster(address, out, bytes, site);
}
void set_registers(unsigned count, bool more, Site site) {
  WarpRequest request{Kind::registers, count << 1 | more, kWholeWarp, site, nullptr, nullptr, nullptr, 0, 0};
  runner().collective(request);
  runner().set_registers(count, more, site);
}

void touch(const void* address, Size bytes, Access access) {
  runner().touch(reinterpret_cast<uint64_t>(address), bytes, access, "");
}

void misaligned(const void* address, unsigned alignment, Site site) {
  const auto at = reinterpret_cast<uint64_t>(address);
  // The host's stack may be aligned differently from the device's, so accesses to it are not checked.
  if (!DeviceMemory::get().is_watched(at) && !runner().is_shared(at, 1)) return;
  runner().fault(
      Finding::misaligned, 716,
      "an access at " + runner().at(site) + " needs an alignment of " + std::to_string(alignment) + " bytes: " +
          (DeviceMemory::get().is_watched(at) ? DeviceMemory::get().describe(at) : std::string("shared memory")));
}

void trap(const char* what, Site site) {
  runner().fault(Finding::trap, 719, std::string(what) + " at " + runner().at(site));
}

void set_conditional(unsigned long long handle, unsigned value) {
  if (conditional_callback) conditional_callback(handle, value);
}

// Wraps the call from the kernel: after a fault, the call does not return.
template <auto function>
struct Hook;
template <class R, class... A, R (*function)(A...)>
struct Hook<function> {
  static R call(A... arguments) {
    try {
      return function(arguments...);
    } catch (const Fault&) {
    }
    runner().abandon_thread();
  }
};
template <auto function>
constexpr auto hook = &Hook<function>::call;

constexpr Hooks kHooks = {hook<barrier>,
                          hook<barrier_arrive>,
                          hook<warp_barrier>,
                          hook<shuffle>,
                          hook<vote>,
                          hook<active_mask>,
                          hook<mma>,
                          hook<ldmatrix>,
                          hook<stmatrix>,
                          hook<copy_async>,
                          hook<copy_commit>,
                          hook<copy_wait>,
                          hook<wgmma>,
                          hook<wgmma_fence>,
                          hook<wgmma_commit>,
                          hook<wgmma_wait>,
                          hook<proxy_fence>,
                          hook<grid_wait>,
                          hook<phase_init>,
                          hook<phase_arrive>,
                          hook<phase_arrive_in_cluster>,
                          hook<phase_wait>,
                          hook<copy_box>,
                          hook<store_box>,
                          hook<store_commit>,
                          hook<store_wait>,
                          hook<cluster_rank>,
                          hook<cluster_arrive>,
                          hook<cluster_wait>,
                          hook<load_in_cluster>,
                          hook<set_registers>,
                          hook<touch>,
                          hook<misaligned>,
                          hook<trap>,
                          hook<set_conditional>};

}  // namespace

const Hooks& hooks() { return kHooks; }

void set_conditional_callback(void (*callback)(unsigned long long, unsigned)) { conditional_callback = callback; }

}  // namespace gart_sim
