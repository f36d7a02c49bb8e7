#include "tests/fleet_runtime/diamond.h"

#include <deque>

#include "tests/artifact/artifact_builder.h"
#include "tests/runtime/models.h"

namespace gart::fleet::test {

using namespace gart::test;

std::unique_ptr<fb::PartValueT> value(const std::string& name, int input, std::vector<uint32_t> outputs) {
  auto out = std::make_unique<fb::PartValueT>();
  out->info = std::make_unique<fb::TensorInfoT>();
  out->info->name = name;
  out->info->dtype = fb::DType::f32;
  out->info->dims = {0};
  out->input = input;
  out->outputs = std::move(outputs);
  return out;
}

fb::AssemblyT diamond() {
  fb::AssemblyT out;
  auto symbol = std::make_unique<fb::PartSymbolT>();
  symbol->name = "n";
  out.symbols.push_back(std::move(symbol));
  const std::vector<std::string> names = {"x", "y", "a", "b", "c", "out"};
  for (uint32_t i = 0; i < names.size(); ++i)
    out.values.push_back(
        value(names[i], i < 2 ? int(i) : -1, i == 5 ? std::vector<uint32_t>{0} : std::vector<uint32_t>()));
  const std::vector<std::vector<uint32_t>> inputs = {{0, 1}, {2, 1}, {2, 0}, {3, 4}};
  for (uint32_t i = 0; i < 4; ++i) {
    auto call = std::make_unique<fb::PartCallT>();
    call->entry = 1;
    call->group = i;
    call->inputs = inputs[i];
    call->outputs = {i + 2};
    out.calls.push_back(std::move(call));
    auto group = std::make_unique<fb::GroupT>();
    group->name = "g" + std::to_string(i);
    group->support = {0, 1};
    group->device = i % 2;
    out.groups.push_back(std::move(group));
  }
  for (const char* name : {"left", "right"}) {
    auto device = std::make_unique<fb::FleetDeviceT>();
    device->name = name;
    out.devices.push_back(std::move(device));
  }
  return out;
}

std::vector<uint8_t> packed(const fb::AssemblyT& assembly) {
  flatbuffers::FlatBufferBuilder builder;
  fb::FinishAssemblyBuffer(builder, fb::Assembly::Pack(builder, &assembly));
  return {builder.GetBufferPointer(), builder.GetBufferPointer() + builder.GetSize()};
}

std::span<const uint8_t> artifact(std::vector<uint8_t> assembly) {
  static std::deque<std::vector<uint8_t>> files;
  ArtifactBuilder builder = add_and_double();
  auto part = std::make_unique<fb::EntryPointT>(*builder.content.manifest.entry_points[0]);
  part->name = "part";
  part->internal = true;
  builder.content.manifest.entry_points.push_back(std::move(part));
  builder.content.assembly = std::move(assembly);
  files.push_back(builder.write());
  return files.back();
}

std::vector<float> expected(const std::vector<float>& x, const std::vector<float>& y) {
  std::vector<float> out;
  for (size_t i = 0; i < x.size(); ++i) {
    const float a = 2 * (x[i] + y[i]), b = 2 * (a + y[i]), c = 2 * (a + x[i]);
    out.push_back(2 * (b + c));
  }
  return out;
}

}  // namespace gart::fleet::test
