#include "runtime/cuda/driver/device.h"

#include <bit>

#include "runtime/errors.h"

namespace gart::cuda {
namespace {

CUdevice handle_of(const Driver& driver, int ordinal) {
  CUdevice handle = 0;
  if (const CUresult result = driver.cuDeviceGet(&handle, ordinal); result != CUDA_SUCCESS) {
    fail(ErrorCode::unsupported, "cuDeviceGet failed for device ", ordinal, ": ", result_text(driver, result));
  }
  return handle;
}

}  // namespace

Device::Device(const Driver& d, int ordinal)
    : gart::Device(text("cuda:", ordinal), nullptr, memory, pinned), driver(d), handle_(handle_of(d, ordinal)) {
  GART_CUDA(*this, cuDevicePrimaryCtxRetain, &context, handle_);
}

Device::~Device() { driver.cuDevicePrimaryCtxRelease_v2(handle_); }

void Device::check(CUresult result, const char* call, std::string_view steps) {
  if (result == CUDA_SUCCESS) return;
  const std::string what =
      text(call, " failed on ", name, steps.empty() ? "" : " in ", steps, ": ", result_text(driver, result));
  if (result == CUDA_ERROR_OUT_OF_MEMORY) fail(ErrorCode::out_of_memory, what, "; ", free_text());
  if (!is_sticky(result)) fail(ErrorCode::unsupported, what);
  const std::lock_guard lock(mutex_);
  if (!lost_) {
    loss_ = error(ErrorCode::device_lost, "the device is lost: ", what);
    lost_ = true;
  }
  throw Failure{loss_};
}

void Device::check_alive() const {
  if (!lost_) return;
  const std::lock_guard lock(mutex_);
  throw Failure{loss_};
}

int Device::attribute(CUdevice_attribute which) {
  int value = 0;
  GART_CUDA(*this, cuDeviceGetAttribute, &value, which, handle_);
  return value;
}

std::string Device::free_text() const {
  size_t available = 0, total = 0;
  const bool known = context != nullptr && CurrentContext(*this, std::nothrow).is_current() &&
                     driver.cuMemGetInfo_v2(&available, &total) == CUDA_SUCCESS;
  if (!known) return "the free memory is unknown";
  return text(available, " of ", total, " bytes are free on ", name);
}

void* DeviceMemory::allocate(size_t& bytes) {
  const CurrentContext current(device_);
  CUdeviceptr data = 0;
  const CUresult result = device_.driver.cuMemAlloc_v2(&data, bytes);
  if (result == CUDA_ERROR_OUT_OF_MEMORY) {
    fail(ErrorCode::out_of_memory, "no memory for ", bytes, " bytes: ", device_.free_text());
  }
  device_.check(result, "cuMemAlloc_v2");
  return std::bit_cast<void*>(data);
}

void DeviceMemory::release(void* data, size_t) noexcept {
  if (const CurrentContext current(device_, std::nothrow); current.is_current())
    device_.driver.cuMemFree_v2(reinterpret_cast<CUdeviceptr>(data));
}

void DeviceMemory::write(void* to, const void* host, size_t bytes) {
  const CurrentContext current(device_);
  GART_CUDA(device_, cuMemcpyHtoDAsync_v2, reinterpret_cast<CUdeviceptr>(to), host, bytes, nullptr);
  GART_CUDA(device_, cuStreamSynchronize, nullptr);
}

void DeviceMemory::read(void* host, const void* from, size_t bytes) {
  const CurrentContext current(device_);
  GART_CUDA(device_, cuMemcpyDtoHAsync_v2, host, reinterpret_cast<CUdeviceptr>(from), bytes, nullptr);
  GART_CUDA(device_, cuStreamSynchronize, nullptr);
}

void DeviceMemory::move(void* to, const void* from, size_t bytes) {
  const CurrentContext current(device_);
  GART_CUDA(device_, cuMemcpyDtoDAsync_v2, reinterpret_cast<CUdeviceptr>(to), reinterpret_cast<CUdeviceptr>(from),
            bytes, nullptr);
  GART_CUDA(device_, cuStreamSynchronize, nullptr);
}

void* PinnedMemory::allocate(size_t& bytes) {
  const CurrentContext current(device_);
  void* data = nullptr;
  const CUresult result = device_.driver.cuMemHostAlloc(&data, bytes, CU_MEMHOSTALLOC_PORTABLE);
  if (result == CUDA_ERROR_OUT_OF_MEMORY) {
    fail(ErrorCode::out_of_memory, "no page-locked host memory for ", bytes, " bytes");
  }
  device_.check(result, "cuMemHostAlloc");
  return data;
}

int Device::sm() {
  int sm = 0;
  check(get_sm(driver, handle_, sm), "cuDeviceGetAttribute");
  return sm;
}

void PinnedMemory::release(void* data, size_t) noexcept {
  if (const CurrentContext current(device_, std::nothrow); current.is_current()) device_.driver.cuMemFreeHost(data);
}

CurrentContext::CurrentContext(const Device& device, std::nothrow_t) noexcept : driver_(device.driver) {
  result_ = driver_.cuCtxGetCurrent(&previous_);
  if (result_ != CUDA_SUCCESS || previous_ == device.context) return;
  result_ = driver_.cuCtxSetCurrent(device.context);
  changed_ = is_current();
}

CurrentContext::CurrentContext(Device& device) : CurrentContext(device, std::nothrow) {
  device.check(result_, "making its context current");
}

CurrentContext::~CurrentContext() {
  if (changed_) driver_.cuCtxSetCurrent(previous_);
}

Stream::Stream(Device& device) : device_(device) {
  const CurrentContext current(device);
  GART_CUDA(device, cuStreamCreateWithPriority, &handle, CU_STREAM_NON_BLOCKING, 0);
}

Stream::~Stream() {
  if (const CurrentContext current(device_, std::nothrow); current.is_current())
    device_.driver.cuStreamDestroy_v2(handle);
}

Event::Event(Device& device, unsigned flags) : device_(device) {
  const CurrentContext current(device);
  GART_CUDA(device, cuEventCreate, &handle, flags);
}

Event::~Event() {
  if (const CurrentContext current(device_, std::nothrow); current.is_current())
    device_.driver.cuEventDestroy_v2(handle);
}

CUresult get_sm(const Driver& driver, CUdevice device, int& sm) {
  int major = 0, minor = 0;
  CUresult result = driver.cuDeviceGetAttribute(&major, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, device);
  if (result != CUDA_SUCCESS) return result;
  result = driver.cuDeviceGetAttribute(&minor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, device);
  sm = major * 10 + minor;
  return result;
}

}  // namespace gart::cuda
