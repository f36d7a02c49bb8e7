#include "compiler/ops/gart_view.h"

#include <algorithm>
#include <set>

#include "compiler/ops/op_def.h"
#include "compiler/ops/op_support.h"
#include "compiler/ops/ops.h"
#include "compiler/ops/views.h"
#include "compiler/support/error.h"

namespace gcg {
namespace {

std::string extent_name(size_t input, size_t dimension) { return concat("x", input, "_", dimension); }

std::vector<Dim> parse_form(const Node& node) {
  const auto it = node.attributes.find("shape");
  const auto* texts = it == node.attributes.end() ? nullptr : std::get_if<std::vector<std::string>>(&it->second);
  GCG_CHECK(texts != nullptr, "gart.View '", node.name, "' has no shape");
  std::vector<Dim> out;
  for (const std::string& text : *texts) {
    const auto dim = Dim::parse(text);
    GCG_CHECK(dim, "gart.View '", node.name, "': '", text, "' is not an extent");
    out.push_back(*dim);
  }
  return out;
}

void require_elements(InferContext& ctx, const Shape& out) {
  const Shape& x = ctx.shape(0);
  const std::vector<std::string> reasons = ctx.node().strings_attribute(kViewReasons);
  if (reasons.empty()) {
    ctx.require_equal(product(x), product(out), concat("elements before and after, ", str(x), " to ", str(out)));
    return;
  }
  GCG_CHECK(reasons.size() == x.size() && x.size() == out.size(), "gart.View '", ctx.node().name, "': a reason each");
  for (size_t d = 0; d < out.size(); ++d) ctx.require_equal(x[d], out[d], reasons[d]);
}

void infer_view(InferContext& ctx) {
  std::map<std::string, Dim> extents;
  for (int i = 0; i < ctx.input_count(); ++i)
    for (size_t d = 0; d < ctx.shape(i).size(); ++d) extents[extent_name(static_cast<size_t>(i), d)] = ctx.shape(i)[d];
  Shape out;
  for (const Dim& d : parse_form(ctx.node())) {
    for (const std::string& s : d.symbols())
      if (extents.count(s) == 0) ctx.fail(concat("shape names ", s, ", which no input has"));
    out.push_back(d.substitute(extents));
  }
  require_elements(ctx, out);
  const bool small = out.size() <= 1;
  ctx.set_output(0, ctx.dtype(0), std::move(out));
  if (small) keep_contents(ctx);
}

std::vector<Tensor> reference_view(ReferenceContext& ctx) {
  SymbolValues extents;
  for (int i = 0; i < ctx.input_count(); ++i)
    for (size_t d = 0; d < ctx.input(i)->shape().size(); ++d)
      extents[extent_name(static_cast<size_t>(i), d)] = ctx.input(i)->shape()[d];
  std::vector<int64_t> shape;
  for (const Dim& d : parse_form(ctx.node())) shape.push_back(d.evaluate(extents));
  if (element_count(shape) != ctx.input(0)->elements())
    fail_node(ctx.node(),
              concat("cannot give ", ctx.input(0)->elements(), " elements a shape of ", element_count(shape)));
  return {ctx.input(0)->reshaped(std::move(shape))};
}

using Solution =
    std::map<std::string, Dim>;  // a symbol of the model -> an expression over the extents of the view's inputs

/// Learns unknown symbols from the extents of input `number`.
void learn(const Shape& shape, size_t number, Solution& known) {
  for (size_t d = 0; d < shape.size(); ++d) {
    const auto& terms = shape[d].terms();
    if (terms.empty()) continue;
    // Terms are sorted: the term of the highest degree comes first.
    const auto& [monomial, coefficient] = *terms.begin();
    if (monomial.size() != 1 || monomial[0]->kind != Dim::AtomKind::symbol || coefficient <= 0) continue;
    const Dim rest = shape[d] - Dim::from_atom(monomial[0]) * Dim(coefficient);
    if (!rest.is_constant() || known.count(monomial[0]->name) != 0) continue;
    known[monomial[0]->name] = floor_div(Dim::symbol(extent_name(number, d)) - rest, Dim(coefficient));
  }
}

bool is_known(const Dim& d, const Solution& known) {
  const std::set<std::string> symbols = d.symbols();
  return std::all_of(symbols.begin(), symbols.end(), [&](const std::string& s) { return known.count(s) != 0; });
}

/// True if a quotient or remainder with a non-constant divisor occurs. An empty tensor could make the divisor zero.
bool divides_by_symbol(const Dim& d, std::set<Dim::AtomRef>& seen) {
  for (const auto& [monomial, coefficient] : d.terms())
    for (const Dim::AtomRef& atom : monomial) {
      if (atom->kind == Dim::AtomKind::symbol || !seen.insert(atom).second) continue;
      const bool quotient = atom->kind == Dim::AtomKind::floor_div || atom->kind == Dim::AtomKind::mod;
      if ((quotient && !atom->b.is_constant()) || divides_by_symbol(atom->a, seen) || divides_by_symbol(atom->b, seen))
        return true;
    }
  return false;
}

/// A dimension that equals an extent of `x` (input 0) becomes that extent; another dimension becomes its solution. At
/// most one dimension has neither: it becomes the remaining factor of the number of elements.
std::optional<std::vector<Dim>> write_shape(const Shape& shape, const Shape& x, const Solution& known) {
  std::vector<Dim> out(shape.size());
  std::optional<size_t> open;
  Dim others = 1;
  for (size_t d = 0; d < shape.size(); ++d) {
    const auto same = std::find(x.begin(), x.end(), shape[d]);
    const bool aligned = d < x.size() && x[d] == shape[d];
    if (shape[d].is_constant())
      out[d] = shape[d];
    else if (aligned)
      out[d] = Dim::symbol(extent_name(0, d));
    else if (same != x.end())
      out[d] = Dim::symbol(extent_name(0, static_cast<size_t>(same - x.begin())));
    else if (is_known(shape[d], known))
      out[d] = shape[d].substitute(known);
    else if (open)
      return std::nullopt;
    else
      open = d;
    if (open != d) others = others * out[d];
  }
  if (open) {
    Dim all = 1;
    for (size_t d = 0; d < x.size(); ++d) all = all * (x[d].is_constant() ? x[d] : Dim::symbol(extent_name(0, d)));
    if (others.is(0)) return std::nullopt;
    out[*open] = floor_div(all, others);
  }
  std::set<Dim::AtomRef> seen;
  const bool divides = std::any_of(out.begin(), out.end(), [&](const Dim& d) { return divides_by_symbol(d, seen); });
  return divides ? std::nullopt : std::optional(out);
}

}  // namespace

std::optional<ViewParams> express_view(const Graph& graph, ValueId x, const Shape& shape,
                                       const std::vector<ValueId>& lenders) {
  ViewParams params;
  Solution known;
  const auto attempt = [&]() -> bool {
    const auto dims = write_shape(shape, *graph.value(x).shape, known);
    if (!dims) return false;
    // The written shape must equal the intended one, even after cancelling.
    std::map<std::string, Dim> extents;
    for (size_t i = 0; i < params.inputs.size(); ++i) {
      const Shape& from = *graph.value(params.inputs[i]).shape;
      for (size_t d = 0; d < from.size(); ++d) extents[extent_name(i, d)] = from[d];
    }
    for (size_t d = 0; d < shape.size(); ++d)
      if ((*dims)[d].substitute(extents) != shape[d]) return false;
    params.shape.clear();
    for (const Dim& d : *dims) params.shape.push_back(d.str());
    return std::all_of(params.shape.begin(), params.shape.end(),
                       [](const std::string& text) { return Dim::parse(text).has_value(); });
  };
  params.inputs = {x};
  learn(*graph.value(x).shape, 0, known);
  if (attempt()) return params;
  for (ValueId lender : lenders) {
    if (!graph.value(lender).shape || lender == x) continue;
    const size_t before = known.size();
    learn(*graph.value(lender).shape, params.inputs.size(), known);
    if (known.size() == before) continue;
    params.inputs.push_back(lender);
    if (attempt()) return params;
  }
  return std::nullopt;
}

constinit const OpDef op_gart_View{.name = "View",
                                   .domain = "gart",
                                   .min_inputs = 1,
                                   .max_inputs = -1,
                                   .kind = OpKind::view,
                                   .infer = infer_view,
                                   .lower = lower_view,
                                   .reference = reference_view};

}  // namespace gcg
