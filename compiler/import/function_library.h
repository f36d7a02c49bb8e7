// Files of ONNX functions that models may call without holding them: a ModelProto with an empty graph.
#pragma once

#include <onnx/onnx_pb.h>

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <tuple>
#include <vector>

namespace gcg {

/// Domain (normalised), name, overload.
using FunctionKey = std::tuple<std::string, std::string, std::string>;

FunctionKey key_of(const onnx::FunctionProto& function);
/// The key of the function that a node would call; the function need not exist.
FunctionKey key_of(const onnx::NodeProto& node);
/// "functions::Block"; "Block" for ai.onnx; with an overload "functions::Block:wide".
std::string full_name(const FunctionKey& key);

/// The metadata_props of a node or a function.
std::map<std::string, std::string> properties_of(const onnx::NodeProto& node);
std::map<std::string, std::string> properties_of(const onnx::FunctionProto& function);
/// The types that the function declares for its values.
std::vector<onnx::ValueInfoProto> value_infos_of(const onnx::FunctionProto& function);

struct FunctionLibrary {
  std::string path;
  std::shared_ptr<const onnx::ModelProto> model;
};

/// Throws CompileError if the file is not a library. All tensors must be in the file, none in external files.
FunctionLibrary read_library(const std::string& path);

/// Calls `visit` for every tensor in attributes of the node and of its subgraphs, and for the subgraphs' initializers.
void visit_tensors(const onnx::NodeProto& node, const std::function<void(const onnx::TensorProto&)>& visit);

/// The elements of a length-delimited field, each as its bytes. The installed ONNX headers may be too old to know the
/// field.
std::vector<std::string> field_bytes(const google::protobuf::Message& message, int number);
/// Adds one element to such a field.
void add_field_bytes(google::protobuf::Message& message, int number, const std::string& bytes);

/// Fields that the oldest supported ONNX headers (1.12) do not have.
namespace newer {
constexpr int kNodeOverload = 8, kNodeProperties = 9;
constexpr int kFunctionAttributes = 11, kFunctionValueInfos = 12, kFunctionOverload = 13, kFunctionProperties = 14;
}  // namespace newer

}  // namespace gcg
