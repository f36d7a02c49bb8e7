// Launches that may start while the previous one runs. The verifier rejects them if they could touch memory that others
// write.
#include <gtest/gtest.h>

#include "tests/artifact/verdict.h"

namespace gart {
namespace {

using test::ArtifactBuilder;
using test::Nonsense;
using test::verdict;

/// Three launches of a kernel that reads operand 1, the constant buffer 2, before it waits. Step 1 overlaps step 0, and
/// step 2 is on a stream of its own. Buffer 0 is the input, 1 the output, 3 a temporary.
ArtifactBuilder overlapping() {
  ArtifactBuilder b;
  b.content.manifest.targets[0]->kind = fb::TargetKind::cuda_sm;
  b.content.manifest.targets[0]->features = 0;
  const uint32_t one = b.constant(1), four = b.constant(4);
  b.input("x", fb::DType::f32, {one});
  b.output("y", fb::DType::f32, {one});
  b.content.weights.assign(64, 1);
  const uint32_t x = b.buffer(fb::BufferKind::input, 0, four), y = b.buffer(fb::BufferKind::output, 0, four);
  const uint32_t w = b.buffer(fb::BufferKind::constant, 0, four), t = b.buffer(fb::BufferKind::temporary, 0, four);
  b.plan().arena_bytes = b.plan().arena_lower_bound = 64;
  b.plan().streams = 2;
  auto kernel = std::make_unique<fb::KernelT>();
  kernel->name = kernel->symbol = "product";
  kernel->operands = 3;
  kernel->size = 16;
  kernel->threads = 32;
  kernel->waits = true;
  kernel->ahead = {1};
  b.plan().kernels.push_back(std::move(kernel));
  b.content.code.push_back(std::vector<uint8_t>(64, 1));
  b.launch(0, {x, w, t}, {}, one, {2});
  b.launch(0, {t, w, y}, {}, one, {2}).overlaps = true;
  b.launch(0, {x, w, t}, {}, one, {2}).stream = 1;
  b.close_sequence();
  return b;
}

fb::StepT& step(ArtifactBuilder& b, size_t index) { return *b.plan().sequences[0]->steps[index]; }

const Nonsense kNonsense[] = {
    {"kernel 0: it reads operands ahead, but waits for nothing", [](auto& b) { b.plan().kernels[0]->waits = false; }},
    {"kernel 0: ahead 0 is 3, but there are 3 operands", [](auto& b) { b.plan().kernels[0]->ahead = {3}; }},
    {"step 1 (product): it overlaps the step before it, but kernel 0 does not wait",
     [](auto& b) { b.plan().kernels[0]->waits = false, b.plan().kernels[0]->ahead.clear(); }},
    {"step 1 (product): its kernel reads buffer 3, which is of kind temporary, before it waits for the step that it "
     "overlaps",
     [](auto& b) { b.plan().kernels[0]->ahead = {1, 0}; }},
    {"step 1 (product): its kernel reads buffer 0, which is of kind input",
     [](auto& b) { step(b, 1).operands[1] = 0; }},
    {"step 0 (product): it overlaps the step before it, but is the first one of its stream",
     [](auto& b) { step(b, 0).overlaps = true; }},
    {"step 2 (product): it overlaps the step before it, but is the first one of its stream",
     [](auto& b) { step(b, 2).overlaps = true; }},
    {"step 2 (product): it overlaps the step before it, but waits for step 0 of stream 0",
     [](auto& b) {
       step(b, 1).stream = 1;
       step(b, 1).overlaps = false;
       step(b, 2).overlaps = true;
       step(b, 2).waits = {1, 0};
     }},
    {"step 1 (product): it overlaps step 0, not a launch of the GPU",
     [](auto& b) {
       fb::StepT& fill = step(b, 0);
       fill.kind = fb::StepKind::fill;
       fill.operands = {3};
       fill.writes.clear();
     }},
    {"step 2 (product): it overlaps step 1, not a launch of the GPU",
     [](auto& b) {
       fb::StepT& end = step(b, 1);
       end.kind = fb::StepKind::fail;
       end.overlaps = false;
       end.operands.clear(), end.writes.clear();
       step(b, 2).stream = 0;
       step(b, 2).overlaps = true;
     }},
    {"step 1 (product): it overlaps the step before it, but is not a launch of the GPU",
     [](auto& b) {
       fb::StepT& fill = step(b, 1);
       fill.kind = fb::StepKind::fill;
       fill.operands = {3};
       fill.writes.clear();
     }},
};

TEST(VerifyOverlap, TheOriginalIsFine) {
  ArtifactBuilder b = overlapping();
  EXPECT_EQ(verdict(b), "");
}

TEST(VerifyOverlap, RejectsNonsense) {
  for (const Nonsense& nonsense : kNonsense) {
    ArtifactBuilder b = overlapping();
    nonsense.commit(b);
    EXPECT_NE(verdict(b).find(nonsense.message), std::string::npos) << verdict(b) << "\nexpected: " << nonsense.message;
  }
}

TEST(VerifyOverlap, NothingOverlapsOnACpu) {
  ArtifactBuilder b = overlapping();
  b.content.manifest.targets[0]->kind = fb::TargetKind::cpu;
  EXPECT_NE(verdict(b).find("step 1 (product): it overlaps the step before it, but the plan is for a CPU"),
            std::string::npos)
      << verdict(b);
}

/// An entry point that runs a copy of the model's plan at load.
std::unique_ptr<fb::EntryPointT> prepare(ArtifactBuilder& b) {
  auto packing = std::make_unique<fb::EntryPointT>();
  packing->name = "load_time_packing";
  packing->program = b.entry().program;
  packing->plans.push_back(std::make_unique<fb::PlanT>(b.plan()));
  packing->plans[0]->buffers[0]->kind = fb::BufferKind::constant;
  packing->plans[0]->buffers[1]->kind = fb::BufferKind::temporary;
  return packing;
}

TEST(VerifyOverlap, PackedWeightsAreConstantsForRuns) {
  ArtifactBuilder b = overlapping();
  fb::BufferT& weights = *b.plan().buffers[2];
  weights.kind = fb::BufferKind::packed;
  b.plan().packed_bytes = 64;
  EXPECT_NE(verdict(b).find("no load-time packing writes its packed region"), std::string::npos) << verdict(b);
  b.content.manifest.load_time_packing = prepare(b);
  fb::PlanT& plan = *b.content.manifest.load_time_packing->plans[0];
  EXPECT_NE(verdict(b).find("its kernel reads buffer 2, which is of kind packed"), std::string::npos) << verdict(b);
  plan.sequences[0]->steps[1]->overlaps = false;
  EXPECT_EQ(verdict(b), "");
}

/// If a target has several plans at load, the first one runs.
TEST(VerifyOverlap, ThePackedRegionIsThatOfTheFirstPlan) {
  ArtifactBuilder b = overlapping();
  b.plan().buffers[2]->kind = fb::BufferKind::packed;
  b.plan().packed_bytes = 128;
  step(b, 1).overlaps = false;
  b.content.manifest.load_time_packing = prepare(b);
  EXPECT_EQ(verdict(b), "");
  auto& plans = b.content.manifest.load_time_packing->plans;
  plans.insert(plans.begin(), std::make_unique<fb::PlanT>(*plans[0]));
  plans[0]->packed_bytes = 64;
  EXPECT_NE(verdict(b).find("no load-time packing writes its packed region of 128 bytes"), std::string::npos)
      << verdict(b);
}

/// A file of some megabytes could hold so many pairs of plans that checking them takes hours.
TEST(VerifyOverlap, PairsOfPlansAreCounted) {
  ArtifactBuilder b = overlapping();
  b.plan().buffers[2]->kind = fb::BufferKind::packed;
  b.plan().packed_bytes = 128;
  step(b, 1).overlaps = false;
  b.content.manifest.load_time_packing = prepare(b);
  b.content.manifest.targets.push_back(std::make_unique<fb::TargetT>(*b.content.manifest.targets[0]));
  b.content.code.push_back(b.content.code[0]);
  auto& packing = b.content.manifest.load_time_packing->plans;
  for (int i = 0; i < 600; ++i) {
    packing.insert(packing.begin(), std::make_unique<fb::PlanT>(*packing.back()));
    packing[0]->target = 1;
  }
  EXPECT_EQ(verdict(b), "");
  for (int i = 0; i < 600; ++i) b.copy_plan();
  EXPECT_NE(verdict(b).find("the manifest has too many plans"), std::string::npos) << verdict(b);
}

}  // namespace
}  // namespace gart
