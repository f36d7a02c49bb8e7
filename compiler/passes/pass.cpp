#include "compiler/passes/pass.h"

#include <algorithm>
#include <chrono>
#include <ostream>

#include "compiler/gir/gir.h"
#include "compiler/gir/verify_graph.h"
#include "compiler/ir/deferred.h"
#include "compiler/kernel/device_traits.h"
#include "compiler/support/error.h"

namespace gcg {
namespace {

bool contains(const std::vector<std::string>& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

void check_names(const PassOptions& options) {
  const auto check = [](const std::string& name, const char* option) {
    std::string known;
    for (const Pass& p : all_passes()) {
      if (p.name == name) return;
      known += concat(known.empty() ? "" : ", ", p.name);
    }
    fail(option, ": there is no pass '", name, "'; known: ", known);
  };
  for (const std::string& name : options.print_after)
    if (name != "all") check(name, "--print-after");
  for (const std::string& name : options.disabled) check(name, "--disable-pass");
  if (!options.stop_after.empty() && options.stop_after != kStopAfterPlan) check(options.stop_after, "--stop-after");
}

/// Runs one pass, with timing, verification and printing as requested; true if it changed the graph.
bool run_pass(Graph& graph, const Pass& pass, const Target* target, const PassOptions& options) {
  const auto begin = std::chrono::steady_clock::now();
  const bool changed = pass.run(graph, target);
  release_constants(graph);
  if (options.time_passes && options.out != nullptr) {
    const std::chrono::duration<double, std::milli> took = std::chrono::steady_clock::now() - begin;
    *options.out << "pass " << pass.name << ": " << took.count() << " ms" << (changed ? "" : ", unchanged") << '\n';
  }
  if (options.verify && changed) verify_graph(graph);
  if (options.out != nullptr && (contains(options.print_after, pass.name) || contains(options.print_after, "all")))
    *options.out << "# after " << pass.name << '\n' << print_graph(graph, GirData::elided);
  return changed;
}

}  // namespace

std::vector<Pass> all_passes() {
  std::vector<Pass> out;
  std::vector<const std::vector<PassGroup>*> all = {&model_passes(), &shape_passes()};
  for (const DeviceClass device : kDeviceClasses) all.push_back(&device_passes(device));
  for (const auto* groups : all)
    for (const PassGroup& group : *groups)
      for (const Pass& pass : group.passes)
        if (std::none_of(out.begin(), out.end(), [&](const Pass& p) { return std::string_view(p.name) == pass.name; }))
          out.push_back(pass);
  return out;
}

bool run_passes(Graph& graph, const std::vector<PassGroup>& groups, const Target* target, const PassOptions& options) {
  check_names(options);
  if (options.verify) verify_graph(graph);
  for (const PassGroup& group : groups) {
    bool changed = true;
    for (int round = 0; changed && round < group.rounds; ++round) {
      changed = false;
      for (const Pass& pass : group.passes) {
        if (contains(options.disabled, pass.name)) continue;
        changed |= run_pass(graph, pass, target, options);
        if (options.stop_after == pass.name) return false;
      }
    }
  }
  return true;
}

}  // namespace gcg
