// Artifacts of every released format load and run, for the whole major series.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "tests/runtime/models.h"

namespace gart {
namespace {

const std::filesystem::path kGolden = std::filesystem::path(GCC_GRAPH_SOURCE_DIR) / "tests/artifact/golden";

std::filesystem::path current_golden() {
  return kGolden / (std::to_string(kFormatMajor) + "." + std::to_string(kFormatMinor) + ".gart");
}

/// Only for a new format version: --gtest_also_run_disabled_tests --gtest_filter=Golden.DISABLED_Write
TEST(Golden, DISABLED_Write) {
  ASSERT_FALSE(std::filesystem::exists(current_golden())) << "golden files are never rewritten";
  test::ArtifactBuilder builder = test::small_artifact();
  builder.content.manifest.targets[0]->name = "any";
  builder.content.manifest.targets[0]->features = 0;
  const std::vector<uint8_t> bytes = builder.write({.raw_alignment = 64});
  std::ofstream(current_golden(), std::ios::binary)
      .write(reinterpret_cast<const char*>(bytes.data()), std::streamsize(bytes.size()));
}

TEST(Golden, EveryReleasedFormatLoadsAndRuns) {
  EXPECT_TRUE(std::filesystem::exists(current_golden()))
      << "format " << current_golden().stem() << " has no golden artifact";
  const std::vector<float> x = test::ramp(48), y = test::ramp(48, 100);
  for (const auto& file : std::filesystem::directory_iterator(kGolden)) {
    auto program = load(file.path().string());
    ASSERT_TRUE(program) << program.error().message;
    for (const uint8_t flag : {uint8_t{1}, uint8_t{0}}) {
      auto out = program->run(std::vector<NamedTensor>{{"x", {x.data(), DType::f32, Shape{3, 16}}},
                                                       {"y", {y.data(), DType::f32, Shape{3, 16}}},
                                                       {"flag", {&flag, DType::boolean, Shape{}}}});
      ASSERT_TRUE(out) << file.path() << ": " << out.error().message;
      std::vector<float> expected = flag != 0 ? x : y;
      for (size_t i = 0; i < 16; ++i) std::memset(&expected[i], 0x3f, 4);
      EXPECT_EQ(test::floats(out->at(0)), expected) << file.path();
    }
  }
}

}  // namespace
}  // namespace gart
