#include "tests/schedule/schedule_case.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <random>
#include <set>
#include <sstream>

#include "compiler/gir/gir.h"
#include "compiler/ops/infer.h"
#include "compiler/plan/make_plan.h"
#include "compiler/plan/plan_memory.h"
#include "compiler/plan/verify_plan.h"
#include "compiler/reference/interpreter.h"
#include "tests/compiled_ops/run_compiled.h"
#include "tests/ops/op_test.h"

namespace gcg::test {
namespace {

std::vector<ScheduleCase> read_file(const std::filesystem::path& path) {
  std::ifstream in(path);
  std::vector<ScheduleCase> out;
  bool expecting = false;
  int number = 0;
  for (std::string line; std::getline(in, line);) {
    ++number;
    if (line.rfind("CASE ", 0) == 0) {
      out.push_back({path.stem().string(), line.substr(5), number, "", ""});
      expecting = false;
    } else if (out.empty()) {
      if (!line.empty() && line[0] != '#') throw std::runtime_error(path.string() + ": text before the first CASE");
    } else if (line == "EXPECT") {
      expecting = true;
    } else if (!line.empty()) {
      (expecting ? out.back().steps : out.back().graph) += line + "\n";
    }
  }
  return out;
}

class StepPrinter {
 public:
  explicit StepPrinter(const Plan& s) : s_(s) {}

  std::string run() {
    sequence(s_.entry(), 0);
    return out_.str();
  }

 private:
  const Buffer& buffer(BufferId b) const { return s_.buffers[b]; }
  std::string name(BufferId b) const { return " %" + buffer(b).name; }

  void sequence(const Sequence& all, int depth) {
    for (const Step& step : all.steps) {
      out_ << std::string(static_cast<size_t>(2 * depth), ' ');
      std::visit([&](const auto& work) { print(work); }, step.work);
      out_ << '\n';
      for (SequenceId body : step.bodies()) sequence(s_.sequences[body], depth + 1);
    }
  }

  void print(const Call&) { out_ << "call"; }
  void print(const Copy& copy) { out_ << "copy" << name(copy.from) << " ->" << name(copy.to); }
  void print(const Branch& branch) { out_ << "if" << name(branch.condition); }
  void print(const Fail&) { out_ << "fail"; }
  void print(const Bind& bind) { out_ << "bind " << bind.symbol << " =" << name(bind.value); }

  void print(const Launch& step) {
    std::visit([&](const auto& body) { describe(body); }, s_.kernels[step.kernel].body);
    const auto result = static_cast<size_t>(step.writes.at(0));
    std::set<std::string> reads;
    for (size_t i = 0; i < step.operands.size(); ++i)
      if (i != result) reads.insert(name(step.operands[i]));
    for (const std::string& operand : reads) out_ << operand;
    const BufferId to = step.operands[result];
    out_ << " ->" << name(to);
    for (size_t i = 0; i < step.operands.size(); ++i)
      if (i != result && buffer(to).block >= 0 && buffer(step.operands[i]).block == buffer(to).block) {
        out_ << " over" << name(step.operands[i]);
        break;
      }
  }

  void describe(const LoopKernel& k) {
    out_ << "loops";
    if (k.stages.size() > 1) out_ << "[" << k.stages.size() << " stages]";
  }
  void describe(const MatMulKernel& k) {
    out_ << "matmul";
    if (k.batch.empty()) return;
    out_ << "[batch ";
    for (size_t i = 0; i < k.batch.size(); ++i) out_ << (i ? "x" : "") << k.batch[i].extent.str();
    out_ << ", " << k.m.extent.str() << "x" << k.n.extent.str() << "x" << k.k.extent.str() << "]";
  }
  void describe(const ConvKernel&) { out_ << "conv"; }
  void describe(const AttentionKernel&) { out_ << "attention"; }
  void describe(const PlainConvKernel&) { out_ << "plain conv"; }
  void describe(const ProgramKernel&) { out_ << "program"; }

  void print(const Loop& loop) {
    out_ << "loop";
    if (loop.trip_count.valid()) out_ << name(loop.trip_count) << " times";
    if (loop.condition.valid()) out_ << " while" << name(loop.condition);
    const char* separator = ";";
    for (const Loop::Carried& c : loop.carried) {
      out_ << separator << name(c.from) << " ->" << name(c.to);
      separator = ",";
    }
  }

  const Plan& s_;
  std::ostringstream out_;
};

}  // namespace

std::vector<ScheduleCase> read_schedule_cases(const std::string& folder) {
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator(folder))
    if (entry.path().extension() == ".gir") files.push_back(entry.path());
  std::sort(files.begin(), files.end());
  std::vector<ScheduleCase> out;
  for (const auto& file : files)
    for (ScheduleCase& c : read_file(file)) out.push_back(std::move(c));
  return out;
}

std::string step_text(const Plan& plan) { return StepPrinter(plan).run(); }

void run_schedule_case(const ScheduleCase& c) {
  SCOPED_TRACE(c.file + ".gir, line " + std::to_string(c.line));
  try {
    Graph graph = parse_graph(c.graph);
    infer_graph(graph);
    Plan plan = make_plan(graph);
    plan_memory(plan, std::nullopt);
    verify_plan(plan);
    EXPECT_EQ(step_text(plan), c.steps);
    expect_runs_like_interpreter(graph, compile_artifact(graph), 1, 1e-5);
  } catch (const CompileError& e) {
    ADD_FAILURE() << e.what();
  }
}

std::vector<Tensor> random_inputs(const Graph& graph, uint32_t seed) {
  SymbolValues symbols;
  for (ValueId in : graph.inputs)
    for (const Dim& d : *graph.value(in).shape)
      for (const std::string& s : d.symbols()) symbols.emplace(s, 2 + static_cast<int64_t>(symbols.size()));
  std::mt19937 rng(seed);
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

void expect_runs_like_interpreter(const Graph& graph, const std::vector<uint8_t>& artifact, uint32_t seed,
                                  double tolerance) {
  const std::vector<Tensor> inputs = random_inputs(graph, seed), want = interpret(graph, inputs);
  for (const std::string& target : runnable_targets(graph)) {
    const std::vector<Tensor> got = run_artifact(artifact, target, inputs);
    for (size_t i = 0; i < std::min(got.size(), want.size()); ++i)
      expect_near(got[i], want[i], tolerance, concat(target, ", output ", i));
  }
}

}  // namespace gcg::test
