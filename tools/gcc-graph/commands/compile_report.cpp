#include "tools/gcc-graph/commands/compile_report.h"

#include <iostream>
#include <nlohmann/json.hpp>

#include "tools/gcc-graph/fleet/print_cut_report.h"
#include "tools/gcc-graph/support/json_text.h"

namespace gcg::tools {

void print_compiled(const std::string& output, const gcc_graph::Compiled& result, double seconds) {
  std::cout << "wrote " << output << ": " << result.artifact.size() << " bytes (weights " << result.weight_bytes
            << ", code " << result.code_bytes << ") in " << seconds << " s\n";
  for (const gcc_graph::PlanReport& p : result.plans) {
    if (result.cut && p.entry_point > 0) continue;
    std::cout << "  " << p.entry << (p.entry.empty() ? "" : " ") << p.target << " [" << p.shapes << "]: " << p.steps
              << " steps, " << p.kernels << " kernels";
    for (const auto& [library, calls] : p.calls) std::cout << ", " << calls << " by " << library;
    if (p.arena_bytes > 0)
      std::cout << ", arena " << p.arena_bytes << " bytes (lower bound " << p.arena_lower_bound << ")";
    std::cout << '\n';
  }
  if (result.cut) print_cut_report(*result.cut);
  for (const std::string& remark : result.remarks) std::cout << "  " << remark << '\n';
  for (const std::string& option : result.faster) std::cout << "  faster: " << option << '\n';
}

namespace {

using Json = nlohmann::ordered_json;

Json json_of(const gcc_graph::CutReport& cut) {
  Json groups = Json::array(), launches = Json::array();
  for (const gcc_graph::GroupReport& g : cut.groups)
    groups.push_back({{"name", g.name},
                      {"device", g.device},
                      {"support", g.devices},
                      {"nodes", g.nodes},
                      {"bytes_in", g.bytes_in},
                      {"bytes_out", g.bytes_out},
                      {"fusions_lost", g.fusions_lost}});
  for (const gcc_graph::CutReport::Launches& row : cut.launches)
    launches.push_back({{"target", row.target}, {"whole", row.whole}, {"parts", row.parts}});
  Json out = {{"rules", cut.rules}, {"groups", groups}, {"launches", launches}, {"predicted_us", cut.predicted_us}};
  if (cut.whole_us > 0) out["whole_us"] = cut.whole_us, out["whole_on"] = cut.whole_on;
  return out;
}

}  // namespace

void print_compiled_json(const std::string& output, const gcc_graph::Compiled& result, double seconds) {
  Json out = {{"output", output},
              {"bytes", result.artifact.size()},
              {"weight_bytes", result.weight_bytes},
              {"code_bytes", result.code_bytes},
              {"seconds", seconds},
              {"plans", Json::array()},
              {"remarks", result.remarks},
              {"faster", result.faster}};
  for (const gcc_graph::PlanReport& p : result.plans) {
    Json plan = {{"target", p.target},
                 {"shapes", p.shapes},
                 {"part", p.entry_point},
                 {"steps", p.steps},
                 {"kernels", p.kernels}};
    if (!p.entry.empty()) plan["entry"] = p.entry;
    if (!p.calls.empty()) plan["calls"] = p.calls;
    if (p.arena_bytes > 0) plan["arena_bytes"] = p.arena_bytes, plan["arena_lower_bound"] = p.arena_lower_bound;
    out["plans"].push_back(std::move(plan));
  }
  if (result.cut) out["cut"] = json_of(*result.cut);
  std::cout << json_text(out) << '\n';
}

}  // namespace gcg::tools
