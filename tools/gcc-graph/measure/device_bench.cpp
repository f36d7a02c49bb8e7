#include "tools/gcc-graph/measure/device_bench.h"

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <deque>

#include "runtime/cuda/driver/device.h"
#include "runtime/errors.h"

namespace gcg::tools {
namespace {

using namespace gart::cuda;
using Clock = std::chrono::steady_clock;

double milliseconds(Clock::duration d) { return std::chrono::duration<double, std::milli>(d).count(); }

void check(const gart::Result<void>& result) {
  if (!result.ok()) throw Error(result.error().message);
}

double median(std::vector<double>& values) {
  std::nth_element(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2), values.end());
  return values[values.size() / 2];
}

/// Throws the driver's message as an Error.
template <class Work>
auto with_errors(Work work) {
  try {
    return work();
  } catch (const gart::Failure& failure) {
    throw Error(failure.error.message);
  }
}

}  // namespace

class DeviceInvocation::State {
 public:
  State(const Driver& driver, const gart::Program& program, const NamedTensors& inputs)
      : device_(driver, std::atoi(program.device().c_str() + sizeof("cuda:") - 1)),
        current_(device_),
        stream_(device_),
        invocation_(value_or_throw(program.new_invocation())) {
    for (const auto& [name, tensor] : inputs) {
      gart::TensorView view = tensor.view();
      const size_t bytes = static_cast<size_t>(view.shape.elements()) * gart::size_of(view.dtype);
      gart::Block& block = memory_.emplace_back(&device_.memory);
      block.reserve(bytes);
      if (bytes > 0)
        GART_CUDA(device_, cuMemcpyHtoDAsync_v2, reinterpret_cast<CUdeviceptr>(block.data()), view.data, bytes,
                  stream_.handle);
      view.data = block.data();
      view.device = program.device().c_str();
      check(invocation_.set_input(name, view));
    }
    for (size_t i = 0; i < program.outputs().size(); ++i) {
      gart::OutputBuffer own;
      own.device = program.device().c_str();
      check(invocation_.set_output(i, own));
    }
    GART_CUDA(device_, cuStreamSynchronize, stream_.handle);
  }

  Device& device() { return device_; }
  CUstream stream() const { return stream_.handle; }
  gart::Invocation& invocation() { return invocation_; }

 private:
  Device device_;
  CurrentContext current_;
  Stream stream_;
  std::deque<gart::Block> memory_;
  gart::Invocation invocation_;
};

DeviceInvocation::DeviceInvocation(const gart::Program& program, const NamedTensors& inputs)
    : state_(with_errors([&] { return std::make_unique<State>(*value_or_throw(open_driver()), program, inputs); })) {}
DeviceInvocation::~DeviceInvocation() = default;
gart::Invocation& DeviceInvocation::get() { return state_->invocation(); }

namespace {

/// A stream with two events.
class Bench {
 public:
  Bench(Device& device, CUstream stream, gart::Invocation& invocation)
      : device_(device), stream_(stream), invocation_(invocation) {
    GART_CUDA(device_, cuEventCreate, &before_, 0u);
    GART_CUDA(device_, cuEventCreate, &after_, 0u);
  }
  ~Bench() {
    device_.driver.cuEventDestroy_v2(before_);
    device_.driver.cuEventDestroy_v2(after_);
  }

  DeviceTimes run(double seconds) {
    DeviceTimes times;
    std::vector<double> wall, enqueue, device;
    const auto start = Clock::now();
    for (size_t i = 0; i < 3 || milliseconds(Clock::now() - start) < 500 * seconds; ++i) {
      const auto t = Clock::now();
      check(invocation_.run_async(stream_));
      const double enqueued = milliseconds(Clock::now() - t);
      check(invocation_.wait());
      if (i == 0) continue;  // the first run binds shapes and builds the graph
      enqueue.push_back(enqueued * 1000);
      wall.push_back(milliseconds(Clock::now() - t));
    }
    const auto begin = Clock::now();
    while (device.size() < 3 || milliseconds(Clock::now() - begin) < 500 * seconds) device.push_back(time_batch());
    times.runs = wall.size() + device.size() * kBatch;
    times.wall_ms = median(wall);
    times.enqueue_us = median(enqueue);
    times.device_ms = median(device);
    return times;
  }

 private:
  /// Milliseconds per run, for several runs without gaps between them.
  double time_batch() {
    GART_CUDA(device_, cuEventRecord, before_, stream_);
    for (int i = 0; i < kBatch; ++i) check(invocation_.run_async(stream_));
    GART_CUDA(device_, cuEventRecord, after_, stream_);
    check(invocation_.wait());
    GART_CUDA(device_, cuEventSynchronize, after_);
    float elapsed = 0;
    GART_CUDA(device_, cuEventElapsedTime, &elapsed, before_, after_);
    return static_cast<double>(elapsed) / kBatch;
  }

  static constexpr int kBatch = 8;
  Device& device_;
  const CUstream stream_;
  gart::Invocation& invocation_;
  CUevent before_ = nullptr, after_ = nullptr;
};

}  // namespace

std::optional<DeviceTimes> time_on_device(const gart::Program& program, const NamedTensors& inputs, double seconds) {
  if (program.device().starts_with("cpu")) return std::nullopt;
  return with_errors([&] {
    DeviceInvocation::State on_device(*value_or_throw(open_driver()), program, inputs);
    return Bench(on_device.device(), on_device.stream(), on_device.invocation()).run(seconds);
  });
}

}  // namespace gcg::tools
