// The message about alternatives if a device of the file is missing.
#include "runtime/fleet/without_device.h"

#include <gtest/gtest.h>

#include <memory>
#include <vector>

#include "runtime/fleet/device_kind.h"

namespace gart::fleet::test {
namespace {

constexpr uint32_t kGpu = 0, kCpu = 1;  // devices, and their targets

/// A whole model and one part, each with plans for these targets.
class File {
 public:
  File(const std::vector<uint32_t>& whole, const std::vector<uint32_t>& part) {
    fb::ManifestT manifest;
    for (const auto kind : {fb::TargetKind::cuda_sm, fb::TargetKind::cpu}) {
      manifest.targets.push_back(std::make_unique<fb::TargetT>());
      manifest.targets.back()->kind = kind;
    }
    for (const auto* targets : {&whole, &part}) {
      auto entry = std::make_unique<fb::EntryPointT>();
      entry->name = targets == &whole ? "main" : "part";
      entry->internal = targets == &part;
      for (const uint32_t target : *targets) {
        entry->plans.push_back(std::make_unique<fb::PlanT>());
        entry->plans.back()->target = target;
      }
      manifest.entry_points.push_back(std::move(entry));
    }
    builder_.Finish(fb::Manifest::Pack(builder_, &manifest));
  }

  /// The advice if the GPU is missing, for a group that is placed on it and that these devices can run.
  std::string advice(const std::vector<uint32_t>& support) const {
    Assembly assembly;
    assembly.entries = {"main", "part"};
    assembly.devices.resize(2);
    assembly.devices[kGpu].name = "cuda:0";
    assembly.devices[kGpu].kind = named_kind("cuda");
    assembly.devices[kCpu].name = "cpu";
    assembly.devices[kCpu].kind = named_kind("cpu");
    assembly.groups.resize(1);
    assembly.groups[0].support = support;
    assembly.groups[0].device = kGpu;
    assembly.calls.resize(1);
    assembly.calls[0].entry = 1;
    return ways_without(*flatbuffers::GetRoot<fb::Manifest>(builder_.GetBufferPointer()), assembly, kGpu);
  }

 private:
  flatbuffers::FlatBufferBuilder builder_;
};

TEST(WithoutDevice, OnlyWaysThatWorkAreTold) {
  const std::string whole = "run the whole model on the CPU (gart::load, --device cpu)",
                    substitute = "choose a substitute (LoadOptions.devices, --devices cuda:0=cpu)",
                    others = "use only the other devices (LoadOptions.only, --devices cpu)";
  EXPECT_EQ(File({kGpu, kCpu}, {kGpu}).advice({kGpu}), whole);
  EXPECT_EQ(File({kGpu, kCpu}, {kGpu, kCpu}).advice({kGpu, kCpu}), others + ", or " + substitute + ", or " + whole);
  EXPECT_EQ(File({kGpu}, {kCpu}).advice({kGpu}), substitute);
  EXPECT_EQ(File({kGpu}, {kGpu}).advice({kGpu}),
            "the file has no code for CPUs: compile the model for a CPU target, too");
}

}  // namespace
}  // namespace gart::fleet::test
