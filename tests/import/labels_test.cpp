// Strings are imported as indices into lists: the operators that accept such indices, and the outputs whose numbers
// have names.
#include <gtest/gtest.h>

#include "tests/import/text_model.h"

namespace gcg::test {
namespace {

const std::string kMl = "opset_import { domain: 'ai.onnx.ml' version: 3 } ";
const std::string kX = float_value("input", "x", "dim { dim_param: 'n' } " + kDim2);
const std::string kClassifier =
    "domain: 'ai.onnx.ml' attribute { name: 'coefficients' floats: 1 floats: 2 floats: 3 floats: 4 type: FLOATS } "
    "attribute { name: 'intercepts' floats: 0 floats: 0 type: FLOATS } "
    "attribute { name: 'classlabels_strings' strings: 'cat' strings: 'dog' type: STRINGS } ";
std::string output(const std::string& name) { return "output { name: '" + name + "' } "; }
std::string classifier() { return kX + node("LinearClassifier", "x", "label scores", kClassifier); }
using Names = std::vector<std::string>;

TEST(Labels, GoWithWhatIsMovedToTheOutputs) {
  const std::string zip = "domain: 'ai.onnx.ml' attribute { name: 'classlabels_int64s' ints: 7 ints: 9 type: INTS }";
  const std::string as_string = "attribute { name: 'to' i: 8 type: INT }";
  const ImportedModel model = import_model(graph_model(classifier() + node("Cast", "label", "same", as_string) +
                                                           node("ZipMap", "scores", "zipped", zip) + output("same") +
                                                           output("zipped") + output("scores"),
                                                       kMl));
  EXPECT_EQ(model.labels, (std::map<std::string, Names>{{"same", {"cat", "dog"}}, {"zipped", {"7", "9"}}}));
  EXPECT_EQ(value_called(model.graph, "same").dtype, DType::i64);
}

TEST(Labels, AreNumbersOfConstants) {
  const std::string strings =
      "initializer { name: 's' data_type: 8 dims: 3 string_data: 'b' string_data: 'a' string_data: 'b' } ";
  const std::string index = "initializer { name: 'i' data_type: 7 dims: 2 int64_data: 1 int64_data: 2 } ";
  const ImportedModel model = import_model(graph_model(strings + index + node("Gather", "s i", "y") + output("y")));
  EXPECT_EQ(model.labels, (std::map<std::string, Names>{{"y", {"b", "a"}}}));
  EXPECT_EQ(value_called(model.graph, "s").constant->to_ints(), (std::vector<int64_t>{0, 1, 0}));
}

TEST(Labels, AreLookedUpByEncoders) {
  const std::string encode =
      "domain: 'ai.onnx.ml' attribute { name: 'keys_strings' strings: 'dog' strings: 'cow' type: STRINGS } "
      "attribute { name: 'values_strings' strings: 'Hund' strings: 'Kuh' type: STRINGS } ";
  const ImportedModel model =
      import_model(graph_model(classifier() + node("LabelEncoder", "label", "y", encode) + output("y"), kMl));
  EXPECT_EQ(model.labels, (std::map<std::string, Names>{{"y", {"Hund", "Kuh", "_Unused"}}}));
}

std::string strings_input(const std::string& name) {
  return "input { name: '" + name + "' type { tensor_type { elem_type: 8 shape { dim { dim_param: 'n' } " + kDim2 +
         "} } } } ";
}
std::string encoder(const std::string& from, const std::string& to) {
  return node("LabelEncoder", from, to,
              "domain: 'ai.onnx.ml' attribute { name: 'keys_strings' strings: 'dog' strings: 'ape' strings: 'dog' "
              "type: STRINGS } attribute { name: 'values_int64s' ints: 7 ints: 5 ints: 9 type: INTS } "
              "attribute { name: 'default_int64' i: -3 type: INT } ");
}

TEST(Labels, InputsAreLookedUpInTheStringsOfTheModel) {
  const ImportedModel model =
      import_model(graph_model(strings_input("s") + strings_input("t") + encoder("s", "y") + output("y"), kMl));
  const Names known = {"", "_Unused", "ape", "dog"};
  EXPECT_EQ(model.labels, (std::map<std::string, Names>{{"s", known}, {"t", known}}));
  EXPECT_EQ(value_called(model.graph, "s").dtype, DType::i64);
  // A table with a value for each string. Any other string has the index -1, which selects the last value.
  EXPECT_EQ(value_called(model.graph, "y.table").constant->to_ints(), (std::vector<int64_t>{-3, -3, 5, 7, -3}));
}

TEST(Labels, InputsMayBeMovedAndComparedWithConstants) {
  const std::string constant = "initializer { name: 'k' data_type: 8 dims: 1 string_data: 'cow' } ";
  const std::string axis = "attribute { name: 'axis' i: 0 type: INT }";
  const ImportedModel model =
      import_model(graph_model(strings_input("s") + strings_input("t") + constant +
                                   node("Concat", "s t", "both", axis) + node("Equal", "both k", "y") + output("y"),
                               kMl));
  EXPECT_EQ(model.labels.at("s"), (Names{"", "_Unused", "cow"}));
  EXPECT_EQ(value_called(model.graph, "k").constant->to_ints(), (std::vector<int64_t>{2}));
}

TEST(Labels, UnknownStringsAreNeitherGivenNorCompared) {
  const auto why = [](const std::string& nodes, const std::string& made) {
    const std::vector<UnsupportedNode> rows =
        unsupported_in(graph_model(strings_input("s") + strings_input("t") + nodes + output(made), kMl));
    return rows.empty() ? std::string() : rows[0].why;
  };
  EXPECT_NE(why(node("Identity", "s", "y"), "y").find("but not give them"), std::string::npos);
  EXPECT_NE(why(node("Equal", "s t", "y"), "y").find("only be compared with constants"), std::string::npos);
  EXPECT_NE(why(node("Add", "s t", "y"), "y").find("it reads strings"), std::string::npos);
  EXPECT_EQ(why(encoder("s", "y"), "y"), "");
}

TEST(Labels, ValuesThatAreEqualHaveOneNumber) {
  const std::string twice =
      "domain: 'ai.onnx.ml' attribute { name: 'keys_strings' strings: 'dog' strings: 'cat' type: STRINGS } "
      "attribute { name: 'values_strings' strings: 'pet' strings: 'pet' type: STRINGS } ";
  const ImportedModel model =
      import_model(graph_model(classifier() + node("LabelEncoder", "label", "y", twice) + output("y"), kMl));
  EXPECT_EQ(model.labels, (std::map<std::string, Names>{{"y", {"pet", "_Unused"}}}));
  EXPECT_EQ(value_called(model.graph, "y.table").constant->to_ints(), (std::vector<int64_t>{0, 0, 1}));
}

TEST(Labels, AreReadByNobodyElse) {
  const auto why = [](const std::string& nodes, const std::string& made) {
    const std::vector<UnsupportedNode> rows = unsupported_in(graph_model(classifier() + nodes + output(made), kMl));
    return rows.empty() ? std::string() : rows[0].why;
  };
  EXPECT_NE(why(node("Equal", "label label", "y"), "y").find("it reads strings"), std::string::npos);
  EXPECT_NE(why(node("Add", "x label", "y"), "y").find("it reads strings"), std::string::npos);
  EXPECT_EQ(why(node("Cast", "x", "y", "attribute { name: 'to' i: 8 type: INT }"), "y"),
            "it turns numbers into strings, which is not supported");
  EXPECT_EQ(why(node("Cast", "label", "y", "attribute { name: 'to' i: 7 type: INT }"), "y"),
            "it reads strings; only operators that move elements can read them");
}

}  // namespace
}  // namespace gcg::test
