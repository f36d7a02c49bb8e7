#include "compiler/kernel/target.h"

#include <gtest/gtest.h>

#include "compiler/support/error.h"

namespace gcg {
namespace {

/// "sm_87 12060, aarch64 0"
std::string listed(const std::vector<std::string>& names) {
  std::string out;
  for (const Target& t : require_targets(names)) out += concat(out.empty() ? "" : ", ", t.name, " ", t.driver);
  return out;
}

TEST(Targets, GroupsAndNamesGiveEachOnce) {
  EXPECT_EQ(listed({"edge"}), "aarch64 0, sm_87 0");
  EXPECT_EQ(listed({"sm_87", "edge"}), "sm_87 0, aarch64 0");
  EXPECT_EQ(listed({"edge", "edge", "x86-64-v3"}), "aarch64 0, sm_87 0, x86-64-v3 0");
}

TEST(Targets, ADriverThatIsAskedForHoldsBesideAGroup) {
  EXPECT_EQ(listed({"edge", "sm_87:12.6"}), "aarch64 0, sm_87 12060");
  EXPECT_EQ(listed({"sm_87:12.6", "edge"}), "sm_87 12060, aarch64 0");
  EXPECT_EQ(listed({"sm_80:13"}), "sm_80 13000");
  EXPECT_THROW(listed({"sm_87:12.6", "sm_87:13.0"}), CompileError);
  EXPECT_THROW(listed({"sm_87", "sm_87:12.6"}), CompileError);
}

TEST(Targets, DriversOlderThanTheRuntimeTakesAreRefused) {
  EXPECT_EQ(listed({"sm_80:12.3"}), "sm_80 12030");
  for (const char* name : {"sm_80:12.2", "sm_80:12", "sm_80:-13", "sm_80:", "sm_80:.3", "sm_80:13.", "sm_80:13x"})
    EXPECT_THROW(listed({name}), CompileError) << name;
}

}  // namespace
}  // namespace gcg
