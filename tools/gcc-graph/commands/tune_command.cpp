#include <CLI/CLI.hpp>
#include <algorithm>
#include <filesystem>
#include <iostream>
#include <thread>

#include "gcc_graph/tune.h"
#include "tools/gcc-graph/commands/commands.h"
#include "tools/gcc-graph/io/read_file.h"
#include "tools/gcc-graph/io/write_file.h"
#include "tools/gcc-graph/measure/device_bench.h"
#include "tools/gcc-graph/options/gpu_options.h"
#include "tools/gcc-graph/options/parse_dim.h"
#include "tools/gcc-graph/options/progress.h"
#include "tools/gcc-graph/support/fail.h"

namespace gcg::tools {
namespace {

struct Arguments {
  std::string model, output = "tuning.json", target;
  std::vector<std::string> dims, functions;
  GpuOptions gpu;
  int launches = 20;
  bool again = false;
  double seconds = 0.05;
};

#if GCC_GRAPH_CUDA_RUNTIME
/// Runs on the GPU with random inputs.
double run_us(std::span<const uint8_t> artifact, double seconds) {
  gart::LoadOptions load;
  load.device = "cuda";
  const gart::Program program = value_or_throw(gart::load(artifact, load));
  InputOptions noise;
  noise.random_seed = 1;
  const auto times = time_on_device(program, collect_inputs(program.inputs(), noise), seconds);
  if (!times) fail("a candidate runs on ", program.device(), ", not on a GPU");
  return times->device_ms * 1e3;
}
#else
double run_us(std::span<const uint8_t>, double) { return 0; }
#endif

void print(const Arguments& a, const gcc_graph::Tuned& tuned) {
  std::cout << "wrote " << a.output << ": " << tuned.measured << " shapes measured for " << tuned.target << ", "
            << tuned.known << " known before, " << tuned.in_all << " in all\n";
  if (tuned.open > 0)
    std::cout << tuned.open
              << " kernels have open extents: the cost model chooses their variants; --dim fixes the extents\n";
  for (const auto& [library, reason] : tuned.not_measured)
    std::cout << "calls of " << library << " were not measured: " << reason << '\n';
}

void run(const Arguments& a) {
  Progress progress;
  gcc_graph::TuneOptions options;
  a.gpu.apply(options);
  if (!a.target.empty()) options.targets = {a.target};
  options.dims = parse_dims(a.dims);
  options.functions = a.functions;
  options.threads = static_cast<int>(std::max(1U, std::thread::hardware_concurrency()));
  options.launches = a.launches;
  options.again = a.again;
  options.run_us = [&](std::span<const uint8_t> artifact) { return run_us(artifact, a.seconds); };
  options.progress = [&](const std::string& stage) { progress.show(stage); };
  check_writable(a.output);
  std::optional<gcc_graph::NamedText> known;
  if (std::filesystem::exists(a.output)) {
    const std::vector<uint8_t> json = read_file(a.output);
    known = {{json.begin(), json.end()}, a.output};
  }
  const gcc_graph::Tuned tuned = gcc_graph::tune(a.model, options, known);
  write_file(a.output, {tuned.tuning.begin(), tuned.tuning.end()});
  progress.clear();
  print(a, tuned);
}

}  // namespace

void add_tune_command(CLI::App& app) {
  auto a = std::make_shared<Arguments>();
  CLI::App* c = app.add_subcommand(
      "tune", "Measure the variants of a model's products, convolutions and attention on this machine's GPU");
  c->add_option("model", a->model, "The ONNX file")->required();
  c->add_option("-o,--output", a->output,
                "The file of measurements to write; entries that it already has are kept and not measured again")
      ->capture_default_str();
  c->add_option("--target", a->target, "The GPU's target; default: the best one for the first GPU");
  c->add_option("--dim", a->dims, "NAME=VALUE[,VALUE...]: extents to tune for, as compile takes them")
      ->delimiter('\0')
      ->allow_extra_args(false);
  c->add_option("--functions", a->functions, "LIB.onnx,..: libraries of functions, as compile takes them")
      ->delimiter(',')
      ->allow_extra_args(false);
  a->gpu.add_to(*c);
  c->add_option("--seconds", a->seconds, "Seconds to measure each candidate")
      ->capture_default_str()
      ->check(CLI::Range(0.001, 60.0));
  c->add_option("--launches", a->launches, "Launches of a kernel in each timed run")
      ->capture_default_str()
      ->check(CLI::Range(1, 1000));
  c->add_flag("--again", a->again, "Also measure the entries that the file already has");
  c->callback([a] { run(*a); });
}

}  // namespace gcg::tools
