#include "tools/gcc-graph/inspect/inspect_modes.h"

#include <cmath>

#include "artifact_schema/spans.h"

namespace gcg::tools {
namespace {

const char* reason_of(const gart::fb::Mode& mode) {
  if (gart::view_of(mode.reason()) == "arena")
    return "the arena for streams would be too large: threads share the tasks of each step";
  if (mode.intra() == 1 && mode.inter() == 1)
    return "steps are light or wait for each other: one thread per run, and several runs at once";
  if (mode.inter() == 1) return "heavy steps, or steps that wait for each other: threads share the tasks of each";
  if (mode.intra() == 1) return "independent light steps: threads take streams of them";
  return "independent light steps run in streams, a thread each; threads share the tasks of heavy steps";
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
