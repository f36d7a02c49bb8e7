// A program on a pool of CPU cores: its code, mapped, and what that imports.
#pragma once

#include <vector>

#include "runtime/cpu/device.h"
#include "runtime/memory.h"

namespace gart::cpu {

class Program final : public DeviceProgram {
 public:
  /// `file`: that the artifact is mapped from, or -1.
  Program(std::string name, int threads, uint32_t target, int file) : DeviceProgram(target), pool_(std::move(name), threads), file_(file) {}

  gart::Device& device() override { return pool_; }
  void load(const ArtifactView& artifact, std::span<Entry> entries, uint32_t number) override;
  std::unique_ptr<gart::Lane> new_lane(uint32_t number) override;  // in lane.cpp
  Places places() override { return {weights_, nullptr, nullptr}; }

  Device& pool() { return pool_; }
  const void* const* imports() const { return imports_.data(); }
  /// Of the caller's memory, for kernels to use it in place.
  size_t alignment() const { return alignment_; }

 private:
  Device pool_;
  const int file_;
  Mapping code_;
  std::vector<const void*> imports_;
  const uint8_t* weights_ = nullptr;
  size_t alignment_ = kAlignment;
};

}  // namespace gart::cpu
