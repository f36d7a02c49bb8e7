#include "tools/gcc-graph/fleet/trace_fleet.h"

#include <algorithm>

#include "assembly_generated.h"
#include "tools/gcc-graph/io/artifact_file.h"
#include "tools/gcc-graph/io/assembly_section.h"
#include "tools/gcc-graph/measure/trace_file.h"

namespace gcg::tools {

void trace_fleet(const std::string& path, const std::string& artifact, const gart::fleet::Program& program,
                 const gart::fleet::Request& request) {
  const ArtifactFile file = open_artifact(artifact);
  const gart::fb::Assembly& assembly = assembly_of(file.view);
  std::vector<std::string> rows;
  for (const gart::fleet::DeviceInfo& device : program.devices())
    rows.push_back(device.device.empty() ? device.name : device.name + " (" + device.device + ")");
  std::vector<TraceSpan> spans;
  for (const gart::fleet::PartTime& time : request.times()) {
    uint32_t device = 0;
    while (device < assembly.devices()->size() && assembly.devices()->Get(device)->name()->str() != time.device)
      ++device;
    const gart::fb::PartCall& call = *assembly.calls()->Get(time.call);
    std::vector<std::string> nodes;
    if (call.nodes() != nullptr)
      for (const auto* node : *call.nodes()) nodes.push_back(node->str());
    spans.push_back({device,
                     time.group,
                     "part",
                     time.begin_us,
                     time.end_us,
                     {{"call", time.call},
                      {"predicted_begin_us", call.predicted_begin()},
                      {"predicted_end_us", call.predicted_end()},
                      {"nodes", nodes}}});
  }
  write_trace_file(path, rows, spans);
}

}  // namespace gcg::tools
