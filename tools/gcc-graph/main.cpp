#include <CLI/CLI.hpp>
#include <cctype>
#include <cstdio>
#include <new>

#include "compiler/support/error.h"
#include "compiler/support/unsupported.h"
#include "tools/gcc-graph/commands.h"

namespace {

/// CLI11's words for a bad command line as one sentence.
int refuse(const CLI::ParseError& error) {
  std::string text = error.what();
  if (!text.empty()) text[0] = static_cast<char>(std::tolower(static_cast<unsigned char>(text[0])));
  std::fprintf(stderr, "gcc-graph: %s; --help lists the options\n", text.c_str());
  return 1;
}

bool is_command(const CLI::App& app, const std::string& name) {
  return !app.get_subcommands([&](const CLI::App* command) { return command->get_name() == name; }).empty();
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app{"gcc-graph: ONNX models to machine code in one file"};
  app.require_subcommand(1);
  gcg::tools::add_compile_command(app);
  gcg::tools::add_tune_command(app);
  gcg::tools::add_run_command(app);
  gcg::tools::add_bench_command(app);
  gcg::tools::add_inspect_command(app);
  gcg::tools::add_check_command(app);
  gcg::tools::add_operators_command(app);
  if (argc > 1 && argv[1][0] != '-' && !is_command(app, argv[1])) {
    std::fprintf(stderr, "gcc-graph: there is no command '%s'; --help lists them\n", argv[1]);
    return 1;
  }
  try {
    app.parse(argc, argv);
  } catch (const CLI::RuntimeError& e) {
    return e.get_exit_code();
  } catch (const CLI::ParseError& e) {
    return e.get_exit_code() == 0 ? app.exit(e) : refuse(e);
  } catch (const std::bad_alloc&) {
    std::fprintf(stderr, "gcc-graph: not enough memory\n");
    return 1;
  } catch (const gcg::UnsupportedModel& e) {
    std::fprintf(stderr, "gcc-graph: %s\n", e.what());
    return 2;
  } catch (const std::exception& e) {
    std::fprintf(stderr, "gcc-graph: %s\n", e.what());
    return 1;
  }
  return 0;
}
