// Initialization, devices, contexts, errors.
#include <cstring>
#include <iterator>

#include "tests/cuda/sim/driver/graph.h"

using namespace gart_sim;

namespace {

struct ErrorName {
  int code;
  const char *name, *text;
};
constexpr ErrorName kErrors[] = {
    {0, "CUDA_SUCCESS", "no error"},
    {1, "CUDA_ERROR_INVALID_VALUE", "invalid argument"},
    {2, "CUDA_ERROR_OUT_OF_MEMORY", "out of memory"},
    {3, "CUDA_ERROR_NOT_INITIALIZED", "initialization error"},
    {4, "CUDA_ERROR_DEINITIALIZED", "driver shutting down"},
    {100, "CUDA_ERROR_NO_DEVICE", "no CUDA-capable device is detected"},
    {101, "CUDA_ERROR_INVALID_DEVICE", "invalid device ordinal"},
    {200, "CUDA_ERROR_INVALID_IMAGE", "device kernel image is invalid"},
    {201, "CUDA_ERROR_INVALID_CONTEXT", "invalid device context"},
    {209, "CUDA_ERROR_NO_BINARY_FOR_GPU", "no kernel image is available for execution on the device"},
    {218, "CUDA_ERROR_INVALID_PTX", "a PTX JIT compilation failed"},
    {217, "CUDA_ERROR_PEER_ACCESS_UNSUPPORTED", "peer access is not supported between these two devices"},
    {222, "CUDA_ERROR_UNSUPPORTED_PTX_VERSION", "the provided PTX was compiled with an unsupported toolchain."},
    {400, "CUDA_ERROR_INVALID_HANDLE", "invalid resource handle"},
    {500, "CUDA_ERROR_NOT_FOUND", "named symbol not found"},
    {600, "CUDA_ERROR_NOT_READY", "device not ready"},
    {700, "CUDA_ERROR_ILLEGAL_ADDRESS", "an illegal memory access was encountered"},
    {701, "CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES", "too many resources requested for launch"},
    {702, "CUDA_ERROR_LAUNCH_TIMEOUT", "the launch timed out and was terminated"},
    {704, "CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED", "peer access is already enabled"},
    {715, "CUDA_ERROR_ILLEGAL_INSTRUCTION", "an illegal instruction was encountered"},
    {716, "CUDA_ERROR_MISALIGNED_ADDRESS", "misaligned address"},
    {719, "CUDA_ERROR_LAUNCH_FAILED", "unspecified launch failure"},
    {800, "CUDA_ERROR_NOT_PERMITTED", "operation not permitted"},
    {801, "CUDA_ERROR_NOT_SUPPORTED", "operation not supported"},
    {999, "CUDA_ERROR_UNKNOWN", "unknown error"},
};

const ErrorName* find_error(int code) {
  for (const ErrorName& error : kErrors) {
    if (error.code == code) return &error;
  }
  return nullptr;
}

Context* context_of_device(int device) {
  World& world = World::get();
  return device >= 0 && static_cast<size_t>(device) < world.contexts.size()
             ? world.contexts[static_cast<size_t>(device)].get()
             : nullptr;
}

struct SharedMemory {
  int sm, per_block;  // KB.
};
constexpr SharedMemory kSharedMemory[] = {{75, 64},  {80, 163},  {86, 99},   {87, 163},  {88, 163}, {89, 99},
                                          {90, 227}, {100, 227}, {103, 227}, {110, 227}, {120, 99}, {121, 99}};

int shared_of(int sm) {
  for (const SharedMemory& entry : kSharedMemory) {
    if (entry.sm == sm) return entry.per_block * 1024;
  }
  return 48 * 1024;
}

// -1: not served.
int attribute_of(int attribute, int sm) {
  switch (attribute) {
    case 1:
      return 1024;  // Threads per block.
    case 2:
    case 3:
      return 1024;  // Block x, y.
    case 4:
      return 64;  // Block z.
    case 5:
      return 0x7fffffff;  // Grid x.
    case 6:
    case 7:
      return 65535;  // Grid y, z.
    case 8:
      return 48 * 1024;  // Shared memory per block, without opting in.
    case 10:
      return 32;  // Warp.
    case 12:
      return 65536;  // Registers per block.
    case 13:
      return 1410000;  // Clock in kHz.
    case 16:
      return 108;  // Multiprocessors.
    case 18:
      return sm == 87 || sm == 110;  // Integrated.
    case 19:
      return 1;  // Can map host memory.
    case 33:
      return 0;  // PCI bus.
    case 36:
      return 1215000;  // Memory clock in kHz.
    case 37:
      return 5120;  // Memory bus in bits.
    case 38:
      return 40 << 20;  // L2 bytes.
    case 39:
      return 2048;  // Threads per multiprocessor.
    case 41:
      return 1;  // Unified addressing.
    case 75:
      return sm / 10;
    case 76:
      return sm % 10;
    case 81:
      return shared_of(sm) + 1024;  // Shared memory per multiprocessor.
    case 82:
      return 65536;  // Registers per multiprocessor.
    case 97:
      return shared_of(sm);
    case 115:
      return 1;  // Memory pools.
    default:
      return -1;
  }
}

}  // namespace

GART_SIM_API cuInit(unsigned flags) {
  GART_SIM_CALL("cuInit", Call::nothing);
  if (flags) return call.misuse("flags must be 0");
  if (world.contexts.empty()) return kNoDevice;
  world.is_initialized = true;
  return 0;
}

GART_SIM_API cuDriverGetVersion(int* version) {
  GART_SIM_CALL("cuDriverGetVersion", Call::nothing);
  if (!version) return call.misuse("no place for the version");
  *version = world.driver_version;
  return 0;
}

GART_SIM_API cuGetErrorName(int code, const char** out) {
  const ErrorName* error = find_error(code);
  if (!out) return kInvalidValue;
  *out = error ? error->name : nullptr;
  return error ? 0 : kInvalidValue;
}

GART_SIM_API cuGetErrorString(int code, const char** out) {
  const ErrorName* error = find_error(code);
  if (!out) return kInvalidValue;
  *out = error ? error->text : nullptr;
  return error ? 0 : kInvalidValue;
}

GART_SIM_API cuDeviceGetCount(int* count) {
  GART_SIM_CALL("cuDeviceGetCount", Call::initialized);
  if (!count) return call.misuse("no place for the count");
  *count = static_cast<int>(world.contexts.size());
  return 0;
}

GART_SIM_API cuDeviceGet(int* device, int ordinal) {
  GART_SIM_CALL("cuDeviceGet", Call::initialized);
  if (!device) return call.misuse("no place for the device");
  if (!context_of_device(ordinal)) return kInvalidDevice;
  *device = ordinal;
  return 0;
}

GART_SIM_API cuDeviceGetName(char* name, int bytes, int device) {
  GART_SIM_CALL("cuDeviceGetName", Call::initialized);
  if (!name || bytes <= 0 || !context_of_device(device)) return call.misuse("no place for the name, or no such device");
  strncpy(name, ("simulated sm_" + std::to_string(world.sm)).c_str(), static_cast<size_t>(bytes));
  name[bytes - 1] = 0;
  return 0;
}

GART_SIM_API cuDeviceGetUuid_v2(unsigned char* uuid, int device) {
  GART_SIM_CALL("cuDeviceGetUuid_v2", Call::initialized);
  if (!uuid || !context_of_device(device)) return call.misuse("no place for the identity, or no such device");
  memset(uuid, 0x51, 16);
  uuid[15] = static_cast<unsigned char>(device);
  return 0;
}

GART_SIM_API cuDeviceGetAttribute(int* value, int attribute, int device) {
  GART_SIM_CALL("cuDeviceGetAttribute", Call::initialized);
  if (!value || !context_of_device(device)) return call.misuse("no place for the value, or no such device");
  const int found = attribute_of(attribute, world.sm);
  if (found < 0) return call.misuse("attribute " + std::to_string(attribute) + " is not simulated");
  *value = found;
  return 0;
}

GART_SIM_API cuDeviceTotalMem_v2(size_t* bytes, int device) {
  GART_SIM_CALL("cuDeviceTotalMem_v2", Call::initialized);
  if (!bytes || !context_of_device(device)) return call.misuse("no place for the size, or no such device");
  *bytes = DeviceMemory::get().capacity();
  return 0;
}

GART_SIM_API cuDevicePrimaryCtxRetain(void** out, int device) {
  GART_SIM_CALL("cuDevicePrimaryCtxRetain", Call::initialized);
  Context* context = context_of_device(device);
  if (!out || !context) return call.misuse("no place for the context, or no such device");
  if (context->sticky) return context->sticky;
  ++context->retained;
  *out = context;
  return 0;
}

// The last release destroys the context and everything in it.
GART_SIM_API cuDevicePrimaryCtxRelease_v2(int device) {
  GART_SIM_CALL("cuDevicePrimaryCtxRelease_v2", Call::initialized);
  Context* context = context_of_device(device);
  if (!context) return call.misuse("no such device");
  if (context->retained == 0) return call.misuse("the context is not retained", kInvalidContext);
  if (--context->retained > 0) return 0;
  if (context->sticky) return context->sticky;
  const size_t left = DeviceMemory::get().live(device);
  if (left) report(Finding::leak, "the context is released while " + std::to_string(left) + " allocations are alive");
  return 0;
}

GART_SIM_API cuCtxSetCurrent(void* handle) {
  GART_SIM_CALL("cuCtxSetCurrent", Call::initialized);
  Context* found = nullptr;
  for (const auto& context : world.contexts) {
    if (context.get() == handle && context->retained > 0) found = context.get();
  }
  if (handle && !found) return call.misuse("the context is not alive", kInvalidContext);
  current_context() = found;
  return 0;
}

GART_SIM_API cuCtxGetCurrent(void** out) {
  GART_SIM_CALL("cuCtxGetCurrent", Call::initialized);
  if (!out) return call.misuse("no place for the context");
  *out = current_context();
  return 0;
}

GART_SIM_API cuDeviceCanAccessPeer(int* reaches, int device, int peer) {
  GART_SIM_CALL("cuDeviceCanAccessPeer", Call::initialized);
  if (!reaches || !context_of_device(device) || !context_of_device(peer))
    return call.misuse("no place for the answer, or no such device");
  *reaches = device != peer && world.has_peers ? 1 : 0;
  return 0;
}

GART_SIM_API cuCtxEnablePeerAccess(void* handle, unsigned flags) {
  GART_SIM_CALL("cuCtxEnablePeerAccess");
  const Context* peer = nullptr;
  for (const auto& context : world.contexts)
    if (context.get() == handle && context->retained > 0) peer = context.get();
  if (!peer || flags) return call.misuse("the context is not alive, or flags", kInvalidContext);
  const int device = call.context_of()->device;
  if (!world.has_peers || peer->device == device) return kPeerAccessUnsupported;
  return world.peers.insert({device, peer->device}).second ? 0 : kPeerAccessAlreadyEnabled;
}

GART_SIM_API cuCtxSynchronize() {
  GART_SIM_CALL("cuCtxSynchronize");
  return wait_for(call.context_of(), OperationQueue::kAll);
}
