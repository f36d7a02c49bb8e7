// The pass runner: order, timing, verification and printing live here and nowhere else.
#pragma once

#include <iosfwd>
#include <string>
#include <string_view>
#include <vector>

#include "compiler/ir/graph.h"
#include "compiler/kernel/target.h"

namespace gcg {

/// One pass: true if it changed the graph. `target` is null for passes of the model, which know no device.
struct Pass {
  const char* name;
  bool (*run)(Graph& graph, const Target* target);
};

/// Of --stop-after: when all plans are made, before machine code.
inline constexpr std::string_view kStopAfterPlan = "plan";

/// What the runner is asked to show or skip (--print-after=, --stop-after=, --disable-pass=, --time-passes).
struct PassOptions {
  std::vector<std::string> print_after;  // pass names, or "all"
  std::string stop_after;                // a pass or kStopAfterPlan; empty: run all
  std::vector<std::string> disabled;
  bool time_passes = false;
  bool verify = true;
  std::ostream* out = nullptr;  // where prints and times go; nowhere if null
};

/// Passes that run in order; again from the first, at most `rounds` times in all, while one of them changes the graph.
struct PassGroup {
  std::vector<Pass> passes;
  int rounds = 1;
};

/// The passes every target shares, in order. (pipeline.cpp, with the reason for the order)
const std::vector<PassGroup>& model_passes();
/// The passes of one shape set, for every device.
const std::vector<PassGroup>& shape_passes();
/// The passes of a device class, on the graph of one shape set. `keeps_weights`: sums are those of weights that only a
/// run knows; no form of them that transforms constant weights first.
const std::vector<PassGroup>& device_passes(DeviceClass device, bool keeps_weights = false);
/// Every pass once.
std::vector<Pass> all_passes();

/// Runs the passes in order, verifying the graph after each change. Throws CompileError naming the known passes if
/// `options` names one that does not exist. Returns false if --stop-after ended the run, after that pass's first time.
bool run_passes(Graph& graph, const std::vector<PassGroup>& groups, const Target* target, const PassOptions& options);

}  // namespace gcg
