// Records operators: an operator and its inputs become a node, whose type is inferred at once.
#include <algorithm>
#include <cstring>

#include "compiler/ops/op_def.h"
#include "compiler/support/error.h"
#include "tools/lazy/infer_types.h"
#include "tools/lazy/node.h"
#include "tools/lazy/record_graph.h"

namespace gcc_graph::lazy {
namespace {

[[noreturn]] void refuse_open(const Op& op) {
  throw Error(gcg::concat(op.name, ": the extents of its result depend on data, which cannot be recorded"));
}

bool is_list(char kind) { return kind == 'i' || kind == 's'; }

/// Records an operator with one result. `ints`: its lists of integers; null: none.
Array record_one(const Operator& what, std::span<Node* const> inputs, const Extents* ints, Source source) {
  const Op* op = what.op();
  const size_t lists = ints == nullptr ? 0 : ints->lengths.size();
  if (op == nullptr || op->operands.size() != inputs.size() + lists || op->outputs != 1 ||
      static_cast<size_t>(op->arrays) != inputs.size() ||
      std::count_if(op->operands.begin(), op->operands.end(), is_list) != static_cast<std::ptrdiff_t>(lists))
    throw Error(gcg::concat(op == nullptr ? "no operator" : op->name, " is not recorded with ", inputs.size(),
                            " arrays and ", lists, " lists"));
  if (expands(*op)) return record_expanded(*op, inputs, ints, source)[0];
  const InferredTypes& types = infer_types(*op, inputs, ints);
  if (!types.is_closed) refuse_open(*op);
  counters().recorded.fetch_add(1, std::memory_order_relaxed);
  return Array(new_node(op, types.outputs[0], ints, inputs, source));
}

}  // namespace

Array::Array(DType dtype, std::span<const int64_t> shape, const void* data) {
  try {
    const Type* type = intern_type(static_cast<gcg::DType>(dtype), shape);
    Buffer* buffer = Buffer::allocate(*type, nullptr);
    if (type->bytes > 0) std::memcpy(buffer->data, data, static_cast<size_t>(type->bytes));
    node_ = new_node();
    node_->type = type;
    node_->value = buffer;
    node_->ready.store(true, std::memory_order_release);
  } catch (const gcg::CompileError& error) {
    throw Error(error.what());
  }
}

Array Array::scalar(DType dtype, const void* data) {
  static const Type* types[32] = {};
  const Type*& type = types[static_cast<size_t>(dtype)];
  if (type == nullptr) type = intern_type(static_cast<gcg::DType>(dtype), {});
  Node* node = new_node();
  node->type = type;
  std::memcpy(&node->scalar, data, static_cast<size_t>(type->bytes));
  node->ready.store(true, std::memory_order_release);
  return Array(node);
}

Array Array::placeholder(DType dtype, std::span<const int64_t> shape) {
  try {
    const Type* type = intern_type(static_cast<gcg::DType>(dtype), shape);
    begin_serials();
    Node* node = new_node();
    node->type = type;
    return Array(node);
  } catch (const gcg::CompileError& error) {
    throw Error(error.what());
  }
}

Array::Array(const Array& other) noexcept : node_(other.node_) {
  if (node_ != nullptr) retain(node_, Node::kHandle);
}
Array::~Array() {
  if (node_ != nullptr) drop(node_, Node::kHandle);
}

DType Array::dtype() const { return static_cast<DType>(node_->type->dtype); }
std::span<const int64_t> Array::shape() const { return node_->type->shape(); }
int64_t Array::elements() const { return node_->type->elements; }
int64_t Array::bytes() const { return node_->type->bytes; }
bool Array::is_ready() const { return node_->ready.load(std::memory_order_acquire); }
int64_t Array::serial() const { return node_->serial; }

const void* Array::data() const {
  if (!is_ready()) evaluate({this, 1});
  return node_->data();
}

std::shared_ptr<const void> Array::hold() const {
  const void* elements = data();
  if (node_->value == nullptr) {
    auto* self = new Array(*this);
    return {elements, [self](const void*) { delete self; }};
  }
  Buffer* buffer = node_->value;
  buffer->retain();
  return {elements, [buffer](const void*) { buffer->release(); }};
}

namespace {

const Node* maker(const Node* node) {
  return node->op != nullptr && node->op->def == nullptr ? node->inputs()[0] : node;
}

}  // namespace

std::string Array::made_by() const { return node_->op == nullptr ? "" : maker(node_)->op->name; }
int Array::output_index() const { return node_->op == nullptr ? 0 : node_->op->index; }
Attributes Array::attributes() const { return node_->op == nullptr ? Attributes() : maker(node_)->op->raw_attributes; }

std::vector<Array> Array::operands() const {
  std::vector<Array> out;
  const Node* node = maker(node_);
  if (node->op == nullptr) return out;
  size_t next = 0;
  for (const char kind : node->op->operands) {
    if (kind == 'x') {
      Node* input = node->inputs()[next++];
      retain(input, Node::kHandle);
      out.emplace_back(input);
    } else {
      out.emplace_back();
    }
  }
  return out;
}

std::vector<std::vector<int64_t>> Array::static_operands() const {
  std::vector<std::vector<int64_t>> out;
  const Node* node = maker(node_);
  if (node->op == nullptr || node->ints == nullptr) return out;
  auto at = node->ints->values.begin();
  for (const uint32_t length : node->ints->lengths) {
    out.emplace_back(at, at + length);
    at += length;
  }
  return out;
}

Operator Operator::make(const std::string& name, const std::string& operands, const Attributes& attributes,
                        int outputs) {
  try {
    Operator op_handle;
    op_handle.op_ = intern_op(name, operands, attributes, outputs);
    return op_handle;
  } catch (const gcg::CompileError& error) {
    throw Error(error.what());
  }
}

Array record(const Operator& op, const Array& x, Source source) {
  Node* const inputs[] = {x.node()};
  return record_one(op, inputs, nullptr, source);
}

Array record(const Operator& op, const Array& x, const Array& y, Source source) {
  Node* const inputs[] = {x.node(), y.node()};
  return record_one(op, inputs, nullptr, source);
}

Array record(const Operator& op, const Array& x, const Array& y, const Array& z, Source source) {
  Node* const inputs[] = {x.node(), y.node(), z.node()};
  return record_one(op, inputs, nullptr, source);
}

Array record(const Operator& op, const Array& x, std::span<const int64_t> ints, std::span<const uint32_t> lengths,
             Source source) {
  Node* const inputs[] = {x.node()};
  return record_one(op, inputs, intern_extents(ints, lengths), source);
}

std::vector<Array> record(const Operator& what, std::span<const Array> arrays,
                          const std::vector<std::vector<int64_t>>& lists, Source source) {
  const Op* op = what.op();
  if (op == nullptr || static_cast<size_t>(op->arrays) != arrays.size() ||
      std::count_if(op->operands.begin(), op->operands.end(), is_list) != static_cast<std::ptrdiff_t>(lists.size()))
    throw Error(gcg::concat(op == nullptr ? "no operator" : op->name, " is not recorded with ", arrays.size(),
                            " arrays and ", lists.size(), " lists"));
  std::vector<Node*> inputs;
  for (const Array& a : arrays) inputs.push_back(a.node());
  const Extents* ints = nullptr;
  if (!lists.empty()) {
    std::vector<int64_t> values;
    std::vector<uint32_t> lengths;
    for (const auto& list : lists) {
      values.insert(values.end(), list.begin(), list.end());
      lengths.push_back(static_cast<uint32_t>(list.size()));
    }
    ints = intern_extents(values, lengths);
  }
  if (expands(*op)) return record_expanded(*op, inputs, ints, source);
  const InferredTypes& types = infer_types(*op, inputs, ints);
  if (!types.is_closed) refuse_open(*op);
  counters().recorded.fetch_add(1, std::memory_order_relaxed);
  std::vector<Array> out;
  if (op->outputs == 1) {
    out.emplace_back(new_node(op, types.outputs[0], ints, inputs, source));
    return out;
  }
  const Array all(new_node(op, nullptr, ints, inputs, source));
  Node* const from[] = {all.node()};
  for (int k = 0; k < op->outputs; ++k)
    out.emplace_back(new_node(output_op(k), types.outputs[static_cast<size_t>(k)], nullptr, from, source));
  return out;
}

std::vector<std::string> operators() {
  std::vector<std::string> out;
  for (const gcg::OpDef* def : gcg::all_ops()) {
    if (std::string_view(def->domain) == "gart" || def->kind == gcg::OpKind::control) continue;
    const std::string name = *def->domain == '\0' ? def->name : gcg::concat(def->domain, "::", def->name);
    out.push_back(
        gcg::concat(name, " ", def->min_inputs, " ", def->max_inputs, " ", def->min_outputs, " ", def->max_outputs));
  }
  return out;
}

}  // namespace gcc_graph::lazy
