// The pass runner. It alone handles order, timing, verification and printing of passes.
#pragma once

#include <iosfwd>
#include <string>
#include <string_view>
#include <vector>

#include "compiler/ir/graph.h"
#include "compiler/kernel/target.h"

namespace gcg {

/// One pass; it returns true if it changed the graph. `target` is null for model passes, which do not depend on a
/// device.
struct Pass {
  const char* name;
  bool (*run)(Graph& graph, const Target* target);
};

/// Value of --stop-after that stops when all plans are made, before code generation.
inline constexpr std::string_view kStopAfterPlan = "plan";

/// The runner's options for output and skipped passes (--print-after=, --stop-after=, --disable-pass=, --time-passes).
struct PassOptions {
  std::vector<std::string> print_after;  // pass names, or "all"
  std::string stop_after;                // a pass or kStopAfterPlan; empty: run all
  std::vector<std::string> disabled;
  bool time_passes = false;
  bool verify = true;
  std::ostream* out = nullptr;  // receives prints and times; may be null
};

/// Passes that run in order. The group repeats while a pass changes the graph, at most `rounds` times in all.
struct PassGroup {
  std::vector<Pass> passes;
  int rounds = 1;
};

/// The passes that all targets share, in order. pipeline.cpp gives the reasons for the order.
const std::vector<PassGroup>& model_passes();
/// The passes for one shape set, on every device.
const std::vector<PassGroup>& shape_passes();
/// The passes of a device class, for the graph of one shape set. `keeps_weights`: sums must have the same bits as with
/// weights that only a run knows. Then no pass may transform constant weights in a way that changes sums.
const std::vector<PassGroup>& device_passes(DeviceClass device, bool keeps_weights = false);
/// Every pass once.
std::vector<Pass> all_passes();

/// Runs the passes in order, and verifies the graph after each change. Throws CompileError with the known passes if
/// `options` names an unknown one. Returns false if --stop-after ended the run, after the first run of that pass.
bool run_passes(Graph& graph, const std::vector<PassGroup>& groups, const Target* target, const PassOptions& options);

}  // namespace gcg
