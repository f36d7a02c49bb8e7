#include "tools/gcc-graph/commands/compile_report.h"

#include <algorithm>
#include <iostream>
#include <nlohmann/json.hpp>

namespace gcg::tools {

void print_compiled(const std::string& output, const CompileResult& result, double seconds) {
  std::cout << "wrote " << output << ": " << result.artifact.size() << " bytes (weights " << result.weight_bytes
            << ", code " << result.code_bytes << ") in " << seconds << " s\n";
  int parts = 0;
  for (const PlanReport& p : result.plans) {
    parts = std::max(parts, p.entry_point);
    if (p.entry_point > 0) continue;
    std::cout << "  " << p.target << " [" << p.shapes << "]: " << p.steps << " steps, " << p.kernels << " kernels";
    for (const auto& [library, calls] : p.calls) std::cout << ", " << calls << " by " << library;
    if (p.arena_bytes > 0)
      std::cout << ", arena " << p.arena_bytes << " bytes (lower bound " << p.arena_lower_bound << ")";
    std::cout << '\n';
  }
  if (parts > 0) std::cout << "  and " << parts << " parts for the fleet (gcc-graph inspect shows their groups)\n";
  for (const std::string& remark : result.remarks) std::cout << "  " << remark << '\n';
}

void print_compiled_json(const std::string& output, const CompileResult& result, double seconds) {
  using Json = nlohmann::ordered_json;
  Json out = {{"output", output},
              {"bytes", result.artifact.size()},
              {"weight_bytes", result.weight_bytes},
              {"code_bytes", result.code_bytes},
              {"seconds", seconds},
              {"plans", Json::array()},
              {"remarks", result.remarks}};
  for (const PlanReport& p : result.plans) {
    Json plan = {{"target", p.target},
                 {"shapes", p.shapes},
                 {"part", p.entry_point},
                 {"steps", p.steps},
                 {"kernels", p.kernels}};
    if (!p.calls.empty()) plan["calls"] = p.calls;
    if (p.arena_bytes > 0) plan["arena_bytes"] = p.arena_bytes, plan["arena_lower_bound"] = p.arena_lower_bound;
    out["plans"].push_back(std::move(plan));
  }
  std::cout << out.dump(2, ' ', false, Json::error_handler_t::replace) << '\n';
}

}  // namespace gcg::tools
