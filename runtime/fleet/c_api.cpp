// The C API: the C++ API with Results turned into status codes and a message per thread.
#include <cstddef>
#include <cstring>

#include "gart/fleet.h"
#include "gart/fleet.hpp"
#include "runtime/c_status.h"
#include "runtime/errors.h"
#include "runtime/fleet/c_handles.h"

struct gart_fleet_request {
  gart::fleet::Request request;
};

namespace {

using gart::ErrorCode;
using gart::fail;
using gart::Failure;
using gart::require;
using gart::value_or_fail;

/// Runs `body()`, and returns its status.
template <class Body>
gart_status status_of(Body&& body) noexcept {
  return gart::status_of(gart::fleet::last_error(), body);
}

void check(const gart::Result<void>& done) {
  if (!done) throw Failure{done.error()};
}

/// The result refers to `trusted_keys`, which this function fills.
gart::fleet::LoadOptions options_of(const gart_fleet_options* options, std::vector<std::string_view>& trusted_keys) {
  gart::fleet::LoadOptions out;
  if (options == nullptr) return out;
  out.verify = options->skip_verify == 0;
  out.threads = options->threads;
  out.requests = options->requests;
  out.monitor = options->no_monitor == 0;
  for (size_t i = 0; i < options->device_count; ++i) {
    const char *name = options->devices[2 * i], *device = options->devices[2 * i + 1];
    require(name, device);
    out.devices.push_back({name, device});
  }
  for (size_t i = 0; i < options->place_count; ++i) {
    const char *group = options->places[2 * i], *device = options->places[2 * i + 1];
    require(group, device);
    out.placement.push_back({group, device});
  }
  for (size_t i = 0; i < options->only_count; ++i) {
    require(options->only[i]);
    out.only.emplace_back(options->only[i]);
  }
  if (options->size >= offsetof(gart_fleet_options, custom_op_count) + sizeof(size_t))
    out.custom_ops = {options->custom_ops, options->custom_op_count};
  if (options->size >= offsetof(gart_fleet_options, dynamic) + sizeof(int)) out.dynamic = options->dynamic != 0;
  if (options->size >= offsetof(gart_fleet_options, refuse_requests) + sizeof(int))
    out.refuse_requests = options->refuse_requests != 0;
  if (options->size >= offsetof(gart_fleet_options, signature_size) + sizeof(size_t)) {
    trusted_keys.assign(options->trusted_keys, options->trusted_keys + options->trusted_key_count);
    out.trusted_keys = trusted_keys;
    out.signature = {static_cast<const uint8_t*>(options->signature), options->signature_size};
  }
  if (options->size >= offsetof(gart_fleet_options, hosts) + sizeof(void*) && options->hosts != nullptr)
    out.hosts = &options->hosts->hosts;
  if (options->size >= offsetof(gart_fleet_options, manager) + sizeof(void*) && options->manager != nullptr)
    out.manager = &options->manager->manager;
  return out;
}

}  // namespace

namespace gart::fleet {

std::string& last_error() {
  thread_local std::string own;
  return own;
}

TensorView view_of(const gart_tensor& tensor) {
  if (tensor.rank > GART_MAX_RANK)
    fail(ErrorCode::invalid_argument, "the tensor has rank ", tensor.rank, ", the limit is ", GART_MAX_RANK);
  return {tensor.data, static_cast<DType>(tensor.dtype), Shape(std::span<const int64_t>(tensor.dims, tensor.rank)),
          tensor.device == nullptr ? "cpu" : tensor.device};
}

gart_tensor tensor_of(const TensorView& view) {
  gart_tensor tensor = {view.data, static_cast<gart_dtype>(view.dtype), view.shape.rank(), {}, view.device};
  const std::span<const int64_t> extents = view.shape.extents();
  std::memcpy(tensor.dims, extents.data(), extents.size_bytes());
  return tensor;
}

}  // namespace gart::fleet

const char* gart_fleet_last_error(void) { return gart::fleet::last_error().c_str(); }

gart_status gart_fleet_load(const char* path, const gart_fleet_options* options, gart_fleet** fleet) {
  return status_of([&] {
    require(path, fleet);
    *fleet = nullptr;
    std::vector<std::string_view> trusted_keys;
    const gart::fleet::LoadOptions wanted = options_of(options, trusted_keys);
    *fleet = new gart_fleet{value_or_fail(gart::fleet::load(std::string(path), wanted))};
  });
}

void gart_fleet_free(gart_fleet* fleet) { delete fleet; }

size_t gart_fleet_input_count(const gart_fleet* fleet) { return fleet == nullptr ? 0 : fleet->program.inputs().size(); }

const char* gart_fleet_input_name(const gart_fleet* fleet, size_t index) {
  return index < gart_fleet_input_count(fleet) ? fleet->program.inputs()[index].name.c_str() : nullptr;
}

const char* gart_fleet_value_name(const gart_fleet* fleet, size_t index) {
  if (fleet == nullptr) return nullptr;
  const auto values = fleet->program.values();
  return index < values.size() ? values[index].name.c_str() : nullptr;
}

const char* gart_fleet_output_name(const gart_fleet* fleet, size_t index) {
  if (fleet == nullptr) return nullptr;
  const auto outputs = fleet->program.outputs();
  return index < outputs.size() ? outputs[index].name.c_str() : nullptr;
}

size_t gart_fleet_places(const gart_fleet* fleet, gart_group_place* places, size_t capacity) {
  thread_local std::vector<gart::fleet::GroupPlace> last;
  if (fleet == nullptr || status_of([&] { last = fleet->program.placement(); }) != GART_OK) return 0;
  for (size_t i = 0; i < last.size() && i < capacity; ++i) places[i] = {last[i].group.c_str(), last[i].device.c_str()};
  return last.size();
}

double gart_fleet_run_us(const gart_fleet* fleet) {
  double us = 0;
  if (fleet != nullptr) static_cast<void>(status_of([&] { us = fleet->program.times().run_us; }));
  return us;
}

void gart_fleet_forget_times(const gart_fleet* fleet) {
  if (fleet != nullptr) fleet->program.forget_times();
}

size_t gart_fleet_times(const gart_fleet* fleet, gart_group_time* times, size_t capacity) {
  thread_local gart::fleet::Times last;
  if (fleet == nullptr) return 0;
  last = {};
  if (status_of([&] { last = fleet->program.times(); }) != GART_OK) return 0;
  for (size_t i = 0; i < last.groups.size() && i < capacity; ++i) {
    const gart::fleet::GroupTime& time = last.groups[i];
    times[i] = {time.group.c_str(), time.device.c_str(), time.operation_us, time.idle_us,
                time.noise_us,      time.begin_us,       time.runs,         time.crossed};
  }
  return last.groups.size();
}

gart_status gart_fleet_request_new(const gart_fleet* fleet, gart_fleet_request** request) {
  return status_of([&] {
    require(fleet, request);
    *request = nullptr;
    *request = new gart_fleet_request{value_or_fail(fleet->program.new_request())};
  });
}

void gart_fleet_request_free(gart_fleet_request* request) { delete request; }

gart_status gart_fleet_set_input(gart_fleet_request* request, const char* name, const gart_tensor* tensor) {
  return status_of([&] {
    require(request, name, tensor);
    check(request->request.set_input(std::string_view(name), gart::fleet::view_of(*tensor)));
  });
}

gart_status gart_fleet_fetch(gart_fleet_request* request, const char* const* names, size_t count) {
  return status_of([&] {
    require(request);
    std::vector<std::string_view> requested;
    for (size_t i = 0; i < count; ++i) {
      require(names[i]);
      requested.emplace_back(names[i]);
    }
    check(request->request.fetch(requested));
  });
}

gart_status gart_fleet_start(gart_fleet_request* request) {
  return status_of([&] {
    require(request);
    check(request->request.start());
  });
}

gart_status gart_fleet_wait(gart_fleet_request* request) {
  return status_of([&] {
    require(request);
    check(request->request.wait());
  });
}

void gart_fleet_cancel(gart_fleet_request* request) {
  if (request != nullptr) request->request.cancel();
}

int gart_fleet_ready(const gart_fleet_request* request) {
  return request == nullptr || request->request.ready() ? 1 : 0;
}

size_t gart_fleet_output_count(const gart_fleet_request* request) {
  return request == nullptr ? 0 : request->request.outputs();
}

gart_status gart_fleet_get_output(const gart_fleet_request* request, size_t index, gart_tensor* tensor) {
  return status_of([&] {
    require(request, tensor);
    const gart::TensorView view = request->request.output(index);
    if (view.dtype == gart::DType::undefined)
      fail(ErrorCode::invalid_argument, "there is no output ", index, ", or no run has succeeded yet");
    *tensor = gart::fleet::tensor_of(view);
  });
}
