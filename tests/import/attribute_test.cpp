// Attributes that no code reads are refused by name, and flags must be 0 or 1.
#include "compiler/ops/op_attributes.h"
#include "tests/import/text_model.h"

namespace gcg::test {
namespace {

/// A model of one node: the operator with its smallest number of inputs and these attributes.
onnx::ModelProto model_of(const OpDef& op, const std::string& attributes) {
  std::string inputs;
  for (int i = 0; i < op.min_inputs; ++i) inputs += i == 0 ? "x" : " x";
  return parse_model("ir_version: 8 opset_import { version: 27 } opset_import { domain: '" + std::string(op.domain) +
                     "' version: 27 } graph { name: 'g' " + float_value("input", "x", kDim2) +
                     node(op.name, inputs, "y", "domain: '" + std::string(op.domain) + "' " + attributes) +
                     "output { name: 'y' } }");
}

TEST(ImportAttribute, WhatNothingAsksForIsRefusedForEveryOperator) {
  int checked = 0;
  for (const OpDef* op : all_ops()) {
    if (std::string_view(op->domain) == "gart") continue;
    SCOPED_TRACE(concat(op->domain, " ", op->name));
    const auto rows = unsupported_in(model_of(*op, "attribute { name: 'no_such_thing' type: INT i: 1 }"));
    ASSERT_EQ(rows.size(), 1u);
    EXPECT_EQ(rows[0].why, concat("attribute 'no_such_thing' is not supported: ", op->name, " has no such attribute"));
    ++checked;
  }
  EXPECT_GT(checked, 250);
}

TEST(ImportAttribute, InternalOnesAreRefused) {
  const auto rows =
      unsupported_in(model_of(op("NonZero"), "attribute { name: 'gart.symbols' type: STRINGS strings: 'n' }"));
  ASSERT_EQ(rows.size(), 1u);
  EXPECT_NE(rows[0].why.find("attribute 'gart.symbols' is not supported"), std::string::npos) << rows[0].why;
}

TEST(ImportAttribute, FlagsAreZeroOrOne) {
  for (const char* value : {"2", "-1", "70368744177664"}) {
    const auto rows =
        unsupported_in(model_of(op("ReduceSum"), concat("attribute { name: 'keepdims' type: INT i: ", value, " }")));
    ASSERT_EQ(rows.size(), 1u);
    EXPECT_EQ(rows[0].why, concat("attribute 'keepdims' is ", value, ", it must be 0 or 1"));
  }
  for (const char* value : {"0", "1"})
    EXPECT_EQ(error_of(model_of(op("ReduceSum"), concat("attribute { name: 'keepdims' type: INT i: ", value, " }"))),
              "");
}

TEST(ImportAttribute, HarmlessOnesMayBeThereAndOthersByValue) {
  EXPECT_EQ(error_of(model_of(op("Relu"), "attribute { name: 'consumed_inputs' type: INTS ints: 0 }")), "");
  const OpDef& experts = op("QMoE", "com.microsoft");
  const auto why = [&](const char* name, Attribute value) { return why_not_attribute(experts, name, &value); };
  EXPECT_EQ(why("quant_type", std::string("int")), "");
  EXPECT_EQ(why("quant_type", std::string("fp4")), "attribute 'quant_type' is fp4; only int is supported");
  EXPECT_EQ(why("weights_prepacked", int64_t{1}), "");  // the operator decides
  const Attribute prepacked = int64_t{2};
  EXPECT_EQ(why_not_attribute(op("MatMulNBits", "com.microsoft"), "weight_prepacked", &prepacked),
            "attribute 'weight_prepacked' is 2; only 0 is supported");
}

TEST(ImportAttribute, OfAConstantOneHoldsItsValue) {
  const auto rows = unsupported_in(graph_model(
      "node { op_type: 'Constant' output: 'y' attribute { name: 'v' type: INT i: 3 } } output { name: 'y' }"));
  ASSERT_EQ(rows.size(), 1u);
  EXPECT_EQ(rows[0].why, "attribute 'v' holds no value of a Constant");
}

TEST(ImportAttribute, OfACallTheFunctionTakes) {
  const std::string function =
      "opset_import { domain: 'f' version: 1 } functions { name: 'F' domain: 'f' input: 'a' output: 'b' "
      "opset_import { version: 17 } " +
      node("Neg", "a", "b") + "} ";
  EXPECT_EQ(error_of(graph_model(
                float_value("input", "x", kDim2) +
                    node("F", "x", "y", "name: 'c' domain: 'f' attribute { name: 'alpha' type: FLOAT f: 1 }") +
                    "output { name: 'y' }",
                function)),
            "node 'c' has attribute 'alpha', which function 'f::F' does not take");
}

}  // namespace
}  // namespace gcg::test
