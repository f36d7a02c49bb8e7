#include "tests/passes/pass_case.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <random>
#include <set>
#include <sstream>

#include "compiler/gir/gir.h"
#include "compiler/gir/verify_graph.h"
#include "compiler/ops/movement.h"
#include "compiler/ops/op_support.h"
#include "compiler/passes/pass.h"
#include "compiler/reference/interpreter.h"
#include "compiler/support/error.h"

namespace gcg::test {
namespace {

std::string trimmed(const std::string& text) {
  const size_t begin = text.find_first_not_of(" \t"), end = text.find_last_not_of(" \t");
  return begin == std::string::npos ? "" : text.substr(begin, end - begin + 1);
}

bool starts(const std::string& line, const std::string& word) { return line.rfind(word, 0) == 0; }

std::vector<std::string> comma_list(const std::string& text) {
  std::vector<std::string> out;
  std::istringstream in(text);
  for (std::string item; std::getline(in, item, ',');) out.push_back(trimmed(item));
  return out;
}

/// "sm_80 fp16"
Target target_of(const std::string& text) {
  static const std::map<std::string, Precision> precisions = {
      {"fp32", Precision::fp32}, {"tf32", Precision::tf32}, {"fp16", Precision::fp16}, {"bf16", Precision::bf16}};
  std::istringstream in(text);
  std::string name, precision = "fp32";
  in >> name >> precision;
  Target target = find_target(name).value();
  target.precision = precisions.at(precision);
  return target;
}

std::vector<PassCase> read_file(const std::filesystem::path& path) {
  std::ifstream in(path);
  std::vector<PassCase> out;
  bool expecting = false;
  int number = 0;
  for (std::string line; std::getline(in, line);) {
    ++number;
    if (starts(line, "CASE ")) {
      out.push_back({path.stem().string(), trimmed(line.substr(5)), number, {}, target_of("x86-64-v3"), "", ""});
      expecting = false;
    } else if (out.empty()) {
      if (!line.empty() && line[0] != '#') throw std::runtime_error(path.string() + ": text before the first CASE");
    } else if (starts(line, "RUN ")) {
      out.back().passes = comma_list(line.substr(4));
    } else if (starts(line, "TARGET ")) {
      out.back().target = target_of(line.substr(7));
    } else if (starts(line, "EXPECT")) {
      expecting = true;
    } else {
      (expecting ? out.back().after : out.back().before) += line + "\n";
    }
  }
  return out;
}

Pass find_pass(const std::string& name) {
  for (const Pass& p : all_passes())
    if (p.name == name) return p;
  throw std::runtime_error("no pass " + name);
}

/// Copies the nodes on which the outputs depend, depth first, and names inner values in this order.
class Normaliser {
 public:
  explicit Normaliser(const Graph& from) : from_(from) {}

  Graph run() {
    to_.name = from_.name;
    to_.constraints = from_.constraints;
    for (ValueId v : from_.inputs) to_.inputs.push_back(copy(v, from_.value(v).name));
    for (ValueId v : from_.outputs) to_.outputs.push_back(visit(v));
    return std::move(to_);
  }

 private:
  ValueId copy(ValueId v, const std::string& name) {
    Value value = from_.value(v);
    value.producer = NodeId();
    value.name = name;
    return copies_[v] = to_.add_value(std::move(value));
  }

  std::string name_of_value(ValueId v) {
    return from_.is_output(v) ? from_.value(v).name : "inner" + std::to_string(next_++);
  }

  ValueId visit(ValueId v) {
    if (!v.valid()) return v;
    if (const auto it = copies_.find(v); it != copies_.end()) return it->second;
    if (!from_.value(v).producer.valid()) return copy(v, name_of_value(v));
    const Node& n = from_.node(from_.value(v).producer);
    Node node;
    node.op = n.op;
    node.attributes = n.attributes;
    node.captures = n.captures;
    for (ValueId in : n.inputs) node.inputs.push_back(visit(in));
    for (const auto& body : n.bodies) node.bodies.push_back(std::make_unique<Graph>(Normaliser(*body).run()));
    for (ValueId out : n.outputs) node.outputs.push_back(out.valid() ? copy(out, name_of_value(out)) : out);
    for (ValueId out : node.outputs)
      if (out.valid() && node.name.empty()) node.name = to_.value(out).name;
    to_.add_node(std::move(node));
    return copies_.at(v);
  }

  const Graph& from_;
  Graph to_;
  std::map<ValueId, ValueId> copies_;
  int next_ = 0;
};

/// One tensor per graph input; the symbols become 2, 3, 4, ..., or equal where a fact says so.
std::vector<Tensor> random_inputs(const Graph& graph) {
  SymbolValues symbols;
  for (ValueId in : graph.inputs)
    for (const Dim& d : *graph.value(in).shape)
      for (const std::string& s : d.symbols()) symbols.emplace(s, 2 + static_cast<int64_t>(symbols.size()));
  for (const DimConstraint& fact : graph.constraints) {
    const auto a = fact.a.symbol_name(), b = fact.b.symbol_name();
    if (a && b && symbols.count(*a) != 0 && symbols.count(*b) != 0) symbols[*b] = symbols[*a];
  }
  std::mt19937 rng(7);
  std::uniform_real_distribution<double> real(-2, 2);
  std::vector<Tensor> out;
  for (ValueId in : graph.inputs) {
    std::vector<int64_t> shape;
    for (const Dim& d : *graph.value(in).shape) shape.push_back(d.evaluate(symbols));
    Tensor t(graph.value(in).dtype, shape);
    for (int64_t i = 0; i < t.elements(); ++i) {
      if (is_float(t.dtype()))
        t.set_double(i, real(rng));
      else
        t.set_int(i, static_cast<int64_t>(rng() % (t.dtype() == DType::boolean ? 2 : 3)));
    }
    out.push_back(std::move(t));
  }
  return out;
}

/// Converts the tensor to `dtype`, which may be wider than the tensor's type.
Tensor in_type(const Tensor& t, DType dtype) {
  if (t.dtype() == dtype) return t;
  Tensor out(dtype, t.shape());
  for (int64_t i = 0; i < t.elements(); ++i) out.set_double(i, t.at_double(i));
  return out;
}

/// The results as a caller of the graph sees them: inputs and outputs are converted to their types in memory.
std::vector<Tensor> interpreted(const Graph& graph, const std::vector<Tensor>& inputs) {
  std::vector<Tensor> in, out;
  for (size_t i = 0; i < inputs.size(); ++i) in.push_back(in_type(inputs[i], graph.value(graph.inputs[i]).dtype));
  const std::vector<Tensor> results = interpret(graph, in);
  for (size_t i = 0; i < results.size(); ++i) {
    const DType stored = graph.value(graph.outputs[i]).stored;
    out.push_back(in_type(results[i], stored == DType::undefined ? results[i].dtype() : stored));
  }
  return out;
}

void expect_equal(const Tensor& got, const Tensor& want, const std::string& what) {
  ASSERT_EQ(got.dtype(), want.dtype()) << what;
  ASSERT_EQ(got.shape(), want.shape()) << what;
  for (int64_t i = 0; i < got.elements(); ++i) {
    const double a = got.at_double(i), b = want.at_double(i);
    if (a == b || (std::isnan(a) && std::isnan(b))) continue;
    ASSERT_LE(std::abs(a - b), is_float(got.dtype()) ? 1e-5 * (1 + std::abs(b)) : 0) << what << " element " << i;
  }
}

}  // namespace

std::vector<PassCase> read_cases(const std::string& folder) {
  std::set<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator(folder))
    if (entry.path().extension() == ".gir") files.insert(entry.path());
  std::vector<PassCase> out;
  for (const auto& file : files)
    for (PassCase& c : read_file(file)) out.push_back(std::move(c));
  return out;
}

namespace {

/// The tensor in the layout of a state that grows along `axis`.
Tensor axis_in_front(const Tensor& x, size_t axis) {
  std::vector<int64_t> shape = x.shape();
  std::rotate(shape.begin(), shape.begin() + static_cast<int64_t>(axis),
              shape.begin() + static_cast<int64_t>(axis) + 1);
  Tensor y(x.dtype(), shape);
  int64_t from = 0;
  for_each_index(x.shape(), [&](std::vector<int64_t> at) {
    std::rotate(at.begin(), at.begin() + static_cast<int64_t>(axis), at.begin() + static_cast<int64_t>(axis) + 1);
    copy_element(y, position(at, shape), x, from++);
  });
  return y;
}

}  // namespace

std::string normal_text(const Graph& graph) { return print_graph(Normaliser(graph).run()); }

void run_case(const PassCase& c) {
  SCOPED_TRACE(concat(c.file, ".gir:", c.line, ": ", c.name));
  const Graph before = parse_graph(c.before);
  verify_graph(before);
  Graph after = before.clone();
  bool changed = false;
  for (const std::string& name : c.passes) {
    changed |= find_pass(name).run(after, &c.target);
    verify_graph(after);
  }
  const bool unchanged = trimmed(c.after).find_first_not_of("\n") == std::string::npos;
  const Graph expected = unchanged ? before.clone() : parse_graph(c.after);
  EXPECT_EQ(normal_text(after), normal_text(expected)) << "the graph is now\n" << print_graph(after);
  EXPECT_EQ(changed, !unchanged);
  std::vector<Tensor> inputs = random_inputs(before);
  std::vector<Tensor> want = interpreted(before, inputs);
  for (const State& s : after.states) {
    if (s.axis <= 0) continue;
    inputs[s.input] = axis_in_front(inputs[s.input], static_cast<size_t>(s.axis));
    want[s.output] = axis_in_front(want[s.output], static_cast<size_t>(s.axis));
  }
  const std::vector<Tensor> got = interpreted(after, inputs);
  ASSERT_EQ(got.size(), want.size());
  for (size_t i = 0; i < got.size(); ++i) expect_equal(got[i], want[i], concat("output ", i));
}

}  // namespace gcg::test
