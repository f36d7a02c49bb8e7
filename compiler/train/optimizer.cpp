#include "compiler/train/optimizer.h"

#include <map>

#include "compiler/support/error.h"
#include "compiler/train/gradient_norm.h"

namespace gcg {
namespace {

class OptimizerStep {
 public:
  OptimizerStep(Graph& graph, const OptimizerOptions& options)
      : options_(options), graph_(graph), w_(graph, graph, "optimizer") {
    if (options.rate_is_input) rate_ = new_input("lr", DType::f32, {});
    if (options.kind == "adam" || options.kind == "adamw" || options.kind == "adagrad") count_steps();
  }

  /// Scales all gradients by min(1, limit / (norm of all gradients + 1e-6)), as torch.nn.utils.clip_grad_norm_ does.
  void clip(double limit, const std::vector<TrainedParameter>& parameters) {
    const Formula factor = limit / (norm_of(square_sums(w_, parameters)) + 1e-6);
    scale_ = w_.make("Min", {factor, w_.scalar(DType::f32, 1)});
  }

  void update(TrainedParameter& p) {
    name_ = graph_.value(p.value).name;
    dtype_ = graph_.value(p.value).dtype;
    const Formula x = w_.of(p.value);
    Formula g = w_.of(p.gradient);
    if (scale_.valid()) g = g * cast(scale_, dtype_);
    const double decay = options_.number("weight_decay");
    if (decay != 0 && options_.kind != "adamw") g = g + x * decay;
    p.updated = new_value(x, g, decay).id;
  }

  std::vector<OptimizerState> take_states() { return std::move(states_); }

 private:
  Formula new_value(Formula x, Formula g, double decay) {
    if (options_.kind == "sgd") return x - g * rate();
    if (options_.kind == "momentum") return x - momentum(x, g) * rate();
    if (options_.kind == "adagrad") return x - adagrad(x, g) * rate();
    if (options_.kind == "adamw" && decay != 0) x = x * (1 - rate() * decay);
    return x - adam(x, g);
  }

  /// v = momentum * v + g
  Formula momentum(Formula x, Formula g) {
    const double factor = options_.number("momentum");
    const Formula v = state_of(x, "momentum", [&](Formula old) { return old * factor + g; });
    return options_.number("nesterov") != 0 ? g + v * factor : v;
  }

  /// s = s + g^2; the step is g / (sqrt(s) + eps), and the rate shrinks with the number of steps.
  Formula adagrad(Formula x, Formula g) {
    const Formula s = state_of(x, "sum", [&](Formula old) { return old + g * g; });
    const Formula step = g / (unary("Sqrt", s) + options_.number("eps"));
    const double decay = options_.number("lr_decay");
    return decay == 0 ? step : step / cast((steps_ - 1) * decay + 1, dtype_);
  }

  /// The moments are divided by 1 - beta^t. These numbers are computed in f64: for beta2 = 0.999, f32 would lose five
  /// digits in the first steps.
  Formula adam(Formula x, Formula g) {
    const double beta1 = options_.number("beta1"), beta2 = options_.number("beta2");
    const Formula m = state_of(x, "exp_avg", [&](Formula old) { return old * beta1 + g * (1 - beta1); });
    const Formula v = state_of(x, "exp_avg_sq", [&](Formula old) { return old * beta2 + g * g * (1 - beta2); });
    const Formula root = cast(unary("Sqrt", missing(beta2)), dtype_);
    const Formula step = m / (unary("Sqrt", v) / root + options_.number("eps"));
    return step * (rate() / cast(missing(beta1), dtype_));
  }

  /// 1 - beta^t in f64.
  Formula missing(double beta) {
    const auto [it, fresh] = missing_.try_emplace(beta);
    if (fresh) it->second = 1 - power(w_.scalar(DType::f64, beta), steps_);
    return it->second;
  }

  Formula rate() { return options_.rate_is_input ? cast(rate_, dtype_) : w_.scalar(dtype_, options_.number("lr")); }

  /// Increments t, the number of steps, which is 1 in the first step.
  void count_steps() {
    const Formula before = new_input("step", DType::i64, {});
    const Formula now = before + 1;
    states_.push_back({"step", before.id, now.id, std::make_shared<Tensor>(DType::i64, std::vector<int64_t>{})});
    steps_ = cast(now, DType::f64);
  }

  template <class Next>
  Formula state_of(Formula x, const char* role, Next next) {
    const Formula old = new_input(concat(name_, ".", role), dtype_, x.shape());
    const Formula now = next(old);
    states_.push_back({old.value().name, old.id, now.id, std::make_shared<Tensor>(dtype_, to_extents(x.shape()))});
    return now;
  }

  Formula new_input(const std::string& name, DType dtype, const Shape& shape) {
    Value value;
    value.name = name;
    value.dtype = dtype;
    value.shape = shape;
    const ValueId id = graph_.add_value(std::move(value));
    if (name == "lr" && graph_.value(id).name != name)
      fail("--train: the model has a value 'lr' already, so lr=input cannot add an input of this name");
    graph_.inputs.push_back(id);
    return w_.of(id);
  }

  const OptimizerOptions& options_;
  Graph& graph_;
  FormulaWriter w_;
  std::string name_;  // of the parameter
  DType dtype_ = DType::f32;
  Formula rate_, steps_, scale_;
  std::map<double, Formula> missing_;
  std::vector<OptimizerState> states_;
};

}  // namespace

std::vector<OptimizerState> add_optimizer(Graph& graph, const OptimizerOptions& options, double clip,
                                          std::vector<TrainedParameter>& parameters) {
  OptimizerStep step(graph, options);
  if (clip > 0 && !parameters.empty()) step.clip(clip, parameters);
  for (TrainedParameter& p : parameters) step.update(p);
  return step.take_states();
}

}  // namespace gcg
