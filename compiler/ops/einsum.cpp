// Einsum: sums of products over labelled dimensions, "bhid,bhjd->bhij". An ellipsis stands for any number of leading
// batch dimensions, which broadcast; a label that occurs twice in an operand takes its diagonal.
#include "compiler/ops/einsum.h"

#include <algorithm>
#include <map>

#include "compiler/ops/op_support.h"
#include "compiler/ops/ops.h"

namespace gcg {
namespace {

using Labels = Equation::Labels;

/// Parses one term; `dots` is the number of dimensions that its ellipsis stands for.
Labels read_term(const Node& node, const std::string& term, int64_t dots) {
  Labels labels;
  for (size_t i = 0; i < term.size(); ++i) {
    if (term.compare(i, 3, "...") == 0) {
      for (int64_t d = dots; d-- > 0;) labels.push_back(static_cast<int>(-1 - d));
      i += 2;
    } else if (std::isalpha(static_cast<unsigned char>(term[i]))) {
      labels.push_back(term[i]);
    } else {
      fail_node(node, concat("'", term, "' in the equation is not made of letters and '...'"));
    }
  }
  return labels;
}

int64_t letters(const std::string& term) {
  return std::count_if(term.begin(), term.end(), [](unsigned char c) { return std::isalpha(c) != 0; });
}

/// The output labels if the equation has no arrow: the ellipsis, then every label that occurs once, in alphabetical
/// order.
Labels implied_output(const std::vector<Labels>& operands, int64_t dots) {
  std::map<int, int> times;
  for (const Labels& labels : operands) {
    for (int l : labels) ++times[l];
  }
  Labels output;
  for (int64_t d = dots; d-- > 0;) output.push_back(static_cast<int>(-1 - d));
  for (const auto& [label, count] : times) {
    if (label > 0 && count == 1) output.push_back(label);
  }
  return output;
}

std::vector<std::string> split(const std::string& text) {
  std::vector<std::string> parts(1);
  for (char c : text) {
    if (c == ',')
      parts.emplace_back();
    else
      parts.back() += c;
  }
  return parts;
}

}  // namespace

Equation read_equation(const Node& node, const std::vector<int64_t>& ranks) {
  std::string text = node.string_attribute("equation", "");
  text.erase(std::remove(text.begin(), text.end(), ' '), text.end());
  const size_t arrow = text.find("->");
  const std::vector<std::string> terms = split(text.substr(0, arrow));
  if (terms.size() != ranks.size())
    fail_node(node, concat("the equation has ", terms.size(), " terms for ", ranks.size(), " inputs"));
  Equation equation;
  int64_t widest = 0;
  for (size_t i = 0; i < terms.size(); ++i) {
    const bool has_dots = terms[i].find("...") != std::string::npos;
    const int64_t dots = ranks[i] - letters(terms[i]);
    if (dots < 0 || (dots > 0 && !has_dots)) {
      fail_node(node, concat("term '", terms[i], "' does not label the ", ranks[i], " dimensions of input ", i));
    }
    widest = std::max(widest, dots);
    equation.operands.push_back(read_term(node, terms[i], dots));
  }
  equation.output = arrow == std::string::npos ? implied_output(equation.operands, widest)
                                               : read_term(node, text.substr(arrow + 2), widest);
  for (const Labels& labels : equation.operands) {
    for (int l : labels) {
      const auto absent = [&](const Labels& in) { return std::find(in.begin(), in.end(), l) == in.end(); };
      if (absent(equation.output) && absent(equation.summed)) equation.summed.push_back(l);
    }
  }
  return equation;
}

namespace {

void infer_einsum(InferContext& ctx) {
  std::vector<int64_t> ranks;
  for (int i = 0; i < ctx.input_count(); ++i) ranks.push_back(ctx.rank(i));
  const Equation equation = read_equation(ctx.node(), ranks);
  std::map<int, Dim> extents;
  for (int i = 0; i < ctx.input_count(); ++i) {
    const Labels& labels = equation.operands[static_cast<size_t>(i)];
    for (size_t d = 0; d < labels.size(); ++d) {
      const Dim& dim = ctx.shape(i)[d];
      const auto [it, first] = extents.emplace(labels[d], dim);
      if (!first) it->second = ctx.broadcast(it->second, dim);
    }
  }
  Shape shape;
  for (int l : equation.output) {
    if (extents.count(l) == 0)
      ctx.fail(concat("label '", static_cast<char>(l), "' of the result does not occur in any term"));
    shape.push_back(extents.at(l));
  }
  ctx.set_output(0, ctx.dtype(0), shape);
}

std::vector<int64_t> ranks_of(const LowerContext& ctx) {
  std::vector<int64_t> ranks;
  for (size_t i = 0; i < ctx.node().inputs.size(); ++i) {
    ranks.push_back(static_cast<int64_t>(ctx.input_shape(static_cast<int>(i)).size()));
  }
  return ranks;
}

Expr lower_einsum(LowerContext& ctx, int, const std::vector<Expr>& at) {
  const Equation equation = read_equation(ctx.node(), ranks_of(ctx));
  std::map<int, Expr> place;
  for (size_t d = 0; d < at.size(); ++d) place[equation.output[d]] = at[d];
  std::vector<Axis> axes;
  for (int l : equation.summed) {
    Dim extent = 1;
    for (size_t i = 0; i < equation.operands.size(); ++i) {
      const Shape& shape = ctx.input_shape(static_cast<int>(i));
      for (size_t d = 0; d < shape.size(); ++d) {
        if (equation.operands[i][d] == l && !shape[d].is(1)) extent = shape[d];
      }
    }
    axes.push_back(ctx.fresh_axis(extent));
    place[l] = axis_ref(axes.back());
  }
  Expr product;
  for (size_t i = 0; i < equation.operands.size(); ++i) {
    const Shape& shape = ctx.input_shape(static_cast<int>(i));
    std::vector<Expr> index_of;
    for (size_t d = 0; d < shape.size(); ++d)
      index_of.push_back(shape[d].is(1) ? index(0) : place.at(equation.operands[i][d]));
    const Expr x = arithmetic_input(ctx, static_cast<int>(i), index_of);
    product = product ? product * x : x;
  }
  return as_output(ctx, 0, reduce_over(ReduceOp::sum, axes, product));
}

/// Offset of an operand's element for given positions of the labels.
int64_t offset_of(const Tensor& x, const Labels& labels, const std::map<int, int64_t>& position) {
  int64_t offset = 0;
  for (size_t d = 0; d < labels.size(); ++d)
    offset = offset * x.shape()[d] + (x.shape()[d] == 1 ? 0 : position.at(labels[d]));
  return offset;
}

std::vector<Tensor> reference_einsum(ReferenceContext& ctx) {
  std::vector<int64_t> ranks;
  for (int i = 0; i < ctx.input_count(); ++i) ranks.push_back(ctx.input(i)->rank());
  const Equation equation = read_equation(ctx.node(), ranks);
  std::map<int, int64_t> extents;
  for (size_t i = 0; i < equation.operands.size(); ++i) {
    for (size_t d = 0; d < equation.operands[i].size(); ++d) {
      const int64_t dim = ctx.input(static_cast<int>(i))->shape()[d];
      int64_t& extent = extents.emplace(equation.operands[i][d], dim).first->second;
      if (extent == 1) extent = dim;
    }
  }
  std::vector<int64_t> shape, summed;
  for (int l : equation.output) shape.push_back(extents.at(l));
  for (int l : equation.summed) summed.push_back(extents.at(l));
  Tensor y(ctx.input(0)->dtype(), shape);
  with_number_type(y.dtype(), [&]<class T>() {
    int64_t o = 0;
    std::map<int, int64_t> position;
    for_each_index(shape, [&](const std::vector<int64_t>& at) {
      for (size_t d = 0; d < at.size(); ++d) position[equation.output[d]] = at[d];
      T sum{};
      for_each_index(summed, [&](const std::vector<int64_t>& k) {
        for (size_t d = 0; d < k.size(); ++d) position[equation.summed[d]] = k[d];
        T product{1};
        for (size_t i = 0; i < equation.operands.size(); ++i) {
          const Tensor& x = *ctx.input(static_cast<int>(i));
          product = wrapping_mul(product, get<T>(x, offset_of(x, equation.operands[i], position)));
        }
        sum = wrapping_add(sum, product);
      });
      put<T>(y, o++, sum);
    });
  });
  return {y};
}

}  // namespace

const OpDef op_Einsum = {.name = "Einsum",
                         .since = 12,
                         .min_inputs = 1,
                         .max_inputs = -1,
                         .types = {Types::numbers, Types::as_first},
                         .kind = OpKind::contraction,
                         .infer = infer_einsum,
                         .lower = lower_einsum,
                         .reference = reference_einsum};

}  // namespace gcg
