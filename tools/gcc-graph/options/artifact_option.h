// The artifact that a command works on: a file, or a model of a store.
#pragma once

#include <string>

namespace CLI {
class App;
}

namespace gcg::tools {

class TrustOption;

class ArtifactOption {
 public:
  void add_to(CLI::App& command);
  /// The path of the file. A model's signature comes from its store, and goes to `trust`. Throws if neither a file nor
  /// a model is given, if the store has no such model, or if keys are trusted and the model has no signature.
  std::string path(TrustOption& trust) const;

 private:
  std::string file_, store_, model_;
};

}  // namespace gcg::tools
