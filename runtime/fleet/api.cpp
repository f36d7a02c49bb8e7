// The C++ API: requests and programs.
#include <algorithm>

#include "runtime/errors.h"
#include "runtime/fleet/fleet.h"
#include "runtime/fleet/program_engines.h"
#include "runtime/trust.h"

namespace gart::fleet {
namespace {

constexpr int kMaxRequests = 4096;

std::string names_of(const std::vector<Device>& devices) {
  std::string names;
  for (const Device& device : devices) names += text(names.empty() ? "'" : ", '", device.name, "'");
  return names;
}

uint32_t require_device(const Assembly& assembly, const std::string& name) {
  const uint32_t device = assembly.find_device(name);
  if (device == kNone)
    fail(ErrorCode::invalid_argument, "the file has no device '", name, "', only ", names_of(assembly.devices));
  return device;
}

void check_place(const Assembly& assembly, uint32_t group, uint32_t device) {
  const auto& support = assembly.groups[group].support;
  if (std::find(support.begin(), support.end(), device) == support.end())
    fail(ErrorCode::invalid_argument, "group '", assembly.groups[group].name, "' cannot run on device '",
         assembly.devices[device].name, "'");
}

/// Moves groups away from devices that may not be used. Each goes to the device of `only` whose sum of predicted times
/// is then the smallest.
void move_groups(const Assembly& assembly, const std::vector<uint32_t>& only, std::vector<uint32_t>& places) {
  const auto time_on = [&](uint32_t group, uint32_t device) {
    const Group& of = assembly.groups[group];
    const auto at = size_t(std::find(of.support.begin(), of.support.end(), device) - of.support.begin());
    return at < of.predicted.size() ? of.predicted[at] : 0;
  };
  std::vector<double> load(assembly.devices.size());
  const auto is_usable = [&](uint32_t device) { return std::find(only.begin(), only.end(), device) != only.end(); };
  for (uint32_t group = 0; group < places.size(); ++group)
    if (is_usable(places[group])) load[places[group]] += time_on(group, places[group]);
  for (uint32_t group = 0; group < places.size(); ++group) {
    if (is_usable(places[group])) continue;
    uint32_t best = kNone;
    std::string support;
    for (const uint32_t device : assembly.groups[group].support) {
      support += text(support.empty() ? "'" : ", '", assembly.devices[device].name, "'");
      if (!is_usable(device)) continue;
      if (best == kNone || load[device] + time_on(group, device) < load[best] + time_on(group, best)) best = device;
    }
    if (best == kNone)
      fail(ErrorCode::unsupported, "group '", assembly.groups[group].name,
           "' runs on none of the requested devices, only on ", support);
    places[group] = best;
    load[best] += time_on(group, best);
  }
}

struct RequestedPlaces {
  std::vector<uint32_t> of_groups;  // device of each group: from the options, or else from the file
  std::vector<uint8_t> choices;     // see FleetState
};

RequestedPlaces places_of(const Assembly& assembly, const LoadOptions& options) {
  RequestedPlaces places;
  std::vector<uint32_t> only;
  const size_t devices = assembly.devices.size();
  for (const Group& group : assembly.groups) places.of_groups.push_back(group.device);
  for (const std::string& name : options.only) only.push_back(require_device(assembly, name));
  if (!only.empty()) move_groups(assembly, only, places.of_groups);
  if (options.dynamic) places.choices = std::vector<uint8_t>(assembly.groups.size() * devices);
  for (size_t group = 0; group < assembly.groups.size() && options.dynamic; ++group)
    for (const uint32_t device : assembly.groups[group].support)
      places.choices[group * devices + device] =
          only.empty() || std::find(only.begin(), only.end(), device) != only.end();
  for (const GroupPlace& place : options.placement) {
    const uint32_t group = assembly.find_group(place.group);
    if (group == kNone) fail(ErrorCode::invalid_argument, "the file has no group '", place.group, "'");
    const uint32_t device = places.of_groups[group] = require_device(assembly, place.device);
    check_place(assembly, group, device);
    for (size_t i = 0; i < devices && options.dynamic; ++i) places.choices[group * devices + i] = i == device;
  }
  return places;
}

/// `bytes` are in `mapping`, in `copy`, or in the caller's memory. `path`: the file's path; empty if the caller owns
/// `bytes`.
Program open_program(Mapping mapping, Block copy, std::span<const uint8_t> bytes, const std::string& path,
                     const LoadOptions& options) {
  if (options.requests < 0 || options.requests > kMaxRequests)
    fail(ErrorCode::invalid_argument, "requests is ", options.requests, "; 0 to ", kMaxRequests, " are possible");
  if (options.hosts != nullptr && !options.trusted_keys.empty())
    fail(ErrorCode::unsupported, "trusted keys and hosts exclude each other: the other ranks do not check signatures");
  auto engines = std::make_unique<ProgramEngines>(options);
  Assembly assembly = engines->read(std::move(mapping), bytes, path, std::move(copy));
  RequestedPlaces places = places_of(assembly, options);
  const int requests = options.requests > 0 ? options.requests : int(2 * assembly.devices.size());
  return Program(std::make_shared<detail::FleetState>(
      std::move(assembly), std::move(engines), std::move(places.of_groups), std::min(requests, kMaxRequests),
      options.monitor, std::move(places.choices), !options.refuse_requests,
      options.manager != nullptr ? options.manager->queues() : nullptr));
}

/// The index of the input named `name`.
size_t find_input(std::span<const TensorInfo> inputs, std::string_view name) {
  std::string names;
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (inputs[i].name == name) return i;
    names += text(i == 0 ? "" : ", ", "'", inputs[i].name, "'");
  }
  fail(ErrorCode::invalid_argument, "the model has no input '", name, "', only ", names.empty() ? "none" : names);
}

}  // namespace

Result<Program> load(const std::string& path, const LoadOptions& options) {
  return guarded([&] {
    Mapping file = Mapping::of_file(path);
    Block copy;
    std::span<const uint8_t> bytes = file.bytes();
    try {
      if (!options.trusted_keys.empty())
        bytes = read_trusted(path, file, {options.trusted_keys, options.signature}, copy);
      return open_program(std::move(file), std::move(copy), bytes, path, options);
    } catch (...) {
      const Error reason = caught_error();
      fail(reason.code, "cannot load '", path, "': ", reason.message);
    }
  });
}

Result<Program> load(std::span<const uint8_t> artifact, const LoadOptions& options) {
  return guarded([&] {
    Block copy;
    if (!options.trusted_keys.empty())
      artifact = copy_trusted(artifact, {options.trusted_keys, options.signature}, copy);
    return open_program({}, std::move(copy), artifact, {}, options);
  });
}

Program::Program(std::shared_ptr<detail::FleetState> state) : state_(std::move(state)) {}

std::span<const TensorInfo> Program::inputs() const { return state_->inputs; }
std::span<const TensorInfo> Program::outputs() const { return state_->outputs; }
std::span<const TensorInfo> Program::values() const { return state_->values; }

std::vector<DeviceInfo> Program::devices() const {
  std::vector<DeviceInfo> devices;
  for (uint32_t i = 0; i < state_->assembly.devices.size(); ++i) devices.push_back(state_->device(i));
  return devices;
}

std::vector<GroupPlace> Program::placement() const {
  std::vector<GroupPlace> places;
  const std::vector<uint32_t> devices = state_->places();
  for (uint32_t group = 0; group < devices.size(); ++group)
    places.push_back({state_->assembly.groups[group].name, state_->assembly.devices[devices[group]].name});
  return places;
}

Times Program::times() const {
  Times times;
  const Assembly& assembly = state_->assembly;
  for (uint32_t group = 0; group < assembly.groups.size(); ++group) {
    for (uint32_t device = 0; device < assembly.devices.size(); ++device)
      for (const bool crossed : {false, true}) {
        const Samples samples = state_->monitor.of(group, device, crossed);
        if (samples.count() == 0) continue;
        const Spread operation = samples.operation();
        times.groups.push_back({assembly.groups[group].name, assembly.devices[device].name, operation.median,
                                samples.idle().median, operation.noise, samples.begin().median, samples.count(),
                                crossed});
      }
  }
  const Samples runs = state_->monitor.runs();
  times.run_us = runs.operation().median;
  times.run_noise_us = runs.operation().noise;
  times.runs = runs.count();
  return times;
}

void Program::forget_times() const { state_->monitor.forget(); }

Result<Request> Program::new_request() const {
  return guarded([&] { return Request(std::make_unique<detail::OpenRequest>(state_)); });
}

Result<Request> Program::submit(std::span<const NamedTensor> inputs, std::span<const std::string_view> fetch) const {
  Result<Request> request = new_request();
  if (!request) return request;
  Result<void> done = request->fetch(fetch);
  for (const NamedTensor& input : inputs)
    if (done) done = request->set_input(input.name, input.tensor);
  if (done) done = request->start();
  return done ? std::move(request) : Result<Request>(done.error());
}

Request::Request(std::unique_ptr<detail::OpenRequest> state) : state_(std::move(state)) {}
Request::Request(Request&&) noexcept = default;
Request& Request::operator=(Request&&) noexcept = default;
Request::~Request() {
  if (state_ == nullptr) return;
  state_->run.wait_for_end();
  const std::shared_ptr<detail::FleetState> fleet =
      std::move(state_->fleet);  // the fleet must outlive the objects that refer to it
  state_.reset();
}

namespace {

void require_idle(const RequestState& run) {
  if (run.is_under_way()) fail(ErrorCode::invalid_argument, "the request is running: wait for it first");
}

}  // namespace

Result<void> Request::set_input(size_t index, const TensorView& tensor) {
  return guarded([&] {
    require_idle(state_->run);
    const size_t count = state_->fleet->inputs.size();
    if (index >= count) fail(ErrorCode::invalid_argument, "there is no input ", index, ": the model has ", count);
    state_->run.set_input(uint32_t(index), tensor);
  });
}

Result<void> Request::set_input(std::string_view name, const TensorView& tensor) {
  return guarded([&] {
    require_idle(state_->run);
    state_->run.set_input(uint32_t(find_input(state_->fleet->inputs, name)), tensor);
  });
}

Result<void> Request::fetch(std::span<const std::string_view> names) {
  return guarded([&] {
    require_idle(state_->run);
    std::vector<uint32_t> requested;
    for (const std::string_view name : names) requested.push_back(state_->fleet->assembly.find_value(name));
    state_->run.set_route(state_->fleet->route(requested.empty() ? state_->fleet->assembly.outputs : requested));
  });
}

Result<void> Request::start() {
  return guarded([&] {
    require_idle(state_->run);
    state_->run.check_here();
    state_->run.start(state_->fleet->placement(state_->run.sizes()));
  });
}

Result<void> Request::wait() {
  return guarded([&] {
    state_->run.wait_for_end();
    state_->run.forget_cancel();
    if (state_->run.is_orphaned()) state_->run.check_here();
    if (const Error* failure = state_->run.failure()) throw Failure{*failure};
  });
}

void Request::cancel() { state_->run.cancel(); }
bool Request::ready() const { return !state_->run.is_under_way(); }

Result<void> Request::run() {
  Result<void> started = start();
  return started ? wait() : started;
}

size_t Request::outputs() const { return state_->run.route().requested.size(); }
size_t Request::calls() const { return state_->run.route().calls.size(); }

std::vector<PartTime> Request::times() const {
  std::vector<PartTime> times;
  const RequestState& run = state_->run;
  const Assembly& assembly = state_->fleet->assembly;
  if (run.is_under_way() || !run.has_run()) return times;
  for (uint32_t call = 0; call < assembly.calls.size(); ++call) {
    const RequestState::CallTime& time = run.call_time(call);
    const uint32_t group = assembly.calls[call].group;
    if (time.end_ns > 0)
      times.push_back({call, assembly.groups[group].name, assembly.devices[run.devices()[group]].name,
                       double(time.begin_ns) / 1e3, double(time.end_ns) / 1e3, time.crossed});
  }
  return times;
}

TensorView Request::output(size_t index) const {
  const RequestState& run = state_->run;
  if (run.is_under_way() || !run.has_run() || index >= run.route().requested.size()) return {};
  return run.value(run.route().requested[index]);
}

TensorView Request::output(std::string_view name) const {
  const std::vector<uint32_t>& requested = state_->run.route().requested;
  for (size_t i = 0; i < requested.size(); ++i)
    if (state_->fleet->assembly.values[requested[i]].info.name == name) return output(i);
  return {};
}

}  // namespace gart::fleet
