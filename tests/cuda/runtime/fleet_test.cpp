// A model on two GPUs and the CPU: parts run where they are placed, results have the same bits on every device, and a
// GPU may be lost.
#include "gart/fleet.hpp"

#include <gtest/gtest.h>

#include "assembly_generated.h"
#include "tests/cuda/runtime/cuda_models.h"
#include "tests/cuda/runtime/sim.h"

namespace gart::test {
namespace {

std::unique_ptr<fb::PartValueT> value(const std::string& name, int input, bool is_output) {
  auto out = std::make_unique<fb::PartValueT>();
  out->info = std::make_unique<fb::TensorInfoT>();
  out->info->name = name;
  out->info->dtype = fb::DType::f32;
  out->info->dims = {0};
  out->input = input;
  if (is_output) out->outputs = {0};
  return out;
}

/// a = 2 (x + y) on the CPU, b = 2 (a + y) on cuda:0, out = 2 (b + x) on cuda:1. Each part may run on any device.
std::vector<uint8_t> chain() {
  fb::AssemblyT out;
  out.symbols.push_back(std::make_unique<fb::PartSymbolT>());
  out.symbols[0]->name = "n";
  const char* names[] = {"x", "y", "a", "b", "out"};
  for (int i = 0; i < 5; ++i) out.values.push_back(value(names[i], i < 2 ? i : -1, i == 4));
  const std::vector<uint32_t> inputs[] = {{0, 1}, {2, 1}, {3, 0}};
  const char* devices[] = {"cpu", "first", "second"};
  for (uint32_t i = 0; i < 3; ++i) {
    out.calls.push_back(std::make_unique<fb::PartCallT>());
    out.calls[i]->entry = 1;
    out.calls[i]->group = i;
    out.calls[i]->inputs = inputs[i];
    out.calls[i]->outputs = {i + 2};
    out.groups.push_back(std::make_unique<fb::GroupT>());
    out.groups[i]->name = "g" + std::to_string(i);
    out.groups[i]->support = {0, 1, 2};
    out.groups[i]->device = i;
    out.devices.push_back(std::make_unique<fb::FleetDeviceT>());
    out.devices[i]->name = devices[i];
    out.devices[i]->kind = i == 0 ? fb::TargetKind::cpu : fb::TargetKind::cuda_sm;
    out.devices[i]->ordinal = i == 2 ? 1 : 0;
  }
  ArtifactBuilder builder = with_cuda(add_and_double());
  auto part = std::make_unique<fb::EntryPointT>(*builder.content.manifest.entry_points[0]);
  part->name = "part";
  part->internal = true;
  builder.content.manifest.entry_points.push_back(std::move(part));
  flatbuffers::FlatBufferBuilder buffer;
  fb::FinishAssemblyBuffer(buffer, fb::Assembly::Pack(buffer, &out));
  builder.content.assembly.assign(buffer.GetBufferPointer(), buffer.GetBufferPointer() + buffer.GetSize());
  return builder.write();
}

std::vector<float> expected(const std::vector<float>& x, const std::vector<float>& y) {
  std::vector<float> out;
  for (size_t i = 0; i < x.size(); ++i) {
    const float a = 2 * (x[i] + y[i]), b = 2 * (a + y[i]);
    out.push_back(2 * (b + x[i]));
  }
  return out;
}

class CudaFleet : public OnSim {
 protected:
  const std::vector<uint8_t> file_ = chain();
  const std::vector<float> x_ = ramp(40, 0.25F), y_ = ramp(40, -3);
  const NamedTensor inputs_[2] = {{"x", view(x_)}, {"y", view(y_)}};
};

TEST_F(CudaFleet, PartsRunWhereTheyArePlaced) {
  for (int place = 0; place < 27; ++place) {
    const char* devices[] = {"cpu", "first", "second"};
    fleet::LoadOptions options;
    options.placement = {{"g0", devices[place % 3]}, {"g1", devices[place / 3 % 3]}, {"g2", devices[place / 9]}};
    const auto program = fleet::load(file_, options);
    ASSERT_TRUE(program.ok()) << program.error().message;
    std::vector<fleet::Request> requests;
    for (int i = 0; i < 3; ++i) requests.push_back(program->submit(inputs_).value());
    for (fleet::Request& request : requests) {
      const Result<void> done = request.wait();
      ASSERT_TRUE(done.ok()) << done.error().message;
      EXPECT_EQ(floats(request.output(size_t{0})), expected(x_, y_)) << place;
    }
  }
}

TEST_F(CudaFleet, ALostGpuTakesItsRequestAlongAndItsGroupMoves) {
  {
    const auto program = fleet::load(file_, {});
    ASSERT_TRUE(program.ok()) << program.error().message;
    EXPECT_EQ(program->devices()[2].device, "cuda:1");
    fleet::Request request = program->submit(inputs_).value();
    ASSERT_TRUE(request.wait().ok());
    sim.forget_counts();
    sim.fail("cuGraphLaunch:2:719");  // from here on, the second GPU (cuda:1) is current
    const Result<void> done = request.run();
    ASSERT_FALSE(done.ok());
    EXPECT_EQ(done.error().code, ErrorCode::device_lost);
    EXPECT_TRUE(done.error().message.starts_with("device 'second', group 'g2': the device is lost: "))
        << done.error().message;
    sim.fail("");
    EXPECT_TRUE(program->devices()[2].lost);
    const Result<void> again = request.run();
    ASSERT_TRUE(again.ok()) << again.error().message;
    EXPECT_EQ(floats(request.output("out")), expected(x_, y_));
    EXPECT_NE(program->placement()[2].device, "second");
  }
  sim.reports();
  sim.revive();
}

}  // namespace
}  // namespace gart::test
