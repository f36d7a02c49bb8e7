// Forms of the rows of tests/ops as CUDA text that the assembler takes for a GPU: without spills and without ptxas
// saying that it had to serialise something. A sample of them, in turns over a sample of SMs; $GCC_GRAPH_TEST_SMS names
// SMs for each of which every form is assembled ("sm_75,sm_120": two times 6000 kernels, some minutes each).
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <sstream>
#include <string_view>

#include "compiler/compile.h"
#include "compiler/support/error.h"
#include "compiler/support/unsupported.h"
#include "tests/cuda/codegen/assembly.h"
#include "tests/ops/op_test.h"

namespace gcg::test {
namespace {

constexpr const char* kSample[] = {"sm_75", "sm_80", "sm_90a", "sm_120"};

/// Of this many forms one is in the sample.
constexpr size_t kStride = 13;

/// The targets of the next form.
std::vector<std::string> next_targets() {
  static size_t turn = 0;
  const char* named = std::getenv("GCC_GRAPH_TEST_SMS");
  if (named == nullptr) {
    const size_t form = turn++;
    if (form % kStride != 0) return {};
    return {kSample[form / kStride % std::size(kSample)]};
  }
  std::vector<std::string> targets;
  std::istringstream names(named);
  for (std::string name; std::getline(names, name, ',');) targets.push_back(name);
  return targets;
}

/// Operators on layouts that only CPU plans have.
constexpr std::string_view kForCpus[] = {"BlockedConv", "PackedMatMul"};

void check_assembly(const RowForm& form) {
  if (std::count(std::begin(kForCpus), std::end(kForCpus), form.row.op) > 0) return;
  for (const std::string& target : next_targets()) {
    AssemblyReport report;
    Backends backends;
    backends.push_back(make_watched_backend(report, default_cache(), nullptr));
    CompileOptions options;
    options.targets = {target};
    try {
      compile(form.graph.clone(), "", options, backends);
    } catch (const UnsupportedModel&) {
      return;  // compiled_ops_test says which these are
    } catch (const CompileError& error) {
      ADD_FAILURE() << target << ": " << error.what();
    }
    for (const std::string& complaint : report.complaints) ADD_FAILURE() << complaint;
  }
}

const bool hooked = [] {
  if (has_nvrtc()) check_form_further = check_assembly;
  return true;
}();

TEST(AssembledOps, NvrtcIsHere) {
  EXPECT_TRUE(hooked);
  if (!has_nvrtc()) GTEST_SKIP() << "there is no NVRTC on this machine; " << kInstallLine;
}

}  // namespace
}  // namespace gcg::test
