#include "compiler/partition/write_extents.h"

#include <set>

#include "compiler/ops/infer.h"
#include "compiler/ops/op_def.h"
#include "compiler/support/error.h"

namespace gcg {

ValueId ExtentWriter::add(const char* name, std::vector<ValueId> inputs, std::map<std::string, Attribute> attributes) {
  const NodeId id = graph_.add_node(op(name), base_, std::move(inputs), 1, std::move(attributes));
  infer_node(graph_, id, graph_);
  return graph_.node(id).outputs[0];
}

ValueId ExtentWriter::number(const Dim& d) {
  if (const auto known = numbers_.find(d); known != numbers_.end()) return known->second;
  const ValueId v = sum(d);
  numbers_.emplace(d, v);
  return v;
}

ValueId ExtentWriter::sum(const Dim& d) {
  if (d.is_constant()) return constant(d.constant());
  ValueId total;
  for (const auto& [factors, count] : d.terms()) {
    ValueId term;
    for (const Dim::AtomRef& factor : factors) {
      const ValueId v =
          factors.size() == 1 && count == 1 && d.terms().size() == 1 ? atom(*factor) : number(Dim::from_atom(factor));
      term = term.valid() ? add("Mul", {term, v}) : v;
    }
    if (!term.valid())
      term = constant(count);
    else if (count != 1)
      term = add("Mul", {term, constant(count)});
    total = total.valid() ? add("Add", {total, term}) : term;
  }
  return total;
}

ValueId ExtentWriter::atom(const Dim::Atom& a) {
  switch (a.kind) {
    case Dim::AtomKind::symbol: {
      const auto& [value, axis] = sources_.at(a.name);
      return add("Shape", {value}, {{"start", static_cast<int64_t>(axis)}, {"end", static_cast<int64_t>(axis) + 1}});
    }
    case Dim::AtomKind::floor_div:
      return quotient(a.a, a.b);
    case Dim::AtomKind::mod:
      return add("Mod", {number(a.a), number(a.b)});
    case Dim::AtomKind::max:
      return add("Max", {number(a.a), number(a.b)});
    case Dim::AtomKind::min:
      return add("Min", {number(a.a), number(a.b)});
  }
  GCG_CHECK(false, "an unknown kind of extent");
}

/// Div rounds towards zero. If the dividend may be negative, a multiple of the divisor is added to make it
/// non-negative.
ValueId ExtentWriter::quotient(const Dim& a, const Dim& b) {
  const int64_t low = a.lower_bound().value_or(0);
  if (low >= 0 || !b.is_constant()) return add("Div", {number(a), number(b)});
  const int64_t more = (-low + b.constant() - 1) / b.constant();
  return add("Add", {add("Div", {number(a + Dim(more) * b), number(b)}), constant(-more)});
}

ValueId ExtentWriter::write(const Value& like) {
  base_ = like.name;
  if (is_static(*like.contents)) {
    Tensor data(like.dtype, to_extents(*like.shape));
    for (int64_t i = 0; i < data.elements(); ++i) data.set_int(i, (*like.contents)[static_cast<size_t>(i)].constant());
    return graph_.add_constant(base_, std::move(data));
  }
  std::vector<ValueId> numbers;
  for (const Dim& d : *like.contents) numbers.push_back(number(d));
  ValueId v = numbers.size() == 1 ? numbers[0] : add("Concat", numbers, {{"axis", int64_t{0}}});
  if (like.shape->size() != 1)
    v = add("Reshape", {v, graph_.add_constant(base_, Tensor::vector_i64(to_extents(*like.shape)))});
  if (like.dtype != DType::i64) v = add("Cast", {v}, {{"to", static_cast<int64_t>(dtype_to_onnx(like.dtype))}});
  return graph_.value(v).contents == like.contents ? v : ValueId();
}

bool follows_from_extents(const Value& v) {
  if (!v.contents || !v.shape || !is_static(*v.shape) || !v.producer.valid()) return false;
  if (is_static(*v.contents)) return true;
  Graph trial;
  ExtentWriter writer(trial);
  std::set<std::string> symbols;
  for (const Dim& d : *v.contents) symbols.merge(d.symbols());
  for (const std::string& s : symbols) {
    Value carrier;
    carrier.dtype = DType::boolean;
    carrier.shape = Shape{Dim::symbol(s)};
    writer.know(s, trial.add_value(std::move(carrier)), 0);
  }
  return writer.write(v).valid();
}

}  // namespace gcg
