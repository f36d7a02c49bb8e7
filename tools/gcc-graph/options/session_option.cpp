#include "tools/gcc-graph/options/session_option.h"

#include <CLI/CLI.hpp>
#include <filesystem>

#include "tools/gcc-graph/support/fail.h"

namespace gcg::tools {
namespace {

void check(const gart::Result<void>& result) {
  if (!result) throw Error(result.error().message);
}

}  // namespace

void SessionOption::add_to(CLI::App& command, bool writes) {
  command.add_option(
      "--session", path,
      writes ? "F.safetensors: begin with the states in this file, if it exists, and write them back after the run"
             : "F.safetensors: begin each run with the states in this file");
}

std::optional<gart::Session> SessionOption::open(const gart::Program& program) const {
  if (program.states().empty()) {
    if (!path.empty()) fail("--session ", path, ": the model has no states");
    return std::nullopt;
  }
  gart::Result<gart::Session> session = program.new_session();
  if (!session) throw Error(session.error().message);
  rewind(*session);
  return *session;
}

void SessionOption::rewind(const gart::Session& session) const {
  const bool exists = !path.empty() && std::filesystem::exists(path);
  check(exists ? session.load(path) : session.reset());
}

void SessionOption::save(const gart::Session& session) const {
  if (!path.empty()) check(session.save(path));
}

}  // namespace gcg::tools
