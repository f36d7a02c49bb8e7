// What the tool says about a cut when it has compiled a model for a fleet.
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
  std::string name, device;             // where it was placed
  std::vector<std::string> devices;     // that support it
  int64_t nodes = 0, calls = 0;         // of the graph after the model passes; runs of parts
  int64_t bytes_in = 0, bytes_out = 0;  // from and to other groups, of the extents that predictions are for
  int fusions_lost = 0;                 // values that come in where one kernel would have done both sides
};

/// Launches of a run of the whole model on one device, and of all its parts.
struct TargetLaunches {
  std::string target;
  int64_t whole = 0, parts = 0;
};

struct CutReport {
  std::string rules;
  std::vector<GroupReport> groups;
  std::vector<TargetLaunches> launches;  // of targets that the whole model and all parts are compiled for
  double predicted_us = 0;               // of a run as placed
  double whole_us = 0;                   // of the whole model on the device that runs it soonest; 0: none does
  std::string whole_on;
};

/// `plans`: of the whole model and its parts, as they are in the file; `section`: the assembly, placed.
CutReport report_cut(const PartedModel& model, const Fleet& fleet, const std::vector<Plan>& plans,
                     const std::vector<Target>& targets, const std::vector<uint8_t>& section);

}  // namespace gcg
