// Each check of the "from here on" rules in compile.cpp detects a pass that breaks the rule.
#include "compiler/plan/frozen_steps.h"

#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <vector>

#include "compiler/support/error.h"

namespace gcg::test {
namespace {

using Facts = FrozenSteps::Facts;

/// Two launches one after the other.
std::vector<Plan> two_launches() {
  std::vector<Plan> plans(1);
  Plan& plan = plans[0];
  for (const char* name : {"x", "a", "y"}) plan.buffers.push_back({.bytes = Dim(128), .name = name});
  Sequence sequence;
  sequence.steps.push_back({Launch{KernelId(0), {BufferId(0), BufferId(1)}, {1}}, "first"});
  sequence.steps.push_back({Launch{KernelId(0), {BufferId(1), BufferId(2)}, {1}}, "second", {StepId(0)}});
  plan.sequences.push_back(std::move(sequence));
  return plans;
}

/// The check's message after the change; empty if it finds nothing.
std::string verdict(Facts facts, const std::function<void(Sequence&)>& change) {
  std::vector<Plan> plans = two_launches();
  const FrozenSteps frozen(plans, facts);
  change(plans[0].entry());
  try {
    frozen.check(plans);
  } catch (const InternalError& error) {
    return error.what();
  }
  return "";
}

void expect_refused(Facts facts, const std::string& words, const std::function<void(Sequence&)>& change) {
  const std::string said = verdict(facts, change);
  EXPECT_NE(said.find(words), std::string::npos) << words << ": " << said;
}

TEST(FrozenSteps, FromSelectCodeOnNoStepIsAdded) {
  expect_refused(Facts::work, "sequence 0 of plan 0 had 2 steps, now it has 3",
                 [](Sequence& s) { s.steps.push_back(Step(s.steps.back())); });
  expect_refused(Facts::work, "step 1 ('second')",
                 [](Sequence& s) { s.steps.back().as<Launch>()->operands[0] = BufferId(0); });
  expect_refused(Facts::work, "step 0", [](Sequence& s) { std::swap(s.steps.front(), s.steps.back()); });
}

TEST(FrozenSteps, UntilTheOrderIsFinalStreamsMayChange) {
  EXPECT_EQ(verdict(Facts::work, [](Sequence& s) { s.steps.back().stream = 1; }), "");
  EXPECT_EQ(verdict(Facts::work, [](Sequence& s) { s.steps.back().as<Launch>()->overlaps = true; }), "");
}

TEST(FrozenSteps, FromOverlapOnTheOrderIsFinal) {
  EXPECT_EQ(verdict(Facts::order, [](Sequence&) {}), "");
  expect_refused(Facts::order, "step 1 ('second')", [](Sequence& s) { s.steps.back().stream = 1; });
  expect_refused(Facts::order, "step 1 ('second')", [](Sequence& s) { s.steps.back().waits.clear(); });
  expect_refused(Facts::order, "step 1 ('second')", [](Sequence& s) { s.steps.back().as<Launch>()->overlaps = true; });
}

}  // namespace
}  // namespace gcg::test
