// Operators that the application computes with its own functions (gart/custom_op.h).
#pragma once

#include <string>
#include <vector>

#include "compiler/ir/graph.h"

namespace gcg {

/// The declaration of an operator:
///
///   acme::Blend(T[n, c], T[n, c], f32[]?) -> T[n, 2*c], i64[n]; workspace 4*n*c
///
/// Types are element types (f32, i64, ...), or names; each name stands for one element type. An input extent that is a
/// new name takes the actual extent; a known name must agree with it. Other extents are expressions of names (`2*c`,
/// `n//2`, `max(n, 1)`). Names that no input defines are integer attributes of the node. `T[...]` has any shape, the
/// same wherever it occurs. `?` marks an argument that may be omitted. The workspace is in bytes; the default is none.
struct CustomOp {
  struct Tensor {
    std::string dtype;
    bool any_shape = false, optional = false;
    Shape shape;
  };
  std::string domain, name;
  std::vector<Tensor> inputs, outputs;
  Dim workspace;
  std::string text;

  std::string full_name() const { return domain.empty() ? name : domain + "::" + name; }
};

/// Throws CompileError.
CustomOp parse_custom_op(const std::string& text);

/// The attribute of a gart.Custom that holds the declaration's text, beside the attributes of the model's node.
constexpr const char* kDeclarationAttribute = "gart.declaration";

/// The attributes of the model's node as a JSON object. Tensors are {"dims": [2, 3], "data": [...]}.
std::string attributes_as_json(const Node& node);

}  // namespace gcg
