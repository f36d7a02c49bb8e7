// The sentences of the compiler's diagnostics.
#include "tools/api/remark_text.h"

#include <gtest/gtest.h>

#include "compiler/kernel/library_call.h"
#include "compiler/kernel/target.h"

namespace gcc_graph::detail {
namespace {

using gcg::DeviceClass;
using gcg::LibraryOperation;
using gcg::Remark;

TEST(RemarkText, EachFactHasItsSentence) {
  const Remark::Plans cpu{DeviceClass::cpu, {}}, gpu{DeviceClass::cuda, {{"batch", 1}, {"seq", 128}}};
  const std::vector<Remark> remarks = {
      {{}, gcg::UnusedOption::libraries},
      {{}, gcg::UnmatchedRequest{"--assign", "b=cpu", "passes removed all work of 'b'"}},
      {{}, gcg::OmittedTraining{1}},
      {cpu, gcg::Recomputation{"train", 5000, 3000, 40, 3, 200, 25}},
      {cpu, gcg::NarrowedWeights{}},
      {cpu, gcg::NarrowedWeights{"f16", 102'100'000, 51'050'000, 400'000}},
      {cpu, gcg::RepeatedWork{{"a", "b", "c", "d", "e", "f"}, 7.6}},
      {gpu, gcg::HostWait{"y", "n0"}},
      {gpu, gcg::UnusedLibrary{"cudnn", {LibraryOperation::convolution, LibraryOperation::attention}, 0, 0}},
      {gpu, gcg::UnusedLibrary{"cublasLt", {LibraryOperation::matmul}, 3, 0}},
      {gpu, gcg::UnusedLibrary{"cublasLt", {LibraryOperation::matmul}, 3, 2}},
      {gpu, gcg::SkippedLibrary{"cudnn", 80, "sm_75", "attention", 3}},
  };
  EXPECT_EQ(
      sentences_of(remarks),
      (std::vector<std::string>{
          "--libraries has no effect: no GPU is among the targets",
          "--assign 'b=cpu' has no effect: passes removed all work of 'b'",
          "the model's training_info (1 entry) is left out: only its graph is compiled",
          "CPUs [any shape]: 'train' computes values again to stay within the memory limit: it repeats 3 of 40 steps, "
          "the "
          "arena shrinks from 5000 to 3000 bytes, and a run takes 12.5% longer (predicted)",
          "CPUs [any shape]: --precision has no effect: no weights of contractions keep their accuracy in 16 bits",
          "CPUs [any shape]: weights of 102.1 MB are stored as f16 in 51.0 MB and widened where they are multiplied; "
          "values and sums are f32, as are 0.4 MB of other constants",
          "CPUs [any shape]: one kernel for 'a', 'b', 'c', 'd' and 2 more does 8 times the work of separate "
          "kernels",
          "GPUs [batch=1,seq=128]: an extent of a result of 'y' depends on data ('n0'): the graph is split there, and "
          "the host waits for the value",
          "GPUs [batch=1,seq=128]: cudnn does nothing here: it computes convolutions and attention, and this model has "
          "none",
          "GPUs [batch=1,seq=128]: cublasLt does nothing here: it supports the types, extents, strides and fused "
          "operators of none of the 3 steps of its kind (matrix products)",
          "GPUs [batch=1,seq=128]: cublasLt does nothing here: it could do 2 steps, but does not support the form of "
          "their weights or memory",
          "GPUs [batch=1,seq=128]: 'attention' and 2 more could use cudnn on sm_80 and newer, but the targets include "
          "sm_75: kernels do it on all GPUs (--libraries auto stores both)",
      }));
}

TEST(RemarkText, OfManyEqualExtentsTheFirstAreNamed) {
  gcg::EqualExtents equal;
  for (int i = 0; i < 6; ++i) equal.pairs.push_back({"Add 'sum': broadcasting", "n" + std::to_string(i), "m"});
  const std::vector<std::string> all = sentences_of({{{}, equal}});
  ASSERT_EQ(all.size(), 5U);
  EXPECT_EQ(
      all[0],
      "Add 'sum': broadcasting: the extents n0 and m are assumed to be equal: a run fails if only one of them is 1");
  EXPECT_EQ(all[4], "2 more pairs of extents are assumed to be equal");
}

TEST(RemarkText, ShapesOfPlans) {
  gcg::PlanReport plan;
  EXPECT_EQ(shapes_text(plan), "symbolic");
  plan.fixed = {{"batch", 8}};
  EXPECT_EQ(shapes_text(plan), "batch=8");
  plan.assumes_equal_extents = true;
  EXPECT_EQ(shapes_text(plan), "batch=8, equal extents");
  plan.is_load_time_packing = true;
  EXPECT_EQ(shapes_text(plan), "load-time packing");
}

}  // namespace
}  // namespace gcc_graph::detail
