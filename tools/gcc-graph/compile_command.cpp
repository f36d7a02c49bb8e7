#include <CLI/CLI.hpp>
#include <fstream>
#include <iostream>

#include "codegen/cpu/cpu_backend.h"
#include "compiler/compile.h"
#include "compiler/import/import.h"
#include "compiler/support/error.h"
#include "tools/gcc-graph/commands.h"
#include "tools/gcc-graph/parse_dim.h"

namespace gcg::tools {
namespace {

struct Arguments {
  std::string model, output;
  std::vector<std::string> targets = {"x86-64-v3", "x86-64-v4"};
  std::vector<std::string> dims;
  int threads = 2;
  PassOptions passes;
  bool print_schedule = false;
};

void run(const Arguments& a) {
  CompileOptions options;
  options.targets = a.targets;
  for (const std::string& d : a.dims) options.dims.push_back(parse_dim(d));
  options.threads = a.threads;
  options.passes = a.passes;
  options.passes.out = &std::cout;
  options.print_schedule = a.print_schedule;
  Backends backends;
  backends.push_back(cpu::make_cpu_backend());
  ImportedModel model = import_onnx(a.model);
  const CompileResult result = compile(std::move(model.graph), model.source_hash, options, backends);
  std::ofstream file(a.output, std::ios::binary);
  file.write(reinterpret_cast<const char*>(result.artifact.data()), static_cast<std::streamsize>(result.artifact.size()));
  if (!file) fail("cannot write ", a.output);
  for (const PlanReport& p : result.plans)
    std::cout << p.target << " [" << p.shapes << "]: " << p.steps << " steps, " << p.kernels << " kernels, arena "
              << p.arena_bytes << " bytes (lower bound " << p.arena_lower_bound << ")\n";
}

}  // namespace

void add_compile_command(CLI::App& app) {
  auto args = std::make_shared<Arguments>();
  CLI::App* c = app.add_subcommand("compile", "Compile an ONNX model to a .gart artifact");
  c->add_option("model", args->model, "The ONNX file")->required();
  c->add_option("-o,--output", args->output, "The artifact to write")->required();
  c->add_option("--target", args->targets, "Comma-separated targets")->delimiter(',');
  c->add_option("--dim", args->dims, "NAME=VALUE[,VALUE...]: static plans for these extents")->delimiter('\0');
  c->add_option("--print-after", args->passes.print_after)->delimiter(',');
  c->add_option("--stop-after", args->passes.stop_after);
  c->add_option("--disable-pass", args->passes.disabled)->delimiter(',');
  c->add_flag("--print-schedule", args->print_schedule, "Print every plan's kernels and steps");
  c->add_flag("--time-passes", args->passes.time_passes);
  c->callback([args] { run(*args); });
}

}  // namespace gcg::tools
