// Assembles every kernel of ONNX models for GPU targets and says what the assembler thinks of them.
//
//   assemble_models [--print] [--cache DIR] [--dim NAME=VALUE]... TARGET[,TARGET...] MODEL.onnx...
//   assemble_models --is-there-nvrtc
//
// --dim: plans with every symbol fixed instead of open ones. --print: the kernels' texts. --is-there-nvrtc: exits with
// 0 or 1. Exits with 1 if a kernel spills registers, ptxas complains about wgmma or setmaxnreg, or a model does not
// compile.
#include <cstdio>
#include <iostream>
#include <sstream>

#include "compiler/compile.h"
#include "compiler/import/import.h"
#include "compiler/ops/infer.h"
#include "compiler/passes/specialise.h"
#include "compiler/support/error.h"
#include "tests/cuda/codegen/assembly.h"

namespace {

using namespace gcg;

struct Options {
  bool print = false, asks_for_nvrtc = false;
  SymbolValues dims;
  std::string cache;
  std::vector<std::string> targets, models;
};

Options parse(int argc, char** argv) {
  Options options;
  int i = 1;
  for (; i < argc && argv[i][0] == '-'; ++i) {
    if (std::string(argv[i]) == "--print") options.print = true;
    if (std::string(argv[i]) == "--is-there-nvrtc") options.asks_for_nvrtc = true;
    if (std::string(argv[i]) == "--cache" && i + 1 < argc) options.cache = argv[++i];
    if (std::string(argv[i]) == "--dim" && i + 1 < argc) {
      const std::string dim = argv[++i];
      options.dims[dim.substr(0, dim.find('='))] = std::stoll(dim.substr(dim.find('=') + 1));
    }
  }
  std::stringstream names(i < argc ? argv[i++] : "");
  for (std::string name; std::getline(names, name, ',');) options.targets.push_back(name);
  for (; i < argc; ++i) options.models.emplace_back(argv[i]);
  return options;
}

/// True if the model's kernels assemble without complaints.
bool assemble(const Options& options, const std::string& path, const std::string& target) {
  test::AssemblyReport report;
  Backends backends;
  backends.push_back(test::make_watched_backend(report, options.cache, options.print ? &std::cout : nullptr));
  CompileOptions compile_options;
  compile_options.targets = {target};
  compile_options.threads = 2;
  try {
    ImportedModel model = import_onnx(path);
    infer_graph(model.graph);
    compile(specialise(model.graph, options.dims), model.source_hash, compile_options, backends);
  } catch (const CompileError& error) {
    std::cout << path << ' ' << target << ": " << error.what() << std::endl;
    return false;
  }
  std::printf("%s %s: %d kernels, at most %d registers, %.2f s\n", path.c_str(), target.c_str(), report.kernels,
              report.most_registers, report.seconds);
  for (const std::string& complaint : report.complaints) std::printf("  %s\n", complaint.c_str());
  std::fflush(stdout);
  return report.complaints.empty();
}

}  // namespace

int main(int argc, char** argv) {
  const Options options = parse(argc, argv);
  if (options.asks_for_nvrtc) return test::has_nvrtc() ? 0 : 1;
  if (!test::has_nvrtc()) {
    std::printf("SKIP: there is no NVRTC on this machine\n");
    return 0;
  }
  bool good = true;
  for (const std::string& model : options.models)
    for (const std::string& target : options.targets) good = assemble(options, model, target) && good;
  return good ? 0 : 1;
}
