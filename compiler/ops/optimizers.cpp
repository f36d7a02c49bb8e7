// One step of an optimizer: Adagrad, Adam and Momentum, of the preview domain for training. The inputs are the learning
// rate, the number of previous steps, and then several lists of tensors: values, gradients, and one or two lists of
// state. expand_optimizers rewrites them as arithmetic.
#include "compiler/ops/optimizers.h"

#include <cmath>

#include "compiler/ops/ops.h"
#include "compiler/ops/pointwise.h"

namespace gcg {
namespace {

constexpr const char* kTraining = "ai.onnx.preview.training";

/// The inputs are `kLists` lists; all but the gradients are also outputs.
template <int kLists>
void infer_optimizer(InferContext& ctx) {
  const int count = (ctx.input_count() - 2) / kLists;
  if (count < 1 || count * kLists != ctx.input_count() - 2 || ctx.output_count() > count * (kLists - 1))
    ctx.fail(concat("there are ", ctx.input_count() - 2, " tensors and ", ctx.output_count(), " outputs, not ", kLists,
                    " and ", kLists - 1, " lists of them"));
  const std::string mode = ctx.node().string_attribute("mode", "standard");
  if (mode != "standard" && mode != "nesterov")
    ctx.fail(concat("mode is '", mode, "', it must be 'standard' or 'nesterov'"));
  for (int i = 0; i < 2; ++i)
    ctx.require_equal(product(ctx.shape(i)), 1, "the learning rate and the number of steps are scalars");
  for (int k = 0; k < count; ++k)
    for (int list = 0, out = 0; list < kLists; ++list) {
      const int i = 2 + list * count + k;
      if (ctx.shape(i).size() != ctx.shape(2 + k).size()) ctx.fail("the tensors of an optimizer must have one rank");
      for (size_t d = 0; d < ctx.shape(i).size(); ++d)
        ctx.require_equal(ctx.shape(i)[d], ctx.shape(2 + k)[d], "extents of values, gradients and state");
      if (list != 1) ctx.set_output(out++ * count + k, ctx.dtype(i), ctx.shape(i));
    }
}

/// The new value of one element, then its new state. `in`: value, gradient, state.
using Update = std::vector<double> (*)(const Node& node, double rate, double steps, const std::vector<double>& in);

template <int kLists, Update kUpdate>
std::vector<Tensor> reference_optimizer(ReferenceContext& ctx) {
  const int count = (ctx.input_count() - 2) / kLists;
  const double rate = ctx.input(0)->at_double(0), steps = ctx.input(1)->at_double(0);
  std::vector<Tensor> out(static_cast<size_t>(count * (kLists - 1)));
  for (int k = 0; k < count; ++k) {
    const Tensor& x = *ctx.input(2 + k);
    for (int list = 0; list + 1 < kLists; ++list)
      out[static_cast<size_t>(list * count + k)] = Tensor(x.dtype(), x.shape());
    for (int64_t i = 0; i < x.elements(); ++i) {
      std::vector<double> in;
      for (int list = 0; list < kLists; ++list) in.push_back(ctx.input(2 + list * count + k)->at_double(i));
      const std::vector<double> now = kUpdate(ctx.node(), rate, steps, in);
      for (int list = 0; list + 1 < kLists; ++list)
        out[static_cast<size_t>(list * count + k)].set_double(i, now[static_cast<size_t>(list)]);
    }
  }
  return out;
}

double regularized(const Node& node, const std::vector<double>& in) {
  return node.float_attribute("norm_coefficient", 0) * in[0] + in[1];
}

std::vector<double> adagrad(const Node& node, double rate, double steps, const std::vector<double>& in) {
  const double g = regularized(node, in), h = in[2] + g * g;
  const double r = rate / (1 + steps * node.float_attribute("decay_factor", 0));
  return {in[0] - r * g / (std::sqrt(h) + node.float_attribute("epsilon", 1e-6)), h};
}

std::vector<double> adam(const Node& node, double rate, double steps, const std::vector<double>& in) {
  const double alpha = node.float_attribute("alpha", 0.9), beta = node.float_attribute("beta", 0.999);
  const double g = regularized(node, in), v = alpha * in[2] + (1 - alpha) * g, h = beta * in[3] + (1 - beta) * g * g;
  const double r = steps > 0 ? rate * std::sqrt(1 - std::pow(beta, steps)) / (1 - std::pow(alpha, steps)) : rate;
  const double x = in[0] - r * v / (std::sqrt(h) + node.float_attribute("epsilon", 1e-6));
  return {(1 - node.float_attribute("norm_coefficient_post", 0)) * x, v, h};
}

std::vector<double> momentum(const Node& node, double rate, double steps, const std::vector<double>& in) {
  const double alpha = node.float_attribute("alpha", 0), beta = steps > 0 ? node.float_attribute("beta", 0) : 1;
  const double g = regularized(node, in), v = alpha * in[2] + beta * g;
  return {in[0] - rate * (node.string_attribute("mode", "standard") == "nesterov" ? g + alpha * v : v), v};
}

template <int kLists, Update kUpdate>
constexpr OpDef optimizer(const char* name) {
  return {.name = name,
          .domain = kTraining,
          .since = 1,
          .min_inputs = 2 + kLists,
          .max_inputs = -1,
          .min_outputs = 1,
          .max_outputs = -1,
          .types = {Types::floats, Types::integers, Types::floats},
          .results = {Types::floats},
          .kind = OpKind::opaque,
          .infer = infer_optimizer<kLists>,
          .reference = reference_optimizer<kLists, kUpdate>};
}

}  // namespace

constinit const OpDef op_Adagrad = optimizer<3, adagrad>("Adagrad");
constinit const OpDef op_Adam = optimizer<4, adam>("Adam");
constinit const OpDef op_Momentum = optimizer<3, momentum>("Momentum");

std::vector<ValueId> optimizer_gradients(const Node& node) {
  if (node.op != &op_Adagrad && node.op != &op_Adam && node.op != &op_Momentum) return {};
  const auto lists = static_cast<std::ptrdiff_t>(node.op->min_inputs) - 2;
  const auto first = node.inputs.begin() + 2;
  const std::ptrdiff_t count = (node.inputs.end() - first) / lists;
  return {first + count, first + 2 * count};
}

}  // namespace gcg
