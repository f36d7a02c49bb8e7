// Reads one problem per line and writes one answer per line: {"steps": [{"us", "can_repeat", "reads", "writes"}, ..],
// "bytes": [of each buffer], "limit"} -> {"us", "peak", "seconds"}, without "us" if no schedule was found; the time of
// repeated steps. check_recompute.py drives it.
#include <chrono>
#include <iostream>
#include <nlohmann/json.hpp>
#include <string>

#include "compiler/plan/recompute_schedule.h"

namespace {

using Json = nlohmann::json;

gcg::RecomputeProblem problem_from(const Json& request) {
  gcg::RecomputeProblem problem;
  for (const Json& s : request.at("steps"))
    problem.steps.push_back({s.at("us"), s.at("can_repeat"), s.at("reads"), s.at("writes"), {}});
  for (const int64_t bytes : request.at("bytes")) problem.buffers.push_back({bytes, true});
  return problem;
}

Json answer(const Json& request) {
  const gcg::RecomputeProblem problem = problem_from(request);
  const auto begin = std::chrono::steady_clock::now();
  const auto schedule =
      request.contains("limit") ? gcg::schedule_within(problem, request.at("limit")) : gcg::schedule_once(problem);
  Json out = {{"seconds", std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count()}};
  if (schedule) out.update({{"us", schedule->microseconds}, {"peak", schedule->peak}});
  return out;
}

}  // namespace

int main() {
  for (std::string line; std::getline(std::cin, line);)
    std::cout << answer(Json::parse(line)).dump() << '\n' << std::flush;
}
