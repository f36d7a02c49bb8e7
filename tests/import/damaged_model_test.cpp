// Models with a damaged bit at every position are refused with a message or imported. They never cause a crash, an
// internal error or a huge allocation.
#include <sys/resource.h>

#include "compiler/gir/verify_graph.h"
#include "compiler/passes/resolve_ranks.h"
#include "tests/import/text_model.h"

namespace gcg::test {
namespace {

std::string rich_model() {
  const auto body = [](const std::string& name, const std::string& fields) {
    return "attribute { name: '" + name + "' type: GRAPH g { name: 'b' " + fields + " } } ";
  };
  const std::string domain =
      "opset_import { domain: 'f' version: 1 } functions { domain: 'f' name: 'F' input: 'a' output: 'b' "
      "attribute: 'k' opset_import { version: 17 } " +
      node("LeakyRelu", "a", "b", "attribute { name: 'alpha' ref_attr_name: 'k' type: FLOAT }") + "} ";
  const std::string lstm =
      "initializer { name: 'W' dims: [1, 4, 2] data_type: 1 float_data: [1, 2, 3, 4, 5, 6, 7, 8] } "
      "initializer { name: 'R' dims: [1, 4, 1] data_type: 1 float_data: [1, 2, 3, 4] } " +
      node("LSTM", "u W R", "lstm _ cell",
           "attribute { name: 'hidden_size' type: INT i: 1 } attribute { name: 'activations' type: STRINGS strings: "
           "['Sigmoid', 'Tanh', 'Relu'] } ");
  const std::string axes = "initializer { name: 'axes' dims: 1 data_type: 7 int64_data: 0 } ";
  return graph_model(float_value("input", "x", "dim { dim_param: 'n' } dim { dim_value: 2 }") +
                         "input { name: 'c' type { tensor_type { elem_type: 9 shape {} } } } " + axes +
                         node("Unsqueeze", "x axes", "u") + lstm +
                         node("F", "x", "f", "domain: 'f' attribute { name: 'k' type: FLOAT f: 0.5 }") +
                         node("If", "c", "y",
                              body("then_branch", node("ReduceSum", "f axes", "t") + "output { name: 't' }") +
                                  body("else_branch", node("Squeeze", "u axes", "e") + "output { name: 'e' }")) +
                         "initializer { name: 'm' data_type: 7 int64_data: 5 } " +
                         node("Loop", "m _ x", "l s",
                              body("body", "input { name: 'i' } input { name: 'k' } input { name: 'v' } " +
                                               node("Softmax", "v", "w", "attribute { name: 'axis' type: INT i: 0 }") +
                                               "output { name: 'k' } output { name: 'w' } output { name: 'i' }")) +
                         "output { name: 'y' } output { name: 'l' } output { name: 's' } output { name: 'lstm' }",
                     domain)
      .SerializeAsString();
}

/// Empty if the bytes are imported or refused correctly, else the fault.
std::string misbehaviour(const std::string& bytes) {
  try {
    ImportedModel model = import_bytes(bytes);
    resolve_ranks(model.graph);
    verify_graph(model.graph);
  } catch (const InternalError& error) {
    return error.what();
  } catch (const CompileError&) {
    return {};
  } catch (const std::exception& error) {
    return std::string("not a CompileError: ") + error.what();
  }
  return {};
}

TEST(DamagedModel, AnyBitMayBeWrong) {
  std::string bytes = rich_model();
  ASSERT_EQ(misbehaviour(bytes), "");
  ASSERT_NO_THROW(import_bytes(bytes));
  for (size_t i = 0; i < bytes.size(); ++i)
    for (int bit = 0; bit < 8; ++bit) {
      bytes[i] = static_cast<char>(bytes[i] ^ (1 << bit));
      ASSERT_EQ(misbehaviour(bytes), "") << "byte " << i << " bit " << bit;
      bytes[i] = static_cast<char>(bytes[i] ^ (1 << bit));
    }
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  EXPECT_LT(usage.ru_maxrss, 1 << 20) << "kilobytes";
}

TEST(DamagedModel, TheEndMayBeMissing) {
  const std::string bytes = rich_model();
  for (size_t size = 0; size < bytes.size(); ++size)
    ASSERT_EQ(misbehaviour(bytes.substr(0, size)), "") << size << " bytes";
}

}  // namespace
}  // namespace gcg::test
