// Models as protobuf text, imported from memory.
#pragma once

#include <google/protobuf/text_format.h>
#include <gtest/gtest.h>
#include <onnx/onnx_pb.h>

#include <string>

#include "compiler/import/import.h"

namespace gcg::test {

inline onnx::ModelProto parse_model(const std::string& text) {
  onnx::ModelProto model;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(text, &model)) << text;
  return model;
}

/// A model with IR version 8 and opset 17. `graph`: fields of its graph; `rest`: further fields of the model.
inline onnx::ModelProto graph_model(const std::string& graph, const std::string& rest = "") {
  return parse_model("ir_version: 8 opset_import { version: 17 } " + rest + " graph { name: 'g' " + graph + " }");
}

inline ImportedModel import_bytes(const std::string& bytes, const std::string& folder = "") {
  return import_onnx(std::span(reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size()), folder);
}
inline ImportedModel import_model(const onnx::ModelProto& model, const std::string& folder = "") {
  return import_bytes(model.SerializeAsString(), folder);
}

/// The message with which the model is refused; empty if it is not refused.
inline std::string error_of(const onnx::ModelProto& model, const std::string& folder = "") {
  try {
    import_model(model, folder);
  } catch (const CompileError& error) {
    return error.what();
  }
  return {};
}

/// The unsupported nodes for which the model is refused; empty if it is accepted, or refused for another reason.
inline std::vector<UnsupportedNode> unsupported_in(const onnx::ModelProto& model) {
  try {
    import_model(model);
  } catch (const UnsupportedModel& error) {
    return error.nodes();
  }
  return {};
}

/// "input { name: 'x' type {...} }": a float tensor with dims as written, e.g. "dim { dim_value: 2 }".
inline std::string float_value(const std::string& field, const std::string& name, const std::string& dims) {
  return field + " { name: '" + name + "' type { tensor_type { elem_type: 1 shape { " + dims + " } } } } ";
}
inline std::string node(const std::string& op, const std::string& inputs, const std::string& outputs,
                        const std::string& rest = "") {
  std::string text = "node { op_type: '";
  text.append(op).append("' ");
  const auto add = [&](const char* field, const std::string& names) {
    for (size_t begin = 0; begin < names.size();) {
      const size_t end = std::min(names.find(' ', begin), names.size());
      const std::string name = names.substr(begin, end - begin);
      text.append(field).append(": '").append(name == "_" ? "" : name).append("' ");
      begin = end + 1;
    }
  };
  add("input", inputs);
  add("output", outputs);
  return text + rest + " } ";
}
const std::string kDim2 = "dim { dim_value: 2 }";

inline const Value& value_called(const Graph& graph, const std::string& name) {
  for (int64_t i = 0; i < graph.value_count(); ++i)
    if (graph.value(ValueId(i)).name == name) return graph.value(ValueId(i));
  ADD_FAILURE() << "no value '" << name << "'";
  return graph.value(ValueId(0));
}

}  // namespace gcg::test
