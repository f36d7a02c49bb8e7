// Runs the C program, which links libgart.so, on a model that this test makes.
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>

#include "tests/runtime/models.h"

namespace gart {
namespace {

void write(const std::string& path, test::ArtifactBuilder builder) {
  const std::vector<uint8_t> bytes = builder.write();
  std::ofstream(path, std::ios::binary)
      .write(reinterpret_cast<const char*>(bytes.data()), std::streamsize(bytes.size()));
}

TEST(CApi, CProgramUsesTheSharedLibrary) {
  const std::string path = testing::TempDir() + "gart_c_api_test.gart", strings = path + ".strings";
  write(path, test::add_and_double());
  test::ArtifactBuilder named = test::gathering_twice();
  named.entry().inputs[1]->labels = {"ape", "dog"};
  write(strings, std::move(named));
  const std::string command = GCC_GRAPH_BINARY_DIR "/bin/c_api_test " + path + " " + strings;
  EXPECT_EQ(std::system(command.c_str()), 0);
  std::remove(path.c_str());
  std::remove(strings.c_str());
}

}  // namespace
}  // namespace gart
