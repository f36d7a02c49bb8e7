// The choices of --train: a loss, an optimizer, and the parameters that stay as they are.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "compiler/ir/dim.h"
#include "compiler/ir/dtype.h"

namespace gcg {

/// An argument of a loss: a value of the model, or a new input of the training entry.
struct LossArgument {
  std::string name;
  // Type of a new input; nullopt: the argument is a value of the model, or an input whose type the loss determines.
  std::optional<DType> dtype;
  Shape shape;
};

struct LossOptions {
  std::string function;  // name of the loss function; empty: the loss is the scalar value `arguments[0]` of the model
  std::vector<LossArgument> arguments;
  int64_t axis = 1;              // of classes
  int64_t ignored_label = -100;  // samples with this label do not count
};

struct OptimizerOptions {
  std::string kind;  // one of sgd, momentum, adam, adamw, adagrad
  /// The numbers of the optimizer's kind, by name: lr, momentum, weight_decay, nesterov, beta1, beta2, eps, lr_decay.
  std::map<std::string, double> numbers;
  bool rate_is_input = false;  // lr=input

  double number(const std::string& name) const { return numbers.at(name); }
};

/// Low-rank adapters (add_adapters), which are trained in place of the model's parameters.
struct LoraOptions {
  std::vector<std::string> targets;  // patterns of the names of products; none: no adapters
  int64_t rank = 8;
  double alpha = 16;   // an adapter's result is multiplied by alpha / rank
  double dropout = 0;  // share of an adapter's input elements that are dropped in training
};

/// The owner of parameters, moments and counters between runs.
enum class StateOwner : uint8_t {
  program,  // they are states of the file
  caller,   // they are inputs and outputs of the training entry
};

/// When replicas of a training step change the parameters.
enum class Updates : uint8_t {
  unsaid,        // the option is not given
  synchronous,   // together: one update with the mean of their gradients
  asynchronous,  // each replica on its own
};

struct TrainOptions {
  LossOptions loss;
  OptimizerOptions optimizer;
  LoraOptions lora;
  std::vector<std::string> frozen;  // patterns of the names of parameters that stay as they are (fits_pattern)
  double clip = 0;                  // limit of the norm of all gradients together; 0: none
  int64_t accumulate = 1;           // the optimizer runs once in this many steps, with their mean gradient
  StateOwner states = StateOwner::program;
  bool drops = true;           // Dropout drops elements; false: dropout=off
  bool checks_finite = false;  // a NaN or an infinity ends the step; check=finite
  bool replicas = false;       // adds the entries for replicas; replicas=on
  // Statistics of a batch are those of all replicas' batches together; batch_statistics=exchanged. Without it, they are
  // `own`, and replicas must freeze running statistics.
  bool exchanges_statistics = false;
  Updates updates = Updates::unsaid;
  DType precision = DType::f32;  // of products; f16 and bf16 keep f32 parameters
};

/// Parses "loss=cross_entropy(logits,labels:i64[batch]),optimizer=adamw(lr=input),frozen=encoder.*,clip=1". A name with
/// one of the characters ,():= must be in double quotes. Throws CompileError.
TrainOptions parse_train_options(const std::string& text);

}  // namespace gcg
