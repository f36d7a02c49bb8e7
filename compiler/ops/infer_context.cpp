// The context of every operator's inference: inputs, outputs, broadcasting, facts about extents.
#include <algorithm>

#include "compiler/ops/infer_contents.h"
#include "compiler/ops/op_def.h"
#include "compiler/support/unsupported.h"

namespace gcg {
namespace {

/// Longer integer tensors are data, not shapes, so their elements are not tracked as expressions.
constexpr int64_t kMaxContents = 4096;

bool is_whole(DType t) { return is_int(t) || t == DType::boolean; }
bool has_no_elements(const Value& v) { return v.shape && product(*v.shape).is(0) && is_whole(v.dtype); }

std::string describe(const Value& v) { return concat(name_of(v.dtype), v.shape ? str(*v.shape) : std::string("[?]")); }

void collect_symbols(const Graph& graph, std::set<std::string>& out) {
  for (int64_t i = 0; i < graph.value_count(); ++i)
    if (const auto& shape = graph.value(ValueId(i)).shape)
      for (const Dim& d : *shape) out.merge(d.symbols());
  for (int64_t i = 0; i < graph.node_count(); ++i) {
    const Node& n = graph.node(NodeId(i));
    if (const auto it = n.attributes.find(kSymbolsAttribute); it != n.attributes.end())
      for (const std::string& s : std::get<std::vector<std::string>>(it->second)) out.insert(s);
    for (const auto& body : n.bodies) collect_symbols(*body, out);
  }
}

std::optional<std::vector<Dim>> contents_of(const Value& v) {
  if (v.shape && v.shape->size() > 1) return std::nullopt;
  if (has_no_elements(v)) return std::vector<Dim>();
  if (v.contents) return v.contents;
  if (!v.constant || !is_whole(v.dtype) || v.constant->rank() > 1 || v.constant->elements() > kMaxContents)
    return std::nullopt;
  return as_contents(*v.constant);
}

}  // namespace

const Value& InferContext::input(int i) const {
  if (!has_input(i)) fail(concat("input ", i, " is missing"));
  return graph_->value(node_->inputs[static_cast<size_t>(i)]);
}

const Shape& InferContext::shape(int i) const {
  const Value& v = input(i);
  if (!v.shape) fail(concat("the rank of input ", i, " '", v.name, "' is not known"));
  return *v.shape;
}

std::optional<std::vector<Dim>> InferContext::contents(int i) const {
  return has_input(i) ? contents_of(input(i)) : std::nullopt;
}

std::vector<std::optional<Dim>> InferContext::known_contents(int i) const {
  if (const auto all = contents(i)) return {all->begin(), all->end()};
  std::vector<std::optional<Dim>> known(static_cast<size_t>(shape(i)[0].constant()));
  const NodeId producer = input(i).producer;
  if (!producer.valid() || graph_->node(producer).op != &op("Concat")) return known;
  size_t at = 0;
  for (const ValueId part : graph_->node(producer).inputs) {
    const Value& v = graph_->value(part);
    if (!v.shape || v.shape->size() != 1 || !v.shape->front().is_constant()) return known;
    const auto count = static_cast<size_t>(v.shape->front().constant());
    if (const auto values = contents_of(v))
      for (size_t k = 0; k < count; ++k) known[at + k] = (*values)[k];
    at += count;
  }
  return known;
}

std::optional<std::vector<int64_t>> InferContext::int_contents(int i) const {
  if (!has_input(i)) return std::nullopt;
  const Value& v = input(i);
  if (has_no_elements(v)) return std::vector<int64_t>();
  if (v.constant && is_whole(v.dtype) && v.constant->rank() <= 1) return v.constant->to_ints();
  const auto known = contents(i);
  if (!known || !is_static(*known)) return std::nullopt;
  return to_extents(*known);
}

void InferContext::set_output(int i, DType dtype, Shape shape) {
  if (!has_output(i)) return;
  for (size_t d = 0; d < shape.size(); ++d)
    if (const auto high = shape[d].upper_bound(); high && *high < 0)
      fail(concat("output ", i, " would have the extent ", shape[d].str(), " at dimension ", d));
  Value& v = graph_->value(node_->outputs[static_cast<size_t>(i)]);
  v.dtype = dtype;
  v.shape = std::move(shape);
}

void InferContext::set_output_unranked(int i, DType dtype) {
  if (!has_output(i)) return;
  Value& v = graph_->value(node_->outputs[static_cast<size_t>(i)]);
  v.dtype = dtype;
  v.shape.reset();
}

void InferContext::set_contents(int i, std::vector<Dim> contents) {
  if (!has_output(i) || static_cast<int64_t>(contents.size()) > kMaxContents) return;
  Value& v = graph_->value(node_->outputs[static_cast<size_t>(i)]);
  if (std::all_of(contents.begin(), contents.end(), [&](const Dim& d) { return holds(v.dtype, d); }))
    v.contents = std::move(contents);
}

int64_t InferContext::axis(int64_t value, int64_t rank) const {
  if (value < -rank || value >= rank) fail(concat("axis ", value, " out of range [", -rank, ", ", rank, ")"));
  return value < 0 ? value + rank : value;
}

Dim InferContext::broadcast(const Dim& a, const Dim& b) {
  if (a == b || b.is(1)) return a;
  if (a.is(1)) return b;
  // An extent that is at most 1 (a slice of one) broadcasts like 1.
  if (broadcasts(a)) return require_equal(a, Dim(1), "broadcasting"), b;
  if (broadcasts(b)) return require_equal(b, Dim(1), "broadcasting"), a;
  return require_equal(a, b, "broadcasting");
}

Shape InferContext::broadcast(const Shape& a, const Shape& b) {
  const Shape& longer = a.size() >= b.size() ? a : b;
  const Shape& shorter = a.size() >= b.size() ? b : a;
  const size_t skipped = longer.size() - shorter.size();
  Shape out(longer.begin(), longer.begin() + static_cast<std::ptrdiff_t>(skipped));
  for (size_t d = 0; d < shorter.size(); ++d) out.push_back(broadcast(longer[skipped + d], shorter[d]));
  return out;
}

Dim InferContext::require_equal(const Dim& a, const Dim& b, const std::string& what) {
  if (a == b) return a;
  const Dim difference = a - b;
  const auto low = difference.lower_bound(), high = difference.upper_bound();
  if ((low && *low > 0) || (high && *high < 0)) fail(concat(what, ": ", a.str(), " and ", b.str(), " differ"));
  auto& facts = outermost_->constraints;
  const bool known = std::any_of(facts.begin(), facts.end(), [&](const DimConstraint& c) {
    return (c.a == a && c.b == b) || (c.a == b && c.b == a);
  });
  if (!known) facts.push_back({a, b, concat(node_->op->name, " '", node_->name, "': ", what)});
  return b.is_constant() ? b : a;
}

Dim InferContext::fresh_symbol(const std::string& hint) {
  Attribute& attribute = node_->attributes.try_emplace(kSymbolsAttribute, std::vector<std::string>()).first->second;
  auto& names = std::get<std::vector<std::string>>(attribute);
  if (fresh_symbols_ == names.size()) {
    std::set<std::string> taken;
    collect_symbols(*outermost_, taken);
    for (const DimConstraint& c : outermost_->constraints)
      for (const Dim& d : {c.a, c.b}) taken.merge(d.symbols());
    std::string name = hint;
    for (int k = 1; taken.count(name) != 0; ++k) name = concat(hint, "_", k);
    names.push_back(name);
  }
  return Dim::symbol(names[fresh_symbols_++]);
}

void InferContext::forget_unused_symbols() {
  const auto it = node_->attributes.find(kSymbolsAttribute);
  if (it == node_->attributes.end()) return;
  auto& names = std::get<std::vector<std::string>>(it->second);
  names.resize(std::min(names.size(), fresh_symbols_));
  if (names.empty()) node_->attributes.erase(it);
}

void InferContext::fail(const std::string& message) const {
  std::string inputs;
  for (ValueId in : node_->inputs)
    inputs += (inputs.empty() ? "" : ", ") + (in.valid() ? describe(graph_->value(in)) : std::string("none"));
  throw NodeError({node_->name, node_->op->name, node_->op->domain, 0,
                   concat(message, "; inputs ", inputs.empty() ? "none" : inputs)});
}

}  // namespace gcg
