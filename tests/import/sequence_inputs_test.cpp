// Inputs that are sequences or optionals become one input per element.
#include "compiler/import/sequence_inputs.h"

#include "compiler/support/error.h"
#include "tests/import/text_model.h"

namespace gcg::test {
namespace {

const char* const kTensor = "tensor_type { elem_type: 1 shape { dim { dim_param: 'n' } dim { dim_value: 3 } } }";

std::string input(const std::string& name, const std::string& type) {
  return "input { name: '" + name + "' type { " + type + " } } ";
}

onnx::ModelProto model() {
  const std::string tensor = kTensor, sequence = "sequence_type { elem_type { " + tensor + " } }";
  return graph_model(
      input("x", tensor) + input("s", sequence) + input("o", "optional_type { elem_type { " + tensor + " } }") +
      input("p", "optional_type { elem_type { " + sequence + " } }") +
      "node { op_type: 'ConcatFromSequence' input: 's' output: 'y' attribute { name: 'axis' i: 0 type: INT } } "
      "output { name: 'y' }");
}

std::vector<std::string> input_names(const onnx::ModelProto& m) {
  std::vector<std::string> names;
  for (const auto& i : m.graph().input()) names.push_back(i.name());
  return names;
}

TEST(SequenceInputs, BecomeAnInputPerElement) {
  onnx::ModelProto m = model();
  EXPECT_EQ(spread_sequence_inputs(m, {{"s", 2}, {"o", 1}, {"p", 1}, {"x", 7}, {"n", 4}}),
            (std::vector<std::string>{"s", "o", "p"}));
  EXPECT_EQ(input_names(m), (std::vector<std::string>{"x", "s.0", "s.1", "o.0", "p.0"}));
  const Graph g = import_model(m).graph;
  EXPECT_EQ(str(*g.value(g.inputs[1]).shape), "[n_0,3]");
  EXPECT_EQ(str(*g.value(g.inputs[2]).shape), "[n_1,3]");
}

TEST(SequenceInputs, MayBeEmpty) {
  onnx::ModelProto m = model();
  spread_sequence_inputs(m, {{"s", 1}, {"o", 0}, {"p", 0}});
  EXPECT_EQ(input_names(m), (std::vector<std::string>{"x", "s.0"}));
}

TEST(SequenceInputs, AnOptionalHasOneElementAtMost) {
  onnx::ModelProto m = model();
  try {
    spread_sequence_inputs(m, {{"o", 2}});
    ADD_FAILURE() << "not refused";
  } catch (const CompileError& e) {
    EXPECT_STREQ(e.what(), "input 'o' cannot have 2 elements; at most 1 are taken");
  }
}

}  // namespace
}  // namespace gcg::test
