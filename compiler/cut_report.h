// The report about a partition, for a model compiled for a fleet.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "compiler/fleet/fleet.h"
#include "compiler/kernel/target.h"
#include "compiler/parts.h"
#include "compiler/plan/plan.h"

namespace gcg {

struct GroupReport {
  std::string name, device;             // device: the device that runs the group
  std::vector<std::string> devices;     // devices that support it
  int64_t nodes = 0, calls = 0;         // nodes after the model passes; runs of the group's parts
  int64_t bytes_in = 0, bytes_out = 0;  // bytes from and to other groups, for the extents that predictions use
  int fusions_lost = 0;                 // incoming values where one kernel could have fused producer and reader
};

/// Launches in one run of the whole model on one device, and in one run of all its parts.
struct TargetLaunches {
  std::string target;
  int64_t whole = 0, parts = 0;
};

struct CutReport {
  std::string rules;
  std::vector<GroupReport> groups;
  std::vector<TargetLaunches> launches;  // targets for which the whole model and all parts are compiled
  double predicted_us = 0;               // predicted time of one run with this placement
  // Predicted time of the whole model on its fastest device; 0: no device runs it.
  double whole_us = 0;
  std::string whole_on;
};

/// `plans`: the plans of the whole model and its parts, as in the file. `section`: the fleet plan, with groups placed.
CutReport report_cut(const PartedModel& model, const Fleet& fleet, const std::vector<Plan>& plans,
                     const std::vector<Target>& targets, const std::vector<uint8_t>& section);

}  // namespace gcg
