// Files of ONNX functions that models may call though they do not hold them: a ModelProto with an empty graph.
#pragma once

#include <onnx/onnx_pb.h>

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <tuple>
#include <vector>

namespace gcg {

/// Domain (normal), name, overload.
using FunctionKey = std::tuple<std::string, std::string, std::string>;

FunctionKey key_of(const onnx::FunctionProto& function);
/// Of the function that a node calls, if there is such a one.
FunctionKey key_of(const onnx::NodeProto& node);
/// "functions::Block"; of ai.onnx "Block"; with an overload "functions::Block:wide".
std::string full_name(const FunctionKey& key);

/// metadata_props of a node or a function.
std::map<std::string, std::string> properties_of(const onnx::NodeProto& node);
std::map<std::string, std::string> properties_of(const onnx::FunctionProto& function);
/// What the function says of types of its values.
std::vector<onnx::ValueInfoProto> value_infos_of(const onnx::FunctionProto& function);

struct FunctionLibrary {
  std::string path;
  std::shared_ptr<const onnx::ModelProto> model;
};

/// Throws CompileError for a file that is none. Its tensors are its own: none lies in an external file.
FunctionLibrary read_library(const std::string& path);

/// Calls `visit` for every tensor in attributes of the node and of its bodies, and for the bodies' initializers.
void visit_tensors(const onnx::NodeProto& node, const std::function<void(const onnx::TensorProto&)>& visit);

/// The elements of a length-delimited field that the ONNX headers at hand may be too old to know, each as its bytes.
std::vector<std::string> field_bytes(const google::protobuf::Message& message, int number);
/// Adds one.
void add_field_bytes(google::protobuf::Message& message, int number, const std::string& bytes);

/// Fields newer than the oldest ONNX headers we build with (1.12).
namespace newer {
constexpr int kNodeOverload = 8, kNodeProperties = 9;
constexpr int kFunctionAttributes = 11, kFunctionValueInfos = 12, kFunctionOverload = 13, kFunctionProperties = 14;
}  // namespace newer

}  // namespace gcg
