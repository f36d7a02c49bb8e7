#include "tests/partition/run_assembly.h"

#include <gtest/gtest.h>

#include <cstring>
#include <random>
#include <set>

#include "compiler/gir/gir.h"
#include "compiler/gir/verify_graph.h"
#include "compiler/reference/interpreter.h"

namespace gcg::test {
namespace {

class AssemblyRun {
 public:
  explicit AssemblyRun(const Assembly& assembly) : assembly_(assembly) {}

  std::map<ValueId, Tensor> operator()(const std::vector<Tensor>& inputs) {
    const Graph& graph = assembly_.graph;
    for (size_t i = 0; i < inputs.size(); ++i) give(graph.inputs[i], inputs[i]);
    for (const PartCall& call : assembly_.calls) run(call);
    return std::move(values_);
  }

 private:
  void give(ValueId v, Tensor t) {
    for (const SymbolSource& s : assembly_.symbols)
      if (s.value == v) symbols_[s.symbol] = t.shape().at(static_cast<size_t>(s.axis));
    values_[v] = std::move(t);
  }

  void run(const PartCall& call) {
    const Part& part = assembly_.parts.at(static_cast<size_t>(call.part));
    std::vector<Tensor> inputs;
    for (ValueId v : call.inputs) inputs.push_back(values_.at(v));
    for (const Dim& d : call.extents) inputs.push_back(Tensor(DType::boolean, {d.evaluate(symbols_)}));
    std::vector<Tensor> outputs = interpret(part.graph, inputs);
    ASSERT_EQ(outputs.size(), call.outputs.size());
    for (size_t i = 0; i < outputs.size(); ++i) give(call.outputs[i], std::move(outputs[i]));
  }

  const Assembly& assembly_;
  SymbolValues symbols_;
  std::map<ValueId, Tensor> values_;
};

std::vector<Tensor> random_inputs(const Graph& graph, int64_t extent) {
  std::mt19937 rng(7);
  std::uniform_real_distribution<double> real(-2, 2);
  std::vector<Tensor> out;
  for (ValueId in : graph.inputs) {
    std::vector<int64_t> shape;
    for (const Dim& d : *graph.value(in).shape) shape.push_back(d.is_constant() ? d.constant() : extent);
    Tensor t(graph.value(in).dtype, shape);
    for (int64_t i = 0; i < t.elements(); ++i)
      is_float(t.dtype()) ? t.set_double(i, real(rng)) : t.set_int(i, static_cast<int64_t>(rng() % 2));
    out.push_back(std::move(t));
  }
  return out;
}

}  // namespace

std::map<ValueId, Tensor> run_assembly(const Assembly& assembly, const std::vector<Tensor>& inputs) {
  return AssemblyRun(assembly)(inputs);
}

void expect_same_results(const Graph& graph, const Assembly& assembly, int64_t extent) {
  const std::vector<Tensor> inputs = random_inputs(graph, extent), want = interpret(graph, inputs);
  const std::map<ValueId, Tensor> got = run_assembly(assembly, inputs);
  for (size_t i = 0; i < want.size(); ++i) {
    const auto it = got.find(assembly.graph.outputs[i]);
    ASSERT_NE(it, got.end()) << "output " << i;
    ASSERT_EQ(it->second.shape(), want[i].shape()) << "output " << i;
    ASSERT_EQ(std::memcmp(it->second.data(), want[i].data(), static_cast<size_t>(want[i].bytes())), 0)
        << "output " << i;
  }
}

void expect_sound(const Assembly& assembly) {
  std::set<ValueId> there(assembly.graph.inputs.begin(), assembly.graph.inputs.end());
  for (const PartCall& call : assembly.calls) {
    const Part& part = assembly.parts.at(static_cast<size_t>(call.part));
    EXPECT_NO_THROW(verify_graph(part.graph)) << print_graph(part.graph);
    EXPECT_EQ(part.graph.inputs.size(), call.inputs.size() + call.extents.size());
    EXPECT_EQ(part.extents.size(), call.extents.size());
    EXPECT_EQ(part.graph.outputs.size(), call.outputs.size());
    for (ValueId v : call.inputs) EXPECT_TRUE(there.count(v)) << assembly.graph.value(v).name << " is not there yet";
    for (ValueId v : call.outputs) EXPECT_TRUE(there.insert(v).second) << assembly.graph.value(v).name << " twice";
  }
}

}  // namespace gcg::test
