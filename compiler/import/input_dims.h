// The symbols of a model: from the names and expressions that its graph inputs give their dimensions.
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
///   dim_param "past + 1"        -> an expression, where every name in it is some input's plain dim_param
///   dim_param "seq len"         -> symbol seq_len (made unique where another text wants the same)
///   nothing                     -> symbol INPUT_dimN
class InputDims {
 public:
  /// All graph inputs, before the first shape() call: expressions may use names that a later input gives.
  explicit InputDims(const google::protobuf::RepeatedPtrField<onnx::ValueInfoProto>& inputs);

  /// Fails on negative extents.
  Shape shape(const std::string& input, const onnx::TensorShapeProto& proto);

 private:
  Dim named(const std::string& text);
  Dim fresh(const std::string& name);

  std::set<std::string> taken_;
  std::map<std::string, Dim> by_text_;
};

}  // namespace gcg
