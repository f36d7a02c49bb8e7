// Runs entries of training in the interpreter, with inputs and states by name.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <map>
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

inline Tensor number(DType dtype, double value) {
  Tensor t(dtype, {});
  t.set_double(0, value);
  return t;
}

/// Bit for bit; all NaN are the same.
inline void expect_same(const Named& a, const Named& b) {
  ASSERT_EQ(a.size(), b.size());
  for (const auto& [name, tensor] : a)
    for (int64_t i = 0; i < tensor.elements(); ++i) {
      const double x = tensor.at_double(i), y = b.at(name).at_double(i);
      EXPECT_TRUE(x == y || (std::isnan(x) && std::isnan(y))) << name << '[' << i << "]: " << x << ", " << y;
    }
}

}  // namespace gcg
