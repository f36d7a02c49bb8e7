// Compiles and runs random graphs: the results must equal the interpreter's, and no step may read bytes outside of its
// operands. GCC_GRAPH_SEEDS=10000 sets the number of seeds, GCC_GRAPH_FIRST_SEED=77 the first one.
#include "tests/schedule/random_graph.h"

#include <gtest/gtest.h>

#include <cstdlib>

#include "compiler/gir/gir.h"
#include "compiler/support/error.h"
#include "tests/compiled_ops/run_compiled.h"
#include "tests/schedule/check_memory.h"
#include "tests/schedule/schedule_case.h"

namespace gcg::test {
namespace {

uint32_t number_from(const char* variable, uint32_t otherwise) {
  const char* text = std::getenv(variable);
  return text == nullptr ? otherwise : static_cast<uint32_t>(std::strtoul(text, nullptr, 10));
}

void check_seed(uint32_t seed) {
  Graph graph = random_graph(seed);
  SCOPED_TRACE(concat("seed ", seed, ":\n", print_graph(graph, GirData::elided)));
  try {
    const std::vector<uint8_t> artifact = compile_artifact(graph);
    const bool symbolic = seed % 2 == 1;
    EXPECT_EQ(check_memory(artifact, symbolic ? std::vector<int64_t>{2} : std::vector<int64_t>{}), "");
    // Long chains of products increase values and their rounding errors.
    expect_runs_like_interpreter(graph, artifact, seed, 1e-3);
  } catch (const CompileError& e) {
    ADD_FAILURE() << e.what();
  }
}

TEST(RandomGraph, RunsLikeTheInterpreterInMemoryOfItsOwn) {
  const uint32_t first = number_from("GCC_GRAPH_FIRST_SEED", 1), count = number_from("GCC_GRAPH_SEEDS", 100);
  for (uint32_t seed = first; seed < first + count && !HasFailure(); ++seed) check_seed(seed);
}

}  // namespace
}  // namespace gcg::test
