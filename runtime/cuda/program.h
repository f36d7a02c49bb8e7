// A program on one GPU: its modules and its weights.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "runtime/cuda/driver/device.h"
#include "runtime/cuda/libraries/libraries.h"
#include "runtime/device.h"

namespace gart::cuda {

class Program final : public DeviceProgram {
 public:
  /// Throws Failure.
  Program(const Driver& driver, int ordinal, uint32_t target, bool blocking)
      : DeviceProgram(target), device_(driver, ordinal), blocking_(blocking) {}
  ~Program() override;

  gart::Device& device() override { return device_; }
  void load(const ArtifactView& artifact, std::span<Entry> entries) override;
  std::unique_ptr<gart::Lane> new_lane() override;  // defined in lane.cpp
  /// The device holds only the weights that this target's plans use.
  BaseAddresses bases() override { return {weights_base_, nullptr, packed_.data()}; }

  Device& gpu() { return device_; }
  Libraries& libraries() { return libraries_; }
  /// The kernel that decides branches and loops on the device; null: the host decides.
  CUfunction conditional_kernel() const { return conditional_kernel_; }
  /// True if the host waits for every step before it enqueues the next one.
  bool blocking() const { return blocking_; }
  /// The weights section in host memory.
  std::span<const uint8_t> host_weights() const { return host_weights_; }

 private:
  void load_plan(Plan& plan);
  CUfunction load_kernel(const fb::Kernel& kernel);
  CUmodule load_module(const fb::Kernel& kernel);
  /// Fills the packed region from the weights of `packing`, which are on the device only during this call.
  void pack_weights(const fb::EntryPoint& packing);
  /// Uploads the weights that the entries' plans use.
  Block upload_weights(std::span<const Entry> entries);
  void load_conditional_kernel(const fb::Kernel& kernel);

  Device device_;
  Libraries libraries_{device_};
  const fb::Manifest* manifest_ = nullptr;
  const bool blocking_;
  bool ptx_ = false;
  CUfunction conditional_kernel_ = nullptr;
  int shared_limit_ = 0;
  std::span<const uint8_t> code_, host_weights_;
  struct Module {
    uint64_t offset;
    CUmodule handle;
  };
  std::vector<Module> modules_;  // sorted by offset
  Block weights_{&device_.memory}, packed_{&device_.memory};
  const uint8_t* weights_base_ = nullptr;
};

}  // namespace gart::cuda
