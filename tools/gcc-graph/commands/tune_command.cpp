#include <CLI/CLI.hpp>
#include <algorithm>
#include <filesystem>
#include <iostream>
#include <thread>

#include "compiler/compile.h"
#include "compiler/import/import.h"
#include "tools/gcc-graph/commands/commands.h"
#include "tools/gcc-graph/io/fail.h"
#include "tools/gcc-graph/io/read_file.h"
#include "tools/gcc-graph/io/write_file.h"
#include "tools/gcc-graph/measure/call_tuner.h"
#include "tools/gcc-graph/measure/kernel_tuner.h"
#include "tools/gcc-graph/options/gpu_options.h"
#include "tools/gcc-graph/options/parse_dim.h"
#include "tools/gcc-graph/options/progress.h"

namespace gcg::tools {
namespace {

struct Arguments {
  std::string model, output = "tuning.json", target;
  std::vector<std::string> dims, functions;
  GpuOptions gpu;
  TuneOptions tune;
};

#if GCC_GRAPH_CUDA_RUNTIME
Target require_gpu_target(const std::string& name) {
  const std::vector<Target> targets = require_targets({name});
  if (targets.size() != 1 || targets[0].device != DeviceClass::cuda)
    fail("--target ", name, ": one GPU's target is expected");
  return targets[0];
}

void print(const Arguments& a, const std::string& target, const Tuner& tuner) {
  std::cout << "wrote " << a.output << ": " << tuner.measured() << " shapes measured for " << target << ", "
            << tuner.known() << " known before, " << tuner.file().size() << " in all\n";
  if (tuner.open() > 0)
    std::cout << tuner.open() << " kernels have open extents and were left to the cost model; --dim fixes them\n";
}

void run(const Arguments& a) {
  Progress progress;
  const std::string target = a.target.empty() ? target_of_gpu() : a.target;
  CompileOptions options;
  a.gpu.apply(options);
  Target asking = require_gpu_target(target);
  asking.precision = options.precision;
  check_writable(a.output);
  TuningFile file;
  if (std::filesystem::exists(a.output)) file = TuningFile::parse(read_file(a.output), a.output);
  Tuner tuner(file, a.tune, [&](const std::string& text) { progress.show(text); });
  const std::unique_ptr<Backend> backend = a.gpu.backend();
  Backends backends;
  backends.push_back(std::make_unique<KernelTuner>(*backend, tuner));
  std::shared_ptr<const CallTuner> calls;
  if (options.libraries.binder)
    options.libraries.binder = calls = std::make_shared<CallTuner>(options.libraries.binder, asking, tuner);
  options.targets = {target};
  options.dims = parse_dims(a.dims);
  options.threads = static_cast<int>(std::max(1U, std::thread::hardware_concurrency()));
  options.progress = [&](const std::string& stage) { progress.show(stage); };
  ImportedModel model = import_onnx(a.model, {}, {}, a.functions);
  compile(std::move(model.graph), model.source_hash, options, backends);
  write_file(a.output, file.bytes());
  progress.clear();
  print(a, target, tuner);
  for (const auto& [library, reason] : calls ? calls->refusals() : std::map<std::string, std::string>())
    std::cout << "calls of " << library << " were not measured: " << reason << '\n';
}
#else
void run(const Arguments&) {
  fail("tuning measures on a GPU; this gcc-graph was built without GCC_GRAPH_CUDA_RUNTIME");
}
#endif

}  // namespace

void add_tune_command(CLI::App& app) {
  auto a = std::make_shared<Arguments>();
  CLI::App* c = app.add_subcommand("tune", "Measure the ways to compute a model's products on this machine's GPU");
  c->add_option("model", a->model, "The ONNX file")->required();
  c->add_option("-o,--output", a->output,
                "The file of measurements to write; what it holds already is kept and not measured again")
      ->capture_default_str();
  c->add_option("--target", a->target, "The GPU's target; default: the best one for the first GPU");
  c->add_option("--dim", a->dims, "NAME=VALUE[,VALUE...]: extents to tune for, as compile takes them")
      ->delimiter('\0')
      ->allow_extra_args(false);
  c->add_option("--functions", a->functions, "LIB.onnx,..: libraries of functions, as compile takes them")
      ->delimiter(',')
      ->allow_extra_args(false);
  a->gpu.add_to(*c);
  c->add_option("--seconds", a->tune.seconds, "How long each candidate is measured")
      ->capture_default_str()
      ->check(CLI::Range(0.001, 60.0));
  c->add_option("--launches", a->tune.launches, "Of a kernel in each timed run")
      ->capture_default_str()
      ->check(CLI::Range(1, 1000));
  c->add_flag("--again", a->tune.again, "Measure what the file holds already, too");
  c->callback([a] { run(*a); });
}

}  // namespace gcg::tools
