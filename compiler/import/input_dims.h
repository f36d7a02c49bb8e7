// The symbols of a model, from the names and expressions in the dimensions of its graph inputs.
#pragma once

#include <onnx/onnx_pb.h>

#include <map>
#include <set>
#include <string>

#include "compiler/ir/dim.h"

namespace gcg {

/// Turns the declared dimensions of the graph inputs into Dims.
///   dim_value 3                 -> 3
///   dim_param "batch"           -> symbol batch
///   dim_param "past + 1"        -> an expression, if every name in it is some input's plain dim_param
///   dim_param "seq len"         -> symbol seq_len (made unique if another text gives the same name)
///   nothing, or dim_value -1    -> symbol INPUT_dimN
class InputDims {
 public:
  /// Takes all graph inputs before the first shape() call, since expressions may use names that a later input defines.
  explicit InputDims(const google::protobuf::RepeatedPtrField<onnx::ValueInfoProto>& inputs);

  /// Fails on extents below -1.
  Shape shape(const std::string& input, const onnx::TensorShapeProto& proto);

 private:
  Dim named(const std::string& text);
  Dim fresh(const std::string& name);

  std::set<std::string> taken_;
  std::map<std::string, Dim> by_text_;
};

}  // namespace gcg
