// Includes never point to a higher layer of the architecture, and never form a cycle, neither among units (a header
// with its source) nor among folders.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <regex>
#include <set>
#include <string>
#include <vector>

namespace {

namespace fs = std::filesystem;

// The folders whose headers each folder may include, besides its own. A path belongs to the longest matching prefix.
const std::map<std::string, std::set<std::string>> kFloors = {
    {"artifact_schema", {}},
    {"runtime", {"artifact_schema"}},
    {"runtime/fleet", {"artifact_schema", "runtime"}},
    {"runtime/fleet_devices", {"artifact_schema", "runtime", "runtime/fleet"}},
    {"runtime/fleet_hosts", {"artifact_schema", "runtime", "runtime/fleet"}},
    {"compiler/support", {}},
    {"compiler/ir", {"compiler/support"}},
    {"compiler/kernel", {"artifact_schema", "compiler/support", "compiler/ir"}},
    {"compiler/ops", {"compiler/support", "compiler/ir", "compiler/kernel"}},
    {"compiler/gir", {"compiler/support", "compiler/ir", "compiler/kernel", "compiler/ops"}},
    {"compiler/reference", {"compiler/support", "compiler/ir", "compiler/kernel", "compiler/ops"}},
    {"compiler/import", {"compiler/support", "compiler/ir", "compiler/kernel", "compiler/ops"}},
    {"compiler/export", {"compiler/support", "compiler/ir", "compiler/kernel", "compiler/ops"}},
    {"compiler/functions", {"compiler/support", "compiler/ir", "compiler/import"}},
    {"compiler/passes",
     {"compiler/support", "compiler/ir", "compiler/kernel", "compiler/ops", "compiler/gir", "compiler/reference"}},
    {"compiler/lowering", {"compiler/support", "compiler/ir", "compiler/kernel", "compiler/ops"}},
    {"compiler/fusion", {"compiler/support", "compiler/ir", "compiler/kernel", "compiler/ops", "compiler/lowering"}},
    {"compiler/plan",
     {"compiler/support", "compiler/ir", "compiler/kernel", "compiler/ops", "compiler/lowering", "compiler/fusion"}},
    {"compiler/weights",
     {"artifact_schema", "compiler/support", "compiler/ir", "compiler/kernel", "compiler/ops", "compiler/plan"}},
    {"compiler/artifact",
     {"artifact_schema", "compiler/support", "compiler/ir", "compiler/kernel", "compiler/plan", "compiler/weights",
      "compiler/fleet", "compiler/partition"}},
    {"compiler/fleet", {"artifact_schema", "compiler/support", "compiler/ir", "compiler/kernel"}},
    {"compiler/partition",
     {"compiler/support", "compiler/ir", "compiler/kernel", "compiler/ops", "compiler/gir", "compiler/fleet"}},
    {"compiler/place",
     {"artifact_schema", "compiler/support", "compiler/ir", "compiler/kernel", "compiler/plan", "compiler/fleet"}},
    {"compiler/report",
     {"compiler/support", "compiler/ir", "compiler/kernel", "compiler/ops", "compiler/passes", "compiler/lowering",
      "compiler/fusion", "compiler/plan"}},
    {"compiler/train",
     {"compiler/support", "compiler/ir", "compiler/ops", "compiler/passes", "compiler/partition", "compiler/report"}},
    {"compiler",
     {"artifact_schema", "compiler/report", "compiler/train", "compiler/fleet", "compiler/partition", "compiler/place",
      "compiler/support", "compiler/ir", "compiler/kernel", "compiler/ops", "compiler/passes", "compiler/plan",
      "compiler/weights", "compiler/artifact"}},
    {"codegen/cpu", {"compiler/support", "compiler/ir", "compiler/kernel", "artifact_schema"}},
    {"codegen/cuda", {"compiler/support", "compiler/ir", "compiler/kernel", "artifact_schema"}},
    {"codegen/library", {"compiler/support", "compiler/ir", "compiler/kernel", "artifact_schema"}},
    {"tools/lazy",
     {"compiler", "compiler/support", "compiler/ir", "compiler/kernel", "compiler/ops", "compiler/gir",
      "compiler/export", "compiler/functions", "compiler/partition", "codegen/cpu", "artifact_schema"}},
    {"tools/api",
     {"tools/lazy",       "compiler",           "compiler/report",    "compiler/kernel", "compiler/fleet",
      "compiler/support", "compiler/ir",        "compiler/ops",       "compiler/gir",    "compiler/import",
      "compiler/export",  "compiler/functions", "compiler/partition", "compiler/place",  "compiler/artifact",
      "codegen/cpu",      "codegen/cuda",       "codegen/library",    "artifact_schema", "runtime",
      "compiler/train",   "compiler/passes",    "compiler/reference"}},  // tools/api/tune measures on a GPU
    {"tools/python", {}},                                                // only public headers
    {"tools",
     {"artifact_schema", "runtime", "runtime/fleet"}},  // uses the compiler only by libgcc_graph's installed headers
};

std::string folder_of(const std::string& path) {
  std::string best;
  for (const auto& [folder, allowed] : kFloors)
    if (path.rfind(folder + "/", 0) == 0 && folder.size() > best.size()) best = folder;
  return best;
}

struct Include {
  std::string file, target;
  int line;
};

std::vector<Include> project_includes() {
  std::vector<Include> out;
  const fs::path root = GCC_GRAPH_SOURCE_DIR;
  static const std::regex pattern("^\\s*#\\s*include\\s+\"([^\"]+)\"");
  for (const char* top : {"artifact_schema", "runtime", "compiler", "codegen", "tools"})
    for (const auto& entry : fs::recursive_directory_iterator(root / top)) {
      const std::string extension = entry.path().extension();
      if (extension != ".h" && extension != ".cpp" && extension != ".hpp" && extension != ".inc") continue;
      std::ifstream file(entry.path());
      std::smatch match;
      std::string line;
      for (int number = 1; std::getline(file, line); ++number)
        if (std::regex_search(line, match, pattern))
          out.push_back({fs::relative(entry.path(), root), match[1], number});
    }
  return out;
}

bool allowed(const std::string& from, const std::string& target) {
  const std::string to = folder_of(target);
  if (to.empty() || to == from) return true;  // generated or system files, or the folder itself
  const auto& list = kFloors.at(from);
  return list.count(to) != 0 || list.count(target) != 0;
}

TEST(IncludeFloors, NoIncludeRunsUpwards) {
  const auto includes = project_includes();
  ASSERT_GT(includes.size(), 300U) << "the sources were not found";
  for (const Include& i : includes) {
    const std::string from = folder_of(i.file);
    ASSERT_FALSE(from.empty()) << i.file << " is in no folder of the table";
    EXPECT_TRUE(allowed(from, i.target)) << i.file << ":" << i.line << " includes " << i.target << ", which " << from
                                         << " may not";
  }
}

TEST(IncludeFloors, TheTableForbidsWhatItShould) {
  EXPECT_FALSE(allowed("compiler/ir", "compiler/passes/pass.h"));
  EXPECT_FALSE(allowed("runtime", "compiler/ir/graph.h"));
  EXPECT_FALSE(allowed("compiler/lowering", "codegen/cpu/llvm/emit.h"));
  EXPECT_FALSE(allowed("codegen/cpu", "codegen/cuda/emit.h"));
  EXPECT_FALSE(allowed("tools", "compiler/compile.h"));
  EXPECT_FALSE(allowed("tools", "tools/api/tuning_file.h"));
  EXPECT_TRUE(allowed("codegen/cpu", "compiler/kernel/kernel.h"));
}

using Graph = std::map<std::string, std::set<std::string>>;

/// The first cycle that a walk from any node finds, as "a -> b -> a"; empty if there is no cycle.
std::string circle(const Graph& graph) {
  std::map<std::string, int> state;  // 1: on the current path, 2: done
  std::vector<std::string> path;
  const std::function<std::string(const std::string&)> walk = [&](const std::string& at) -> std::string {
    state[at] = 1;
    path.push_back(at);
    if (const auto it = graph.find(at); it != graph.end())
      for (const std::string& next : it->second) {
        if (state[next] == 1) {
          std::string text;
          for (auto p = std::find(path.begin(), path.end(), next); p != path.end(); ++p) text += *p + " -> ";
          return text + next;
        }
        if (state[next] == 2) continue;
        if (std::string found = walk(next); !found.empty()) return found;
      }
    path.pop_back();
    state[at] = 2;
    return "";
  };
  for (const auto& [node, targets] : graph)
    if (state[node] == 0)
      if (std::string found = walk(node); !found.empty()) return found;
  return "";
}

std::string without_extension(const std::string& path) { return path.substr(0, path.rfind('.')); }

Graph includes_among(const std::function<std::string(const std::string&)>& name) {
  Graph graph;
  for (const Include& i : project_includes()) {
    if (!fs::exists(fs::path(GCC_GRAPH_SOURCE_DIR) / i.target)) continue;  // generated
    const std::string from = name(i.file), to = name(i.target);
    if (from != to) graph[from].insert(to);
  }
  return graph;
}

TEST(IncludeCircles, NoneAmongUnits) { EXPECT_EQ(circle(includes_among(without_extension)), ""); }

TEST(IncludeCircles, NoneAmongFolders) {
  EXPECT_EQ(circle(includes_among([](const std::string& file) { return fs::path(file).parent_path().string(); })), "");
}

TEST(IncludeCircles, OneIsFound) {
  EXPECT_EQ(circle({{"a", {"b"}}, {"b", {"c"}}, {"c", {"b"}}}), "b -> c -> b");
  EXPECT_EQ(circle({{"a", {"b", "c"}}, {"b", {"c"}}}), "");
}

}  // namespace
