// Interns types, static operands and operators, each once for the life of the process. A node holds pointers to them,
// and equal contents have equal pointers.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "compiler/ir/graph.h"
#include "gcc_graph/types.h"

namespace gcc_graph::lazy {

/// Lists of numbers that may differ in a second run: a shape, or the static operands of a node.
struct Extents {
  uint32_t id;
  uint32_t pattern;  // equal for lists that have equal lengths and the same zeros, ones and negative numbers
  std::vector<int64_t> values;
  std::vector<uint32_t> lengths;
};
const Extents* intern_extents(std::span<const int64_t> values, std::span<const uint32_t> lengths);

struct Type {
  uint32_t id;
  gcg::DType dtype;
  const Extents* extents;
  int64_t elements, bytes;
  std::span<const int64_t> shape() const { return extents->values; }
};
const Type* intern_type(gcg::DType dtype, std::span<const int64_t> shape);
/// "f32[2,3]"
std::string text_of(const Type& type);

struct Op {
  uint32_t id;
  const gcg::OpDef* def;  // null: this Op selects result `index` of a node with several results
  int index = 0;
  std::string name;      // "Conv", "com.microsoft::Gelu"
  std::string operands;  // letters as in Operator::make
  int arrays = 0;        // number of x
  int outputs = 1;
  Attributes raw_attributes;  // as the caller gave them
  std::map<std::string, gcg::Attribute> attributes;
  std::vector<gcg::TensorRef> constants;  // constants for operands f, in order
};
const Op* intern_op(const std::string& name, const std::string& operands, const Attributes& attributes, int outputs);
const Op* output_op(int index);

}  // namespace gcc_graph::lazy
