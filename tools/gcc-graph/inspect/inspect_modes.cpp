#include "tools/gcc-graph/inspect/inspect_modes.h"

#include <cmath>
#include <string>
#include <string_view>

#include "artifact_schema/spans.h"

namespace gcg::tools {
namespace {

const char* choice_of(const gart::fb::Mode& mode) {
  if (gart::view_of(mode.reason()).starts_with("arena"))
    return "the arena for streams would be too large: threads share the tasks of each step";
  if (mode.intra() == 1 && mode.inter() == 1)
    return "steps are light or wait for each other: one thread per run, and several runs at once";
  if (mode.inter() == 1) return "heavy steps, or steps that wait for each other: threads share the tasks of each";
  if (mode.intra() == 1) return "independent light steps: threads take streams of them";
  return "independent light steps run in streams, a thread each; threads share the tasks of heavy steps";
}

/// The rule that limits the choice, as compiler/plan/parallel_modes.h names it; empty: costs alone decide.
std::string rule_of(const gart::fb::Mode& mode) {
  const std::string_view reason = gart::view_of(mode.reason());
  if (reason.ends_with("asynchronous")) return "rule: the task is asynchronous, so threads are for replicas";
  if (reason.ends_with("exchanged_statistics"))
    return "rule: replicas exchange the statistics of their batches, so threads are for streams and replicas";
  if (reason.ends_with("batch_statistics"))
    return "rule: the step is synchronous, because it computes statistics of its batch, so a run has all threads";
  if (reason.ends_with("synchronous"))
    return "rule: the task is synchronous without statistics of a batch, so threads are for streams and replicas";
  return "";
}

std::string reason_of(const gart::fb::Mode& mode) {
  const std::string rule = rule_of(mode);
  if (rule.empty()) return choice_of(mode);
  if (mode.intra() == 1 && mode.inter() == 1) return rule + ": one thread per run, and several runs at once";
  return rule + "; " + choice_of(mode);
}

}  // namespace

nlohmann::ordered_json mode_json(const gart::fb::Mode& mode) {
  const auto micro = [](float us) { return std::round(us * 100.0) / 100; };
  return {{"threads", mode.threads()},
          {"intra", mode.intra()},
          {"inter", mode.inter()},
          {"replicas", mode.replicas()},
          {"predicted_us", micro(mode.microseconds())},
          {"predicted_us_intra", micro(mode.microseconds_intra())},
          {"predicted_us_alone", micro(mode.microseconds_alone())},
          {"reason", reason_of(mode)}};
}

}  // namespace gcg::tools
