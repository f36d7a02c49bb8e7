// Runs parts of an artifact on one device with the core runtime.
#pragma once

#include <memory>
#include <string_view>
#include <vector>

#include "runtime/fleet/engine.h"

namespace gart::fleet {

class ProgramEngine final : public PartEngine {
 public:
  /// `entries`: names of the artifact's entry points. `artifact`, `entries` and all that `options` refers to must
  /// outlive this.
  ProgramEngine(std::span<const uint8_t> artifact, const std::vector<std::string>& entries,
                const gart::LoadOptions& options);
  void add(std::span<const uint32_t> parts) override;
  const std::string& device() const override { return device_; }
  const std::string& target() const override { return target_; }

  Result<void> run(uint32_t entry, std::span<const TensorView> inputs, std::span<const OutputBuffer> outputs,
                   std::span<TensorView> results) override;
  Space* space() override { return space_.get(); }

 private:
  const std::span<const uint8_t> artifact_;
  const std::vector<std::string>& entries_;
  const gart::LoadOptions options_;
  // Only the first add() sets these, because the lane reads them while later parts are added.
  std::string device_, target_;
  std::unique_ptr<Space> space_;
  std::vector<gart::Program> programs_;
  std::vector<std::unique_ptr<Invocation>> parts_;  // per entry point
};

}  // namespace gart::fleet
