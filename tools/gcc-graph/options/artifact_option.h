// The artifact that a command works on: a file, or a model of a store.
#pragma once

#include <string>

namespace CLI {
class App;
}

namespace gcg::tools {

class ArtifactOption {
 public:
  void add_to(CLI::App& command);
  /// The path of the file. Throws if neither a file nor a model is given, or if the store has no such model.
  std::string path() const;

 private:
  std::string file_, store_, model_;
};

}  // namespace gcg::tools
