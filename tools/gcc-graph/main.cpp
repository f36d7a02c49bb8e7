#include <CLI/CLI.hpp>
#include <cstdio>

#include "compiler/support/error.h"
#include "compiler/support/unsupported.h"
#include "tools/gcc-graph/commands.h"

int main(int argc, char** argv) {
  CLI::App app{"gcc-graph: ONNX models to machine code in one file"};
  app.require_subcommand(1);
  gcg::tools::add_compile_command(app);
  gcg::tools::add_run_command(app);
  gcg::tools::add_bench_command(app);
  gcg::tools::add_inspect_command(app);
  gcg::tools::add_check_command(app);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& e) {
    return app.exit(e);
  } catch (const gcg::UnsupportedModel& e) {
    std::fprintf(stderr, "gcc-graph: %s\n", e.what());
    return 2;
  } catch (const std::exception& e) {
    std::fprintf(stderr, "gcc-graph: %s\n", e.what());
    return 1;
  }
  return 0;
}
