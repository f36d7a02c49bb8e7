// --session: the states of a model with states, read from a file and written back.
#pragma once

#include <optional>
#include <string>

#include "gart/gart.hpp"

namespace CLI {
class App;
}

namespace gcg::tools {

struct SessionOption {
  std::string path;

  /// `writes`: the command writes the states back.
  void add_to(CLI::App& command, bool writes);
  /// A session for a program with states. If there is a file, the session has its values. Nullopt for a program without
  /// states. Throws Error if a program has no states but the option is given.
  std::optional<gart::Session> open(const gart::Program& program) const;
  /// Restores the values that the session had after open().
  void rewind(const gart::Session& session) const;
  void save(const gart::Session& session) const;
};

}  // namespace gcg::tools
