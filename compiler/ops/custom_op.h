// Operators that the application computes with functions of its own (gart/custom_op.h).
#pragma once

#include <string>
#include <vector>

#include "compiler/ir/graph.h"

namespace gcg {

/// How an operator is declared:
///
///   acme::Blend(T[n, c], T[n, c], f32[]?) -> T[n, 2*c], i64[n]; workspace 4*n*c
///
/// Types are element types (f32, i64, ...) or names that stand for one each. An extent of an input that is a name
/// stands for what it finds there, or must agree where the name has been seen; other extents are expressions of names
/// (`2*c`, `n//2`, `max(n, 1)`), and names that no input has are integer attributes of the node. `T[...]` is of any
/// shape, always the same one. `?`: may be left out. The workspace is in bytes; without it there is none.
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

/// The attribute of a gart.Custom that holds the declaration's text; those of the model's node stand beside it.
constexpr const char* kDeclarationAttribute = "gart.declaration";

/// The attributes of the model's node as a JSON object. Tensors are {"dims": [2, 3], "data": [...]}.
std::string attributes_as_json(const Node& node);

}  // namespace gcg
