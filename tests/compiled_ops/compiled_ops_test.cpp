// Runs every variant of every row of tests/ops as machine code: its one-node graph goes through the whole compiler, and
// the runtime runs the artifact on each target that this machine supports.
#include <gtest/gtest.h>

#include <set>

#include "compiler/support/unsupported.h"
#include "tests/compiled_ops/run_compiled.h"
#include "tests/ops/op_test.h"

namespace gcg::test {
namespace {

/// True if an extent of the outputs has a symbol that no input has. The compiler refuses such graphs, because sizes are
/// fixed before a run.
bool has_size_from_data(const Graph& graph) {
  std::set<std::string> known;
  for (ValueId in : graph.inputs)
    for (const Dim& d : *graph.value(in).shape) known.merge(d.symbols());
  for (ValueId out : graph.outputs)
    for (const Dim& d : *graph.value(out).shape)
      for (const std::string& name : d.symbols())
        if (!known.count(name)) return true;
  return false;
}

bool is_unsupported(const RowVariant& variant, const std::string& refusal) {
  return has_size_from_data(variant.graph) && refusal.find("depends on data") != std::string::npos;
}

/// The artifact; none if the compiler may refuse the variant.
std::vector<uint8_t> compile_form(const RowVariant& variant) {
  try {
    return compile_artifact(variant.graph);
  } catch (const UnsupportedModel& refusal) {
    if (!is_unsupported(variant, refusal.what())) ADD_FAILURE() << "compiling: " << refusal.what();
  } catch (const CompileError& e) {
    ADD_FAILURE() << "compiling: " << e.what();
  }
  return {};
}

void check_compiled(const RowVariant& variant) {
  const std::vector<uint8_t> artifact = compile_form(variant);
  if (artifact.empty()) return;
  std::vector<Tensor> inputs;
  for (const OpInput& in : variant.row.inputs)
    if (!in.constant && !in.omitted) inputs.push_back(in.tensor);
  for (const std::string& target : runnable_targets(variant.graph)) {
    const std::vector<Tensor> got = run_artifact(artifact, target, inputs);
    for (size_t i = 0; i < std::min(got.size(), variant.want.size()); ++i)
      expect_near(got[i], variant.want[i], variant.row.tolerance, concat(target, ", output ", i), variant.row.channels);
  }
}

const bool hooked = [] {
  check_form_further = check_compiled;
  return true;
}();

TEST(CompiledOps, SomeTargetRunsHere) {
  EXPECT_TRUE(hooked);
  if (runnable_targets(Graph()).empty()) GTEST_SKIP() << "this CPU runs the code of no target";
}

}  // namespace
}  // namespace gcg::test
