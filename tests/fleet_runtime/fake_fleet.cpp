#include "tests/fleet_runtime/fake_fleet.h"

#include <cstring>
#include <thread>

#include "runtime/errors.h"

namespace gart::fleet::test {
namespace {

/// Memory that other devices cannot access; they know only its name.
class FakeSpace final : public Space {
 public:
  FakeSpace(std::shared_ptr<FakeWorld> world, uint32_t device)
      : world_(std::move(world)), device_(device), name_("fake:" + std::to_string(device)) {}
  const char* name() const override { return name_.c_str(); }
  MemorySource& memory() override { return host_memory(); }
  void copy_in(void* to, const Space& other, const void* from, size_t bytes) override {
    if (&other == this) fail(ErrorCode::run_failed, "a value is fetched from where it is read");
    ++world_->fetched[device_];
    std::memcpy(to, from, bytes);
  }
  void copy_to_host(void* to, const void* from, size_t bytes) override {
    ++world_->returned[device_];
    std::memcpy(to, from, bytes);
  }

 private:
  const std::shared_ptr<FakeWorld> world_;
  const uint32_t device_;
  const std::string name_;
};

/// Counts a call, and how many run on the device at once.
struct Visit {
  Visit(FakeWorld& world, uint32_t device) : inside(world.inside[device]) {
    world.calls[device].fetch_add(1, std::memory_order_relaxed);
    if (++inside > 1) world.overlaps[device] = true;
  }
  ~Visit() { --inside; }
  std::atomic<int64_t>& inside;
};

class FakeEngine final : public Engine {
 public:
  FakeEngine(std::shared_ptr<FakeWorld> world, uint32_t device) : world_(std::move(world)), device_(device) {
    if (world_->is_apart[device]) space_ = std::make_unique<FakeSpace>(world_, device);
  }
  Space* space() override { return space_.get(); }
  uint32_t device() const { return device_; }

  Result<void> run(uint32_t entry, std::span<const TensorView> inputs, std::span<const OutputBuffer> outputs,
                   std::span<TensorView> results) override {
    const Visit visit(*world_, device_);
    if (world_->lost[device_]) return error(ErrorCode::device_lost, "the device is lost: a test took it");
    std::vector<int64_t> values;
    for (const TensorView& input : inputs) {
      if (!is_here(input.device)) return error(ErrorCode::run_failed, text("an input is on ", input.device));
      values.push_back(input.elements<int64_t>()[0]);
    }
    const bool is_vector = outputs[0].data == nullptr;  // its extent is not known before the run
    if (!is_vector && !is_here(outputs[0].device))
      return error(ErrorCode::run_failed, text("an output is on ", outputs[0].device));
    for (const int64_t value : values)
      if (value == world_->poison) return error(ErrorCode::run_failed, "poisoned");
    if (const int64_t ns = world_->sleep_ns[device_]) std::this_thread::sleep_for(std::chrono::nanoseconds(ns));
    if (const int64_t ns = world_->work_ns[device_])
      for (const int64_t end = now_ns() + ns; now_ns() < end;) {
      }
    const int64_t value = mixed(entry, values);
    if (is_vector) {
      vector_.assign(size_t(world_->extent), value);
      results[0] = {vector_.data(), DType::i64, Shape{world_->extent}, "cpu"};
      return {};
    }
    std::memcpy(outputs[0].data, &value, sizeof value);
    results[0] = {outputs[0].data, DType::i64, {}, outputs[0].device};
    return {};
  }

 private:
  bool is_here(const char* device) const {
    return std::strcmp(device, "cpu") == 0 || (space_ != nullptr && std::strcmp(device, space_->name()) == 0);
  }

  std::unique_ptr<FakeSpace> space_;
  const std::shared_ptr<FakeWorld> world_;
  const uint32_t device_;
  std::vector<int64_t> vector_;
};

class FakeEngines final : public Engines {
 public:
  explicit FakeEngines(std::shared_ptr<FakeWorld> world) : world_(std::move(world)) {}
  std::unique_ptr<Engine> open(uint32_t device, std::span<const uint32_t>) override {
    world_->loading(device);
    return std::make_unique<FakeEngine>(world_, device);
  }
  void add(Engine& engine, std::span<const uint32_t>) override {
    world_->loading(static_cast<const FakeEngine&>(engine).device());
  }
  DeviceInfo describe(const Engine& engine) const override {
    return {{}, "fake:" + std::to_string(static_cast<const FakeEngine&>(engine).device()), {}, false};
  }

 private:
  const std::shared_ptr<FakeWorld> world_;
};

Value scalar(const std::string& name) {
  Value value;
  value.info = {name, DType::i64, {}};
  value.input_bound = true;
  return value;
}

}  // namespace

FakeModel::FakeModel(uint32_t inputs, uint32_t devices) {
  for (uint32_t i = 0; i < devices; ++i) {
    Device device;
    device.name = "fake:" + std::to_string(i);
    assembly.devices.push_back(device);
  }
  for (uint32_t i = 0; i < inputs; ++i) {
    assembly.values.push_back(scalar("in" + std::to_string(i)));
    assembly.values.back().input = i;
    assembly.inputs.push_back(i);
    assembly.carried.emplace_back();
  }
}

uint32_t FakeModel::call(std::vector<uint32_t> inputs, uint32_t device) {
  const auto number = uint32_t(assembly.calls.size()), value = uint32_t(assembly.values.size());
  Group group;
  group.name = "g" + std::to_string(number);
  for (uint32_t i = 0; i < assembly.devices.size(); ++i) group.support.push_back(i);
  group.device = device;
  group.calls = 1;
  assembly.groups.push_back(group);
  PartCall call;
  call.entry = call.group = number;
  call.outputs = {value};
  call.needs = call.inputs = std::move(inputs);
  std::sort(call.needs.begin(), call.needs.end());
  call.needs.erase(std::unique(call.needs.begin(), call.needs.end()), call.needs.end());
  assembly.calls.push_back(call);
  assembly.values.push_back(scalar("v" + std::to_string(number)));
  assembly.values.back().maker = number;
  assembly.carried.emplace_back();
  return value;
}

uint32_t FakeModel::vector_call(std::vector<uint32_t> inputs, uint32_t device) {
  const uint32_t value = call(std::move(inputs), device);
  const auto symbol = uint32_t(assembly.symbols.size());
  const std::string name = "n" + std::to_string(symbol);
  assembly.symbols.push_back({name, value, 0});
  assembly.carried[value].push_back(symbol);
  assembly.values[value].input_bound = false;
  assembly.values[value].info.dims = {name};
  assembly.values[value].dims = {symbol};
  return value;
}

void FakeModel::output(uint32_t value) { assembly.outputs.push_back(value); }

int64_t mixed(uint32_t call, const std::vector<int64_t>& inputs) {
  uint64_t hash = call + 1;
  for (const int64_t input : inputs) hash = (hash ^ uint64_t(input)) * 0x9E3779B97F4A7C15ULL + 7;
  return int64_t(hash >> 1);
}

std::vector<int64_t> evaluated(const Assembly& assembly, const std::vector<int64_t>& inputs) {
  std::vector<int64_t> values = inputs;
  for (uint32_t i = 0; i < assembly.calls.size(); ++i) {
    std::vector<int64_t> operands;
    for (const uint32_t input : assembly.calls[i].inputs) operands.push_back(values[input]);
    values.push_back(mixed(i, operands));
  }
  return values;
}

std::shared_ptr<detail::FleetState> open_fake(const Assembly& assembly, std::shared_ptr<FakeWorld> world,
                                              std::vector<uint32_t> places, int requests, bool monitored, bool dynamic,
                                              std::shared_ptr<detail::DeviceQueues> queues) {
  if (places.empty())
    for (const Group& group : assembly.groups) places.push_back(group.device);
  std::vector<uint8_t> choices(dynamic ? assembly.groups.size() * assembly.devices.size() : 0, 1);
  return std::make_shared<detail::FleetState>(assembly, std::make_unique<FakeEngines>(std::move(world)),
                                              std::move(places), requests, monitored, std::move(choices), true,
                                              std::move(queues));
}

FakeRequest::FakeRequest(const std::shared_ptr<detail::FleetState>& state)
    : fleet(state), request(std::make_unique<detail::OpenRequest>(state)) {}

Result<void> FakeRequest::start(const std::vector<int64_t>& inputs, std::vector<uint32_t> fetch) {
  values = inputs;
  std::vector<std::string_view> names;
  for (const uint32_t value : fetch) names.push_back(fleet->assembly.values[value].info.name);
  if (Result<void> done = request.fetch(names); !done) return done;
  for (size_t i = 0; i < values.size(); ++i)
    if (Result<void> done = request.set_input(i, {&values[i], DType::i64, {}, "cpu"}); !done) return done;
  return request.start();
}

}  // namespace gart::fleet::test
