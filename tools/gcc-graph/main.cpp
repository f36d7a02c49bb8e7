#include <CLI/CLI.hpp>
#include <algorithm>
#include <cctype>
#include <cstdio>
#include <iostream>
#include <new>
#include <string>
#include <vector>

#include "gcc_graph/compile_model.h"
#include "gcc_graph/values.h"
#include "tools/gcc-graph/commands/commands.h"
#include "tools/gcc-graph/commands/examples.h"
#include "tools/gcc-graph/io/printable.h"

namespace {

int say(const std::string& text, int code) {
  std::fprintf(stderr, "gcc-graph: %s\n", gcg::tools::printable(text).c_str());
  return code;
}

/// The options of the command that the user has given.
std::vector<std::string> options_of(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::App* command : app.get_subcommands()) {
    for (const CLI::Option* option : command->get_options())
      for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
    for (const std::string& name : options_of(*command)) names.push_back(name);
  }
  return names;
}

/// Describes the fault in a command line. Replaces messages of CLI11 that use terms of that library.
std::string words_of(const CLI::App& app, const CLI::ParseError& error) {
  std::string text = error.what();
  const std::vector<std::string> rest = app.remaining(true);
  if (dynamic_cast<const CLI::ExtrasError*>(&error) != nullptr && !rest.empty())
    return "'" + rest[0] + "' was not expected" + gcc_graph::nearest(rest[0], options_of(app));
  if (dynamic_cast<const CLI::ArgumentMismatch*>(&error) != nullptr && text.ends_with(" missing"))
    return text.substr(0, text.find(':')) + " needs a value";
  if (!text.empty()) text[0] = static_cast<char>(std::tolower(static_cast<unsigned char>(text[0])));
  return text;
}

std::vector<std::string> commands_of(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::App* command : app.get_subcommands([](const CLI::App*) { return true; }))
    names.push_back(command->get_name());
  return names;
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app{"gcc-graph: ONNX models to machine code in one file"};
  app.require_subcommand(1);
  app.set_version_flag("-V,--version", "gcc-graph " GCC_GRAPH_VERSION);
  gcg::tools::add_compile_command(app);
  gcg::tools::add_tune_command(app);
  gcg::tools::add_place_command(app);
  gcg::tools::add_run_command(app);
  gcg::tools::add_generate_command(app);
  gcg::tools::add_bench_command(app);
  gcg::tools::add_train_command(app);
  gcg::tools::add_state_command(app);
  gcg::tools::add_store_command(app);
  gcg::tools::add_serve_command(app);
  gcg::tools::add_inspect_command(app);
  gcg::tools::add_check_command(app);
  gcg::tools::add_compare_command(app);
  gcg::tools::add_sign_commands(app);
  gcg::tools::add_function_command(app);
  gcg::tools::add_operators_command(app);
  gcg::tools::add_devices_command(app);
  gcg::tools::add_doctor_command(app);
  gcg::tools::add_manual_command(app);
  gcg::tools::add_examples(app);
  const std::vector<std::string> commands = commands_of(app);
  if (argc > 1 && argv[1][0] != '-' && std::ranges::count(commands, argv[1]) == 0)
    return say(std::string("there is no command '") + argv[1] + "'" + gcc_graph::nearest(argv[1], commands) +
                   "; --help lists them",
               1);
  const gcg::tools::PrintableStream output(std::cout);
  try {
    app.parse(argc, argv);
  } catch (const CLI::RuntimeError& e) {
    return e.get_exit_code();
  } catch (const CLI::ParseError& e) {
    return e.get_exit_code() == 0 ? app.exit(e) : say(words_of(app, e) + "; --help lists the options", 1);
  } catch (const std::bad_alloc&) {
    return say("not enough memory", 1);
  } catch (const gcc_graph::Unsupported& e) {
    return say(e.what(), 2);
  } catch (const std::exception& e) {
    return say(e.what(), 1);
  }
  return 0;
}
