// Runs the C program, which links libgart.so, on a model that this test makes.
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>

#include "tests/runtime/models.h"

namespace gart {
namespace {

TEST(CApi, CProgramUsesTheSharedLibrary) {
  const std::string path = testing::TempDir() + "gart_c_api_test.gart";
  const std::vector<uint8_t> bytes = test::add_and_double().write();
  std::ofstream(path, std::ios::binary)
      .write(reinterpret_cast<const char*>(bytes.data()), std::streamsize(bytes.size()));
  EXPECT_EQ(std::system((std::string(GCC_GRAPH_BINARY_DIR "/bin/c_api_test ") + path).c_str()), 0);
  std::remove(path.c_str());
}

}  // namespace
}  // namespace gart
