// Artifacts of every released format of the major version load and run.
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

void add_gpu_target(fb::ManifestT& manifest) {
  auto target = std::make_unique<fb::TargetT>();
  target->name = "sm_80";
  target->kind = fb::TargetKind::cuda_sm;
  target->sm = 80;
  target->driver = 12060;
  manifest.targets.push_back(std::move(target));
  auto library = std::make_unique<fb::LibraryT>();
  library->name = "cublasLt";
  library->oldest = 120000;
  library->below = 140000;
  manifest.libraries.push_back(std::move(library));
}

/// A step in which a library multiplies the first row of `x` by the first row of `y`.
std::unique_ptr<fb::StepT> row_product(uint32_t x, uint32_t y, uint32_t to, uint32_t zero, uint32_t one, uint32_t row) {
  auto step = std::make_unique<fb::StepT>();
  step->kind = fb::StepKind::call;
  step->operands = {x, y, to};
  step->writes = {2};
  step->tasks = one;
  step->call = std::make_unique<fb::CallT>();
  for (const std::vector<uint32_t>& numbers :
       {std::vector{zero, one, one, row, row, row, one}, std::vector{zero, one, row, one, row, one, one},
        std::vector{zero, one, one, one, one, one, one}}) {
    auto view = std::make_unique<fb::CallViewT>();
    view->dtype = fb::DType::f32;
    view->rank = 3;
    step->call->views.push_back(std::move(view));
    step->params.insert(step->params.end(), numbers.begin(), numbers.end());
  }
  return step;
}

/// Two launches of a kernel that reads constants ahead and waits; the second one overlaps the first. Each has a tensor
/// map; the second map describes images.
void add_overlapping_launches(test::ArtifactBuilder& builder, fb::PlanT& plan, uint32_t from, uint32_t weights,
                              uint32_t to, uint32_t zero, uint32_t one, uint32_t row) {
  auto kernel = std::make_unique<fb::KernelT>();
  kernel->symbol = "product";
  kernel->operands = 3;
  kernel->threads = 32;
  kernel->shared = 4096;
  kernel->waits = true;
  kernel->ahead = {1};
  kernel->maps = 1;
  kernel->cluster = 1;
  kernel->size = 16;
  builder.content.code.resize(builder.content.manifest.targets.size());
  builder.content.code[plan.target].assign(16, 0);
  const auto number = uint32_t(plan.kernels.size());
  plan.kernels.push_back(std::move(kernel));
  for (const bool overlaps : {false, true}) {
    auto step = std::make_unique<fb::StepT>();
    step->kind = fb::StepKind::launch;
    step->kernel = number;
    step->operands = {from, weights, to};
    step->writes = {2};
    step->params = {zero, row, one, row};
    step->tasks = one;
    step->overlaps = overlaps;
    step->maps.push_back(std::make_unique<fb::TensorMapT>());
    step->maps[0]->operand = 1;
    step->maps[0]->dtype = fb::DType::f16;
    step->maps[0]->box = {8, 1};
    if (overlaps) {
      step->params = {zero, row, one, one, row, row};
      step->maps[0]->box = {8, 1, 1};
      step->maps[0]->kind = fb::MapKind::im2col;
      step->maps[0]->steps = {1, 2, 1};
      step->maps[0]->lower = {-1};
      step->maps[0]->upper = {-1};
      step->maps[0]->pixels = 4;
    }
    plan.sequences.back()->steps.push_back(std::move(step));
  }
}

/// Adds a copy of the plan for CPUs with VNNI; such a CPU prefers the copy.
void add_plan_for_bytes(test::ArtifactBuilder& builder) {
  auto target = std::make_unique<fb::TargetT>();
  target->name = "bytes";
  target->features = kFeaturesX86_64v4Vnni;
  builder.content.manifest.targets.push_back(std::move(target));
  builder.copy_plan().target = uint32_t(builder.content.manifest.targets.size() - 1);
  builder.content.code.resize(builder.content.manifest.targets.size());
}

std::unique_ptr<fb::AlgorithmT> measured_algorithm() {
  auto algorithm = std::make_unique<fb::AlgorithmT>();
  algorithm->sm = 80;
  algorithm->version = 120100;
  algorithm->config = {1, 2, 3, 4, 5, 6, 7, 8};
  return algorithm;
}

/// An entry point that copies a state of two floats to its output.
std::unique_ptr<fb::EntryPointT> copying_entry(const char* name, const char* state_name) {
  test::ArtifactBuilder builder;
  const uint32_t extent = builder.constant(2), size = builder.constant(8), tasks = builder.constant(1);
  builder.input(state_name, fb::DType::f32, {extent});
  builder.output("next", fb::DType::f32, {extent});
  builder.buffer(fb::BufferKind::input, 0, size);
  builder.buffer(fb::BufferKind::output, 0, size);
  builder.step(fb::StepKind::copy, {1, 0}, tasks);
  builder.close_sequence();
  std::unique_ptr<fb::EntryPointT> entry = std::move(builder.content.manifest.entry_points[0]);
  entry->name = name;
  entry->states.push_back(std::make_unique<fb::StateT>());
  entry->states[0]->name = state_name;
  return entry;
}

/// A small artifact for any CPU, with a plan for CPUs with VNNI. Its plan for a GPU has a library call with an oldest
/// version and an algorithm, overlapping launches, a tensor map of images and a kernel with clusters. There is an entry
/// point with a session's state, and one that reads a state of the program.
test::ArtifactBuilder current_artifact() {
  test::ArtifactBuilder builder = test::small_artifact();
  builder.content.manifest.targets[0]->name = "any";
  builder.content.manifest.targets[0]->features = 0;
  add_plan_for_bytes(builder);
  add_gpu_target(builder.content.manifest);
  const uint32_t zero = builder.constant(0), one = builder.constant(1), row = builder.constant(16);
  fb::PlanT& plan = builder.copy_plan();
  plan.target = uint32_t(builder.content.manifest.targets.size() - 1);
  constexpr uint32_t kX = 0, kY = 1, kWeights = 4, kSecond = 6;  // buffers of small_artifact()
  plan.sequences.back()->steps.push_back(row_product(kX, kY, kSecond, zero, one, row));
  plan.sequences.back()->steps.back()->call->oldest = 120100;
  plan.sequences.back()->steps.back()->call->algorithm = measured_algorithm();
  add_overlapping_launches(builder, plan, kX, kWeights, kSecond, zero, one, row);
  builder.content.manifest.entry_points.push_back(copying_entry("kept", "s"));
  builder.content.manifest.entry_points.push_back(copying_entry("read", "w"));
  fb::StateT& weights = *builder.content.manifest.entry_points.back()->states[0];
  weights.scope = fb::StateScope::program;
  weights.initial = 64;
  weights.read_only = true;
  return builder;
}

/// Only for a new format version: --gtest_also_run_disabled_tests --gtest_filter=Golden.DISABLED_Write
TEST(Golden, DISABLED_Write) {
  ASSERT_FALSE(std::filesystem::exists(current_golden())) << "golden files are never rewritten";
  const std::vector<uint8_t> bytes = current_artifact().write({.raw_alignment = 64});
  std::ofstream(current_golden(), std::ios::binary)
      .write(reinterpret_cast<const char*>(bytes.data()), std::streamsize(bytes.size()));
}

TEST(Golden, EveryReleasedFormatLoadsAndRuns) {
  EXPECT_TRUE(std::filesystem::exists(current_golden()))
      << "format " << current_golden().stem() << " has no golden artifact";
  const std::vector<float> x = test::ramp(48), y = test::ramp(48, 100);
  for (const auto& file : std::filesystem::directory_iterator(kGolden)) {
    auto program = load(file.path().string(), {.device = "cpu"});
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
    const Session session = *program->new_session();
    const std::vector<float> two = {1, 2};
    ASSERT_TRUE(session.set_state("s", test::view(two)));
    ASSERT_TRUE(session.run(std::vector<NamedTensor>(), "kept"));
    EXPECT_EQ(test::floats(*session.state("s")), two);
    const auto first = program->run(std::vector<NamedTensor>(), "read");
    ASSERT_TRUE(first) << first.error().message;
    std::vector<float> filled(2);
    std::memset(filled.data(), 0x3f, 8);
    EXPECT_EQ(test::floats(first->at(0)), filled);
    ASSERT_TRUE(program->set_state("w", test::view(two)));
    EXPECT_EQ(test::floats(program->run(std::vector<NamedTensor>(), "read")->at(0)), two);
  }
}

}  // namespace
}  // namespace gart
