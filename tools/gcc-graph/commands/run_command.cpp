#include <CLI/CLI.hpp>
#include <algorithm>
#include <iostream>
#include <nlohmann/json.hpp>

#include "gcc_graph/values.h"
#include "tools/gcc-graph/commands/commands.h"
#include "tools/gcc-graph/fleet/job.h"
#include "tools/gcc-graph/fleet/run_on_fleet.h"
#include "tools/gcc-graph/fleet/trace_fleet.h"
#include "tools/gcc-graph/io/compare_elements.h"
#include "tools/gcc-graph/io/model_inputs.h"
#include "tools/gcc-graph/io/write_file.h"
#include "tools/gcc-graph/options/artifact_option.h"
#include "tools/gcc-graph/options/session_option.h"
#include "tools/gcc-graph/support/fail.h"
#include "tools/gcc-graph/support/json_text.h"

namespace gcg::tools {
namespace {

struct Arguments {
  std::string artifact, outputs, expect, trace, state_out;
  ArtifactOption source;
  Tolerance tolerance;
  bool json = false;
  InputOptions inputs;
  SessionOption session;
  RunOnFleet fleet;
};

/// Writes elements as numbers, whatever their type.
struct Numbers {
  const gart::TensorView& view;
  int64_t count() const { return view.shape.elements(); }
  double operator[](int64_t i) const {
    return gcc_graph::element_at(static_cast<gcc_graph::DType>(view.dtype), view.data, i);
  }
};

struct Summary {
  double low = 0, high = 0, mean = 0;
};

Summary summary(const Numbers& t) {
  Summary s;
  for (int64_t i = 0; i < t.count(); ++i) {
    const double x = t[i];
    s.low = i == 0 ? x : std::min(s.low, x);
    s.high = i == 0 ? x : std::max(s.high, x);
    s.mean += x;
  }
  s.mean /= static_cast<double>(std::max<int64_t>(t.count(), 1));
  return s;
}

void print_summary(const std::string& name, const gart::TensorView& v) {
  const Numbers t{v};
  std::cout << name << " " << gart::name_of(v.dtype) << v.shape.text();
  const Summary s = summary(t);
  if (t.count() > 0) std::cout << " min " << s.low << " max " << s.high << " mean " << s.mean << " [";
  for (int64_t i = 0; i < std::min<int64_t>(t.count(), 5); ++i) std::cout << (i ? ", " : "") << t[i];
  std::cout << (t.count() > 5 ? ", ...]\n" : t.count() > 0 ? "]\n" : "\n");
}

/// Relative error in the max norm: max |a - b| / max |b|. With --each: |a - b| <= atol + rtol |b| for every element.
bool compare(const std::string& name, const gart::TensorView& got, const HostTensor& expected, const Arguments& a) {
  const gart::TensorView expected_view = expected.view();
  const Numbers x{got}, y{expected_view};
  if (!std::ranges::equal(got.shape.extents(), expected_view.shape.extents()) || got.dtype != expected_view.dtype) {
    std::cout << name << ": FAIL, " << gart::name_of(got.dtype) << got.shape.text() << " where "
              << gart::name_of(expected_view.dtype) << expected_view.shape.text() << " is expected\n";
    return false;
  }
  const auto element_of = [](const Numbers& of) { return [&of](int64_t i) { return of[i]; }; };
  const Comparison found = compare_elements(x.count(), element_of(x), element_of(y), a.tolerance);
  std::cout << name << ": " << describe(found, element_of(x), element_of(y)) << '\n';
  return found.ok;
}

using Outputs = std::vector<std::pair<std::string, gart::TensorView>>;

/// JSON has no infinities or NaN; they become null.
void print_json(const Outputs& outputs) {
  nlohmann::ordered_json all = nlohmann::ordered_json::array();
  for (const auto& [name, view] : outputs) {
    const auto extents = view.shape.extents();
    const Numbers t{view};
    const Summary s = summary(t);
    all.push_back({{"name", name},
                   {"dtype", gart::name_of(view.dtype)},
                   {"shape", std::vector<int64_t>(extents.begin(), extents.end())}});
    if (t.count() > 0) all.back().update({{"min", s.low}, {"max", s.high}, {"mean", s.mean}});
  }
  const nlohmann::ordered_json out = {{"outputs", all}};
  std::cout << json_text(out) << '\n';
}

/// Prints, writes or compares the outputs.
void use(const Outputs& outputs, const Arguments& a) {
  const std::map<std::string, gart::TensorView> named(outputs.begin(), outputs.end());
  if (!a.outputs.empty()) write_npz(a.outputs, named);
  if (a.json) return print_json(outputs);
  if (a.expect.empty()) {
    for (const auto& [name, view] : outputs) print_summary(name, view);
    return;
  }
  bool ok = true;
  const NamedTensors all = read_npz(a.expect);
  if (all.empty()) fail("--expect ", a.expect, ": it holds no arrays");
  for (const auto& [name, expected] : all) {
    if (!named.count(name)) fail("--expect: the model has no output '", name, "'");
    ok &= compare(name, named.at(name), expected, a);
  }
  if (!ok) throw CLI::RuntimeError(3);
}

void run_on_fleet(const Arguments& a) {
  const gart::fleet::Program program = a.fleet.load(a.artifact, a.inputs);
  const NamedTensors inputs = collect_inputs(program.inputs(), a.inputs);
  gart::fleet::Request request = a.fleet.request(program, inputs);
  value_or_throw(request.run());
  if (a.fleet.is_monitored()) value_or_throw(request.run());  // the first run is cold and is not counted
  a.fleet.write_monitor(a.artifact, program);
  if (!a.trace.empty()) trace_fleet(a.trace, a.artifact, program, request);
  Outputs outputs;
  const std::vector<std::string> names = a.fleet.names_of_outputs(program);
  for (size_t i = 0; i < request.outputs(); ++i) outputs.emplace_back(names[i], request.output(i));
  use(outputs, a);
}

void run(const Arguments& a) {
  for (const std::string& path : {a.outputs, a.state_out})
    if (!path.empty()) check_writable(path);
  if (!a.trace.empty() || a.fleet.is_wanted(a.artifact, a.inputs)) return run_on_fleet(a);
  const gart::Program program = load_program(a.artifact, a.inputs);
  if (!a.state_out.empty() && program.program_states().empty())
    fail("--state-out ", a.state_out, ": the model keeps no states of its own");
  const NamedTensors inputs = collect_inputs(inputs_of(program, a.inputs), a.inputs);
  std::vector<gart::NamedTensor> views;
  for (const auto& [name, tensor] : inputs) views.push_back({name, tensor.view()});
  const std::span<const gart::NamedTensor> named(views);
  const std::optional<gart::Session> session = a.session.open(program);
  const auto tensors =
      value_or_throw(session ? session->run(named, a.inputs.entry) : program.run(named, a.inputs.entry));
  if (session) a.session.save(*session);
  if (!a.state_out.empty()) value_or_throw(program.save_states(a.state_out));
  a.fleet.tell_whole(a.artifact, a.inputs, program.device());
  Outputs outputs;
  for (const gart::Tensor& t : tensors) outputs.emplace_back(t.name(), t);
  use(outputs, a);
}

}  // namespace

void add_run_command(CLI::App& app) {
  auto a = std::make_shared<Arguments>();
  CLI::App* c = app.add_subcommand("run", "Run an artifact once");
  a->source.add_to(*c);
  a->inputs.add_to(*c);
  a->fleet.add_to(*c);
  a->session.add_to(*c, true);
  c->add_option("--state-out", a->state_out,
                "F.safetensors: write the states that the model keeps for all callers, as they are after the run");
  c->add_option("--outputs", a->outputs, "F.npz: file for the outputs");
  c->add_option("--expect", a->expect, "F.npz: compare the outputs; exit code 3 if they differ");
  c->add_option(
      "--trace", a->trace,
      "F.json: run on the fleet that the artifact was compiled for, and write the times of each part, for Perfetto");
  c->add_option("--rtol", a->tolerance.rtol, "Largest error relative to the largest expected element")
      ->capture_default_str();
  c->add_option("--atol", a->tolerance.atol, "Absolute error that is always accepted")->capture_default_str();
  c->add_flag("--each", a->tolerance.each,
              "Compare every element with atol + rtol * its own expected value, instead of the largest");
  c->add_flag("--json", a->json, "Print shapes and ranges of the outputs as JSON")->excludes("--expect");
  c->callback([a] {
    in_job([&](const gart::fleet::Hosts* hosts) {
      a->fleet.use(hosts);
      a->artifact = a->source.path();
      TrustOption& trust = a->inputs.trust;
      trust.use_stored(a->source.signature(trust.needs_signature()));
      run(*a);
    });
  });
}

}  // namespace gcg::tools
