// Modules, functions, launches.
#include <cstring>

#include "tests/cuda/sim/driver/work.h"
#include "tests/cuda/sim/nvrtc/ptx_text.h"

using namespace gart_sim;

namespace {

// True if a device may run a module's code. Cubins run on later minor versions of the same major version; Tegra (87)
// runs exactly its own. Targets with an 'a' run only on exactly their device, and targets with an 'f' on their family.
// PTX runs on everything at least as new.
bool runs_on(const Module& module, int device) {
  const int sm = static_cast<int>(module.sm);
  if (module.sm_variant == 'p') return device >= sm;
  if (module.sm_variant == 'a' || sm == 87 || device == 87) return device == sm;
  return device / 10 == sm / 10 && device % 10 >= sm % 10;
}

struct JitLog {
  char* text = nullptr;
  size_t bytes = 0;

  static JitLog of(unsigned count, const int* options, void** values) {
    JitLog log;
    for (unsigned i = 0; i < count; ++i) {
      if (options[i] == 5) log.text = static_cast<char*>(values[i]);
      if (options[i] == 6) log.bytes = reinterpret_cast<size_t>(values[i]);
    }
    return log;
  }
  void write(const std::string& message) const {
    if (!text || !bytes) return;
    strncpy(text, message.c_str(), bytes);
    text[bytes - 1] = 0;
  }
};

int load(const Call& call, ModuleHandle& handle, const void* image, const JitLog& log) {
  World& world = World::get();
  std::string bytes, error;
  if (const size_t size = LoadedModule::size_of(image)) {
    bytes.assign(static_cast<const char*>(image), size);
  } else {
    bytes = from_ptx(static_cast<const char*>(image));
  }
  if (bytes.empty()) return call.misuse("neither a simulated cubin nor simulated PTX", kInvalidImage);
  handle.loaded = LoadedModule::load(bytes, error);
  if (!handle.loaded) return call.misuse(error, kInvalidImage);
  const Module& module = handle.loaded->module();
  if (static_cast<int>(module.toolkit) * 1000 > world.driver_version) {
    log.write("made by a newer toolkit than the driver");
    return module.sm_variant == 'p' ? kUnsupportedPtxVersion : kInvalidImage;
  }
  if (!runs_on(module, world.sm)) {
    log.write("no code for this device");
    return kNoBinaryForGpu;
  }
  return 0;
}

}  // namespace

extern "C" int cuDeviceGetAttribute(int* value, int attribute, int device);

GART_SIM_API cuModuleLoadDataEx(void** out, const void* image, unsigned count, int* options, void** values) {
  GART_SIM_CALL("cuModuleLoadDataEx");
  if (!out || !image || (count && (!options || !values)))
    return call.misuse("no image, no place for the module, or no options");
  auto handle = std::make_unique<ModuleHandle>();
  handle->context = call.context_of();
  if (const int code = load(call, *handle, image, JitLog::of(count, options, values))) return code;
  *out = world.modules.add(std::move(handle));
  return 0;
}

GART_SIM_API cuModuleLoadData(void** out, const void* image) {
  GART_SIM_CALL("cuModuleLoadData");
  return cuModuleLoadDataEx(out, image, 0, nullptr, nullptr);
}

GART_SIM_API cuModuleUnload(void* module) {
  GART_SIM_CALL("cuModuleUnload");
  ModuleHandle* handle = world.modules.find(module);
  if (!handle) return call.misuse("the module is not alive");
  world.modules.remove(handle);
  return 0;
}

GART_SIM_API cuModuleGetFunction(void** out, void* module, const char* name) {
  GART_SIM_CALL("cuModuleGetFunction");
  ModuleHandle* handle = world.modules.find(module);
  if (!handle || !out || !name) return call.misuse("the module is not alive, or no name or place for the function");
  const Kernel* kernel = handle->loaded->find(name);
  if (!kernel) return kNotFound;
  for (const auto& function : handle->functions) {
    if (function->kernel == kernel) {
      *out = function.get();
      return 0;
    }
  }
  handle->functions.push_back(std::make_unique<Function>(Function{handle, kernel}));
  *out = handle->functions.back().get();
  return 0;
}

GART_SIM_API cuFuncGetAttribute(int* value, int attribute, void* handle) {
  GART_SIM_CALL("cuFuncGetAttribute");
  const Function* function = world.find_function(handle);
  if (!value || !function) return call.misuse("the function is not alive, or no place for the value");
  const auto fixed = static_cast<int>(function->module->loaded->static_shared_bytes());
  const int values[] = {static_cast<int>(function->kernel->max_threads),
                        fixed,
                        0,
                        0,
                        32,
                        world.sm,
                        world.sm,
                        0,
                        function->max_dynamic_shared};
  if (attribute < 0 || attribute > 8)
    return call.misuse("attribute " + std::to_string(attribute) + " is not simulated");
  *value = values[attribute];
  return 0;
}

GART_SIM_API cuFuncSetAttribute(void* handle, int attribute, int value) {
  GART_SIM_CALL("cuFuncSetAttribute");
  Function* function = world.find_function(handle);
  if (!function) return call.misuse("the function is not alive");
  if (attribute == 9) return 0;  // The preferred share of shared memory is only a hint.
  if (attribute != 8) return call.misuse("attribute " + std::to_string(attribute) + " is not simulated");
  int limit = 0;
  cuDeviceGetAttribute(&limit, 97, function->module->context->device);
  limit -= static_cast<int>(function->module->loaded->static_shared_bytes());
  if (value < 0 || value > limit) {
    return call.misuse(std::to_string(value) + " bytes of dynamic shared memory, the device has " +
                       std::to_string(limit));
  }
  function->max_dynamic_shared = value;
  return 0;
}

GART_SIM_API cuFuncGetParamInfo(void* handle, size_t index, size_t* offset, size_t* size) {
  GART_SIM_CALL("cuFuncGetParamInfo");
  const Function* function = world.find_function(handle);
  if (!function || !offset) return call.misuse("the function is not alive, or no place for the offset");
  if (index >= function->kernel->parameters) return kInvalidValue;  // this error tells callers where the list ends
  *offset = 0;
  for (size_t i = 0; i < index; ++i) *offset += (function->kernel->sizes[i] + 7u) & ~7u;
  if (size) *size = function->kernel->sizes[index];
  return 0;
}

GART_SIM_API cuLaunchKernel(void* function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by,
                            unsigned bz, unsigned shared, void* stream_handle, void** parameters, void** extra) {
  GART_SIM_CALL("cuLaunchKernel");
  Stream* stream = call.stream(stream_handle);
  if (!stream) return call.misuse("the stream is not alive", kInvalidHandle);
  const KernelParams params = {function, {gx, gy, gz}, {bx, by, bz}, shared, parameters, extra, nullptr, nullptr};
  KernelWork work;
  std::string error;
  if (const int code = KernelWork::make(params, call.context_of(), work, error)) return call.misuse(error, code);
  ++world.counts["kernel_launches"];
  enqueue(*stream, "kernel " + work.name(), [work](Footprint& footprint) { return work.run(footprint); });
  return 0;
}
