#include "tools/gcc-graph/commands/examples.h"

#include <CLI/CLI.hpp>
#include <map>
#include <string>

#include "tools/gcc-graph/support/fail.h"

namespace gcg::tools {
namespace {

constexpr const char* kUsual = "0, or 1 if it failed";
constexpr const char* kCompiler = "0; 1 if it failed; 2 if the model has something that gcc-graph does not support";

struct Ending {
  const char* example;
  const char* codes = kUsual;
};

const std::map<std::string, Ending>& endings() {
  static const std::map<std::string, Ending> all = {
      {"compile", {"gcc-graph compile model.onnx -o model.gart --dim batch=1,8", kCompiler}},
      {"tune", {"gcc-graph tune model.onnx -o tuning.json --precision fp16", kCompiler}},
      {"place", {"gcc-graph place model.gart --fleet fleet.json"}},
      {"run",
       {"gcc-graph run model.gart --inputs in.npz --outputs out.npz",
        "0; 1 if it failed; 3 if the outputs differ from those of --expect"}},
      {"bench", {"gcc-graph bench model.gart --dim batch=8 --seconds 2 --profile"}},
      {"inspect", {"gcc-graph inspect model.gart --kernels --html model.html"}},
      {"check",
       {"gcc-graph check model.gart",
        "0; 1 if it failed; 2 if the model has something that gcc-graph does not support; 3 if nothing in the file "
        "runs "
        "here, or an output differs from the golden vectors"}},
      {"compare",
       {"gcc-graph compare model.onnx model.gart --dim batch=2",
        "0; 1 if it failed; 2 if the model has something that gcc-graph does not support; 3 if outputs differ"}},
      {"sign", {"gcc-graph sign model.gart --key private.pem"}},
      {"verify",
       {"gcc-graph verify model.gart --key public.pem",
        "0; 1 if it failed; 3 if the key's owner did not sign the file, or if it was changed"}},
      {"function", {"gcc-graph function list library.onnx"}},
      {"operators", {"gcc-graph operators"}},
      {"devices", {"gcc-graph devices --probe --json"}},
      {"generate", {"gcc-graph generate model.gart --tokenizer tokenizer.json \"The sky is\""}},
      {"train", {"gcc-graph train model.gart --data data.npz --epochs 10 --batch 32 -o trained.gart"}},
      {"state", {"gcc-graph state export model.gart -o weights.safetensors"}},
      {"store", {"gcc-graph store add --store models --model resnet resnet.gart"}},
      {"serve",
       {"gcc-graph serve --store models --port 8000", "0; 1 if it failed, or if requests were left without an answer"}},
      {"doctor", {"gcc-graph doctor", "0, or 1 if a device of this machine does not work"}},
      {"manual", {"gcc-graph manual man | man -l -"}},
  };
  return all;
}

}  // namespace

void add_examples(CLI::App& app) {
  for (CLI::App* command : app.get_subcommands([](const CLI::App*) { return true; })) {
    const auto at = endings().find(command->get_name());
    if (at == endings().end()) fail("the command '", command->get_name(), "' has no example");
    command->footer(concat("\nExample:\n  ", at->second.example, "\nExit codes: ", at->second.codes, "\n"));
  }
}

}  // namespace gcg::tools
