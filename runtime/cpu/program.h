// A program on a pool of CPU cores: its mapped code, and the functions that the code imports.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "gart/custom_op.h"
#include "runtime/cpu/device.h"
#include "runtime/memory.h"

namespace gart::cpu {

class Program final : public DeviceProgram {
 public:
  /// `file`: the descriptor that the artifact is mapped from, or -1. `options` must live until load() returns.
  Program(const std::string& name, const LoadOptions& options, uint32_t target, int file)
      : DeviceProgram(target),
        pool_(name, options.threads, options.parallel, options.spin),
        file_(file),
        app_op_(options.custom_ops) {}

  gart::Device& device() override { return pool_; }
  void load(const ArtifactView& artifact, std::span<Entry> entries) override;
  std::unique_ptr<gart::Lane> new_lane() override;  // in lane.cpp
  BaseAddresses bases() override { return {weights_, nullptr, nullptr}; }

  Device& pool() { return pool_; }
  const void* const* imports() const { return imports_.data(); }

 private:
  /// Throws if neither this runtime nor the application has a function of that name.
  void bind_imports(const fb::Target& target);

  Device pool_;
  const int file_;
  Mapping code_;
  std::span<const gart_custom_op> app_op_;
  std::vector<const void*> imports_;
  /// A function of the application, as kernels call it: no exception may pass through their code.
  struct Guarded {
    gart_custom_op call;    // catches
    gart_custom_op app_op;  // may throw
  };
  std::unique_ptr<Guarded[]> custom_ops_;  // one per import; imports of the application point to their entry
  const uint8_t* weights_ = nullptr;
};

}  // namespace gart::cpu
