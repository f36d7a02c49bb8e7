#include "tests/codegen/inner_loops.h"

#include <algorithm>
#include <map>
#include <sstream>

namespace gcg::cpu {
namespace {

bool contains(const std::string& text, const std::string& word) { return text.find(word) != std::string::npos; }

/// The branch's target label. Empty if the line is not a branch to a local label.
std::string branch_target(const std::string& line) {
  const size_t at = line.find(".LBB");
  if (line.empty() || line[0] == '.' || at == std::string::npos) return {};
  const size_t end = line.find_first_of(" \t,", at);
  return line.substr(at, end == std::string::npos ? end : end - at);
}

}  // namespace

int InnerLoop::count(const std::vector<std::string>& words) const {
  return static_cast<int>(std::count_if(instructions.begin(), instructions.end(), [&](const std::string& line) {
    return std::any_of(words.begin(), words.end(), [&](const std::string& w) { return contains(line, w); });
  }));
}

int InnerLoop::spills() const {
  return static_cast<int>(std::count_if(instructions.begin(), instructions.end(), [](const std::string& line) {
    const bool x86 = contains(line, "mm") && contains(line, "(%rsp");
    const bool arm = contains(line, "[sp") && (contains(line, "\tq") || contains(line, " q"));
    return x86 || arm;
  }));
}

std::vector<InnerLoop> inner_loops(const std::string& assembly) {
  std::vector<InnerLoop> loops;
  std::map<std::string, size_t> labels;  // line number of each label seen
  std::vector<std::string> lines;
  size_t last_loop_end = 0;  // a loop that begins before this line contains another loop
  std::istringstream in(assembly);
  for (std::string line; std::getline(in, line); lines.push_back(line)) {
    if (line.rfind(".LBB", 0) == 0) labels[line.substr(0, line.find(':'))] = lines.size();
    const auto target = labels.find(branch_target(line));
    if (target == labels.end()) continue;  // a forward branch, or not a branch
    if (target->second >= last_loop_end)
      loops.push_back({target->first, {lines.begin() + static_cast<std::ptrdiff_t>(target->second) + 1, lines.end()}});
    last_loop_end = lines.size();
  }
  return loops;
}

}  // namespace gcg::cpu
