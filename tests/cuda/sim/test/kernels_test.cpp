// Correct kernels give the same results as on a device, in any order of blocks and threads; planted bugs are found.
#include <cmath>
#include <numeric>

#include "tests/cuda/sim/test/run_text.h"

namespace gart_sim {
namespace {

#define KERNEL(threads) "extern \"C\" __global__ void __launch_bounds__(" #threads ") "

class Kernels : public testing::TestWithParam<uint64_t> {
 protected:
  void SetUp() override { take_reports(); }
  void TearDown() override { EXPECT_EQ(take_reports(), std::vector<std::string>{}); }
};
INSTANTIATE_TEST_SUITE_P(Orders, Kernels, testing::Values(0, 1, 7, 8));

std::vector<float> ramp(size_t n) {
  std::vector<float> values(n);
  std::iota(values.begin(), values.end(), 1.0f);
  return values;
}

TEST_P(Kernels, pointwise) {
  const auto module = compile_and_load(KERNEL(128) R"(add(const float* a, float* b, long long n) {
  const long long i = blockIdx.x * 128LL + threadIdx.x;
  if (i < n) b[i] = a[i] + expf(0.0f);
})");
  DeviceArray<float> a(ramp(300)), b(std::vector<float>(300));
  const LaunchResult result = launch(*module, "add", {3, 128, 0, GetParam()}, a.address(), b.address(), 300LL);
  EXPECT_EQ(result.error, 0);
  for (size_t i = 0; i < 300; ++i) ASSERT_EQ(b.values()[i], static_cast<float>(i + 2));
  ASSERT_EQ(result.footprint.reads.size(), 1u);
  EXPECT_EQ(result.footprint.reads[0].begin, a.address());
  EXPECT_EQ(result.footprint.reads[0].end, a.address() + 1200);
  ASSERT_EQ(result.footprint.writes.size(), 1u);
  EXPECT_EQ(result.footprint.writes[0].end, b.address() + 1200);
}

TEST_P(Kernels, block_reduction_with_shuffles_and_shared_memory) {
  const auto module = compile_and_load(R"(
template <class T> __device__ __forceinline__ T block_sum(T x) {
  __shared__ alignas(16) T partial[32];
  for (int d = 16; d; d >>= 1) x += __shfl_xor_sync(0xffffffffu, x, d);
  if (threadIdx.x % 32 == 0) partial[threadIdx.x / 32] = x;
  __syncthreads();
  x = threadIdx.x < blockDim.x / 32 ? partial[threadIdx.x] : T(0);
  if (threadIdx.x < 32) for (int d = 16; d; d >>= 1) x += __shfl_down_sync(0xffffffffu, x, d);
  return x;
}
)" KERNEL(256) R"(sum(const float* a, double* out) {
  const float s = block_sum<float>(a[threadIdx.x]);
  __syncthreads();
  const double d = block_sum<double>(a[threadIdx.x]);
  if (__syncthreads_or(threadIdx.x == 17) && __syncthreads_count(threadIdx.x % 2) == 128 && threadIdx.x == 0) {
    out[0] = s;
    out[1] = d;
  }
})");
  DeviceArray<float> a(ramp(256));
  DeviceArray<double> out(std::vector<double>(2));
  EXPECT_EQ(launch(*module, "sum", {1, 256, 0, GetParam()}, a.address(), out.address()).error, 0);
  EXPECT_EQ(out.values(), (std::vector<double>{256 * 257 / 2, 256 * 257 / 2}));
}

TEST_P(Kernels, votes_and_exited_lanes) {
  const auto module = compile_and_load(KERNEL(32) R"(vote(unsigned* out) {
  const unsigned lane = threadIdx.x;
  if (lane >= 24) return;
  const unsigned odd = __ballot_sync(0xffffffffu, lane & 1);
  const int lowest = __reduce_min_sync(0xffffffu, (int)lane - 5);
  if (lane == 3) out[0] = odd, out[1] = lowest, out[2] = __activemask(), out[3] = __popc(odd);
})");
  DeviceArray<unsigned> out(std::vector<unsigned>(4));
  EXPECT_EQ(launch(*module, "vote", {1, 32, 0, GetParam()}, out.address()).error, 0);
  EXPECT_EQ(out.values()[0], 0xaaaaaau);
  EXPECT_EQ(static_cast<int>(out.values()[1]), -5);
  EXPECT_EQ(out.values()[3], 12u);
}

// D[16][8] = A[16][16] * B[8][16]^T, through shared memory, ldmatrix and an f16 product.
constexpr const char* kTensorCore = KERNEL(32) R"(mma(const unsigned short* a, const unsigned short* b, float* d) {
  GART_SHARED(shared);
  const unsigned l = threadIdx.x;
  gart_cp_async_16(shared + 16 * l, (const char*)a + 16 * l, 16);
  if (l < 16) gart_cp_async_16(shared + 512 + 16 * l, (const char*)b + 16 * l, 16);
  gart_cp_async_commit();
  gart_cp_async_wait<0>();
  __syncthreads();
  unsigned fa[4], fb[4];
  gart_ldmatrix_x4(fa, shared + 32 * (l % 16) + 16 * (l / 16));
  gart_ldmatrix_x4(fb, shared + 512 + 32 * (l % 8) + 16 * (l / 8 % 2));
  float c[4] = {0, 0, 0, 0};
  gart_mma_m16n8k16_f16(c, fa, {fb[0], fb[1]});
  for (int i = 0; i < 4; ++i) d[8 * (l / 4 + 8 * (i / 2)) + 2 * (l % 4) + i % 2] = c[i];
})";

uint16_t small_f16(int x) {  // from -8 to 8
  if (x == 0) return 0;
  const int magnitude = x < 0 ? -x : x, exponent = std::ilogb(magnitude);
  return static_cast<uint16_t>((x < 0 ? 0x8000 : 0) | (exponent + 15) << 10 | (magnitude << (10 - exponent) & 1023));
}

TEST_P(Kernels, tensor_core_product) {
  const auto module = compile_and_load(kTensorCore);
  std::vector<uint16_t> a, b;
  const auto at = [](size_t row, size_t k) { return static_cast<int>((row * 5 + k * 3) % 17) - 8; };
  for (size_t i = 0; i < 256; ++i) a.push_back(small_f16(at(i / 16, i % 16)));
  for (size_t i = 0; i < 128; ++i) b.push_back(small_f16(at(i / 16 + 3, i % 16)));
  DeviceArray<uint16_t> da(a), db(b);
  DeviceArray<float> d(std::vector<float>(128));
  EXPECT_EQ(launch(*module, "mma", {1, 32, 768, GetParam()}, da.address(), db.address(), d.address()).error, 0);
  for (size_t m = 0; m < 16; ++m) {
    for (size_t n = 0; n < 8; ++n) {
      int sum = 0;
      for (size_t k = 0; k < 16; ++k) sum += at(m, k) * at(n + 3, k);
      ASSERT_EQ(d.values()[m * 8 + n], static_cast<float>(sum)) << m << " " << n;
    }
  }
}

// Each of these kernels is wrong in one place.
struct Planted {
  const char* name;
  const char* text;
  const char* finding;  // the start of the report
  int error;
  Shape shape = {1, 64, 1024, 0};
};
std::ostream& operator<<(std::ostream& out, const Planted& planted) { return out << planted.name; }

class Bugs : public testing::TestWithParam<Planted> {};

constexpr Planted kPlanted[] = {
    {"missing_barrier", R"(k(float* a) {
  __shared__ float s[64];
  s[threadIdx.x] = a[threadIdx.x];
  a[threadIdx.x] = s[63 - threadIdx.x];
})",
     "shared_race", 719},
    {"missing_barrier_before_reuse", R"(k(float* a) {
  GART_SHARED(raw);
  float* s = (float*)raw;
  for (int i = 0; i < 2; ++i) {
    s[threadIdx.x] = a[threadIdx.x];
    __syncthreads();
    a[threadIdx.x] += s[63 - threadIdx.x];
  }
})",
     "shared_race", 719},
    {"missing_warp_barrier", R"(k(float* a) {
  __shared__ float s[64];
  s[threadIdx.x] = a[threadIdx.x];
  a[threadIdx.x] = s[threadIdx.x ^ 1];
})",
     "shared_race", 719},
    {"missing_async_wait", R"(k(float* a) {
  GART_SHARED(raw);
  gart_cp_async_4(raw + 4 * threadIdx.x, a + threadIdx.x);
  gart_cp_async_commit();
  __syncthreads();
  const float x = ((float*)raw)[63 - threadIdx.x];
  gart_cp_async_wait<0>();
  a[threadIdx.x] = x;
})",
     "shared_race", 719},
    {"barrier_in_a_branch", R"(k(float* a) {
  if (threadIdx.x < 32) __syncthreads();
  a[threadIdx.x] = 1;
  __syncthreads();
})",
     "divergence", 719},
    {"shuffle_in_a_branch", R"(k(float* a) {
  float x = a[threadIdx.x];
  if (threadIdx.x % 32 < 8) x += __shfl_xor_sync(0xffffffffu, x, 1);
  __syncthreads();
  a[threadIdx.x] = x;
})",
     "divergence", 719},
    {"divergent_shuffles", R"(k(float* a) {
  float x = a[threadIdx.x];
  if (threadIdx.x % 2) x += __shfl_xor_sync(0xffffffffu, x, 1);
  else x += __shfl_down_sync(0xffffffffu, x, 1);
  a[threadIdx.x] = x;
})",
     "divergence", 719},
    {"shuffle_from_an_exited_lane", R"(k(float* a) {
  if (threadIdx.x % 32 == 9) return;
  a[threadIdx.x] = __shfl_xor_sync(0xffffffffu, a[threadIdx.x], 1);
})",
     "divergence", 719},
    {"write_past_the_end", R"(k(float* a) { a[threadIdx.x + 1] = 1; })", "out_of_bounds", 700},
    {"read_past_the_end", R"(k(float* a) { a[threadIdx.x] = a[threadIdx.x + 1000000]; })", "out_of_bounds", 700},
    {"shared_write_past_the_end", R"(k(float* a) {
  GART_SHARED(raw);
  ((float*)raw)[threadIdx.x * 4 + 4] = a[threadIdx.x];
})",
     "out_of_bounds", 700},
    {"misaligned_vector", R"(k(float* a) {
  if (threadIdx.x < 2) { const float4 x = *(const float4*)(a + threadIdx.x); a[8] = x.x + x.w; }
})",
     "misaligned", 716},
    {"blocks_read_their_neighbours_in_place",
     R"(k(float* a) {
  const unsigned i = blockIdx.x * 32 + threadIdx.x;
  a[i] = a[i] + a[(i + 1) % 64];
})",
     "block_race",
     719,
     {2, 32, 0, 0}},
    {"failed_assert", R"(k(float* a) { assert(threadIdx.x < 63); a[0] = 0; })", "trap", 719},
};
INSTANTIATE_TEST_SUITE_P(Planted, Bugs, testing::ValuesIn(kPlanted),
                         [](const auto& instance) { return std::string(instance.param.name); });

TEST_P(Bugs, is_found_in_every_order) {
  const Planted& planted = GetParam();
  const auto module = compile_and_load(std::string(KERNEL(64)) + planted.text);
  for (const uint64_t seed : {0, 1, 5}) {
    take_reports();
    DeviceArray<float> a(ramp(64));
    Shape shape = planted.shape;
    shape.seed = seed;
    EXPECT_EQ(launch(*module, "k", shape, a.address()).error, planted.error);
    const std::string report = the_report();
    EXPECT_TRUE(report.starts_with(planted.finding)) << report;
  }
}

}  // namespace
}  // namespace gart_sim
