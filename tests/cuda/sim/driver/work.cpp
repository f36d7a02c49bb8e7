#include "tests/cuda/sim/driver/work.h"

#include <cstring>

#include "tests/cuda/sim/engine/block.h"

namespace gart_sim {
namespace {

constexpr unsigned kMaxThreads = 1024;

template <class T = unsigned char>
T* as_pointer(uint64_t address) {
  return reinterpret_cast<T*>(address);
}

int refuse(std::string& error, std::string text, int code = kInvalidValue) {
  error = std::move(text);
  return code;
}

// Checks device memory and pinned memory; other host memory counts as valid.
bool is_usable(uint64_t address, size_t bytes, bool is_device) {
  DeviceMemory& memory = DeviceMemory::get();
  if (is_device) return memory.contains(address, bytes);
  return !memory.is_device_address(address) && (!memory.is_watched(address) || memory.contains(address, bytes));
}

uint64_t launch_seed() {
  World& world = World::get();
  const uint64_t number = world.counts["kernels"];
  return number % 4 < 2 ? number % 2 : world.order.seed * 1000 + number;
}

}  // namespace

int KernelWork::make(const KernelParams& params, const Context* context, KernelWork& out, std::string& error) {
  out.function = World::get().find_function(params.func);
  if (!out.function) return refuse(error, "the function is not alive", kInvalidHandle);
  const Kernel& kernel = *out.function->kernel;
  const std::string name = kernel.name;
  if (out.function->module->context != context)
    return refuse(error, name + " belongs to another context", kInvalidContext);
  if (params.extra || params.kern) return refuse(error, name + ": extra and kern must be null");
  const uint64_t threads = uint64_t{params.block[0]} * params.block[1] * params.block[2];
  for (int i = 0; i < 3; ++i) {
    if (params.grid[i] == 0 || params.block[i] == 0) return refuse(error, name + ": a grid or block extent is 0");
    if (params.grid[i] > (i == 0 ? 0x7fffffffu : 65535u)) return refuse(error, name + ": the grid is too large");
  }
  if (threads > kMaxThreads) return refuse(error, name + ": more than 1024 threads");
  if (threads > kernel.max_threads) {
    return refuse(error,
                  name + ": " + std::to_string(threads) + " threads, its launch bounds allow " +
                      std::to_string(kernel.max_threads),
                  kLaunchOutOfResources);
  }
  if (params.shared_bytes > static_cast<unsigned>(out.function->max_dynamic_shared)) {
    return refuse(error, name + ": " + std::to_string(params.shared_bytes) +
                             " bytes of dynamic shared memory, allowed are " +
                             std::to_string(out.function->max_dynamic_shared));
  }
  if (params.grid[0] % kernel.cluster)
    return refuse(error, name + ": " + std::to_string(params.grid[0]) + " blocks, its clusters have " +
                             std::to_string(kernel.cluster));
  if (kernel.parameters && !params.parameters) return refuse(error, name + ": no parameters");
  out.grid = {params.grid[0], params.grid[1], params.grid[2]};
  out.block = {params.block[0], params.block[1], params.block[2]};
  out.shared_bytes = params.shared_bytes;
  out.arguments.resize(kernel.parameters);
  for (unsigned i = 0; i < kernel.parameters; ++i) {
    if (!params.parameters[i]) return refuse(error, name + ": parameter " + std::to_string(i) + " is null");
    const auto* bytes = static_cast<const unsigned char*>(params.parameters[i]);
    out.arguments[i].assign(bytes, bytes + kernel.sizes[i]);
  }
  return 0;
}

int KernelWork::run(Footprint& footprint, bool is_early) const {
  World& world = World::get();
  if (const int injected = world.count("kernels")) return injected;
  if (!world.find_function(function)) {
    report(Finding::api_misuse, "a kernel runs whose module was unloaded");
    return kLaunchFailed;
  }
  std::vector<void*> parameters;
  struct alignas(128) Line {
    unsigned char bytes[128];
  };
  std::vector<std::vector<Line>> copies;  // Aligns each argument for any parameter type.
  for (const auto& argument : arguments) {
    copies.emplace_back((argument.size() + sizeof(Line) - 1) / sizeof(Line));
    memcpy(copies.back().data(), argument.data(), argument.size());
    parameters.push_back(copies.back().data());
  }
  parameters.push_back(nullptr);
  Launch launch;
  launch.module = &function->module->loaded->module();
  launch.kernel = function->kernel;
  launch.grid = grid;
  launch.block = block;
  launch.shared_bytes = shared_bytes;
  launch.parameters = parameters.data();
  launch.is_early = is_early;
  launch.seed = launch_seed();
  LaunchResult result = run_launch(launch);
  footprint = std::move(result.footprint);
  return result.error;
}

int CopyWork::make(const Copy3D& params, CopyWork& out, std::string& error) {
  const auto side = [&error](const CopySide& s, uint64_t& address, bool& is_device, const char* name) {
    if (s.type != 1 && s.type != 2) return refuse(error, std::string(name) + " is neither host nor device memory");
    if (s.array || s.reserved || s.lod)
      return refuse(error, std::string(name) + "'s array, reserved and LOD must be 0");
    is_device = s.type == 2;
    if (is_device ? s.host != nullptr : s.device != 0) return refuse(error, std::string(name) + " is given twice");
    if (s.y || s.z) return refuse(error, "copies of more than one row are not simulated", kNotSupported);
    address = (is_device ? s.device : reinterpret_cast<uint64_t>(s.host)) + s.x;
    return 0;
  };
  if (const int code = side(params.src, out.from, out.from_device, "the source")) return code;
  if (const int code = side(params.dst, out.to, out.to_device, "the target")) return code;
  if (params.width == 0) return refuse(error, "a copy of 0 bytes");
  if (params.height != 1 || params.depth != 1) return refuse(error, "height and depth must be 1", kNotSupported);
  out.bytes = params.width;
  error = out.problem();
  return error.empty() ? 0 : kInvalidValue;
}

std::string CopyWork::problem() const {
  const DeviceMemory& memory = DeviceMemory::get();
  if (!is_usable(from, bytes, from_device)) {
    return "the source of " + std::to_string(bytes) + " bytes is not within one allocation: " + memory.describe(from);
  }
  if (!is_usable(to, bytes, to_device)) {
    return "the target of " + std::to_string(bytes) + " bytes is not within one allocation: " + memory.describe(to);
  }
  if (to < from + bytes && from < to + bytes) return "source and target overlap";
  return "";
}

int CopyWork::run(Footprint& footprint) const {
  World& world = World::get();
  if (const int injected = world.count("memcpys")) return injected;
  if (const std::string text = problem(); !text.empty()) {
    report(Finding::out_of_bounds, "a copy: " + text);
    return kIllegalAddress;
  }
  DeviceMemory::get().open();
  memcpy(as_pointer(to), as_pointer<const unsigned char>(from), bytes);
  DeviceMemory::get().close();
  footprint.reads = {{from, from + bytes}};
  footprint.writes = {{to, to + bytes}};
  return 0;
}

void CopyWork::hide_target() const {
  constexpr int kPoison = 0xff;
  if (!to_device && problem().empty()) memset(as_pointer(to), kPoison, bytes);
}

int FillWork::make(const MemsetParams& params, FillWork& out, std::string& error) {
  if (params.element_size != 1 && params.element_size != 2 && params.element_size != 4) {
    return refuse(error, "the element size must be 1, 2 or 4");
  }
  if (params.width == 0 || params.height != 1) return refuse(error, "the width must not be 0, the height must be 1");
  if (params.element_size < 4 && params.value >> (8 * params.element_size)) {
    return refuse(error, "the value does not fit into the element");
  }
  out = {params.dst, params.value, params.element_size, params.width};
  error = out.problem();
  return error.empty() ? 0 : kInvalidValue;
}

std::string FillWork::problem() const {
  if (to % element_bytes) return "the target is not aligned";
  if (DeviceMemory::get().contains(to, count * element_bytes)) return "";
  return "the target of " + std::to_string(count * element_bytes) +
         " bytes is not within one allocation: " + DeviceMemory::get().describe(to);
}

int FillWork::run(Footprint& footprint) const {
  World& world = World::get();
  if (const int injected = world.count("memsets")) return injected;
  if (const std::string text = problem(); !text.empty()) {
    report(Finding::out_of_bounds, "a fill: " + text);
    return kIllegalAddress;
  }
  DeviceMemory::get().open();
  for (size_t i = 0; i < count; ++i) memcpy(as_pointer(to + i * element_bytes), &value, element_bytes);
  DeviceMemory::get().close();
  footprint.writes = {{to, to + count * element_bytes}};
  return 0;
}

int LibraryWork::run(Footprint& footprint) const {
  World& world = World::get();
  if (const int injected = world.count("kernels")) return injected;
  DeviceMemory& memory = DeviceMemory::get();
  for (const auto* ranges : {&reads, &writes}) {
    for (const Range& range : *ranges) {
      if (memory.contains(range.begin, range.end - range.begin)) continue;
      report(Finding::out_of_bounds, name + " touches " + memory.describe(range.begin));
      return kIllegalAddress;
    }
  }
  memory.open();
  compute();
  memory.close();
  merge(footprint.reads, reads);
  merge(footprint.writes, writes);
  return 0;
}

void enqueue(Stream& stream, std::string label, Run run) {
  if (stream.capture) {
    stream.spoilt = "'" + label + "' is enqueued on a stream that is captured";
    return;
  }
  stream.last = stream.context->queue.add(std::move(label), {stream.last}, std::move(run));
}

int wait_for(Context* context, OperationQueue::Id id) {
  World& world = World::get();
  ++world.counts["syncs"];
  const int error = context->queue.wait(id, world.order);
  if (error) world.lose(context, error);
  return error;
}

int advance(Context* context) {
  World& world = World::get();
  const int error = context->queue.advance(1, world.order);
  if (error) world.lose(context, error);
  return error;
}

}  // namespace gart_sim
