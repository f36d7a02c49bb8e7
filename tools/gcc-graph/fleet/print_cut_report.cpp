#include "tools/gcc-graph/fleet/print_cut_report.h"

#include <algorithm>
#include <iomanip>
#include <iostream>
#include <sstream>

namespace gcg::tools {
namespace {

constexpr size_t kMostGroups = 40, kMostDevices = 6;

std::string counted(int64_t count, const std::string& one) {
  return std::to_string(count) + " " + one + (count == 1 ? "" : one.ends_with("ch") ? "es" : "s");
}

std::string listed(const std::vector<std::string>& names) {
  std::string out;
  for (size_t i = 0; i < std::min(names.size(), kMostDevices); ++i) out += (i > 0 ? ", " : "") + names[i];
  return names.size() > kMostDevices ? out + " and " + std::to_string(names.size() - kMostDevices) + " more" : out;
}

std::string microseconds(double us) {
  std::ostringstream out;
  out << std::fixed << std::setprecision(1) << us << " us";
  return out.str();
}

}  // namespace

void print_cut_report(const gcc_graph::CutReport& report) {
  int64_t fusions = 0, calls = 0, bytes = 0;
  for (const gcc_graph::GroupReport& g : report.groups)
    fusions += g.fusions_lost, calls += g.calls, bytes += g.bytes_in;
  std::cout << "  cut by " << report.rules << " into " << counted(static_cast<int64_t>(report.groups.size()), "group")
            << ", " << counted(calls, "run") << " of parts\n";
  for (size_t i = 0; i < std::min(report.groups.size(), kMostGroups); ++i) {
    const gcc_graph::GroupReport& g = report.groups[i];
    std::cout << "    " << g.name << " on " << g.device << " (of " << listed(g.devices)
              << "): " << counted(g.nodes, "node") << ", " << g.bytes_in << " bytes in, " << g.bytes_out << " out, "
              << counted(g.fusions_lost, "fusion") << " lost\n";
  }
  if (report.groups.size() > kMostGroups)
    std::cout << "    and " << report.groups.size() - kMostGroups << " more (gcc-graph inspect lists them)\n";
  std::cout << "  the cut costs " << counted(fusions, "fusion");
  for (const gcc_graph::CutReport::Launches& row : report.launches)
    std::cout << ", " << counted(std::max<int64_t>(0, row.parts - row.whole), "launch") << " on " << row.target << " ("
              << row.parts << " for " << row.whole << ")";
  std::cout << ", " << bytes << " bytes from group to group; a run is predicted to take "
            << microseconds(report.predicted_us);
  if (report.whole_us > 0) std::cout << ", whole on " << report.whole_on << " " << microseconds(report.whole_us);
  std::cout << '\n';
}

}  // namespace gcg::tools
