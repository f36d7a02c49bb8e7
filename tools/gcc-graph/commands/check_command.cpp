#include <CLI/CLI.hpp>
#include <iostream>

#include "gart/gart.hpp"
#include "tools/gcc-graph/commands/commands.h"
#include "tools/gcc-graph/io/artifact_file.h"

namespace gcg::tools {
namespace {

/// One line per target of the file: does its code run on this machine, and if not, why not.
int check(const std::string& path) {
  const ArtifactFile file = open_artifact(path);
  bool any = false;
  for (const auto* target : *file.view.manifest->targets()) {
    const std::string name = target->name()->str();
    gart::LoadOptions options;
    options.target = name;
    options.threads = 1;
    const auto program = gart::load(path, options);
    std::cout << name << ": " << (program.ok() ? "runs here, on " + program->device() : program.error().message)
              << '\n';
    any |= program.ok();
  }
  if (any) {
    const auto program = gart::load(path);
    if (program.ok())
      std::cout << "gart::load would use " << program->target() << " on " << program->device() << '\n';
    else
      std::cout << "gart::load fails unless a target or device is named: " << program.error().message << '\n';
  } else {
    std::cout << "this file cannot run on this machine\n";
  }
  return any ? 0 : 3;
}

}  // namespace

void add_check_command(CLI::App& app) {
  auto path = std::make_shared<std::string>();
  CLI::App* c = app.add_subcommand("check", "Say whether an artifact runs on this machine, and why not");
  c->add_option("artifact", *path, "The .gart file")->required();
  c->callback([path] {
    if (const int code = check(*path)) throw CLI::RuntimeError(code);
  });
}

}  // namespace gcg::tools
