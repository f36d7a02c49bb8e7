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
  std::unique_ptr<gart::Lane> new_lane() override;  // in lane.cpp
  /// Of the weights only what this target's plans use is on the device.
  Places places() override { return {weights_base_, nullptr, prepared_.data()}; }

  Device& gpu() { return device_; }
  Libraries& libraries() { return libraries_; }
  /// What decides branches and loops on the device; null: the host does.
  CUfunction steering() const { return steering_; }
  /// Every step is waited for before the next one is enqueued.
  bool blocking() const { return blocking_; }
  /// The weights section in host memory.
  std::span<const uint8_t> host_weights() const { return host_weights_; }

 private:
  void load_plan(Plan& plan);
  CUfunction load_kernel(const fb::Kernel& kernel);
  CUmodule load_module(const fb::Kernel& kernel);
  /// Makes the prepared region from weights that are on the device only meanwhile.
  void prepare_weights(const fb::EntryPoint& at_load);
  /// Those that the entries' plans use.
  Block upload_weights(std::span<const Entry> entries);
  void load_steering(const fb::Kernel& kernel);

  Device device_;
  Libraries libraries_{device_};
  const fb::Manifest* manifest_ = nullptr;
  const bool blocking_;
  bool ptx_ = false;
  CUfunction steering_ = nullptr;
  int shared_limit_ = 0;
  std::span<const uint8_t> code_, host_weights_;
  struct Module {
    uint64_t offset;
    CUmodule handle;
  };
  std::vector<Module> modules_;  // sorted by offset
  Block weights_{&device_.memory}, prepared_{&device_.memory};
  const uint8_t* weights_base_ = nullptr;
};

}  // namespace gart::cuda
