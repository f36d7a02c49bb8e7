// Artifacts with faults that only a run can detect, so the verifier accepts them. A run must give an error and nothing
// worse.
#include <gtest/gtest.h>

#include <limits>

#include "tests/runtime/models.h"

namespace gart {
namespace {

using test::ArtifactBuilder;
using test::ramp;
using test::view;

std::string error_of_run(ArtifactBuilder b, size_t elements) {
  Result<Program> program = test::load_model(b);
  if (!program) return "load: " + program.error().message;
  const std::vector<float> x = ramp(elements, 1);
  auto out = program->run(std::vector<TensorView>{view(x)});
  return out ? "" : out.error().message;
}

bool says(const std::string& message, const std::string& part) { return message.find(part) != std::string::npos; }

/// positives() with a fill in place of its last step, which writes the output.
ArtifactBuilder positives_ending_in_fill() {
  ArtifactBuilder b = test::positives();
  fb::StepT& last = *b.plan().sequences[0]->steps.back();
  last.kind = fb::StepKind::fill;
  last.operands = {1};
  return b;
}

TEST(HostileArtifact, AnOutputOfLateShapeInASmallerBufferIsRefused) {
  EXPECT_EQ(error_of_run(positives_ending_in_fill(), 7), "");
  ArtifactBuilder b = positives_ending_in_fill();
  b.plan().buffers[1]->size = b.constant(4);  // known before the run, but the shape only after the bind step
  b.plan().sequences[0]->steps.back()->tasks = b.constant(1);
  const std::string message = error_of_run(std::move(b), 7);
  EXPECT_TRUE(says(message, "the plan writes 4 bytes to output 'out' of shape")) << message;
}

TEST(HostileArtifact, AnOutputOfLateShapeAndOtherLateSizeIsRefused) {
  ArtifactBuilder b = positives_ending_in_fill();
  const uint32_t k = 1;
  b.entry().outputs[0]->dims = {b.instruction(fb::ExprOp::mul, k, b.constant(1 << 22))};
  const std::string message = error_of_run(std::move(b), 7);
  EXPECT_TRUE(says(message, "to output 'out' of shape")) << message;
}

TEST(HostileArtifact, ALoopOfNothingEnds) {
  ArtifactBuilder b = test::doubling_loop();
  b.content.weights.assign(8, 0xff);
  b.content.weights[7] = 0x7f;  // 2^63-1 turns
  b.plan().sequences[0]->steps.clear();
  fb::StepT& loop = *b.plan().sequences[1]->steps.back();
  loop.loop->condition = -1;
  loop.loop->carried_from.clear();
  loop.loop->carried_to.clear();
  const std::string message = error_of_run(std::move(b), 7);
  EXPECT_TRUE(says(message, "a loop has not ended after")) << message;
}

TEST(HostileArtifact, AnArenaBeyondTheMachineIsToldInBytes) {
  ArtifactBuilder b = test::doubling_loop();
  const uint32_t huge = b.constant(int64_t{1} << 45);
  b.plan().buffers[4]->size = huge;
  const std::string message = error_of_run(std::move(b), 7);
  EXPECT_TRUE(says(message, "has no 3518437")) << message;
}

}  // namespace
}  // namespace gart
