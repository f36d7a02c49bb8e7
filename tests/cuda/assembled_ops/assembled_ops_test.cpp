// Assembles the CUDA text of variants of tests/ops rows: no spills, and no messages of ptxas about serialised code. By
// default a sample of variants is assembled for a sample of SMs. $GCC_GRAPH_TEST_SMS ("sm_75,sm_120", or "all") names
// SMs for which every variant is assembled; the test then prints a table at the end.
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <iostream>
#include <sstream>
#include <string_view>
#include <thread>

#include "compiler/compile.h"
#include "compiler/support/error.h"
#include "compiler/support/unsupported.h"
#include "tests/cuda/codegen/assembly.h"
#include "tests/ops/op_test.h"

namespace gcg::test {
namespace {

const std::vector<std::string> kSample[] = {
    {"sm_75"}, {"sm_80"}, {"sm_90a", "sm_90"}, {"sm_100a", "sm_100"}, {"sm_120a", "sm_120"}};

/// One in kStride variants is in the sample. One in kComparisonStride of the kernels that several targets share is
/// assembled for each of these targets.
constexpr size_t kStride = 13, kComparisonStride = 7;

const char* named_sms() { return std::getenv("GCC_GRAPH_TEST_SMS"); }

/// The targets of the next variant.
std::vector<std::string> next_targets() {
  static size_t calls = 0;
  if (named_sms() == nullptr) {
    const size_t variant = calls++;
    if (variant % kStride != 0) return {};
    return kSample[variant / kStride % std::size(kSample)];
  }
  if (named_sms() == std::string_view("all")) return all_gpu_targets();
  std::vector<std::string> targets;
  std::istringstream names(named_sms());
  for (std::string name; std::getline(names, name, ',');) targets.push_back(name);
  return targets;
}

Assembly& assembly() {
  static Assembly all(default_cache(), static_cast<int>(std::thread::hardware_concurrency()));
  return all;
}

/// Operators on layouts that only CPU plans have.
constexpr std::string_view kForCpus[] = {"BlockedConv", "PackedMatMul", "WinogradConv"};

void collect_texts(const RowVariant& variant) {
  if (std::count(std::begin(kForCpus), std::end(kForCpus), variant.row.op) > 0) return;
  CompileOptions options;
  options.targets = next_targets();
  if (options.targets.empty()) return;
  assembly().set_owner(concat(variant.row.op, ": ", variant.row.what, ":"));
  Backends backends;
  backends.push_back(assembly().make_backend());
  try {
    compile(variant.graph.clone(), "", options, backends);
  } catch (const UnsupportedModel&) {
    return;  // compiled_ops_test checks these refusals
  } catch (const CompileError& error) {
    ADD_FAILURE() << error.what();
  }
}

/// Assembles the kernels of a test's rows before the test counts as passed.
class AssembleAtEnd : public testing::EmptyTestEventListener {
  void OnTestEnd(const testing::TestInfo&) override {
    const size_t stride = kComparisonStride * (named_sms() == nullptr ? 1 : kStride);
    for (const std::string& complaint : assembly().compare_codes(stride)) ADD_FAILURE() << complaint;
    for (const std::string& complaint : assembly().assemble_collected()) ADD_FAILURE() << complaint;
    ++tests_;
    if (named_sms() != nullptr && Clock::now() - told_ > std::chrono::seconds(10)) tell();
  }
  void OnTestProgramEnd(const testing::UnitTest&) override {
    if (named_sms() == nullptr) return;
    assembly().print_summary(std::cout);
    std::cout << assembly().passed() << " passed, " << assembly().failed() << " failed" << std::endl;
  }
  void tell() {
    told_ = Clock::now();
    std::cout << "  " << tests_ << " of " << testing::UnitTest::GetInstance()->test_to_run_count() << " tests, "
              << assembly().passed() + assembly().failed() << " kernels, "
              << std::chrono::duration_cast<std::chrono::seconds>(told_ - begin_).count() << " s" << std::endl;
  }

  using Clock = std::chrono::steady_clock;
  const Clock::time_point begin_ = Clock::now();
  Clock::time_point told_ = begin_;
  int tests_ = 0;
};

const bool hooked = [] {
  if (!has_nvrtc()) return true;
  check_form_further = collect_texts;
  testing::UnitTest::GetInstance()->listeners().Append(new AssembleAtEnd);
  return true;
}();

TEST(AssembledOps, NvrtcIsHere) {
  EXPECT_TRUE(hooked);
  if (!has_nvrtc()) GTEST_SKIP() << "there is no NVRTC on this machine; " << kInstallLine;
}

}  // namespace
}  // namespace gcg::test
