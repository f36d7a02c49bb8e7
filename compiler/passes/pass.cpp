#include "compiler/passes/pass.h"

#include <algorithm>
#include <chrono>
#include <ostream>

#include "compiler/ir/gir.h"
#include "compiler/support/error.h"

namespace gcg {
namespace {

bool contains(const std::vector<std::string>& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

void check_names(const PassOptions& options) {
  std::vector<std::string> known;
  for (const auto* list : {&model_passes(), &device_passes()})
    for (const Pass& p : *list)
      if (!contains(known, p.name)) known.emplace_back(p.name);
  auto check = [&](const std::string& name, const char* option) {
    if (contains(known, name)) return;
    std::string text;
    for (const std::string& k : known) text += (text.empty() ? "" : ", ") + k;
    fail(option, ": there is no pass '", name, "'; passes are: ", text);
  };
  for (const std::string& name : options.print_after)
    if (name != "all") check(name, "--print-after");
  for (const std::string& name : options.disabled) check(name, "--disable-pass");
  if (!options.stop_after.empty()) check(options.stop_after, "--stop-after");
}

}  // namespace

bool run_passes(Graph& graph, const std::vector<Pass>& passes, const Target* target, const PassOptions& options) {
  check_names(options);
  for (const Pass& pass : passes) {
    if (contains(options.disabled, pass.name)) continue;
    const auto begin = std::chrono::steady_clock::now();
    const bool changed = pass.run(graph, target);
    if (options.time_passes && options.out != nullptr) {
      const std::chrono::duration<double, std::milli> took = std::chrono::steady_clock::now() - begin;
      *options.out << "pass " << pass.name << ": " << took.count() << " ms" << (changed ? "" : ", unchanged") << '\n';
    }
    if (options.verify) verify_graph(graph);
    if (options.out != nullptr && (contains(options.print_after, pass.name) || contains(options.print_after, "all")))
      *options.out << "// after " << pass.name << '\n' << print_graph(graph);
    if (options.stop_after == pass.name) return false;
  }
  return true;
}

}  // namespace gcg
