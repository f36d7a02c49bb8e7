// Options of `run` and `bench` for models that were cut for a fleet, and the loading of such models.
#pragma once

#include <string>
#include <vector>

#include "artifact_schema/reader.h"
#include "gart/fleet.hpp"
#include "gcc_graph/fleet.h"
#include "gcc_graph/place.h"
#include "tools/gcc-graph/io/model_inputs.h"

namespace gcg::tools {

class RunOnFleet {
 public:
  void add_to(CLI::App& command);
  /// The job whose ranks run the parts of other hosts (job.h); null: this process runs all.
  void use(const gart::fleet::Hosts* hosts) { hosts_ = hosts; }
  /// True if a fleet must run the file: if any of these options is given, or if no single device may run all groups and
  /// the user requests neither device nor target. Otherwise the whole model runs on one device.
  bool is_wanted(const std::string& artifact, const InputOptions& inputs) const;

  /// Prints a line if a fleet's file runs as a whole, without its parts, on a device that the user did not name.
  void tell_whole(const std::string& artifact, const InputOptions& inputs, const std::string& device) const;

  /// Throws Error.
  gart::fleet::Program load(const std::string& path, const InputOptions& inputs,
                            const std::vector<gart::fleet::GroupPlace>& placement = {}) const;
  /// A request whose inputs and fetched values are set.
  gart::fleet::Request request(const gart::fleet::Program& program, const NamedTensors& inputs) const;
  bool is_monitored() const { return !monitor_.empty(); }
  /// Writes the times so far, if requested. Throws Error if no run took all groups.
  void write_monitor(const std::string& artifact, const gart::fleet::Program& program) const;

  void write_profile(const gcc_graph::FleetProfile& profile) const;

  size_t requests() const { return static_cast<size_t>(requests_); }
  /// Names of a request's outputs, in order.
  std::vector<std::string> names_of_outputs(const gart::fleet::Program& program) const;

 private:
  bool any() const {
    return !fleet_.empty() || !devices_.empty() || !fetch_.empty() || !monitor_.empty() || requests_ > 0 || dynamic_ ||
           hosts_ != nullptr;
  }
  void add_fleet(const std::string& artifact, gart::fleet::LoadOptions& options) const;
  void check_fleet(const std::string& artifact, const gcc_graph::Fleet& fleet,
                   const gart::fleet::LoadOptions& options) const;
  std::string ways_beside(const gart::ArtifactView& file, const gcc_graph::Fleet& fleet, uint32_t device,
                          const std::string& artifact) const;
  std::vector<std::string> fetched_from(const gart::fleet::Program& program) const;
  const gart::fleet::Hosts* hosts_ = nullptr;
  std::string fleet_, monitor_;
  std::vector<std::string> devices_, fetch_;
  int requests_ = 0;
  bool dynamic_ = false;
};

/// A program's measurements. `identity`: the identity of its artifact.
gcc_graph::FleetProfile profile_of(const std::string& identity, const gart::fleet::Times& times);

}  // namespace gcg::tools
