// Every form of every row of tests/ops, once more as machine code: its one-node graph goes through the whole compiler, and
// the runtime runs the artifact on each target that this machine has.
#include <gtest/gtest.h>

#include "compiler/support/unsupported.h"
#include "tests/compiled_ops/run_compiled.h"
#include "tests/ops/op_test.h"

namespace gcg::test {
namespace {

/// Operators without a kernel for the forms of their rows that the compiler has to refuse, saying so in these words.
struct Unsupported {
  const char* op;
  const char* message;
};

constexpr char kNoKernel[] = "there is no kernel for this operator";
constexpr char kSize[] = "depends on data";  // one of its rows computes an extent from elements of an input

constexpr Unsupported kUnsupported[] = {
    {"Compress", kNoKernel}, {"NonZero", kNoKernel}, {"Unique", kNoKernel}, {"OneHot", kSize},
    {"Range", kSize},    {"ConstantOfShape", kSize}, {"Slice", kSize},   {"Split", kSize},
    {"Pad", kSize},      {"Tile", kSize},            {"Reshape", kSize}, {"Expand", kSize},
};

bool is_unsupported(const OpCase& row, const UnsupportedModel& refusal) {
  for (const Unsupported& u : kUnsupported)
    if (row.op == u.op && std::string(refusal.what()).find(u.message) != std::string::npos) return true;
  return false;
}

/// The artifact, or nothing where the compiler may refuse the form.
std::vector<uint8_t> compile_form(const RowForm& form) {
  try {
    return compile_artifact(form.graph);
  } catch (const UnsupportedModel& refusal) {
    if (!is_unsupported(form.row, refusal)) ADD_FAILURE() << "compiling: " << refusal.what();
  } catch (const CompileError& e) {
    ADD_FAILURE() << "compiling: " << e.what();
  }
  return {};
}

void check_compiled(const RowForm& form) {
  const std::vector<uint8_t> artifact = compile_form(form);
  if (artifact.empty()) return;
  std::vector<Tensor> inputs;
  for (const OpInput& in : form.row.inputs)
    if (!in.constant && !in.omitted) inputs.push_back(in.tensor);
  for (const std::string& target : runnable_targets()) {
    const std::vector<Tensor> got = run_artifact(artifact, target, inputs);
    for (size_t i = 0; i < std::min(got.size(), form.want.size()); ++i)
      expect_near(got[i], form.want[i], form.row.tolerance, concat(target, ", output ", i));
  }
}

const bool hooked = [] {
  check_form_further = check_compiled;
  return true;
}();

TEST(CompiledOps, SomeTargetRunsHere) {
  EXPECT_TRUE(hooked);
  if (runnable_targets().empty()) GTEST_SKIP() << "this CPU runs the code of no target";
}

}  // namespace
}  // namespace gcg::test
