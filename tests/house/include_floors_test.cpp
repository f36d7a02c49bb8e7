// No include runs up the floors of the architecture.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <regex>
#include <set>
#include <string>
#include <vector>

namespace {

namespace fs = std::filesystem;

// Which folders a folder may include from, besides itself. The longest matching prefix of a path is its folder.
const std::map<std::string, std::set<std::string>> kFloors = {
    {"artifact_schema", {}},
    {"runtime", {"artifact_schema"}},
    {"compiler/support", {}},
    {"compiler/ir", {"compiler/support", "compiler/ops/op_def.h", "compiler/ops/infer.h"}},  // an op's name and arity, to print, parse, verify
    {"compiler/kernel", {"compiler/support", "compiler/ir"}},
    {"compiler/ops", {"compiler/support", "compiler/ir", "compiler/kernel"}},
    {"compiler/reference", {"compiler/support", "compiler/ir", "compiler/kernel", "compiler/ops"}},
    {"compiler/import", {"compiler/support", "compiler/ir", "compiler/kernel", "compiler/ops"}},
    {"compiler/passes", {"compiler/support", "compiler/ir", "compiler/kernel", "compiler/ops", "compiler/reference"}},
    {"compiler/schedule", {"compiler/support", "compiler/ir", "compiler/kernel", "compiler/ops"}},
    {"compiler/plan", {"compiler/support", "compiler/ir", "compiler/kernel", "compiler/ops", "compiler/schedule"}},
    {"compiler/weights", {"artifact_schema", "compiler/support", "compiler/ir", "compiler/kernel", "compiler/ops", "compiler/plan"}},
    {"compiler/artifact", {"artifact_schema", "compiler/support", "compiler/ir", "compiler/kernel", "compiler/plan", "compiler/weights"}},
    {"compiler/partition", {"compiler/support", "compiler/ir", "compiler/kernel", "compiler/ops"}},
    {"compiler", {"artifact_schema", "compiler/partition", "compiler/support", "compiler/ir", "compiler/kernel", "compiler/ops", "compiler/passes", "compiler/schedule", "compiler/plan", "compiler/weights", "compiler/artifact"}},
    {"codegen/cpu", {"compiler/support", "compiler/ir", "compiler/kernel", "artifact_schema"}},
    {"codegen/cuda", {"compiler/support", "compiler/ir", "compiler/kernel", "artifact_schema"}},
    {"codegen/library", {"compiler/support", "compiler/ir", "compiler/kernel", "artifact_schema"}},
    {"tools", {"compiler", "compiler/artifact", "compiler/support", "compiler/partition", "compiler/ir", "compiler/kernel", "compiler/import", "compiler/passes",
               "compiler/ops/op_def.h", "compiler/ops/expansion.h",  // what `gcc-graph operators` lists
               "codegen/cpu", "codegen/cuda", "codegen/library", "artifact_schema", "runtime"}},
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
        if (std::regex_search(line, match, pattern)) out.push_back({fs::relative(entry.path(), root), match[1], number});
    }
  return out;
}

bool allowed(const std::string& from, const std::string& target) {
  const std::string to = folder_of(target);
  if (to.empty() || to == from) return true;  // generated or system files; the folder itself
  const auto& list = kFloors.at(from);
  return list.count(to) != 0 || list.count(target) != 0;
}

TEST(IncludeFloors, NoIncludeRunsUpwards) {
  const auto includes = project_includes();
  ASSERT_GT(includes.size(), 300U) << "the sources were not found";
  for (const Include& i : includes) {
    const std::string from = folder_of(i.file);
    ASSERT_FALSE(from.empty()) << i.file << " is in no folder of the table";
    EXPECT_TRUE(allowed(from, i.target)) << i.file << ":" << i.line << " includes " << i.target << ", which " << from << " may not";
  }
}

TEST(IncludeFloors, TheTableForbidsWhatItShould) {
  EXPECT_FALSE(allowed("compiler/ir", "compiler/passes/pass.h"));
  EXPECT_FALSE(allowed("runtime", "compiler/ir/graph.h"));
  EXPECT_FALSE(allowed("compiler/schedule", "codegen/cpu/emit.h"));
  EXPECT_FALSE(allowed("codegen/cpu", "codegen/cuda/emit.h"));
  EXPECT_TRUE(allowed("codegen/cpu", "compiler/kernel/kernel.h"));
}

}  // namespace
