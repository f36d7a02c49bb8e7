// Makes each cuDNN call of attention fail in turn.
#include "tests/cuda/libraries/attention_model.h"
#include "tests/cuda/libraries/bound_model.h"
#include "tests/cuda/sim/end_to_end/simulation.h"

namespace gart::test {
namespace {

using gart_sim::sim_count;

struct Model {
  const char* name;
  std::string gir;
  std::vector<Shape> inputs;
  bool fallbacks;
};

const Model kModels[] = {
    {"Plain", self_attention(3, 32, "%t = Identity(%m)"), {{2, 37, 96}}, false},
    {"PlainWithFallbacks", self_attention(3, 32, "%t = Identity(%m)"), {{2, 37, 96}}, true},
    {"Masked", self_attention(2, 32, "%t = Add(%m, %a)", ", %a: f32[b,1,1,s]"), {{2, 9, 64}, {2, 1, 1, 9}}, false},
};

class AttentionFailures : public WithLibraries, public testing::WithParamInterface<Model> {
 protected:
  std::string use_with(const std::string& failure) const { return error_with(failure, artifact, inputs); }

  const Model& model = GetParam();
  const std::vector<std::vector<float>> data = noise(model.inputs);
  const std::vector<TensorView> inputs = views(data, model.inputs);
  const std::vector<uint8_t> artifact = compile_bound(model.gir, {{"cudnn"}, model.fallbacks}, gcg::Precision::fp16);
};
INSTANTIATE_TEST_SUITE_P(Models, AttentionFailures, testing::ValuesIn(kModels),
                         [](const auto& test) { return test.param.name; });

TEST_P(AttentionFailures, AreNamedOrLeftToOurKernel) {
  ASSERT_EQ(use_with(""), "");
  std::vector<std::pair<std::string, uint64_t>> calls;
  for (const char* name :
       {"cudnnCreate", "cudnnBackendCreateDescriptor", "cudnnBackendSetAttribute", "cudnnBackendFinalize",
        "cudnnBackendGetAttribute", "cudnnBackendPopulateCudaGraph", "cuGraphCreate"}) {
    calls.emplace_back(name, sim_count(name));
    EXPECT_GT(calls.back().second, 0u) << name;
  }
  for (const auto& [name, count] : calls)
    for (uint64_t k = 1; k <= count; ++k) {
      const std::string failure = name + ":" + std::to_string(k) + (name.starts_with("cudnn") ? ":5000" : ":801");
      const std::string error = use_with(failure);
      EXPECT_EQ(gart_sim::sim_reports(), std::vector<std::string>{}) << failure;
      EXPECT_EQ(gart_sim::sim_alive(), "") << failure << ": " << error;
      // If an engine fails, the next one is used. Before the graph is built, the kernel can still replace the call.
      EXPECT_TRUE(!error.empty() || model.fallbacks || name == "cudnnBackendFinalize") << failure;
      EXPECT_TRUE(error.empty() || !name.starts_with("cudnn") ||
                  error.find(" of cuDNN 9.19.0 failed") != std::string::npos)
          << error;
    }
}

}  // namespace
}  // namespace gart::test
