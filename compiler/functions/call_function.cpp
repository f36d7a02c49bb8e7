#include "compiler/functions/call_function.h"

#include <onnx/onnx_pb.h>

#include "compiler/functions/function_library_file.h"
#include "compiler/import/import.h"
#include "compiler/import/opsets.h"
#include "compiler/support/error.h"
#include "compiler/support/nearest.h"

namespace gcg {
namespace {

FunctionSummary find_function(const std::string& name, const std::vector<std::string>& libraries) {
  std::vector<std::string> known;
  for (const std::string& path : libraries)
    for (FunctionSummary& function : list_functions(path)) {
      if (function.name == name) return std::move(function);
      known.push_back(function.name);
    }
  fail("there is no function '", name, "'", nearest(name, known));
}

void add_import(onnx::ModelProto& model, const std::string& domain, int64_t version) {
  auto& import = *model.add_opset_import();
  import.set_domain(domain);
  import.set_version(version);
}

}  // namespace

Graph call_function(const std::string& name, const std::vector<std::pair<DType, std::vector<int64_t>>>& inputs,
                    const std::vector<std::string>& libraries) {
  const std::string full = name.find("::") == std::string::npos ? concat(kFunctionDomain, "::", name) : name;
  const FunctionSummary function = find_function(full, libraries);
  if (inputs.size() != function.inputs.size())
    fail("the function '", full, "' takes ", function.inputs.size(), function.inputs.size() == 1 ? " input" : " inputs",
         ", not ", inputs.size());
  onnx::ModelProto model;
  model.set_ir_version(10);
  const size_t colons = full.rfind("::");
  add_import(model, "", kNewestOpset);
  add_import(model, full.substr(0, colons), 1);
  onnx::NodeProto& call = *model.mutable_graph()->add_node();
  call.set_name(full.substr(colons + 2));
  call.set_op_type(full.substr(colons + 2));
  call.set_domain(full.substr(0, colons));
  for (const auto& [dtype, shape] : inputs) {
    onnx::ValueInfoProto& input = *model.mutable_graph()->add_input();
    input.set_name(concat("in", model.graph().input_size() - 1));
    call.add_input(input.name());
    auto& type = *input.mutable_type()->mutable_tensor_type();
    type.set_elem_type(dtype_to_onnx(dtype));
    type.mutable_shape();
    for (const int64_t extent : shape) type.mutable_shape()->add_dim()->set_dim_value(extent);
  }
  for (size_t k = 0; k < function.outputs.size(); ++k) {
    call.add_output(concat("out", k));
    model.mutable_graph()->add_output()->set_name(call.output(static_cast<int>(k)));
  }
  const std::string bytes = model.SerializeAsString();
  return import_onnx({reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size()}, {}, libraries).graph;
}

}  // namespace gcg
