#include "tools/gcc-graph/fleet/trace_fleet.h"

#include <algorithm>

#include "assembly_generated.h"
#include "compiler/place/assembly_problem.h"
#include "tools/gcc-graph/io/artifact_file.h"
#include "tools/gcc-graph/measure/trace_file.h"

namespace gcg::tools {

void trace_fleet(const std::string& path, const std::string& artifact, const gart::fleet::Program& program,
                 const gart::fleet::Request& request) {
  const gart::fb::AssemblyT assembly = unpack_assembly(open_artifact(artifact).view.assembly());
  std::vector<std::string> rows;
  for (const gart::fleet::DeviceInfo& device : program.devices())
    rows.push_back(device.device.empty() ? device.name : device.name + " (" + device.device + ")");
  std::vector<TraceSpan> spans;
  for (const gart::fleet::PartTime& time : request.times()) {
    const auto device = std::find_if(assembly.devices.begin(), assembly.devices.end(),
                                     [&](const auto& d) { return d->name == time.device; });
    const auto& call = *assembly.calls.at(time.call);
    spans.push_back({static_cast<uint32_t>(device - assembly.devices.begin()),
                     time.group,
                     "part",
                     time.begin_us,
                     time.end_us,
                     {{"call", time.call},
                      {"predicted_begin_us", call.predicted_begin},
                      {"predicted_end_us", call.predicted_end},
                      {"nodes", call.nodes}}});
  }
  write_trace_file(path, rows, spans);
}

}  // namespace gcg::tools
