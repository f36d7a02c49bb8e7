#include "compiler/ops/infer_contents.h"

#include <algorithm>
#include <limits>
#include <unordered_map>
#include <utility>

#include "compiler/ops/op_def.h"
#include "compiler/support/error.h"

namespace gcg {
namespace {

constexpr int64_t kMaxElements = 64;

/// Thrown if an element depends on data; never leaves this file.
struct Unknown {};

std::optional<bool> compare(BinaryOp op, const Dim& a, const Dim& b) {
  const Dim d = a - b;
  const auto low = d.lower_bound(), high = d.upper_bound();
  const bool equal = d.is(0), above = low && *low > 0, below = high && *high < 0;
  const bool not_below = low && *low >= 0, not_above = high && *high <= 0;
  switch (op) {
    case BinaryOp::equal:
      return equal ? std::optional(true) : above || below ? std::optional(false) : std::nullopt;
    case BinaryOp::not_equal:
      return equal ? std::optional(false) : above || below ? std::optional(true) : std::nullopt;
    case BinaryOp::less:
      return below ? std::optional(true) : not_below ? std::optional(false) : std::nullopt;
    case BinaryOp::less_equal:
      return not_above ? std::optional(true) : above ? std::optional(false) : std::nullopt;
    case BinaryOp::greater:
      return above ? std::optional(true) : not_above ? std::optional(false) : std::nullopt;
    case BinaryOp::greater_equal:
      return not_below ? std::optional(true) : below ? std::optional(false) : std::nullopt;
    default:
      return std::nullopt;
  }
}

/// The value of an integer or boolean expression without axes and loads. Caches by address: one evaluator per
/// expression.
class Evaluator {
 public:
  Dim value(const Expr& e) {
    if (auto it = done_.find(e.get()); it != done_.end()) return it->second;
    const Dim d = compute(e);
    if (!holds(e->dtype, d)) throw Unknown();
    done_.emplace(e.get(), d);
    return d;
  }

 private:
  Dim compute(const Expr& e) {
    if (is_float(e->dtype)) throw Unknown();
    switch (e->kind) {
      case ExprKind::constant:
        return Dim(e->integer);
      case ExprKind::extent:
        return e->dim;
      case ExprKind::select:
        return value(known(e->args[0]) ? e->args[1] : e->args[2]);
      case ExprKind::cast:
        if (e->dtype == DType::boolean && e->args[0]->dtype != DType::boolean) {
          const auto zero = compare(BinaryOp::equal, value(e->args[0]), Dim(0));
          if (!zero) throw Unknown();
          return Dim(!*zero);
        }
        return value(e->args[0]);
      case ExprKind::unary:
        if (e->unary == UnaryOp::neg) return Dim(0) - value(e->args[0]);
        if (e->unary == UnaryOp::logical_not) return Dim(!known(e->args[0]));
        throw Unknown();
      case ExprKind::binary:
        return binary_value(e);
      default:
        throw Unknown();
    }
  }

  bool known(const Expr& e) {
    const Dim d = value(e);
    if (!d.is_constant()) throw Unknown();
    return d.constant() != 0;
  }

  Dim binary_value(const Expr& e) {
    const Expr &a = e->args[0], &b = e->args[1];
    switch (e->binary) {
      case BinaryOp::add:
        return value(a) + value(b);
      case BinaryOp::sub:
        return value(a) - value(b);
      case BinaryOp::mul:
        return value(a) * value(b);
      case BinaryOp::max:
        return max(value(a), value(b));
      case BinaryOp::min:
        return min(value(a), value(b));
      case BinaryOp::logical_and:
        return Dim(known(a) && known(b));
      case BinaryOp::logical_or:
        return Dim(known(a) || known(b));
      case BinaryOp::logical_xor:
        return Dim(known(a) != known(b));
      case BinaryOp::div:
      case BinaryOp::floor_div:
      case BinaryOp::mod: {
        const Dim x = value(a), y = value(b);
        // Rounding towards zero equals rounding down if neither operand is negative.
        if (y.lower_bound().value_or(0) <= 0 || (e->binary == BinaryOp::div && x.lower_bound().value_or(-1) < 0))
          throw Unknown();
        return e->binary == BinaryOp::mod ? mod(x, y) : floor_div(x, y);
      }
      default: {
        const auto answer = compare(e->binary, value(a), value(b));
        if (!answer) throw Unknown();
        return Dim(*answer);
      }
    }
  }

  std::unordered_map<const ExprNode*, Dim> done_;
};

/// Gives the lowering the known elements of the inputs.
class ContentsContext final : public LowerContext {
 public:
  ContentsContext(const Graph& graph, const Node& node) : graph_(graph), node_(node) {}

  const Node& node() const override { return node_; }
  const Value& input_value(int i) const override { return graph_.value(node_.inputs[static_cast<size_t>(i)]); }
  const Value& output_value(int i) const override { return graph_.value(node_.outputs[static_cast<size_t>(i)]); }
  Axis fresh_axis(const Dim&) override { throw Unknown(); }

  Expr input(int i, const std::vector<Expr>& index_) override {
    const Value& v = input_value(i);
    if (!v.shape || !is_static(*v.shape)) throw Unknown();
    int64_t at = 0;
    for (size_t d = 0; d < index_.size(); ++d) {
      const Dim k = Evaluator().value(index_[d]), extent = (*v.shape)[d];
      if (!k.is_constant() || k.constant() < 0 || k.constant() >= extent.constant())
        return constant_int(v.dtype, 0);  // not taken
      at = at * extent.constant() + k.constant();
    }
    if (v.constant) {
      if (is_float(v.dtype)) return constant_float(v.dtype, v.constant->at_double(at));
      return constant_int(v.dtype, v.constant->at_int(at));
    }
    if (!v.contents) throw Unknown();
    return cast(v.dtype, extent((*v.contents)[static_cast<size_t>(at)]));
  }

 private:
  const Graph& graph_;
  const Node& node_;
};

bool may_have_contents(const Value& v) {
  return !v.contents && !v.constant && (is_int(v.dtype) || v.dtype == DType::boolean) && v.shape &&
         is_static(*v.shape) && product(*v.shape).constant() <= kMaxElements;
}

bool inputs_are_known(const Graph& graph, const Node& node) {
  for (ValueId in : node.inputs)
    if (in.valid() && !graph.value(in).constant && !graph.value(in).contents) return false;
  return true;
}

/// The least and the greatest number of the type, within the range of a Dim.
std::pair<int64_t, int64_t> range_of(DType type) {
  if (type == DType::boolean) return {0, 1};
  GCG_CHECK(type != DType::undefined, "a number of no type");
  const int bits = small_int_bits(type) > 0 ? small_int_bits(type) : static_cast<int>(8 * size_of(type));
  const int64_t high = std::numeric_limits<int64_t>::max() >> (64 - bits);
  if (!is_unsigned_int(storage_dtype(type))) return {-high - 1, high};
  return {0, bits == 64 ? high : 2 * high + 1};
}

}  // namespace

bool holds(DType type, const Dim& d) {
  const auto [least, most] = range_of(type);
  if (d.is_constant()) return d.constant() >= least && d.constant() <= most;
  constexpr int64_t kEveryExtent = std::numeric_limits<int32_t>::max();
  return (least < -kEveryExtent || d.lower_bound().value_or(least - 1) >= least) &&
         (most >= kEveryExtent || d.upper_bound().value_or(most + 1) <= most);
}

std::optional<std::vector<Dim>> as_contents(const Tensor& tensor) {
  const std::vector<int64_t> numbers = tensor.to_ints();
  std::vector<Dim> contents(numbers.begin(), numbers.end());
  for (const Dim& d : contents)
    if (!holds(tensor.dtype(), d)) return std::nullopt;
  return contents;
}

void infer_contents(Graph& graph, const Node& node) {
  if (node.op->lower == nullptr || !node.bodies.empty() || !inputs_are_known(graph, node)) return;
  for (size_t o = 0; o < node.outputs.size(); ++o) {
    if (!node.outputs[o].valid() || !may_have_contents(graph.value(node.outputs[o]))) continue;
    Value& v = graph.value(node.outputs[o]);
    const std::vector<int64_t> extents = to_extents(*v.shape);
    try {
      ContentsContext context(graph, node);
      std::vector<Dim> elements;
      for (int64_t i = 0; i < product(*v.shape).constant(); ++i) {
        std::vector<Expr> at(extents.size());
        int64_t rest = i;
        for (size_t d = extents.size(); d-- > 0;) {
          at[d] = index(rest % extents[d]);
          rest /= extents[d];
        }
        elements.push_back(Evaluator().value(node.op->lower(context, static_cast<int>(o), at)));
      }
      if (std::all_of(elements.begin(), elements.end(), [&](const Dim& d) { return holds(v.dtype, d); }))
        v.contents = std::move(elements);
    } catch (const Unknown&) {
    } catch (const InternalError&) {
      throw;
    } catch (const CompileError&) {  // values exceed 64 bits, or expressions are huge: the run computes them
    }
  }
}

}  // namespace gcg
