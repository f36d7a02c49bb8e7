// The sentences for what the compiler has to say.
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
      {{}, gcg::IdleOption::libraries},
      {{}, gcg::IdleAssignment{"b=cpu", "b"}},
      {cpu, gcg::NarrowedWeights{}},
      {cpu, gcg::NarrowedWeights{"f16", 102'100'000, 51'050'000, 400'000}},
      {cpu, gcg::RepeatedWork{{"a", "b", "c", "d", "e", "f"}, 7.6}},
      {gpu, gcg::HostWait{"y", "n0"}},
      {gpu, gcg::IdleLibrary{"cudnn", {LibraryOperation::convolution, LibraryOperation::attention}, 0, 0}},
      {gpu, gcg::IdleLibrary{"cublasLt", {LibraryOperation::matmul}, 3, 0}},
      {gpu, gcg::IdleLibrary{"cublasLt", {LibraryOperation::matmul}, 3, 2}},
      {gpu, gcg::LibraryLeftOut{"cudnn", 80, "sm_75", "attention", 3}},
  };
  EXPECT_EQ(
      sentences_of(remarks),
      (std::vector<std::string>{
          "--libraries has no effect: no GPU is among the targets",
          "--assign 'b=cpu' has no effect: no work is left of 'b'",
          "CPUs [any shape]: --precision has no effect: there are no weights of contractions that 16 bits hold well",
          "CPUs [any shape]: weights of 102.1 MB are stored as f16 in 51.0 MB and widened where they are multiplied; "
          "values and sums are f32, as are 0.4 MB of other constants",
          "CPUs [any shape]: one kernel for 'a', 'b', 'c', 'd' and 2 more does 8 times the work of kernels of their "
          "own",
          "GPUs [batch=1,seq=128]: an extent of what 'y' gives depends on data ('n0'): the graph is split there, and "
          "the host waits for the value",
          "GPUs [batch=1,seq=128]: cudnn does nothing here: it is for convolutions and attention, and no kernel here "
          "is one",
          "GPUs [batch=1,seq=128]: cublasLt does nothing here: of 3 steps of its kind (matrix products) none has "
          "types, "
          "extents, strides and fused operators that it takes",
          "GPUs [batch=1,seq=128]: cublasLt does nothing here: of 2 steps that it could do, their weights or memory "
          "are "
          "in no form that it takes",
          "GPUs [batch=1,seq=128]: 'attention' and 2 more could be done by cudnn on sm_80 and newer, but sm_75 is "
          "asked "
          "for, too: kernels do it everywhere (--libraries auto has both)",
      }));
}

TEST(RemarkText, OfManyEqualExtentsTheFirstAreNamed) {
  gcg::EqualExtents equal;
  for (int i = 0; i < 6; ++i) equal.pairs.push_back({"Add 'sum': broadcasting", "n" + std::to_string(i), "m"});
  const std::vector<std::string> all = sentences_of({{{}, equal}});
  ASSERT_EQ(all.size(), 5U);
  EXPECT_EQ(all[0],
            "Add 'sum': broadcasting: the extents n0 and m are taken to be equal: a run where only one of them is 1 is "
            "refused");
  EXPECT_EQ(all[4], "2 more pairs of extents are taken to be equal");
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
