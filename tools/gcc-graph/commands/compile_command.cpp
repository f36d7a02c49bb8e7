#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <iostream>
#include <sstream>
#include <thread>

#include "gart/gart.hpp"
#include "gcc_graph/compile_model.h"
#include "tools/gcc-graph/commands/commands.h"
#include "tools/gcc-graph/commands/compile_report.h"
#include "tools/gcc-graph/fleet/fleet_options.h"
#include "tools/gcc-graph/io/read_file.h"
#include "tools/gcc-graph/io/save_temps.h"
#include "tools/gcc-graph/io/signature_watch.h"
#include "tools/gcc-graph/io/store_golden.h"
#include "tools/gcc-graph/io/write_file.h"
#include "tools/gcc-graph/options/default_targets.h"
#include "tools/gcc-graph/options/gpu_options.h"
#include "tools/gcc-graph/options/parse_dim.h"
#include "tools/gcc-graph/options/progress.h"

namespace gcg::tools {
namespace {

struct Arguments {
  std::string model, output;
  gcc_graph::ModelOptions compile;  // all options except those that need parsing
  std::vector<std::string> dims;
  std::string memory_limit, tuning, temps;
  GpuOptions gpu;
  FleetOptions fleet;
  bool quiet = false, json = false;
  int golden = 0;  // number of golden vectors
};

/// Prints how many measurements of --tuning were used.
void print_use(const std::string& path, const gcc_graph::TuningReport& tuning) {
  std::cout << (path.empty() ? "tuning of the functions" : path) << ": " << tuning.used << " choices taken";
  if (tuning.stale > 0)
    std::cout << ", " << tuning.stale
              << " ignored because this compiler does not have them (gcc-graph tune --again renews them)";
  std::cout << '\n';
}

gcc_graph::NamedText text_of(const std::string& path) {
  const std::vector<uint8_t> bytes = read_file(path);
  return {{bytes.begin(), bytes.end()}, path};
}

/// The first value of each symbol: "batch=1,8" gives "batch=1".
std::vector<std::string> first_extents(const std::vector<std::string>& dims) {
  std::vector<std::string> first;
  for (const std::string& dim : dims) first.push_back(dim.substr(0, dim.find(',')));
  return first;
}

/// Adds golden vectors. If no target of the artifact runs on this machine's CPU, compiles the model for this CPU to
/// compute them.
std::vector<uint8_t> with_golden_vectors(const Arguments& a, gcc_graph::ModelOptions options,
                                         const std::vector<uint8_t>& artifact) {
  gart::LoadOptions here;
  here.device = "cpu";
  if (gart::load(std::span<const uint8_t>(artifact), here).ok())
    return with_golden(artifact, artifact, a.golden, first_extents(a.dims));
  options.targets.clear();
  options.gpus.clear();
  options.fleet.reset();
  options.tuning.reset();
  options.out = nullptr;
  options.progress = nullptr;
  return with_golden(artifact, gcc_graph::compile_model(a.model, options).artifact, a.golden, first_extents(a.dims));
}

/// With --save-temps, writes the compiler's intermediate forms as files, even if the compilation fails.
gcc_graph::CompiledModel compile_with_temps(const Arguments& a, gcc_graph::ModelOptions options) {
  if (a.temps.empty()) return gcc_graph::compile_model(a.model, options);
  std::ostringstream printed;
  options.print_after = {"all"};
  options.print_plan = options.print_code = true;
  options.out = &printed;
  try {
    gcc_graph::CompiledModel result = gcc_graph::compile_model(a.model, options);
    save_temps(a.temps, printed.str());
    return result;
  } catch (const gcc_graph::Error&) {
    save_temps(a.temps, printed.str());
    throw;
  }
}

void run(const Arguments& a) {
  const auto begin = std::chrono::steady_clock::now();
  Progress progress(a.quiet);
  gcc_graph::ModelOptions options = a.compile;
  check_unique(options.targets, "--target");
  const DefaultTargets defaults = options.targets.empty() ? default_targets() : DefaultTargets{};
  options.gpus = defaults.gpus;
  options.dims = parse_dims(a.dims);
  if (!a.memory_limit.empty()) options.memory_limit = parse_bytes(a.memory_limit);
  a.gpu.apply(options);
  a.fleet.apply(options);
  if (!a.tuning.empty()) options.tuning = text_of(a.tuning);
  if (options.threads == 0) options.threads = static_cast<int>(std::max(1U, std::thread::hardware_concurrency()));
  options.out = &std::cout;
  options.progress = [&](const std::string& stage) { progress.show(stage); };
  if (options.stop_after.empty()) check_writable(a.output);
  gcc_graph::CompiledModel result = compile_with_temps(a, options);
  if (result.artifact.empty()) return;  // --stop-after
  if (a.golden > 0) progress.show("golden vectors");
  if (a.golden > 0) result.artifact = with_golden_vectors(a, options, result.artifact);
  progress.show("write");
  const SignatureWatch signature(a.output);
  write_file(a.output, result.artifact);
  progress.clear();
  if (a.quiet) return;
  signature.tell();
  result.remarks.insert(result.remarks.end(), defaults.remarks.begin(), defaults.remarks.end());
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  if (a.json) return print_compiled_json(a.output, result, seconds);
  if (result.tuning) print_use(a.tuning, *result.tuning);
  print_compiled(a.output, result, seconds);
}

/// Options that say which part of the model is compiled, and for which targets.
void add_model_options(CLI::App& c, Arguments& args) {
  gcc_graph::ModelOptions& options = args.compile;
  c.add_option(
       "--target", options.targets,
       "Comma-separated targets. Default: x86-64-v3, x86-64-v4 and the GPUs of this machine; models of 8-bit integers "
       "add x86-64-v4-vnni, models in bf16 x86-64-v4-bf16, and both x86-64-v4-amx")
      ->delimiter(',')
      ->allow_extra_args(false);
  c.add_option("--dim", args.dims,
               "NAME=VALUE[,VALUE...]: static plans for these extents, in addition to the symbolic one. "
               "For an input that is a sequence, NAME=LENGTH: an input per element")
      ->delimiter('\0')
      ->allow_extra_args(false);
  c.add_option("--assign", options.assignments,
               "PATTERN=DEVICE: nodes whose name or operator matches (* and ? are wildcards) run on this device of the "
               "fleet, or on a device of this kind (cpu, cuda). Without a fleet they run on the CPU, and the GPU runs "
               "the others. Repeatable, the last match wins")
      ->allow_extra_args(false);
  c.add_option("--custom-op", options.custom_ops,
               "'acme::Blend(T[n, c], f32[c]?) -> T[n, 2*c]; workspace 4*n': an operator that the application "
               "computes with a function of this name, which it passes when it loads the artifact. Repeatable")
      ->delimiter('\0')
      ->allow_extra_args(false);
  c.add_option("--functions", options.functions,
               "LIB.onnx,..: libraries made by gcc-graph function; a node with the domain and name of one of their "
               "functions is "
               "replaced by the function's nodes")
      ->delimiter(',')
      ->allow_extra_args(false);
  c.add_option("--entry", options.entries,
               "NAME=FILE.onnx: a further model for the same file, which runs as entry point NAME. Equal weights are "
               "stored once, and states of the same name are one. Repeatable")
      ->delimiter('\0')
      ->allow_extra_args(false);
  c.add_option("--outputs", options.outputs,
               "V,..: ONNX names of values that become the outputs; only the nodes that they need are compiled")
      ->delimiter(',')
      ->allow_extra_args(false);
}

/// Options for values that last from one run to the next.
void add_state_options(CLI::App& c, gcc_graph::ModelOptions& options) {
  c.add_option("--state", options.states,
               "PAST=PRESENT,.. or auto: output PRESENT of a run becomes input PAST of the session's next run, and "
               "callers no longer see either. Names may have a *, for the same text in both; auto pairs names like "
               "past_key_values.0.key and present.0.key")
      ->delimiter(',')
      ->allow_extra_args(false);
  c.add_flag(
      "--generate", options.generate,
      "For gcc-graph generate: --state auto if there is no --state, and a further entry point extend, which reads "
      "prompts faster because it computes the logits of the last token only");
  c.add_option("--train", options.train,
               "loss=LOSS,optimizer=OPTIMIZER[,frozen=PATTERN..][,clip=NORM][,check=finite][,precision=f16][,replicas="
               "on]: the file "
               "also trains the model. It gets the "
               "entries infer, train and evaluate, and its weights are states. LOSS: cross_entropy(LOGITS,LABELS), "
               "mse(V,TARGET), l1(V,TARGET), bce_with_logits(V,TARGET), or a scalar value; NAME:i64[batch] declares an "
               "input. OPTIMIZER: sgd, momentum, adam, adamw, adagrad, with options as adamw(lr=0.001); lr=input makes "
               "the rate an input");
  c.add_flag("--check-finite", options.check_finite,
             "A training step whose loss, gradients or new values are NaN or infinite fails: the error names the "
             "tensor, and states keep their values. For --train and for a model's training_info");
  c.add_option("--capacity", options.capacity, "Limit of the extent along which states grow (default: none)")
      ->check(CLI::PositiveNumber);
  c.add_option("--cache-window", options.cache_window,
               "Attention reads only the last N tokens, and caches of GroupQueryAttention keep only these (default: as "
               "the model says)")
      ->check(CLI::PositiveNumber);
  c.add_flag_callback(
      "--no-training", [&options] { options.training = false; },
      "Leave out the model's training_info; otherwise its step is the entry point train, and the model infer");
}

/// Options that print or stop the compiler's intermediate stages.
void add_debug_options(CLI::App& c, gcc_graph::ModelOptions& options, std::string& temps) {
  c.add_option("--print-after", options.print_after, "Print the graph after these passes, or all")
      ->delimiter(',')
      ->allow_extra_args(false);
  c.add_option("--stop-after", options.stop_after,
               "Stop after this pass, or after 'plan', before machine code is made; nothing is written");
  c.add_option("--disable-pass", options.disabled_passes, "Skip these passes")->delimiter(',')->allow_extra_args(false);
  c.add_flag("--time-passes", options.time_passes, "Print how long each pass takes");
  c.add_flag("--print-plan", options.print_plan, "Print every plan's kernels, buffers and steps");
  c.add_flag(
      "--print-source", options.print_source,
      "Print each kernel as LLVM or the GPU's assembler gets it: LLVM IR or CUDA C++; also before --stop-after plan");
  c.add_flag("--print-code", options.print_code, "Print each kernel's code: assembly for CPUs, CUDA C++ for GPUs");
  c.add_option("--save-temps", temps,
               "DIR: write the graph after each pass that changed it, the plans, and each kernel's code as files")
      ->excludes("--print-after", "--print-plan", "--print-code");
}

}  // namespace

void add_compile_command(CLI::App& app) {
  auto args = std::make_shared<Arguments>();
  args->compile.threads = 0;
  CLI::App* c = app.add_subcommand("compile", "Compile an ONNX model to a .gart artifact");
  c->add_option("model", args->model, "The ONNX file")->required();
  c->add_option("-o,--output", args->output, "The artifact to write")->required();
  add_model_options(*c, *args);
  add_state_options(*c, args->compile);
  c->add_option(
      "--memory-limit", args->memory_limit,
      "Bytes of a static arena (64M). Steps run twice if that is needed to stay below it; otherwise compile fails");
  c->add_option("--tuning", args->tuning, "Measurements of gcc-graph tune, which choose GPU kernels");
  args->gpu.add_to(*c);
  args->fleet.add_to(*c);
  c->add_option("--threads", args->compile.threads, "Host threads for code generation; 0: one per CPU")
      ->check(CLI::Range(0, 256));
  c->add_flag(
       "--golden{1}", args->golden,
       "--golden=N: store N golden vectors (default: 1): random inputs as seeds, and outputs that this machine's "
       "CPU computes; check --run compares a device's outputs with them")
      ->check(CLI::Range(0, 64));
  add_debug_options(*c, args->compile, args->temps);
  c->add_flag("--json", args->json, "Print JSON");
  c->add_flag("-q,--quiet", args->quiet, "Print nothing but errors")->excludes("--json");
  c->callback([args] { run(*args); });
}

}  // namespace gcg::tools
