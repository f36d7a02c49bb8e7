// Runs the operator tables, with the options of GoogleTest, or with --cases FOLDER TARGET UNTIL the conformance cases
// that standard input lists.
#include <gtest/gtest.h>

#include <string>

#include "tests/gpu/gpu_cases.h"

int main(int argc, char** argv) {
  if (argc == 5 && std::string(argv[1]) == "--cases")
    return gcg::test::run_cases(argv[2], argv[3], std::stoll(argv[4]));
  testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
