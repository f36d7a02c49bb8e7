// Reads one request per line and writes one answer per line: {"do": "place" | "simulate" | "rules", "problem": ..,
// "effort", "seed", "placement"}. check_place.py drives it.
#include <chrono>
#include <iostream>
#include <string>

#include "compiler/place/list_schedule.h"
#include "tests/place/driver/problem_json.h"

namespace {

using Json = nlohmann::json;
using namespace gcg::place;

Json by_rules(const Problem& problem) {
  const Ranks ranks(problem);
  Json out = Json::object();
  const std::pair<const char*, ListRule> rules[] = {{"heft", ListRule::heft},       {"peft", ListRule::peft},
                                                    {"etf", ListRule::etf},         {"min_min", ListRule::min_min},
                                                    {"max_min", ListRule::max_min}, {"cpop", ListRule::cpop},
                                                    {"chains", ListRule::chains}};
  for (const auto& [name, rule] : rules) out[name] = simulate(problem, list_schedule(problem, ranks, rule)).us;
  return out;
}

Json answer(const Json& request) {
  const Problem problem = problem_from(request.at("problem"));
  const std::string what = request.at("do");
  if (what == "simulate") return to_json(simulate(problem, placement_from(request.at("placement"))));
  if (what == "rules") return by_rules(problem);
  Options options;
  options.effort = request.value("effort", options.effort);
  options.seed = request.value("seed", options.seed);
  const auto begin = std::chrono::steady_clock::now();
  const Placed result = place(problem, options);
  Json out = {{"seconds", std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count()}};
  if (!result.placement) {
    out["misfit"] = describe(problem, result.failure);
    return out;
  }
  out["placement"] = to_json(*result.placement);
  out["us"] = result.us;
  out["by"] = result.by;
  return out;
}

}  // namespace

int main() {
  for (std::string line; std::getline(std::cin, line);) std::cout << answer(Json::parse(line)).dump() << std::endl;
}
