// Invalid call steps: the verifier rejects each one, and the message says where and what.
#include <gtest/gtest.h>

#include <cmath>

#include "artifact_schema/reader.h"
#include "artifact_schema/verify.h"
#include "tests/artifact/verdict.h"

namespace gart {
namespace {

using test::ArtifactBuilder;
using test::Nonsense;
using test::verdict;

std::unique_ptr<fb::LibraryT> library(const char* name, uint32_t oldest, uint32_t below) {
  auto out = std::make_unique<fb::LibraryT>();
  out->name = name;
  out->oldest = oldest;
  out->below = below;
  return out;
}

void add_view(fb::StepT& step, uint8_t rank, uint32_t slot) {
  auto view = std::make_unique<fb::CallViewT>();
  view->dtype = fb::DType::f32;
  view->rank = rank;
  step.call->views.push_back(std::move(view));
  step.params.insert(step.params.end(), 1 + 2 * size_t{rank}, slot);
}

/// Buffers 0 and 1 are inputs, 2 the output, 3 a constant. Step 0 is a matrix product with a bias, step 1 a convolution
/// with an addend, step 2 an attention.
ArtifactBuilder with_calls() {
  ArtifactBuilder b;
  b.content.manifest.targets[0]->kind = fb::TargetKind::cuda_sm;
  b.content.manifest.targets[0]->features = 0;
  b.content.manifest.libraries.push_back(library("cublasLt", 120000, 140000));
  b.content.manifest.libraries.push_back(library("cudnn", 90000, 100000));
  const uint32_t one = b.constant(1), four = b.constant(4);
  b.input("x", fb::DType::f32, {one});
  b.input("w", fb::DType::f32, {one});
  b.output("y", fb::DType::f32, {one});
  b.content.weights.assign(64, 1);
  const uint32_t x = b.buffer(fb::BufferKind::input, 0, four), w = b.buffer(fb::BufferKind::input, 1, four);
  const uint32_t y = b.buffer(fb::BufferKind::output, 0, four), bias = b.buffer(fb::BufferKind::constant, 0, four);
  const auto call = [&](fb::Operation operation, std::vector<uint32_t> operands, std::vector<uint8_t> ranks) {
    fb::StepT& step = b.step(fb::StepKind::call, std::move(operands), one);
    step.call = std::make_unique<fb::CallT>();
    step.call->operation = operation;
    for (const uint8_t rank : ranks) add_view(step, rank, one);
    step.writes = {operation == fb::Operation::attention ? 3u : 2u};
    return &step;
  };
  call(fb::Operation::matmul, {x, w, y, bias}, {3, 3, 3, 1})->call->bias = true;
  fb::CallT& convolution = *call(fb::Operation::convolution, {x, w, y, bias}, {4, 4, 4, 4})->call;
  convolution.library = 1;
  convolution.oldest = 91301;
  convolution.addend = true;
  convolution.strides = convolution.dilations = {1, 2};
  convolution.pads = {0, 3};
  call(fb::Operation::attention, {x, w, bias, y}, {4, 4, 4, 4});
  b.close_sequence();
  return b;
}

fb::StepT& step(ArtifactBuilder& b, size_t index) { return *b.plan().sequences[0]->steps[index]; }

std::unique_ptr<fb::AlgorithmT> algorithm_of(size_t numbers) {
  auto out = std::make_unique<fb::AlgorithmT>();
  out->sm = 80;
  out->version = 91900;
  out->config.assign(numbers, 1);
  return out;
}

const Nonsense kNonsense[] = {
    {"library 1: name 'cublasLt' is empty or occurs twice",
     [](auto& b) { b.content.manifest.libraries[1]->name = "cublasLt"; }},
    {"library 0: name '' is empty", [](auto& b) { b.content.manifest.libraries[0]->name.clear(); }},
    {"library 1: no version is from 100000 on and below 100000",
     [](auto& b) { b.content.manifest.libraries[1]->oldest = 100000; }},
    {"step 0 (): it calls a library, but the plan is for a CPU",
     [](auto& b) { b.content.manifest.targets[0]->kind = fb::TargetKind::cpu; }},
    {"step 0 (): it is a call without a call table", [](auto& b) { step(b, 0).call = nullptr; }},
    {"step 0 (): library is 2, but there are 2 libraries", [](auto& b) { step(b, 0).call->library = 2; }},
    {"step 1 (): it needs version 100000, the library's are from 90000 on and below 100000",
     [](auto& b) { step(b, 1).call->oldest = 100000; }},
    {"step 1 (): it needs version 89999, the library's are from 90000 on and below 100000",
     [](auto& b) { step(b, 1).call->oldest = 89999; }},
    {"step 2 (): its operation 3 is not known", [](auto& b) { step(b, 2).call->operation = fb::Operation(3); }},
    {"step 0 (): its activation 3 is not known", [](auto& b) { step(b, 0).call->activation = fb::Activation(3); }},
    {"step 0 (): its precision 4 is not known", [](auto& b) { step(b, 0).call->precision = fb::Precision(4); }},
    {"step 0 (): its scale is not a number", [](auto& b) { step(b, 0).call->scale = std::nanf(""); }},
    {"step 0 (): its workspace has 70368744177665 bytes, the limit is 70368744177664",
     [](auto& b) { step(b, 0).call->workspace = (uint64_t{1} << 46) + 1; }},
    {"step 0 (): it has 4 operands and 4 views, matmul takes 3", [](auto& b) { step(b, 0).call->bias = false; }},
    {"step 0 (): it has 4 operands and 3 views, matmul takes 4", [](auto& b) { step(b, 0).call->views.pop_back(); }},
    {"step 0 (): it has 3 operands and 4 views, matmul takes 4", [](auto& b) { step(b, 0).operands.pop_back(); }},
    {"step 0 (): operand 1 is 9, but there are 4 buffers", [](auto& b) { step(b, 0).operands[1] = 9; }},
    {"step 0 (): view 3 has rank 2 instead of 1", [](auto& b) { step(b, 0).call->views[3]->rank = 2; }},
    {"step 1 (): view 0 has rank 4 instead of 3",
     [](auto& b) {
       fb::CallT& call = *step(b, 1).call;
       call.strides = call.dilations = call.pads = {1};
     }},
    {"step 0 (): view 1 has dtype 99, which is not known",
     [](auto& b) { step(b, 0).call->views[1]->dtype = fb::DType(99); }},
    {"step 0 (): it has 23 params, its views take 24", [](auto& b) { step(b, 0).params.pop_back(); }},
    {"step 0 (): param 5 is 77, but there are 2 slots", [](auto& b) { step(b, 0).params[5] = 77; }},
    {"step 0 (): it does not write operand 2 alone", [](auto& b) { step(b, 0).writes = {3}; }},
    {"step 2 (): it does not write operand 3 alone", [](auto& b) { step(b, 2).writes.clear(); }},
    {"step 0 (): it writes buffer 3, which is of kind constant", [](auto& b) { step(b, 0).operands[2] = 3; }},
    {"step 1 (): it has 2 strides, 2 dilations and 1 pads", [](auto& b) { step(b, 1).call->pads.pop_back(); }},
    {"step 1 (): it has 0 spatial axes",
     [](auto& b) {
       fb::CallT& call = *step(b, 1).call;
       call.strides.clear(), call.dilations.clear(), call.pads.clear();
     }},
    {"step 0 (): it has 1 spatial axes",
     [](auto& b) {
       fb::CallT& call = *step(b, 0).call;
       call.strides = call.dilations = call.pads = {1};
     }},
    {"step 1 (): spatial axis 1 has stride 0, dilation 2 and pad 3", [](auto& b) { step(b, 1).call->strides[1] = 0; }},
    {"step 1 (): spatial axis 1 has stride 2, dilation 2 and pad 2000000",
     [](auto& b) { step(b, 1).call->pads[1] = 2000000; }},
    {"step 1 (): it has 0 groups", [](auto& b) { step(b, 1).call->groups = 0; }},
    {"step 2 (): it has 2 groups", [](auto& b) { step(b, 2).call->groups = 2; }},
    {"step 2 (): it is an attention with a bias", [](auto& b) { step(b, 2).call->bias = true; }},
    {"step 0 (): its algorithm has 7 numbers, which no algorithm for matmul has",
     [](auto& b) { step(b, 0).call->algorithm = algorithm_of(7); }},
    {"step 1 (): its algorithm has 0 numbers, which no algorithm for convolution has",
     [](auto& b) { step(b, 1).call->algorithm = algorithm_of(0); }},
    {"step 1 (): its algorithm has 131 numbers, which no algorithm for convolution has",
     [](auto& b) { step(b, 1).call->algorithm = algorithm_of(131); }},
    {"step 2 (): its algorithm has 4 numbers, which no algorithm for attention has",
     [](auto& b) { step(b, 2).call->algorithm = algorithm_of(4); }},
    {"step 1 (): it is the fallback for a step, but not a launch", [](auto& b) { step(b, 1).fallback_for = 0; }},
};

TEST(VerifyCalls, TheOriginalIsFine) {
  ArtifactBuilder b = with_calls();
  EXPECT_EQ(verdict(b), "");
}

TEST(VerifyCalls, AlgorithmsAreOfTheirLibrarysForm) {
  ArtifactBuilder b = with_calls();
  step(b, 0).call->algorithm = algorithm_of(8);
  step(b, 1).call->algorithm = algorithm_of(1);
  step(b, 2).call->algorithm = algorithm_of(129);
  EXPECT_EQ(verdict(b), "");
}

TEST(VerifyCalls, RejectsNonsense) {
  for (const Nonsense& nonsense : kNonsense) {
    ArtifactBuilder b = with_calls();
    nonsense.commit(b);
    EXPECT_NE(verdict(b).find(nonsense.message), std::string::npos) << verdict(b) << "\nexpected: " << nonsense.message;
  }
}

/// Moves the numbers of an algorithm by 4 bytes, so that the first number becomes the vector's length.
TEST(VerifyCalls, AnAlgorithmIsAligned) {
  ArtifactBuilder b = with_calls();
  step(b, 0).call->algorithm = algorithm_of(8);
  step(b, 0).call->algorithm->config[0] = 8;
  std::vector<uint8_t> bytes = b.write({.raw_alignment = 64});
  ArtifactView view;
  ASSERT_TRUE(read_artifact(bytes, view).ok());
  ASSERT_EQ(verify_artifact(view).message, "");
  const auto* call =
      view.manifest->entry_points()->Get(0)->plans()->Get(0)->sequences()->Get(0)->steps()->Get(0)->call();
  auto* table = const_cast<fb::Algorithm*>(call->algorithm());
  auto* config = const_cast<uint8_t*>(reinterpret_cast<const uint8_t*>(table->config()));
  ASSERT_TRUE((reinterpret_cast<flatbuffers::Table*>(table)->SetPointer(fb::Algorithm::VT_CONFIG, config + 4)));
  EXPECT_NE(verify_artifact(view).message.find("step 0 (): its algorithm is not 8-byte aligned in the manifest"),
            std::string::npos)
      << verify_artifact(view).message;
}

TEST(VerifyCalls, AFallbackIsALaunchAfterItsCall) {
  const auto verdict_of = [](int fallback_for) {
    ArtifactBuilder b = with_calls();
    auto kernel = std::make_unique<fb::KernelT>();
    kernel->name = kernel->symbol = "own";
    kernel->operands = 1;
    kernel->size = 16;
    kernel->threads = 32;
    b.plan().kernels.push_back(std::move(kernel));
    b.content.code.push_back(std::vector<uint8_t>(64, 1));
    for (int i = 0; i < 2; ++i) {
      auto launch = std::make_unique<fb::StepT>();
      launch->operands = {2};
      launch->writes = {0};
      launch->fallback_for = i == 0 ? 0 : fallback_for;
      b.plan().sequences[0]->steps.push_back(std::move(launch));
    }
    return verdict(b);
  };
  EXPECT_EQ(verdict_of(0), "");
  EXPECT_EQ(verdict_of(-1), "");
  EXPECT_NE(verdict_of(3).find("step 4 (): it is the fallback for step 3, not a call"), std::string::npos);
  EXPECT_NE(verdict_of(4).find("step 4 (): fallback_for is 4, but there are 4 earlier steps"), std::string::npos);
  EXPECT_NE(verdict_of(-2).find("fallback_for is 4294967294"), std::string::npos);
}

}  // namespace
}  // namespace gart
