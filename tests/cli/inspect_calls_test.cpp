// `inspect` prints the library versions that the file needs to load, and those that all its calls need.
#include "tools/gcc-graph/inspect/inspect_calls.h"

#include <gtest/gtest.h>

namespace gcg::tools {
namespace {

/// The versions that `inspect` prints for two calls of cudnn: a convolution, and an attention, which requires 9.13.1.
std::string versions_told(bool convolution_has_fallback, bool attention_has_fallback) {
  gart::fb::ManifestT manifest;
  manifest.libraries.push_back(std::make_unique<gart::fb::LibraryT>());
  manifest.libraries[0]->name = "cudnn";
  manifest.libraries[0]->oldest = 90000;
  manifest.libraries[0]->below = 100000;
  auto sequence = std::make_unique<gart::fb::SequenceT>();
  const auto add = [&](uint32_t oldest, bool has_fallback) {
    auto step = std::make_unique<gart::fb::StepT>();
    step->kind = gart::fb::StepKind::call;
    step->call = std::make_unique<gart::fb::CallT>();
    step->call->oldest = oldest;
    sequence->steps.push_back(std::move(step));
    if (!has_fallback) return;
    auto other = std::make_unique<gart::fb::StepT>();
    other->fallback_for = static_cast<int32_t>(sequence->steps.size()) - 1;
    sequence->steps.push_back(std::move(other));
  };
  add(90000, convolution_has_fallback);
  add(91301, attention_has_fallback);
  auto plan = std::make_unique<gart::fb::PlanT>();
  plan->sequences.push_back(std::move(sequence));
  manifest.entry_points.push_back(std::make_unique<gart::fb::EntryPointT>());
  manifest.entry_points[0]->plans.push_back(std::move(plan));
  flatbuffers::FlatBufferBuilder builder;
  builder.Finish(gart::fb::Manifest::Pack(builder, &manifest));
  testing::internal::CaptureStdout();
  print_libraries(libraries_json(*flatbuffers::GetRoot<gart::fb::Manifest>(builder.GetBufferPointer())));
  return testing::internal::GetCapturedStdout();
}

TEST(Libraries, WithoutFallbacksTheNewestThatACallWantsIsNeeded) {
  EXPECT_EQ(versions_told(false, false), "library cudnn: versions from 9.13.1 on, below 10.0.0\n");
  EXPECT_EQ(versions_told(true, false), "library cudnn: versions from 9.13.1 on, below 10.0.0\n");
}

TEST(Libraries, WithThemOlderOnesDoSomeCalls) {
  for (bool convolution : {false, true})
    EXPECT_EQ(versions_told(convolution, true),
              "library cudnn: versions from 9.0.0 on, below 10.0.0, all its calls from 9.13.1 on\n");
}

}  // namespace
}  // namespace gcg::tools
