// Runs parts of an artifact on one device with the core runtime.
#pragma once

#include <memory>
#include <string_view>
#include <vector>

#include "runtime/fleet/engine.h"

namespace gart::fleet {

class ProgramEngine final : public Engine {
 public:
  /// `entries`: names of the artifact's entry points. `artifact`, `entries` and all that `options` refers to must
  /// outlive this.
  ProgramEngine(std::span<const uint8_t> artifact, const std::vector<std::string>& entries,
                const gart::LoadOptions& options);
  /// Loads the parts that are not loaded yet. Call it before the first of them runs. Throws Failure.
  void add(std::span<const uint32_t> parts);
  /// The device, such as "cpu:0-1", and the target whose code runs. Both are empty before the first part.
  std::string device() const { return programs_.empty() ? std::string() : programs_[0].device(); }
  std::string target() const { return programs_.empty() ? std::string() : programs_[0].target(); }

  Result<void> run(uint32_t entry, std::span<const TensorView> inputs, std::span<const OutputBuffer> outputs,
                   std::span<TensorView> results) override;
  Space* space() override { return space_.get(); }

 private:
  const std::span<const uint8_t> artifact_;
  const std::vector<std::string>& entries_;
  const gart::LoadOptions options_;
  std::unique_ptr<Space> space_;
  std::vector<gart::Program> programs_;
  std::vector<std::unique_ptr<Invocation>> parts_;  // per entry point
};

}  // namespace gart::fleet
