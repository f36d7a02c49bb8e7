// Opens the devices of a file: those of this process, and those of the other ranks of its job.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "artifact_schema/reader.h"
#include "gart/fleet.hpp"
#include "runtime/fleet/assembly.h"
#include "runtime/fleet/fleet.h"
#include "runtime/fleet/ranks.h"
#include "runtime/memory.h"

namespace gart::fleet {

/// Engines that run one artifact with the core runtime.
class ProgramEngines final : public Engines {
 public:
  /// `any_host`: devices whose host the file names are this process's, as on the ranks of a job.
  explicit ProgramEngines(const LoadOptions& options, bool any_host = false);
  /// Verifies the file and its assembly. `bytes` are in `mapping`, in `copy`, or in the caller's memory. `path`: the
  /// file's path; empty if there is no file.
  Assembly read(Mapping mapping, std::span<const uint8_t> bytes, const std::string& path, Block copy = Block());

  std::unique_ptr<Engine> open(uint32_t device, std::span<const uint32_t> parts) override;
  /// The same for a device of this process.
  std::unique_ptr<PartEngine> open_here(uint32_t device, std::span<const uint32_t> parts) const;
  void add(Engine& engine, std::span<const uint32_t> parts) override { static_cast<PartEngine&>(engine).add(parts); }
  DeviceInfo describe(const Engine& engine) const override;

 private:
  std::span<const uint8_t> copied(std::span<const uint8_t> bytes);
  bool has_target(const std::string& name) const;

  const LoadOptions options_;
  const bool any_host_;
  const std::vector<gart_custom_op> custom_ops_;
  Mapping file_;
  Block copy_;
  ArtifactView artifact_;
  Assembly assembly_;
  std::unique_ptr<RemoteParts> remote_;  // null: the process runs all parts
};

}  // namespace gart::fleet
