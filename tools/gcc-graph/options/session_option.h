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
  /// A session for a program with states. It has the file's values if there is a file. Nullopt for a program without
  /// states.
  /// Throws Error if a program has no states but the option is given.
  std::optional<gart::Session> open(const gart::Program& program) const;
  /// Gives the session the values that it had after open().
  void rewind(const gart::Session& session) const;
  void save(const gart::Session& session) const;
};

}  // namespace gcg::tools
