// The device headers for sm_90a: the real assembler accepts each function. Skipped without NVRTC.
#include <gtest/gtest.h>

#include "codegen/cuda/assembler/assemble.h"
#include "codegen/cuda/text/function_text.h"
#include "compiler/gir/gir.h"
#include "compiler/support/error.h"
#include "tests/cuda/contractions/simulated_run.h"

namespace gcg::test {
namespace {

class DeviceText : public testing::Test {
 protected:
  void SetUp() override {
    target_ = gpu_target("sm_90a", Precision::fp16);
    if (cuda::Nvrtc::find_for_driver(target_.driver) == nullptr) GTEST_SKIP() << "no NVRTC on this machine";
  }
  /// Assembles a kernel with this body; `includes` in addition to the prelude.
  cuda::Usage assemble(const std::string& includes, const std::string& parameters, const std::string& body,
                       const std::string& kind = "__launch_bounds__(128)") const {
    std::string text = "#include \"gart_prelude.cuh\"\n";
    for (size_t at = 0; at < includes.size();) {
      const size_t end = std::min(includes.find(' ', at), includes.size());
      text += "#include \"gart_" + includes.substr(at, end - at) + ".cuh\"\n";
      at = end + 1;
    }
    text += concat("extern \"C\" __global__ void ", kind, " k(", parameters, ") {\n  GART_SHARED(raw);\n", body, "}\n");
    const cuda::CubinCache cache{std::filesystem::path()};
    return cuda::usage_of(cuda::Assembler(target_, cache).assemble(text).log);
  }

  Target target_;
};

/// The text of a wgmma with this many columns, whose left operand is in shared memory or registers, and of a use of the
/// sums.
std::string product_of(const std::string& kind, const std::string& sum, const std::string& across, int columns) {
  const std::string product = concat("gart_wgmma<", kind, ", ", columns, ", ", across, ">::");
  return concat("  const unsigned long long a = gart_wgmma_descriptor(raw, 8192, 1024), b = a + 512;\n  ", sum,
                " sums[", columns / 2, "];\n  unsigned int left[4] = {in[0], in[1], in[2], in[3]};\n",
                "  gart_wgmma_hold(sums);\n  gart_wgmma_hold(left);\n  gart_wgmma_fence();\n  ", product,
                columns % 32 < 16 ? "ss(sums, a, b, 0);\n" : "rs(sums, left[0], left[1], left[2], left[3], b, 1);\n",
                "  gart_wgmma_commit();\n  gart_wgmma_wait<0>();\n  gart_wgmma_hold(sums);\n",
                "#pragma unroll\n  for (int i = 0; i < ", columns / 2, "; ++i) out[i] = sums[i];\n");
}

TEST_F(DeviceText, products_of_every_width_assemble) {
  for (const auto& [kind, sum, across, most_odd] : {std::tuple{"gart_wide_f16", "float", "false, true", 256},
                                                    {"gart_wide_bf16", "float", "true, false", 256},
                                                    {"gart_wide_tf32", "float", "false, false", 256},
                                                    {"gart_wide_s8", "int", "false, false", 24}}) {
    // Widths are all multiples of 8 up to 64, then odd and even multiples of 8.
    for (int columns = 8; columns <= 256; columns += columns < 64 ? 8 : 24) {
      if (columns > most_odd && columns % 16 != 0) continue;
      const cuda::Usage usage = assemble("wgmma_whole", concat("const unsigned int* in, volatile ", sum, "* out"),
                                         product_of(kind, sum, across, columns));
      EXPECT_TRUE(usage.notes.empty()) << kind << " " << columns << ": " << (usage.notes.empty() ? "" : usage.notes[0]);
      EXPECT_EQ(usage.spill_bytes, 0) << kind << " " << columns;
      EXPECT_GT(usage.registers, columns / 2) << kind << " " << columns;
    }
  }
}

TEST_F(DeviceText, boxes_assemble) {
  std::string body =
      "  unsigned long long* barrier = reinterpret_cast<unsigned long long*>(raw);\n  gart_prefetch_map(map);\n";
  for (int rank = 2; rank <= 5; ++rank) {
    body += concat("  {\n    int at[", rank, "];\n    for (int i = 0; i < ", rank, "; ++i) at[i] = place[i];\n");
    for (const char* tail : {"", ", kGartEvictFirst"}) {
      body += concat("    gart_copy_box(raw + 1024, map, at, barrier", tail, ");\n");
      body += concat("    gart_copy_box_multicast(raw + 2048, map, at, barrier, 3", tail, ");\n");
      if (rank == 4)
        body += concat("    gart_copy_im2col(raw + 1024, map, at, place[5], place[6], barrier", tail, ");\n");
    }
    body += "    gart_store_box(map, raw + 4096, at);\n    gart_store_commit();\n    gart_store_wait<1>();\n  }\n";
  }
  const cuda::Usage usage = assemble("tma wgmma", "const int* place, const __grid_constant__ GartTensorMap map", body);
  EXPECT_GT(usage.registers, 0);
}

TEST_F(DeviceText, clusters_assemble) {
  const cuda::Usage usage = assemble("cluster tma wgmma warp", "float* out",
                                     R"(  unsigned long long* barrier = reinterpret_cast<unsigned long long*>(raw);
  if (threadIdx.x == 0) {
    gart_mbarrier_init(barrier, 2);
    gart_mbarrier_init_fence();
  }
  gart_cluster_arrive();
  gart_cluster_wait();
  const int other = gart_cluster_rank() ^ 1;
  if (gart_elect_one()) gart_mbarrier_arrive_in_cluster(barrier, other);
  const gart_vector<float, 4> v = gart_load4_in_cluster(gart_in_cluster(raw + 16, other));
  out[threadIdx.x] = gart_load_in_cluster(gart_in_cluster(raw + 64, other)) + v.at[3];
  gart_cluster_arrive_relaxed();
  gart_cluster_wait();
)",
                                     "__launch_bounds__(128) __cluster_dims__(2, 1, 1)");
  EXPECT_GT(usage.registers, 0);
}

TEST_F(DeviceText, warps_and_half_pairs_assemble) {
  const cuda::Usage usage = assemble("warp half_pairs wgmma", "const void* in, unsigned int* out",
                                     R"(  const gart_vector<unsigned int, 4> v = gart_load_once(in);
  const unsigned int q = gart_and_or(v.at[0], 0x000f000fu, 0x64006400u);
  const unsigned int r = gart_fma_f16x2(gart_sub_f16x2(q, 0x64086408u), gart_mul_f16x2(v.at[1], v.at[2]), v.at[3]);
  gart_store_matrices(raw + threadIdx.x * 16, r, q, v.at[1], v.at[2]);
  gart_named_barrier(1, 128);
  gart_store_matrices_transposed(raw + threadIdx.x * 16, r, q, v.at[1], v.at[2]);
  gart_named_arrive(2, 128);
  const float x = gart_reciprocal_fast(gart_exp2_fast(__uint_as_float(r)));
  gart_known(x, raw);
  out[threadIdx.x] = __float_as_uint(x);
)");
  EXPECT_GT(usage.registers, 0);
}

TEST_F(DeviceText, a_kernel_says_what_its_clusters_are) {
  const Plan plan = cuda_plan(parse_graph(R"(graph g(%x: f32[64]) -> (%y) {
    %y = Neg(%x)
  })"),
                              target_);
  cuda::FunctionText function(plan.kernels.front());
  function.include("gart_cluster.cuh");
  function.line("p1[threadIdx.x] = (float)gart_cluster_rank();");
  const cuda::KernelText text = function.finish("ranks", 128, 1, 4);
  EXPECT_EQ(text.cluster, 4);
  EXPECT_NE(text.source.find("__launch_bounds__(128, 1) __cluster_dims__(4, 1, 1) ranks_"), std::string::npos)
      << text.source;
  EXPECT_EQ(function.finish("ranks", 128, 1).source.find("__cluster_dims__"), std::string::npos);
  EXPECT_NE(function.finish("ranks", 128, 1).symbol, text.symbol);
  const cuda::CubinCache cache{std::filesystem::path()};
  EXPECT_GT(cuda::usage_of(cuda::Assembler(target_, cache).assemble(text.source).log).registers, 0);
}

}  // namespace
}  // namespace gcg::test
