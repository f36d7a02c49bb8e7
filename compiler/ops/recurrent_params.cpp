#include <algorithm>
#include <cctype>
#include <cmath>

#include "compiler/ops/op_support.h"
#include "compiler/ops/ops.h"
#include "compiler/ops/recurrent.h"

namespace gcg {
namespace {

/// An activation, with the default values of those of alpha and beta that it takes.
struct Known {
  const char* name;
  std::optional<double> alpha, beta;
  double (*apply)(double x, double alpha, double beta);
};

const Known kKnown[] = {
    {"affine", 1, 0, [](double x, double a, double b) { return a * x + b; }},
    {"elu", 1, {}, [](double x, double a, double) { return x >= 0 ? x : a * std::expm1(x); }},
    {"hardsigmoid", 0.2, 0.5, [](double x, double a, double b) { return std::clamp(a * x + b, 0.0, 1.0); }},
    {"leakyrelu", 0.01, {}, [](double x, double a, double) { return x >= 0 ? x : a * x; }},
    {"relu", {}, {}, [](double x, double, double) { return std::max(x, 0.0); }},
    {"scaledtanh", 1, 1, [](double x, double a, double b) { return a * std::tanh(b * x); }},
    {"sigmoid", {}, {}, [](double x, double, double) { return 1 / (1 + std::exp(-x)); }},
    {"softplus",
     {},
     {},
     [](double x, double, double) { return std::log1p(std::exp(-std::abs(x))) + std::max(x, 0.0); }},
    {"softsign", {}, {}, [](double x, double, double) { return x / (1 + std::abs(x)); }},
    {"tanh", {}, {}, [](double x, double, double) { return std::tanh(x); }},
    {"thresholdedrelu", 1, {}, [](double x, double a, double) { return x > a ? x : 0.0; }},
};

const Known* find_activation(const std::string& name) {
  for (const Known& known : kKnown)
    if (name == known.name) return &known;
  return nullptr;
}

std::vector<std::string> default_activations(int gates) {
  if (gates == 4) return {"Sigmoid", "Tanh", "Tanh"};
  if (gates == 3) return {"Sigmoid", "Tanh"};
  return {"Tanh"};
}

std::vector<bool> backward_directions(const Node& node) {
  const std::string direction = node.string_attribute("direction", "forward");
  if (direction == "forward") return {false};
  if (direction == "reverse") return {true};
  if (direction == "bidirectional") return {false, true};
  fail_node(node, concat("direction '", direction, "' must be forward, reverse or bidirectional"));
}

/// The activations of each direction. The values of alpha and beta go, in order, to the activations that take one.
std::vector<std::vector<Activation>> activations_of(const Node& node, const RecurrentParams& params) {
  std::vector<std::string> names = node.strings_attribute("activations");
  const std::vector<std::string> defaults = default_activations(params.gates);
  if (names.empty())
    for (int d = 0; d < params.directions(); ++d) names.insert(names.end(), defaults.begin(), defaults.end());
  if (names.size() != defaults.size() * params.backward.size())
    fail_node(node, concat("it names ", names.size(), " activations; ", defaults.size(), " for each of ",
                           params.directions(), " directions are needed"));
  const std::vector<double> alphas = node.floats_attribute("activation_alpha"),
                            betas = node.floats_attribute("activation_beta");
  size_t next_alpha = 0, next_beta = 0;
  const auto take = [](const std::optional<double>& otherwise, const std::vector<double>& values, size_t& next) {
    if (!otherwise) return 0.0;
    return next < values.size() ? values[next++] : *otherwise;
  };
  std::vector<std::vector<Activation>> result(params.backward.size());
  for (size_t i = 0; i < names.size(); ++i) {
    std::string name = names[i];
    for (char& c : name) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    const Known* known = find_activation(name);
    if (known == nullptr) fail_node(node, concat("activation '", names[i], "' is not known"));
    const double alpha = take(known->alpha, alphas, next_alpha), beta = take(known->beta, betas, next_beta);
    result[i / defaults.size()].push_back({name, alpha, beta});
  }
  return result;
}

}  // namespace

double Activation::operator()(double x) const { return find_activation(name)->apply(x, alpha, beta); }

bool is_recurrent(const Node& node) {
  return node.op == &op_LSTM || node.op == &op_microsoft_DynamicQuantizeLSTM || node.op == &op_GRU ||
         node.op == &op_RNN;
}

RecurrentParams recurrent_params(const Node& node) {
  RecurrentParams params;
  params.quantized = node.op == &op_microsoft_DynamicQuantizeLSTM;
  params.gates = params.quantized || node.op == &op_LSTM ? 4 : node.op == &op_GRU ? 3 : 1;
  params.backward = backward_directions(node);
  params.activations = activations_of(node, params);
  if (node.has_attribute("clip")) params.clip = node.float_attribute("clip", 0);
  params.batch_first = node.int_attribute("layout", 0) != 0;
  params.linear_before_reset = node.int_attribute("linear_before_reset", 0) != 0;
  params.input_forget = node.int_attribute("input_forget", 0) != 0;
  return params;
}

}  // namespace gcg
