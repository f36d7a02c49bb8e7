#include "compiler/train/train_options.h"

#include <algorithm>
#include <charconv>
#include <cmath>

#include "compiler/support/error.h"
#include "compiler/support/nearest.h"

namespace gcg {
namespace {

/// The two sides of "key=value"; the key is empty if there is no '=' outside of quotes and brackets.
struct Assignment {
  std::string key, value;
};

/// Calls `at(i)` for each character outside of quotes and brackets.
template <class At>
void each_outside(const std::string& text, At at) {
  int depth = 0;
  char quote = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    const char ch = text[i];
    if (quote == 0 && (ch == '"' || ch == '\''))
      quote = ch;
    else if (ch == quote)
      quote = 0;
    if (quote != 0) continue;
    if (ch == ')' || ch == ']') --depth;
    if (depth == 0) at(i);
    if (ch == '(' || ch == '[') ++depth;
    if (depth < 0) fail("--train ", text, ": '", ch, "' at character ", i + 1, " closes nothing");
  }
  if (quote != 0) fail("--train ", text, ": a quote is not closed");
  if (depth != 0) fail("--train ", text, ": a bracket is not closed");
}

std::string trimmed(const std::string& text) {
  const size_t first = text.find_first_not_of(' '), last = text.find_last_not_of(' ');
  return first == std::string::npos ? "" : text.substr(first, last - first + 1);
}

std::string unquoted(const std::string& text) {
  const bool is_quoted = text.size() >= 2 && (text.front() == '"' || text.front() == '\'');
  if (is_quoted && text.back() == text.front()) return text.substr(1, text.size() - 2);
  return text;
}

std::vector<std::string> split(const std::string& text) {
  std::vector<std::string> parts;
  size_t begin = 0;
  each_outside(text, [&](size_t i) {
    if (text[i] != ',') return;
    parts.push_back(trimmed(text.substr(begin, i - begin)));
    begin = i + 1;
  });
  parts.push_back(trimmed(text.substr(begin)));
  if (parts.size() == 1 && parts[0].empty()) parts.clear();
  return parts;
}

Assignment assignment(const std::string& text) {
  size_t equals = std::string::npos;
  each_outside(text, [&](size_t i) {
    if (text[i] == '=' && equals == std::string::npos) equals = i;
  });
  if (equals == std::string::npos) return {"", text};
  return {trimmed(text.substr(0, equals)), trimmed(text.substr(equals + 1))};
}

/// The two parts of "name(arguments)"; without brackets there are no arguments.
struct Call {
  std::string name;
  std::optional<std::string> arguments;
};
Call call_of(const std::string& text) {
  size_t open = std::string::npos;
  each_outside(text, [&](size_t i) {
    if (text[i] == '(' && open == std::string::npos) open = i;
  });
  if (open == std::string::npos || text.back() != ')') return {text, std::nullopt};
  return {trimmed(text.substr(0, open)), text.substr(open + 1, text.size() - open - 2)};
}

double number_of(const std::string& name, const std::string& text) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || !std::isfinite(value))
    fail("--train: ", name, " is '", text, "', expected a number");
  return value;
}

int64_t whole_number_of(const std::string& name, const std::string& text) {
  const double value = number_of(name, text);
  if (value != std::floor(value) || std::fabs(value) > 1e15)
    fail("--train: ", name, " is ", text, ", expected a whole number");
  return static_cast<int64_t>(value);
}

/// Parses "labels:i64[batch]", "logits" or "\"a:b\"".
LossArgument argument_of(const std::string& text) {
  size_t colon = std::string::npos;
  each_outside(text, [&](size_t i) {
    if (text[i] == ':') colon = i;
  });
  LossArgument argument{unquoted(text), std::nullopt, {}};
  if (colon == std::string::npos) return argument;
  const std::string type = trimmed(text.substr(colon + 1));
  const size_t open = type.find('[');
  const auto dtype = dtype_from_name(type.substr(0, open));
  if (!dtype) return argument;  // the colon belongs to the name
  if (open == std::string::npos || type.back() != ']')
    fail("--train: argument '", text, "' needs extents: NAME:", type, "[batch]");
  argument.name = unquoted(trimmed(text.substr(0, colon)));
  argument.dtype = dtype;
  for (const std::string& extent : split(type.substr(open + 1, type.size() - open - 2))) {
    const std::optional<Dim> dim = Dim::parse(extent);
    if (!dim) fail("--train: '", extent, "' in argument '", text, "' is not an extent");
    argument.shape.push_back(*dim);
  }
  return argument;
}

LossOptions loss_of(const std::string& text) {
  const Call call = call_of(text);
  LossOptions loss;
  if (!call.arguments) {
    loss.arguments = {{unquoted(call.name), std::nullopt, {}}};
    return loss;
  }
  static const std::vector<std::string> known = {"cross_entropy", "mse", "bce_with_logits", "l1"};
  loss.function = call.name;
  if (std::find(known.begin(), known.end(), call.name) == known.end())
    fail("--train: the loss '", call.name, "' is not known; expected cross_entropy, mse, bce_with_logits, l1, or the ",
         "name of a value of the model");
  for (const std::string& part : split(*call.arguments)) {
    const Assignment option = assignment(part);
    if (option.key.empty())
      loss.arguments.push_back(argument_of(part));
    else if (option.key == "axis" && loss.function == "cross_entropy")
      loss.axis = whole_number_of("axis", option.value);
    else if (option.key == "ignore_index" && loss.function == "cross_entropy")
      loss.ignored_label = whole_number_of("ignore_index", option.value);
    else
      fail("--train: the loss ", loss.function, " has no option '", option.key, "'");
  }
  if (loss.arguments.size() != 2)
    fail("--train: the loss ", loss.function, " takes ",
         loss.function == "cross_entropy" ? "logits and labels" : "a prediction and a target", ", and has ",
         loss.arguments.size(), loss.arguments.size() == 1 ? " argument" : " arguments");
  return loss;
}

/// The options of each optimizer, with PyTorch's defaults.
const std::map<std::string, std::map<std::string, double>>& optimizers() {
  static const std::map<std::string, std::map<std::string, double>> all = {
      {"sgd", {{"lr", 1e-3}, {"weight_decay", 0}}},
      {"momentum", {{"lr", 1e-3}, {"momentum", 0.9}, {"weight_decay", 0}, {"nesterov", 0}}},
      {"adam", {{"lr", 1e-3}, {"beta1", 0.9}, {"beta2", 0.999}, {"eps", 1e-8}, {"weight_decay", 0}}},
      {"adamw", {{"lr", 1e-3}, {"beta1", 0.9}, {"beta2", 0.999}, {"eps", 1e-8}, {"weight_decay", 1e-2}}},
      {"adagrad", {{"lr", 1e-2}, {"lr_decay", 0}, {"eps", 1e-10}, {"weight_decay", 0}}}};
  return all;
}

void check_range(const std::string& name, double value) {
  const bool is_beta = name.starts_with("beta") || name == "momentum";
  if (value < 0 || (is_beta && value >= 1))
    fail("--train: ", name, " is ", value, ", expected ",
         is_beta ? "a number from 0 to below 1" : "a number that is not negative");
}

OptimizerOptions optimizer_of(const std::string& text) {
  const Call call = call_of(text);
  const auto known = optimizers().find(call.name);
  if (known == optimizers().end())
    fail("--train: the optimizer '", call.name, "' is not known; expected sgd, momentum, adam, adamw or adagrad");
  OptimizerOptions optimizer{call.name, known->second};
  std::vector<std::string> names;
  for (const auto& [name, value] : known->second) names.push_back(name);
  for (const std::string& part : split(call.arguments.value_or(""))) {
    const auto [key, value] = assignment(part);
    if (key.empty()) fail("--train: '", part, "' of ", call.name, " has no name, expected NAME=NUMBER");
    if (known->second.count(key) == 0)
      fail("--train: the optimizer ", call.name, " has no option '", key, "'", nearest(key, names));
    if (key == "lr" && value == "input") {
      optimizer.rate_is_input = true;
      continue;
    }
    check_range(key, optimizer.numbers[key] = number_of(key, value));
  }
  return optimizer;
}

constexpr int64_t kMostRank = 65536;  // far above any rank in use; keeps the adapters' memory bounded

LoraOptions lora_of(const Call& call) {
  LoraOptions lora;
  for (const std::string& part : split(call.arguments.value_or(""))) {
    const auto [key, value] = assignment(part);
    if (key == "target") {
      for (const std::string& pattern : split(unquoted(value))) lora.targets.push_back(pattern);
    } else if (key == "rank") {
      lora.rank = whole_number_of(key, value);
      if (lora.rank < 1 || lora.rank > kMostRank)
        fail("--train: rank is ", value, ", expected a number from 1 to ", kMostRank);
    } else if (key == "alpha") {
      lora.alpha = number_of(key, value);
    } else if (key == "dropout") {
      lora.dropout = number_of(key, value);
      if (lora.dropout < 0 || lora.dropout >= 1)
        fail("--train: dropout is ", value, ", expected a number from 0 to below 1");
    } else {
      fail("--train: '", part, "' of lora is not known; expected rank=, alpha=, target= or dropout=");
    }
  }
  if (lora.targets.empty()) fail("--train: lora needs target=, the names of products: lora(target='*q_proj,*v_proj')");
  return lora;
}

/// "on" or "off", or two other words: the first one means true.
bool switch_of(const std::string& key, const std::string& value, const char* yes = "on", const char* no = "off") {
  if (value != yes && value != no) fail("--train: ", key, " is '", value, "', expected ", yes, " or ", no);
  return value == yes;
}

/// Sets an option of the step itself. Returns false if its name is not known.
bool set_step_option(TrainOptions& options, const std::string& key, const std::string& value) {
  if (key == "clip") {
    options.clip = number_of(key, value);
    if (options.clip <= 0) fail("--train: clip is ", value, ", expected a number above 0");
  } else if (key == "states") {
    options.states = switch_of(key, value, "program", "caller") ? StateOwner::program : StateOwner::caller;
  } else if (key == "accumulate") {
    options.accumulate = whole_number_of(key, value);
    if (options.accumulate < 1) fail("--train: accumulate is ", value, ", expected a number of steps from 1");
  } else if (key == "dropout") {
    options.drops = switch_of(key, value);
  } else if (key == "check") {
    if (value != "finite") fail("--train: check is '", value, "', expected finite");
    options.checks_finite = true;
  } else if (key == "precision") {
    options.precision = switch_of(key, value, "f16", "bf16") ? DType::f16 : DType::bf16;
  } else if (key == "replicas") {
    options.replicas = switch_of(key, value);
  } else if (key == "batch_statistics") {
    options.exchanges_statistics = switch_of(key, value, "exchanged", "own");
  } else {
    return false;
  }
  return true;
}

}  // namespace

TrainOptions parse_train_options(const std::string& text) {
  TrainOptions options;
  bool has_loss = false, has_optimizer = false;
  for (const std::string& part : split(text)) {
    const auto [key, value] = assignment(part);
    if (value.empty()) fail("--train: '", part, "' has no value");
    if (const Call call = call_of(part); key.empty() && call.name == "lora") {
      options.lora = lora_of(call);
    } else if (key.empty() && (part == "sync" || part == "async")) {
      options.updates = part == "sync" ? Updates::synchronous : Updates::asynchronous;
    } else if (key == "loss") {
      if (std::exchange(has_loss, true)) fail("--train has two losses");
      options.loss = loss_of(value);
    } else if (key == "optimizer") {
      if (std::exchange(has_optimizer, true)) fail("--train has two optimizers");
      options.optimizer = optimizer_of(value);
    } else if (key == "frozen") {
      options.frozen.push_back(unquoted(value));
    } else if (!set_step_option(options, key, value)) {
      fail("--train: '", part,
           "' is not known; expected loss=, optimizer=, lora(..), frozen=, clip=, accumulate=, states=, dropout=, ",
           "check=, precision=, replicas=, batch_statistics=, sync or async");
    }
  }
  if (!has_loss) fail("--train ", text, ": loss= is missing, for example loss=cross_entropy(logits,labels)");
  if (!has_optimizer) fail("--train ", text, ": optimizer= is missing, for example optimizer=adamw(lr=0.001)");
  if (options.replicas && options.states == StateOwner::caller)
    fail("--train: replicas=on shares the states of a program, so it excludes states=caller");
  if (options.exchanges_statistics && !options.replicas)
    fail("--train: batch_statistics=exchanged is for replicas, so it needs replicas=on");
  if (options.exchanges_statistics && options.updates == Updates::asynchronous)
    fail("--train: batch_statistics=exchanged needs replicas that run together, so it excludes async");
  return options;
}

}  // namespace gcg
