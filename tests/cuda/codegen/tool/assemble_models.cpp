// Assembles every kernel of ONNX models for GPU targets and prints the assembler's findings.
//
//   assemble_models [--print] [--cache DIR] TARGET[,TARGET...] [--dims NAME=VALUE,...] MODEL.onnx...
//   assemble_models --is-there-nvrtc
//
// TARGET "all": every GPU that the compiler and NVRTC know. --dims fixes these symbols of the models that follow ("":
// all stay open). MODEL "-" reads lines "PATH[ NAME=VALUE,...]" from the standard input, and prints a line "= PATH ..."
// after each model. --print prints the kernels' texts. --is-there-nvrtc: exits with 0 or 1. Kernels that several models
// share are assembled once. Exits with 1 if a kernel spills registers, ptxas complains about wgmma or setmaxnreg, or a
// model does not compile.
#include <chrono>
#include <cstdio>
#include <iostream>
#include <sstream>
#include <thread>

#include "compiler/compile.h"
#include "compiler/import/import.h"
#include "compiler/ops/infer.h"
#include "compiler/passes/specialise.h"
#include "compiler/support/error.h"
#include "tests/cuda/codegen/assembly.h"

namespace {

using namespace gcg;

struct Model {
  std::string path, dims;  // dims: see above
};

struct Options {
  bool print = false, asks_for_nvrtc = false;
  std::string cache;
  std::vector<std::string> targets;
  std::vector<Model> models;
};

std::vector<std::string> split(const std::string& list) {
  std::vector<std::string> parts;
  std::stringstream text(list);
  for (std::string part; std::getline(text, part, ',');) parts.push_back(part);
  return parts;
}

Options parse(int argc, char** argv) {
  Options options;
  std::string dims;
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    const bool has_value = i + 1 < argc;
    if (word == "--print")
      options.print = true;
    else if (word == "--is-there-nvrtc")
      options.asks_for_nvrtc = true;
    else if (word == "--cache" && has_value)
      options.cache = argv[++i];
    else if (word == "--dims" && has_value)
      dims = argv[++i];
    else if (options.targets.empty())
      options.targets = word == "all" ? test::all_gpu_targets() : split(word);
    else
      options.models.push_back({word, dims});
  }
  return options;
}

SymbolValues values_of(const std::string& dims) {
  SymbolValues values;
  for (const std::string& dim : split(dims))
    values[dim.substr(0, dim.find('='))] = std::stoll(dim.substr(dim.find('=') + 1));
  return values;
}

/// Collects the model's kernels for all targets. Prints a message and returns false if the model does not compile.
bool collect(const Options& options, const Model& model, test::Assembly& assembly) {
  std::string name = model.path.substr(model.path.rfind('/') + 1);
  if (!model.dims.empty()) name += " " + model.dims;
  assembly.set_owner(name);
  Backends backends;
  backends.push_back(assembly.make_backend(options.print ? &std::cout : nullptr));
  CompileOptions compile_options;
  compile_options.targets = options.targets;
  compile_options.threads = 2;
  try {
    ImportedModel imported = import_onnx(model.path);
    infer_graph(imported.graph);
    compile(specialise(imported.graph, values_of(model.dims)), imported.source_hash, compile_options, backends);
    return true;
  } catch (const CompileError& error) {
    std::cout << name << ": " << error.what() << std::endl;
    return false;
  }
}

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point begin) { return std::chrono::duration<double>(Clock::now() - begin).count(); }

/// Collects and assembles those of the model's kernels that no earlier model had. Returns the number of faults.
int assemble(const Options& options, const Model& model, test::Assembly& assembly) {
  const Clock::time_point begin = Clock::now();
  Clock::time_point told = begin;
  const bool compiles = collect(options, model, assembly);
  size_t kernels = 0;
  const auto complaints = assembly.assemble_collected([&](size_t done, size_t all) {
    kernels = all;
    if (seconds_since(told) < 10) return;
    told = Clock::now();
    std::printf("  %zu of %zu kernels, %.0f s\n", done, all, seconds_since(begin));
    std::fflush(stdout);
  });
  for (const std::string& complaint : complaints) std::printf("  FAILED %s\n", complaint.c_str());
  std::printf("= %s %s: %zu more kernels, %.1f s\n", model.path.c_str(), model.dims.c_str(), kernels,
              seconds_since(begin));
  std::fflush(stdout);
  return static_cast<int>(complaints.size()) + (compiles ? 0 : 1);
}

/// Assembles the model that each line of the standard input names. Returns the number of faults.
int assemble_named_by_input(const Options& options, test::Assembly& assembly) {
  int failed = 0;
  for (std::string line; std::getline(std::cin, line);) {
    const size_t space = line.find(' ');
    failed +=
        assemble(options, {line.substr(0, space), space == std::string::npos ? "" : line.substr(space + 1)}, assembly);
  }
  return failed;
}

}  // namespace

int main(int argc, char** argv) {
  const Options options = parse(argc, argv);
  if (options.asks_for_nvrtc) return test::has_nvrtc() ? 0 : 1;
  if (!test::has_nvrtc()) {
    std::printf("SKIP: there is no NVRTC on this machine\n");
    return 0;
  }
  test::Assembly assembly(options.cache, static_cast<int>(std::thread::hardware_concurrency()));
  int failed = 0;
  for (const Model& model : options.models)
    failed += model.path == "-" ? assemble_named_by_input(options, assembly) : assemble(options, model, assembly);
  assembly.print_summary(std::cout);
  std::cout << assembly.passed() << " passed, " << failed << " failed" << std::endl;
  return failed > 0 ? 1 : 0;
}
