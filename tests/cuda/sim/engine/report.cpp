#include "tests/cuda/sim/engine/report.h"

#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <utility>

namespace gart_sim {
namespace {
std::mutex mutex;
std::vector<std::string>& reports() {
  static auto* list =
      new std::vector<std::string>;  // Exists until the end of the process, because leaks are reported last.
  return *list;
}
}  // namespace

const char* name_of(Finding finding) {
  switch (finding) {
    case Finding::api_misuse:
      return "api_misuse";
    case Finding::out_of_bounds:
      return "out_of_bounds";
    case Finding::uninitialised:
      return "uninitialised";
    case Finding::misaligned:
      return "misaligned";
    case Finding::shared_race:
      return "shared_race";
    case Finding::block_race:
      return "block_race";
    case Finding::divergence:
      return "divergence";
    case Finding::async_copy:
      return "async_copy";
    case Finding::registers:
      return "registers";
    case Finding::async_product:
      return "async_product";
    case Finding::graph_race:
      return "graph_race";
    case Finding::exec_overlap:
      return "exec_overlap";
    case Finding::trap:
      return "trap";
    case Finding::leak:
      return "leak";
  }
  return "unknown";
}

void report(Finding finding, std::string text) {
  text = std::string(name_of(finding)) + ": " + text;
  const char* quiet = getenv("GART_SIM_QUIET");
  if (!quiet || *quiet == '0') fprintf(stderr, "gart-sim: %s\n", text.c_str());
  const std::lock_guard lock(mutex);
  reports().push_back(std::move(text));
}

std::vector<std::string> take_reports() {
  const std::lock_guard lock(mutex);
  return std::exchange(reports(), {});
}

size_t report_count() {
  const std::lock_guard lock(mutex);
  return reports().size();
}

}  // namespace gart_sim
