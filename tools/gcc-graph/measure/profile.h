// Shows where a model's time goes: `bench --profile` and `--trace`.
#pragma once

#include <functional>
#include <nlohmann/json.hpp>
#include <string>

#include "gart/gart.hpp"
#include "tools/gcc-graph/io/tensor_io.h"

namespace gcg::tools {

struct ProfileOptions {
  bool table = false;  // --profile
  std::string trace;   // --trace FILE; empty: none

  bool is_enabled() const { return table || !trace.empty(); }
};

/// Runs `invocation` of an entry point (by name; empty: the first one) for about `seconds` and times its steps, one run
/// after the other, as bench does. `prepare` is called before each run. Writes the last run to options.trace in
/// Chrome's tracing format, which Perfetto reads. The inputs are already bound to `invocation`. Returns {"runs",
/// "run_us", "machine", "steps": [{"step", "us", "share", "gflops", "gbytes_per_s", "roofline", "kind", "kernel",
/// "source"}, ...]}; the longest step comes first. Unknown fields are left out.
nlohmann::ordered_json profile(const std::string& artifact, const gart::Program& program, const std::string& entry,
                               gart::Invocation& invocation, const NamedTensors& inputs, double seconds,
                               const ProfileOptions& options, const std::function<void()>& prepare);

/// Prints the profile as a table.
void print_profile(const nlohmann::ordered_json& profile);

}  // namespace gcg::tools
