// A kind of devices is one row: this test adds a third kind without changing the fleet's code.
#include "runtime/fleet/device_kind.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "runtime/errors.h"
#include "runtime/fleet/assembly.h"
#include "runtime/fleet/bindings.h"
#include "runtime/fleet/without_device.h"

namespace gart::fleet::test {
namespace {

constexpr auto kInFile = static_cast<fb::TargetKind>(200);

class OwnMemory final : public Space {
 public:
  explicit OwnMemory(std::string_view device) : name_(device) {}
  const char* name() const override { return name_.c_str(); }
  MemorySource& memory() override { return host_memory(); }
  void copy_in(void* to, const Space&, const void* from, size_t bytes) override { copy_to_host(to, from, bytes); }
  void copy_to_host(void* to, const void* from, size_t bytes) override {
    std::copy_n(static_cast<const char*>(from), bytes, static_cast<char*>(to));
  }

 private:
  const std::string name_;
};

class DeviceKinds : public testing::Test {
 protected:
  void SetUp() override {
    device_kinds().push_back({.name = "npu",
                              .in_files = {kInFile},
                              .fails_together = true,
                              .here = [](const Device& d) { return "npu:" + std::to_string(d.ordinal); },
                              .present = [] { return std::string("two boards (npu:0, npu:1)"); },
                              .open_space = [](std::string_view device) -> std::unique_ptr<Space> {
                                return std::make_unique<OwnMemory>(device);
                              }});
  }
  void TearDown() override { device_kinds().pop_back(); }
};

TEST_F(DeviceKinds, AnAddedKindIsFoundInFilesAndOptions) {
  const DeviceKind& kind = device_kind(kInFile, "board");
  EXPECT_EQ(kind.name, "npu");
  EXPECT_EQ(named_kind("npu:1"), &kind);
  EXPECT_EQ(named_kind("npux"), nullptr);
  EXPECT_EQ(device_kind(fb::TargetKind::cuda_sm, "g").name, "cuda");
  EXPECT_EQ(device_kind(fb::TargetKind::cpu, "c").name, "cpu");
  Device device;
  device.name = "board";
  device.ordinal = 1;
  device.kind = &kind;
  EXPECT_EQ(device_here(device), "npu:1");
  EXPECT_NE(present_devices().find("and two boards (npu:0, npu:1)"), std::string::npos) << present_devices();
}

TEST_F(DeviceKinds, AnAddedKindHasItsOwnMemory) {
  const std::unique_ptr<Space> space = open_space("npu:1");
  ASSERT_NE(space, nullptr);
  EXPECT_STREQ(space->name(), "npu:1");
  EXPECT_EQ(open_space("cpu:0"), nullptr);
}

TEST_F(DeviceKinds, AFileWithAnUnknownKindIsRefused) {
  try {
    device_kind(static_cast<fb::TargetKind>(201), "board");
    FAIL() << "no kind has this number";
  } catch (const Failure& failure) {
    EXPECT_EQ(failure.error.code, ErrorCode::unsupported);
    EXPECT_EQ(failure.error.message, "device 'board' of the file is of kind 201, which this runtime does not know");
  }
}

}  // namespace
}  // namespace gart::fleet::test
