// Runs entries of training in the interpreter, with inputs and states by name.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <stdexcept>
#include <string>
#include <vector>

#include "compiler/gir/gir.h"
#include "compiler/ir/states.h"
#include "compiler/ops/infer.h"
#include "compiler/reference/interpreter.h"
#include "compiler/train/training_entries.h"

namespace gcg {

using Named = std::map<std::string, Tensor>;

/// The entries of the model in this text, with inferred types.
inline TrainingEntries entries(const std::string& text, const std::string& options) {
  TrainingEntries made = make_training_entries(parse_graph(text), {}, parse_train_options(options));
  infer_graph(made.train);
  for (Graph& graph : made.replicas) infer_graph(graph);
  return made;
}

/// Runs an entry with inputs by name. Its states are in `states`, and are replaced.
inline Named run(const Graph& entry, const Named& inputs, Named& states) {
  std::vector<Tensor> in;
  for (size_t i = 0; i < entry.inputs.size() - entry.states.size(); ++i)
    in.push_back(inputs.at(entry.value(entry.inputs[i]).name));
  for (const State& s : entry.states) in.push_back(states.try_emplace(s.name, *s.initial).first->second);
  const std::vector<Tensor> results = interpret(entry, in);
  Named outputs;
  for (size_t i = 0; i < results.size(); ++i) outputs.insert_or_assign(entry.value(entry.outputs[i]).name, results[i]);
  for (const State& s : entry.states)
    if (is_written(s)) states.insert_or_assign(s.name, results[s.output]);
  return outputs;
}

inline Tensor scalar_tensor(DType dtype, double value) {
  Tensor t(dtype, {});
  t.set_double(0, value);
  return t;
}

inline const Graph& replica_entry(const TrainingEntries& made, const std::string& name) {
  for (const Graph& graph : made.replicas)
    if (graph.name == name) return graph;
  throw std::out_of_range(name);
}

/// The inputs of `add` and `update` for two lists of gradients, which have names like first_prefix + NAME.
inline Named operands(const Named& first, const std::string& first_prefix, double first_share, const Named& second,
                      const std::string& second_prefix, double second_share) {
  Named in = {{"share.first", scalar_tensor(DType::f64, first_share)},
              {"share.second", scalar_tensor(DType::f64, second_share)}};
  for (const auto& [name, tensor] : first)
    if (name.starts_with(first_prefix)) in.insert_or_assign("first." + name.substr(first_prefix.size()), tensor);
  for (const auto& [name, tensor] : second)
    if (name.starts_with(second_prefix)) in.insert_or_assign("second." + name.substr(second_prefix.size()), tensor);
  return in;
}

/// Ends a group of replicas that have these results of `gradients`, as `gcc-graph train --replicas` does.
inline void update_group(const TrainingEntries& made, const std::vector<Named>& group, Named& states) {
  const double share = 1.0 / static_cast<double>(group.size());
  const std::string one = "gradient.";
  Named first = group[0], none;
  std::string prefix = one;
  double first_share = share;
  for (size_t i = 1; i + 1 < group.size(); ++i) {
    first = run(replica_entry(made, "add"), operands(first, prefix, first_share, group[i], one, share), none);
    prefix = "sum.";
    first_share = 1;
  }
  Named in = group.size() == 1 ? operands(first, prefix, first_share, first, prefix, 0)
                               : operands(first, prefix, first_share, group.back(), one, share);
  for (const auto& [name, tensor] : group[0])
    if (name.starts_with("statistic.")) in.insert_or_assign(name, tensor);
  in.insert_or_assign("steps", scalar_tensor(DType::i64, static_cast<double>(group.size())));
  run(replica_entry(made, "update"), in, states);
}

/// Bit for bit; all NaN are the same. `b` may lack states that count steps within a group.
inline void expect_same(const Named& a, const Named& b) {
  for (const auto& [name, tensor] : a) {
    if (b.count(name) == 0) {
      EXPECT_TRUE(name == "accumulated" || name.ends_with(".gradient")) << name;
      for (int64_t i = 0; i < tensor.elements(); ++i) EXPECT_EQ(tensor.at_double(i), 0) << name;
      continue;
    }
    for (int64_t i = 0; i < tensor.elements(); ++i) {
      const double x = tensor.at_double(i), y = b.at(name).at_double(i);
      EXPECT_TRUE(x == y || (std::isnan(x) && std::isnan(y))) << name << '[' << i << "]: " << x << ", " << y;
    }
  }
}

}  // namespace gcg
