// The driver's structs and numbers for the simulated driver. They are written from the driver's documentation,
// independently of the runtime's declarations, so that a mistake in either is detected.
#ifndef GART_TESTS_CUDA_SIM_DRIVER_ABI_H
#define GART_TESTS_CUDA_SIM_DRIVER_ABI_H

#include <cstddef>
#include <cstdint>

namespace gart_sim {

enum CUresult : int {
  kSuccess = 0,
  kInvalidValue = 1,
  kOutOfMemory = 2,
  kNotInitialized = 3,
  kDeinitialized = 4,
  kNoDevice = 100,
  kInvalidDevice = 101,
  kInvalidImage = 200,
  kInvalidContext = 201,
  kNoBinaryForGpu = 209,
  kPeerAccessUnsupported = 217,
  kUnsupportedPtxVersion = 222,
  kInvalidHandle = 400,
  kNotFound = 500,
  kNotReady = 600,
  kIllegalAddress = 700,
  kLaunchOutOfResources = 701,
  kLaunchTimeout = 702,
  kPeerAccessAlreadyEnabled = 704,
  kIllegalInstruction = 715,
  kMisalignedAddress = 716,
  kLaunchFailed = 719,
  kNotPermitted = 800,
  kNotSupported = 801,
  kCaptureUnsupported = 900,
  kCaptureInvalidated = 901,
  kExecUpdateFailure = 910,
  kUnknown = 999,
};

using DevicePointer = unsigned long long;

struct KernelParams {
  void* func;
  unsigned grid[3], block[3];
  unsigned shared_bytes;
  void** parameters;
  void** extra;
  void* kern;
  void* ctx;
};
static_assert(sizeof(KernelParams) == 72 && offsetof(KernelParams, shared_bytes) == 32 &&
              offsetof(KernelParams, kern) == 56);

struct CopySide {
  size_t x, y, z, lod;
  int type;
  void* host;
  DevicePointer device;
  void* array;
  void* reserved;
  size_t pitch, height;
};
static_assert(sizeof(CopySide) == 88 && offsetof(CopySide, type) == 32 && offsetof(CopySide, pitch) == 72);

struct Copy3D {
  CopySide src, dst;
  size_t width, height, depth;
};
static_assert(sizeof(Copy3D) == 200 && offsetof(Copy3D, dst) == 88 && offsetof(Copy3D, width) == 176);

struct CopyParams {
  int flags, reserved;
  void* ctx;
  Copy3D copy;
};
static_assert(sizeof(CopyParams) == 216);

struct MemsetParams {
  DevicePointer dst;
  size_t pitch;
  unsigned value, element_size;
  size_t width, height;
  void* ctx;
};
static_assert(sizeof(MemsetParams) == 48);

struct HostParams {
  void (*function)(void*);
  void* data;
  unsigned sync_mode;
};

struct ChildParams {
  void* graph;
  int ownership;
};

enum ConditionalType : int { kIf = 0, kWhile = 1, kSwitch = 2 };
struct ConditionalParams {
  unsigned long long handle;
  int type;
  unsigned size;
  void** bodies;  // Written by the driver.
  void* ctx;
};
static_assert(sizeof(ConditionalParams) == 32 && offsetof(ConditionalParams, bodies) == 16);

enum NodeType : int {
  kKernelNode = 0,
  kCopyNode = 1,
  kMemsetNode = 2,
  kHostNode = 3,
  kGraphNode = 4,
  kEmptyNode = 5,
  kConditionalNode = 13,
};

struct NodeParams {
  int type;
  int reserved0[3];
  union {
    unsigned char bytes[232];
    KernelParams kernel;
    CopyParams copy;
    MemsetParams memset;
    HostParams host;
    ChildParams child;
    ConditionalParams conditional;
  };
  long long reserved2;
};
static_assert(sizeof(NodeParams) == 256 && offsetof(NodeParams, kernel) == 16 &&
              offsetof(NodeParams, reserved2) == 248);

struct EdgeData {
  unsigned char from_port, to_port, type, reserved[5];
};

struct InstantiateParams {
  uint64_t flags;
  void* stream;
  void* error_node;
  int result;
};
static_assert(sizeof(InstantiateParams) == 32 && offsetof(InstantiateParams, result) == 24);

struct UpdateResult {
  int result;
  void* error_node;
  void* error_from_node;
};
static_assert(sizeof(UpdateResult) == 24);

}  // namespace gart_sim
#endif
