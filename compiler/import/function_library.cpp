#include "compiler/import/function_library.h"

#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>

#include "compiler/import/mapped_file.h"
#include "compiler/import/opsets.h"
#include "compiler/import/parse_model.h"
#include "compiler/support/error.h"

namespace gcg {
namespace {

std::string text_of(const google::protobuf::Message& message, int field) {
  const std::vector<std::string> found = field_bytes(message, field);
  return found.empty() ? "" : found.back();
}

std::map<std::string, std::string> properties(const google::protobuf::Message& message, int field) {
  std::map<std::string, std::string> found;
  for (const std::string& bytes : field_bytes(message, field)) {
    onnx::StringStringEntryProto entry;
    if (entry.ParseFromString(bytes)) found[entry.key()] = entry.value();
  }
  return found;
}

void visit_tensors(const onnx::GraphProto& graph, const std::function<void(const onnx::TensorProto&)>& visit) {
  for (const onnx::TensorProto& tensor : graph.initializer()) visit(tensor);
  for (const onnx::NodeProto& node : graph.node()) gcg::visit_tensors(node, visit);
}

}  // namespace

FunctionKey key_of(const onnx::FunctionProto& function) {
  return {normal_domain(function.domain()), function.name(), text_of(function, newer::kFunctionOverload)};
}
FunctionKey key_of(const onnx::NodeProto& node) {
  return {normal_domain(node.domain()), node.op_type(), text_of(node, newer::kNodeOverload)};
}

std::string full_name(const FunctionKey& key) {
  const auto& [domain, name, overload] = key;
  return concat(domain, domain.empty() ? "" : "::", name, overload.empty() ? "" : ":", overload);
}

std::map<std::string, std::string> properties_of(const onnx::NodeProto& node) {
  return properties(node, newer::kNodeProperties);
}
std::map<std::string, std::string> properties_of(const onnx::FunctionProto& function) {
  return properties(function, newer::kFunctionProperties);
}

std::vector<onnx::ValueInfoProto> value_infos_of(const onnx::FunctionProto& function) {
  std::vector<onnx::ValueInfoProto> infos;
  for (const std::string& bytes : field_bytes(function, newer::kFunctionValueInfos)) {
    onnx::ValueInfoProto info;
    if (info.ParseFromString(bytes)) infos.push_back(std::move(info));
  }
  return infos;
}

void visit_tensors(const onnx::NodeProto& node, const std::function<void(const onnx::TensorProto&)>& visit) {
  for (const onnx::AttributeProto& attribute : node.attribute()) {
    if (attribute.has_t()) visit(attribute.t());
    for (const onnx::TensorProto& tensor : attribute.tensors()) visit(tensor);
    if (attribute.has_g()) visit_tensors(attribute.g(), visit);
    for (const onnx::GraphProto& graph : attribute.graphs()) visit_tensors(graph, visit);
  }
}

FunctionLibrary read_library(const std::string& path) {
  const auto file = MappedFile::open(path);
  std::shared_ptr<const onnx::ModelProto> model = parse_model(file->bytes(), path);
  if (model->functions().empty()) fail(path, " holds no functions");
  for (const onnx::FunctionProto& function : model->functions())
    for (const onnx::NodeProto& node : function.node())
      visit_tensors(node, [&](const onnx::TensorProto& tensor) {
        if (tensor.data_location() == onnx::TensorProto::EXTERNAL)
          fail("function '", full_name(key_of(function)), "' of ", path, " has tensor '", tensor.name(),
               "' in an external file; a library holds its tensors itself");
      });
  return {path, std::move(model)};
}

std::vector<std::string> field_bytes(const google::protobuf::Message& message, int number) {
  const auto* field = message.GetDescriptor()->FindFieldByNumber(number);
  const auto& reflection = *message.GetReflection();
  std::vector<std::string> found;
  if (field == nullptr) {
    const auto& unknown = reflection.GetUnknownFields(message);
    for (int i = 0; i < unknown.field_count(); ++i)
      if (unknown.field(i).number() == number &&
          unknown.field(i).type() == google::protobuf::UnknownField::TYPE_LENGTH_DELIMITED)
        found.push_back(unknown.field(i).length_delimited());
  } else if (field->is_repeated()) {
    for (int i = 0; i < reflection.FieldSize(message, field); ++i)
      found.push_back(reflection.GetRepeatedMessage(message, field, i).SerializeAsString());
  } else if (reflection.HasField(message, field)) {
    found.push_back(reflection.GetString(message, field));
  }
  return found;
}

void add_field_bytes(google::protobuf::Message& message, int number, const std::string& bytes) {
  std::string wire;
  {
    google::protobuf::io::StringOutputStream stream(&wire);
    google::protobuf::io::CodedOutputStream coded(&stream);
    coded.WriteVarint32(static_cast<uint32_t>(number) << 3 | 2);
    coded.WriteVarint32(static_cast<uint32_t>(bytes.size()));
    coded.WriteString(bytes);
  }
  google::protobuf::io::ArrayInputStream array(wire.data(), static_cast<int>(wire.size()));
  google::protobuf::io::CodedInputStream coded(&array);
  GCG_CHECK(message.MergePartialFromCodedStream(&coded), "a field of ", bytes.size(), " bytes");
}

}  // namespace gcg
