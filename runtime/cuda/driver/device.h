// One GPU with its primary context, as one program uses it.
#pragma once

#include <atomic>
#include <mutex>
#include <new>
#include <string>
#include <string_view>

#include "runtime/cuda/driver/driver.h"
#include "runtime/device.h"
#include "runtime/memory.h"

namespace gart::cuda {

class Device;

/// Memory of the device.
class DeviceMemory : public MemorySource {
 public:
  explicit DeviceMemory(Device& device) : device_(device) {}
  void* allocate(size_t& bytes) override;
  void release(void* data, size_t bytes) noexcept override;
  void write(void* to, const void* host, size_t bytes) override;
  void read(void* host, const void* from, size_t bytes) override;
  void move(void* to, const void* from, size_t bytes) override;

 private:
  Device& device_;
};

/// Host memory for the device's copies. Kernels can write it at the same address.
class PinnedMemory : public MemorySource {
 public:
  explicit PinnedMemory(Device& device) : device_(device) {}
  void* allocate(size_t& bytes) override;
  void release(void* data, size_t bytes) noexcept override;

 private:
  Device& device_;
};

class Device final : public gart::Device {
 public:
  /// Retains the primary context, which is shared with other users of CUDA in the process. Throws Failure.
  Device(const Driver& driver, int ordinal);
  ~Device() override;
  Device(const Device&) = delete;
  Device& operator=(const Device&) = delete;

  const Driver& driver;
  CUcontext context = nullptr;
  DeviceMemory memory{*this};
  PinnedMemory pinned{*this};

  /// Throws Failure unless the call `name` succeeded. `steps`: the steps it belongs to, or empty. A sticky error is
  /// kept: the device is lost for this program.
  void check(CUresult result, const char* call, std::string_view steps = {});
  void check_alive() const override;
  int attribute(CUdevice_attribute which);
  /// Its compute capability * 10.
  int sm();
  /// "1000 of 2000 bytes are free on cuda:0"
  std::string free_text() const;

 private:
  const CUdevice handle_;
  mutable std::mutex mutex_;
  std::atomic<bool> lost_{false};
  Error loss_;
};

/// Makes a device's context the calling thread's current one; the destructor restores the previous one.
class CurrentContext {
 public:
  /// Throws Failure.
  explicit CurrentContext(Device& device);
  /// For destructors that release resources: is_current() tells whether they can.
  CurrentContext(const Device& device, std::nothrow_t) noexcept;
  ~CurrentContext();
  bool is_current() const { return result_ == CUDA_SUCCESS; }
  CurrentContext(const CurrentContext&) = delete;
  CurrentContext& operator=(const CurrentContext&) = delete;

 private:
  const Driver& driver_;
  CUcontext previous_ = nullptr;
  CUresult result_ = CUDA_SUCCESS;
  bool changed_ = false;
};

/// A stream that does not wait for the process's default stream.
class Stream {
 public:
  explicit Stream(Device& device);
  ~Stream();
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;
  CUstream handle = nullptr;

 private:
  const Device& device_;
};

class Event {
 public:
  explicit Event(Device& device, unsigned flags = CU_EVENT_DISABLE_TIMING);
  ~Event();
  Event(const Event&) = delete;
  Event& operator=(const Event&) = delete;
  CUevent handle = nullptr;

 private:
  const Device& device_;
};

/// A GPU's compute capability * 10: 90.
CUresult get_sm(const Driver& driver, CUdevice device, int& sm);

}  // namespace gart::cuda

/// Calls a function of the driver; throws Failure naming it if it fails.
#define GART_CUDA(device, function, ...) (device).check((device).driver.function(__VA_ARGS__), #function)
