// Small kernel texts in the form that is generated for sm_90a: a persistent product with box stores, a convolution by
// im2col, a product whose depth a cluster shares. Tests of planted bugs leave out or change the parts between braces.
#ifndef GART_TESTS_CUDA_SIM_TEST_HOPPER_TEXT_H
#define GART_TESTS_CUDA_SIM_TEST_HOPPER_TEXT_H

#include <string>

#include "tests/cuda/sim/engine/tensor_map.h"
#include "tests/cuda/sim/test/run_text.h"

namespace gart_sim {

struct alignas(64) Map {
  unsigned char bytes[TensorMap::kBytes];
};
inline Map encoded(const TensorMap& tensor) {
  EXPECT_EQ(tensor.problem(), "");
  Map map;
  tensor.encode(map.bytes);
  return map;
}
/// A matrix of f16, K contiguous, whose boxes are 64 elements by `lines`.
inline TensorMap matrix_of_halves(uint64_t address, uint64_t columns, uint64_t rows, unsigned lines) {
  TensorMap map;
  map.address = address;
  map.rank = 2;
  map.element_bytes = 2;
  map.swizzle = 128;
  map.extents[0] = columns;
  map.extents[1] = rows;
  map.strides[0] = 2;
  map.strides[1] = 2 * columns;
  map.box[0] = 64;
  map.box[1] = lines;
  return map;
}

inline std::unique_ptr<LoadedModule> load_hopper(const std::string& text) {
  const Compiled compiled = compile_for_host({"test.cu", text, {}}, {90, 'a', false});
  std::string error = compiled.log;
  auto module = compiled.module.empty() ? nullptr : LoadedModule::load(compiled.module, error);
  EXPECT_NE(module, nullptr) << error;
  return module;
}

inline const char* const kHopperHead = R"(struct alignas(64) Map { unsigned char bytes[128]; };
template <class T, int Count> struct alignas(sizeof(T) * Count) gart_vector { T at[Count]; };
struct gart_wide_f16 {};
)";

/// D[m][n] = A[m][k] * B[n][k] of f16 in tiles of 64 x 64. One warpgroup multiplies, and another one copies the
/// operands. Blocks take tiles in turn; two buffers store D. With `conv`, A is an image's window.
struct ProductParts {
  std::string wait_stored = "if (is_leader) gart_store_wait<1>();";
  std::string fence = "gart_fence_proxy_async();";
  std::string written = "gart_named_barrier(1, 128);";
  std::string free = "gart_named_barrier(1, 128);";
  std::string at_end = "if (is_leader) gart_store_wait<0>();";
  std::string load_left = "const int at[2] = {k * 64, m0}; gart_copy_box(raw + stage * 16384, a, at, full(stage));";
};
inline std::string product_text(const ProductParts& p) {
  return std::string(kHopperHead) + R"(
extern "C" __global__ void __launch_bounds__(256, 1) product(int M, int N, int steps, int* window,
    const __grid_constant__ Map a, const __grid_constant__ Map b, const __grid_constant__ Map d) {
  GART_SHARED(raw);
  const auto full = [&](int s) { return reinterpret_cast<unsigned long long*>(raw + 49152) + s; };
  const auto empty = [&](int s) { return full(2 + s); };
  const int warp = __shfl_sync(0xffffffffu, (int)threadIdx.x / 32, 0), lane = threadIdx.x % 32;
  if (warp == 0 && gart_elect_one()) {
    for (int s = 0; s < 2; ++s) gart_mbarrier_init(full(s), 1), gart_mbarrier_init(empty(s), 4);
    gart_mbarrier_init_fence();
  }
  __syncthreads();
  const int rows = (M + 63) / 64, columns = (N + 63) / 64;
  int stage = 0, parity = warp < 4 ? 0 : 1;
  const auto advance = [&] { if (++stage == 2) stage = 0, parity ^= 1; };
  if (warp >= 4) {
    gart_give_registers<40>();
    if (warp > 4 || !gart_elect_one()) return;
    for (int tile = blockIdx.x; tile < rows * columns; tile += gridDim.x) {
      const int m0 = tile % rows * 64, n0 = tile / rows * 64;
      for (int k = 0; k < steps; ++k) {
        while (!gart_mbarrier_try_wait(empty(stage), parity)) {}
        gart_mbarrier_expect(full(stage), 16384);
        { )" +
         p.load_left + R"( }
        const int at[2] = {k * 64, n0};
        gart_copy_box(raw + stage * 16384 + 8192, b, at, full(stage));
        advance();
      }
    }
    return;
  }
  gart_take_registers<232>();
  const bool is_leader = warp == 0 && gart_elect_one();
  int slot = 0;
  for (int tile = blockIdx.x; tile < rows * columns; tile += gridDim.x) {
    const int m0 = tile % rows * 64, n0 = tile / rows * 64;
    float sums[32];
    int before = 0;
    for (int k = 0; k < steps; ++k) {
      while (!gart_mbarrier_try_wait(full(stage), parity)) {}
      const unsigned long long left = gart_wgmma_descriptor(raw + stage * 16384, 16, 1024), right = left + 512;
      gart_wgmma_fence();
      for (int i = 0; i < 4; ++i)
        gart_wgmma<gart_wide_f16, 64, false, false>::ss(sums, left + 2 * i, right + 2 * i, i > 0 || k > 0);
      gart_wgmma_commit();
      gart_wgmma_wait<1>();
      if (k > 0 && lane == 0) gart_mbarrier_arrive(empty(before));
      before = stage;
      advance();
    }
    gart_wgmma_wait<0>();
    if (lane == 0) gart_mbarrier_arrive(empty(before));
    unsigned char* const buffer = raw + 32768 + slot * 8192;
    )" + p.wait_stored +
         "\n    " + p.free + R"(
    const int line = warp * 16 + lane % 16;
    for (int j = 0; j < 8; j += 2) {
      unsigned r[4];
      for (int e = 0; e < 4; ++e)
        r[e] = (unsigned)gart_narrow_f16(sums[(j + e / 2) * 4 + e % 2 * 2]) |
               (unsigned)gart_narrow_f16(sums[(j + e / 2) * 4 + e % 2 * 2 + 1]) << 16;
      gart_store_matrices(buffer + line * 128 + (((j + lane / 16) ^ line % 8) << 4), r[0], r[1], r[2], r[3]);
    }
    )" + p.fence +
         "\n    " + p.written + R"(
    if (is_leader) {
      const int at[2] = {n0, m0};
      gart_store_box(d, buffer, at);
      gart_store_commit();
    }
    slot ^= 1;
  }
  )" + p.at_end +
         "\n}\n";
}

/// The same product, with one tile of 64 x 64 per cluster of 2 blocks. Each block takes half of the depth, leaves its
/// sums in its own shared memory, and adds half of the rows of both. The results are f32.
struct SplitParts {
  std::string made = "gart_cluster_arrive(); gart_cluster_wait();";
  std::string summed = "gart_cluster_arrive(); gart_cluster_wait();";
  std::string at_end = "gart_cluster_arrive_relaxed(); gart_cluster_wait();";
  std::string other = "rank ^ 1";
};
inline std::string split_text(const SplitParts& p) {
  return std::string(kHopperHead) + R"(
extern "C" __global__ void __launch_bounds__(128) __cluster_dims__(2, 1, 1) split(float* d, int steps,
    const __grid_constant__ Map a, const __grid_constant__ Map b) {
  GART_SHARED(raw);
  unsigned long long* const full = reinterpret_cast<unsigned long long*>(raw + 16384);
  float* const mine = reinterpret_cast<float*>(raw + 17408);
  const int rank = gart_cluster_rank(), lane = threadIdx.x % 32, row = threadIdx.x / 32 * 16 + lane / 4;
  if (threadIdx.x == 0) {
    gart_mbarrier_init(full, 1);
    gart_mbarrier_init_fence();
  }
  __syncthreads();
  )" + p.made +
         R"(
  float sums[32];
  for (int k = 0; k < steps; ++k) {
    if (threadIdx.x == 0) {
      gart_mbarrier_expect(full, 16384);
      const int at_a[2] = {(rank * steps + k) * 64, 0}, at_b[2] = {(rank * steps + k) * 64, (int)blockIdx.x / 2 * 64};
      gart_copy_box(raw, a, at_a, full);
      gart_copy_box(raw + 8192, b, at_b, full);
    }
    while (!gart_mbarrier_try_wait(full, k % 2)) {}
    gart_wgmma_fence();
    for (int i = 0; i < 4; ++i)
      gart_wgmma<gart_wide_f16, 64, false, false>::ss(sums, gart_wgmma_descriptor(raw + 32 * i, 16, 1024),
                                                      gart_wgmma_descriptor(raw + 8192 + 32 * i, 16, 1024), i > 0 || k > 0);
    gart_wgmma_commit();
    gart_wgmma_wait<0>();
    __syncthreads();
  }
  for (int i = 0; i < 32; ++i) mine[(row + i / 2 % 2 * 8) * 68 + i / 4 * 8 + lane % 4 * 2 + i % 2] = sums[i];
  )" + p.summed +
         R"(
  for (int i = threadIdx.x; i < 32 * 16; i += 128) {
    const float* const from = mine + (rank * 32 + i / 16) * 68 + i % 16 * 4;
    const gart_vector<float, 4> low = gart_load4_in_cluster(gart_in_cluster(from, 0)),
                                high = gart_load4_in_cluster(gart_in_cluster(from, 1));
    for (int e = 0; e < 4; ++e)
      d[(blockIdx.x / 2 * 64 + rank * 32 + i / 16) * 64 + i % 16 * 4 + e] = low.at[e] + high.at[e];
  }
  const float own = mine[threadIdx.x % 64], there = gart_load_in_cluster(gart_in_cluster(mine + threadIdx.x % 64, )" +
         p.other + R"());
  if (own != own || there != there) d[0] = 0;
  )" + p.at_end +
         "\n}\n";
}

}  // namespace gart_sim
#endif
