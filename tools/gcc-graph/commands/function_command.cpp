#include <CLI/CLI.hpp>
#include <filesystem>
#include <iostream>
#include <nlohmann/json.hpp>

#include "gcc_graph/compile_model.h"
#include "gcc_graph/functions.h"
#include "tools/gcc-graph/commands/commands.h"
#include "tools/gcc-graph/io/read_file.h"
#include "tools/gcc-graph/io/write_file.h"
#include "tools/gcc-graph/support/json_text.h"

namespace gcg::tools {
namespace {

using gcc_graph::FunctionSummary;

std::string values_text(const std::vector<FunctionSummary::Value>& values) {
  std::string text;
  for (const auto& value : values)
    text += (text.empty() ? "" : ", ") + value.name + (value.type.empty() ? "" : ": ") + value.type;
  return text;
}

std::string text_of(const FunctionSummary& f) {
  std::string text = f.name + "(" + values_text(f.inputs) + ") -> (" + values_text(f.outputs) + "), " +
                     std::to_string(f.nodes) + (f.nodes == 1 ? " node" : " nodes");
  if (f.constant_bytes > 0) text += ", constants of " + std::to_string(f.constant_bytes) + " bytes";
  for (size_t i = 0; i < f.calls.size(); ++i) text += (i == 0 ? "; calls " : ", ") + f.calls[i];
  for (const auto& [key, value] : f.labels)
    text += key == "gart.tuning" ? "; with measurements" : "; " + key + " " + value;
  return text;
}

nlohmann::ordered_json json_of(const FunctionSummary& f) {
  const auto values = [](const std::vector<FunctionSummary::Value>& list) {
    auto out = nlohmann::ordered_json::array();
    for (const auto& value : list) out.push_back({{"name", value.name}, {"type", value.type}});
    return out;
  };
  return {{"name", f.name},    {"inputs", values(f.inputs)},         {"outputs", values(f.outputs)},
          {"nodes", f.nodes},  {"constant_bytes", f.constant_bytes}, {"calls", f.calls},
          {"labels", f.labels}};
}

struct Addition {
  std::vector<std::string> words;  // [NAME] MODEL
  std::string library, device, group, tuning;
  gcc_graph::CarveOptions carve;
};

void run(Addition a) {
  if (a.words.size() > 1) a.carve.name = a.words.front();
  if (!a.device.empty()) a.carve.labels["gart.device"] = a.device;
  if (!a.group.empty()) a.carve.labels["gart.group"] = a.group;
  if (!a.tuning.empty()) {
    const std::vector<uint8_t> bytes = read_file(a.tuning);
    const std::string text(bytes.begin(), bytes.end());
    gcc_graph::check_tuning({text, a.tuning});  // refuses a wrong file now, before a model is compiled with it
    a.carve.labels["gart.tuning"] = text;
  }
  check_writable(a.library);
  const gcc_graph::ChangedLibrary changed = gcc_graph::add_function(a.library, a.words.back(), a.carve);
  write_file(a.library, changed.bytes);
  std::cout << "wrote " << a.library << ": " << text_of(changed.function) << '\n';
}

void add_add(CLI::App& app) {
  auto a = std::make_shared<Addition>();
  CLI::App* c = app.add_subcommand(
      "add",
      "Store the subgraph of a model that computes the values --to from the values --from as a function in a library, "
      "which is created if it does not exist. Weights become constants, except those that --from lists, which become "
      "inputs. Functions of the model that the subgraph calls are stored, too");
  c->add_option(
       "name_and_model", a->words,
       "[NAME] MODEL.onnx: the function's name, NAME (in the domain 'functions') or DOMAIN::NAME, and the model that "
       "contains it. The default name is made from the nodes")
      ->required()
      ->expected(1, 2);
  c->add_option("--from", a->carve.from, "V,..: values of the model that become the inputs, in this order")
      ->required()
      ->delimiter(',')
      ->allow_extra_args(false);
  c->add_option("--to", a->carve.to, "W,..: values of the model that become the outputs, in this order")
      ->required()
      ->delimiter(',')
      ->allow_extra_args(false);
  c->add_option("-o,--output", a->library, "The library to write")->required();
  c->add_option("--device", a->device,
                "Device of its nodes in every model that calls it: cpu, cuda, or a device of a fleet");
  c->add_option("--group", a->group, "Group of its nodes in every model that calls it");
  c->add_option("--tuning", a->tuning,
                "Measurements of gcc-graph tune that choose its GPU kernels in every model that calls it");
  c->callback([a] { run(*a); });
}

void add_list(CLI::App& app) {
  auto library = std::make_shared<std::string>();
  auto json = std::make_shared<bool>(false);
  CLI::App* c = app.add_subcommand("list", "List the functions of a library");
  c->add_option("library", *library, "The library")->required();
  c->add_flag("--json", *json, "Print JSON");
  c->callback([library, json] {
    auto list = nlohmann::ordered_json::array();
    for (const FunctionSummary& function : gcc_graph::list_functions(*library)) {
      if (*json)
        list.push_back(json_of(function));
      else
        std::cout << text_of(function) << '\n';
    }
    if (*json) std::cout << json_text(list) << '\n';
  });
}

void add_remove(CLI::App& app) {
  auto name = std::make_shared<std::string>(), library = std::make_shared<std::string>();
  CLI::App* c = app.add_subcommand("remove", "Remove a function from a library, and the file with its last function");
  c->add_option("name", *name, "NAME or DOMAIN::NAME")->required();
  c->add_option("library", *library, "The library")->required();
  c->callback([name, library] {
    check_writable(*library);
    const gcc_graph::ChangedLibrary changed = gcc_graph::remove_function(*library, *name);
    if (changed.is_empty)
      std::filesystem::remove(*library);
    else
      write_file(*library, changed.bytes);
    std::cout << (changed.is_empty ? "removed " : "wrote ") << *library << ": without " << changed.function.name
              << '\n';
  });
}

}  // namespace

void add_function_command(CLI::App& app) {
  CLI::App* c = app.add_subcommand("function", "Change libraries of named functions, which compile --functions reads");
  c->require_subcommand(1);
  add_add(*c);
  add_list(*c);
  add_remove(*c);
}

}  // namespace gcg::tools
