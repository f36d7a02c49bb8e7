#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <iostream>
#include <map>
#include <set>
#include <thread>

#include "codegen/cpu/cpu_backend.h"
#include "compiler/compile.h"
#include "compiler/import/import.h"
#include "compiler/ops/custom_op.h"
#include "compiler/partition/implied_fleet.h"
#include "compiler/support/error.h"
#include "compiler/support/unsupported.h"
#include "tools/api/remark_text.h"
#include "tools/gcc-graph/commands/commands.h"
#include "tools/gcc-graph/commands/compile_report.h"
#include "tools/gcc-graph/fleet/fleet_options.h"
#include "tools/gcc-graph/io/write_file.h"
#include "tools/gcc-graph/measure/tuning_file.h"
#include "tools/gcc-graph/options/default_targets.h"
#include "tools/gcc-graph/options/gpu_options.h"
#include "tools/gcc-graph/options/parse_dim.h"
#include "tools/gcc-graph/options/progress.h"

namespace gcg::tools {
namespace {

struct Arguments {
  std::string model, output;
  std::vector<std::string> targets;  // empty: the default
  std::vector<std::string> dims, assignments, custom_ops, functions, outputs;
  std::string memory_limit;
  std::string tuning;
  GpuOptions gpu;
  FleetOptions fleet;
  int threads = 0;
  PassOptions passes;
  bool print_plan = false, quiet = false, json = false;
};

/// What became of the measurements of --tuning.
void print_use(const std::string& path, const TuningFile& tuning) {
  if (path.empty() && tuning.size() == 0) return;
  std::cout << (path.empty() ? "tuning of the functions" : path) << ": " << tuning.used() << " choices taken";
  if (tuning.stale() > 0)
    std::cout << ", " << tuning.stale()
              << " that this compiler does not have left out (gcc-graph tune --again renews them)";
  std::cout << '\n';
}

/// The names that have one value: sequences have one length.
std::map<std::string, int64_t> only_values(const std::vector<std::pair<std::string, std::vector<int64_t>>>& dims) {
  std::map<std::string, int64_t> values;
  for (const auto& [name, list] : dims)
    if (list.size() == 1) values[name] = list[0];
  return values;
}

/// Without a static plan there is no arena size to compare with the limit.
void check_limit(const Graph& graph, const CompileOptions& options) {
  if (!options.memory_limit) return;
  std::set<std::string> open;
  for (ValueId in : graph.inputs)
    for (const Dim& d : *graph.value(in).shape) open.merge(d.symbols());
  for (const auto& [name, values] : options.dims) open.erase(name);
  if (!open.empty())
    fail("--memory-limit needs a size for every extent; '", *open.begin(), "' is open: fix it with --dim");
}

/// Nodes that a later stage rejects carry no opset version; the importer knows it.
UnsupportedModel with_versions(const UnsupportedModel& error, const std::map<std::string, int64_t>& opsets) {
  std::vector<UnsupportedNode> rows = error.nodes();
  for (UnsupportedNode& row : rows)
    if (const auto it = opsets.find(row.domain); row.version == 0 && it != opsets.end()) row.version = it->second;
  return UnsupportedModel(std::move(rows));
}

/// What was measured for functions goes with them; what --tuning says wins.
void add_tuning_of_functions(const std::vector<NodeLabel>& labels, TuningFile& tuning) {
  std::set<std::string> seen;
  for (const NodeLabel& label : labels)
    if (label.key == "gart.tuning" && seen.insert(label.value).second)
      tuning.add(TuningFile::parse({label.value.begin(), label.value.end()}, "gart.tuning of " + label.node));
}

CompileResult compile_imported(ImportedModel model, const CompileOptions& options, const Backends& backends) {
  try {
    return compile(std::move(model.graph), model.source_hash, options, backends);
  } catch (const UnsupportedModel& error) {
    throw with_versions(error, model.opsets);
  }
}

void run(const Arguments& a) {
  const auto begin = std::chrono::steady_clock::now();
  Progress progress(a.quiet);
  CompileOptions options;
  check_unique(a.targets, "--target");
  const DefaultTargets defaults = a.targets.empty() ? default_targets() : DefaultTargets{a.targets, {}};
  options.targets = defaults.names;
  options.dims = parse_dims(a.dims);
  if (!a.memory_limit.empty()) options.memory_limit = parse_bytes(a.memory_limit);
  std::vector<CustomOp> custom_ops;
  for (const std::string& text : a.custom_ops) custom_ops.push_back(parse_custom_op(text));
  a.gpu.apply(options);
  a.fleet.apply(options, a.assignments);
  TuningFile tuning;
  if (!a.tuning.empty()) tuning = TuningFile::read(a.tuning);
  options.threads = a.threads > 0 ? a.threads : static_cast<int>(std::max(1U, std::thread::hardware_concurrency()));
  options.passes = a.passes;
  options.passes.out = &std::cout;
  options.print_plan = a.print_plan;
  options.progress = [&](const std::string& stage) { progress.show(stage); };
  Backends backends;
  backends.push_back(cpu::make_cpu_backend());
  backends.push_back(a.gpu.backend());
  if (a.passes.stop_after.empty()) check_writable(a.output);
  progress.show("import");
  ImportedModel model = import_onnx(a.model, only_values(options.dims), custom_ops, a.functions, a.outputs);
  const Fleet fleet = options.fleet ? *options.fleet : fleet_of(require_targets(options.targets));
  if (options.fleet || fleet.devices.size() > 1) add_labels_of_nodes(model.node_labels, fleet, options.cut);
  add_tuning_of_functions(model.node_labels, tuning);
  if (tuning.size() > 0) options.decisions = &tuning;
  options.labels = model.labels;
  options.metadata = model.metadata;
  std::erase_if(options.dims, [&](const auto& dim) {
    return std::find(model.sequences.begin(), model.sequences.end(), dim.first) != model.sequences.end();
  });
  if (a.targets.empty()) add_cpus_for_bytes(model.graph, options.targets);
  check_limit(model.graph, options);
  const CompileResult result = compile_imported(std::move(model), options, backends);
  if (result.artifact.empty()) return;  // --stop-after
  progress.show("write");
  write_file(a.output, result.artifact);
  progress.clear();
  if (a.quiet) return;
  std::vector<std::string> remarks = gcc_graph::detail::sentences_of(result.remarks);
  remarks.insert(remarks.end(), defaults.remarks.begin(), defaults.remarks.end());
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  if (a.json) return print_compiled_json(a.output, result, remarks, seconds);
  print_use(a.tuning, tuning);
  print_compiled(a.output, result, remarks, seconds);
}

}  // namespace

void add_compile_command(CLI::App& app) {
  auto args = std::make_shared<Arguments>();
  CLI::App* c = app.add_subcommand("compile", "Compile an ONNX model to a .gart artifact");
  c->add_option("model", args->model, "The ONNX file")->required();
  c->add_option("-o,--output", args->output, "The artifact to write")->required();
  c->add_option("--target", args->targets,
                "Comma-separated targets (default: x86-64-v3, x86-64-v4, for models of 8-bit integers x86-64-v4-vnni, "
                "and the GPUs of this machine)")
      ->delimiter(',')
      ->allow_extra_args(false);
  c->add_option("--dim", args->dims,
                "NAME=VALUE[,VALUE...]: static plans for these extents, beside the symbolic one; "
                "of an input that is a sequence, NAME=LENGTH: an input per element")
      ->delimiter('\0')
      ->allow_extra_args(false);
  c->add_option("--assign", args->assignments,
                "PATTERN=DEVICE: nodes of such a name or operator (* and ? are wildcards) are cut off and run on a "
                "device of the "
                "fleet, or of that kind (cpu, cuda). Without a fleet: on the CPU beside a GPU, which keeps the others. "
                "Repeatable, the last match wins")
      ->allow_extra_args(false);
  c->add_option("--custom-op", args->custom_ops,
                "'acme::Blend(T[n, c], f32[c]?) -> T[n, 2*c]; workspace 4*n': an operator that the application "
                "computes; it registers "
                "a function of this name when it loads the artifact. Repeatable")
      ->delimiter('\0')
      ->allow_extra_args(false);
  c->add_option(
       "--functions", args->functions,
       "LIB.onnx,..: libraries of gcc-graph function; nodes that name a function of theirs, by domain and name, are "
       "compiled as its nodes")
      ->delimiter(',')
      ->allow_extra_args(false);
  c->add_option(
       "--outputs", args->outputs,
       "V,..: make these values of the model the outputs, by their ONNX names, and compile only what they need")
      ->delimiter(',')
      ->allow_extra_args(false);
  c->add_option("--memory-limit", args->memory_limit, "Fail if a static arena needs more bytes than this (64M)");
  c->add_option("--tuning", args->tuning, "Measurements of gcc-graph tune, to choose GPU kernels by");
  args->gpu.add_to(*c);
  args->fleet.add_to(*c);
  c->add_option("--threads", args->threads, "Host threads for code generation; 0: one per CPU")
      ->check(CLI::Range(0, 256));
  c->add_option("--print-after", args->passes.print_after, "Print the graph after these passes, or all")
      ->delimiter(',')
      ->allow_extra_args(false);
  c->add_option("--stop-after", args->passes.stop_after,
                "Stop after this pass, or after 'plan', before machine code is made; nothing is written");
  c->add_option("--disable-pass", args->passes.disabled, "Skip these passes")->delimiter(',')->allow_extra_args(false);
  c->add_flag("--time-passes", args->passes.time_passes, "Print how long each pass takes");
  c->add_flag("--print-plan", args->print_plan, "Print what runs: every plan's kernels, buffers and steps");
  c->add_flag("--json", args->json, "Print JSON");
  c->add_flag("-q,--quiet", args->quiet, "Print nothing but errors")->excludes("--json");
  c->callback([args] { run(*args); });
}

}  // namespace gcg::tools
