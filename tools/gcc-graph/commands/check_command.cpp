#include <CLI/CLI.hpp>
#include <algorithm>
#include <iostream>
#include <nlohmann/json.hpp>

#include "gart/gart.hpp"
#include "tools/gcc-graph/commands/commands.h"
#include "tools/gcc-graph/io/artifact_file.h"

namespace gcg::tools {
namespace {

using Json = nlohmann::ordered_json;

/// For each target of the file: does its code run on this machine, and if not, why not.
Json targets_of(const std::string& path) {
  const ArtifactFile file = open_artifact(path);
  Json targets = Json::array();
  for (const auto* target : *file.view.manifest->targets()) {
    gart::LoadOptions options;
    options.target = target->name()->str();
    options.threads = 1;
    const auto program = gart::load(path, options);
    Json row = {{"name", options.target}, {"runs", program.ok()}};
    row[program.ok() ? "device" : "reason"] = program.ok() ? program->device() : program.error().message;
    targets.push_back(std::move(row));
  }
  return targets;
}

/// What gart::load without options does.
Json chosen(const std::string& path) {
  const auto program = gart::load(path);
  if (program.ok()) return {{"target", program->target()}, {"device", program->device()}};
  return {{"reason", program.error().message}};
}

void print(const Json& found) {
  for (const Json& t : found["targets"])
    std::cout << t["name"].get<std::string>() << ": "
              << (t["runs"].get<bool>() ? "runs here, on " + t["device"].get<std::string>()
                                        : t["reason"].get<std::string>())
              << '\n';
  if (!found.contains("default")) {
    std::cout << "this file cannot run on this machine\n";
  } else if (const Json& choice = found["default"]; choice.contains("target")) {
    std::cout << "gart::load would use " << choice["target"].get<std::string>() << " on "
              << choice["device"].get<std::string>() << '\n';
  } else {
    std::cout << "gart::load fails unless a target or device is named: " << choice["reason"].get<std::string>() << '\n';
  }
}

int check(const std::string& path, bool json) {
  Json found = {{"targets", targets_of(path)}};
  const bool any = std::any_of(found["targets"].begin(), found["targets"].end(),
                               [](const Json& t) { return t["runs"].get<bool>(); });
  if (any) found["default"] = chosen(path);
  if (json)
    std::cout << found.dump(2, ' ', false, Json::error_handler_t::replace) << '\n';
  else
    print(found);
  return any ? 0 : 3;
}

}  // namespace

void add_check_command(CLI::App& app) {
  auto path = std::make_shared<std::string>();
  CLI::App* c = app.add_subcommand("check", "Say whether an artifact runs on this machine, and why not");
  c->add_option("artifact", *path, "The .gart file")->required();
  auto json = std::make_shared<bool>(false);
  c->add_flag("--json", *json, "Print JSON");
  c->callback([path, json] {
    if (const int code = check(*path, *json)) throw CLI::RuntimeError(code);
  });
}

}  // namespace gcg::tools
