// Files of the compiler, the code generators, the runtime, the schema and the tools must be short, so that each has one
// subject.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

namespace {

namespace fs = std::filesystem;

constexpr std::ptrdiff_t kMostLines = 400;

TEST(FileSize, NoFileIsLong) {
  int seen = 0;
  for (const char* top :
       {"artifact_schema", "runtime", "compiler", "codegen", "tools/api", "tools/gcc-graph", "tools/lazy"})
    for (const auto& entry : fs::recursive_directory_iterator(fs::path(GCC_GRAPH_SOURCE_DIR) / top)) {
      const std::string extension = entry.path().extension();
      if (extension != ".h" && extension != ".cpp" && extension != ".hpp" && extension != ".cuh") continue;
      std::ifstream file(entry.path());
      const auto lines = std::count(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>(), '\n');
      EXPECT_LE(lines, kMostLines) << entry.path();
      ++seen;
    }
  EXPECT_GT(seen, 500) << "the sources were not found";
}

}  // namespace
