// The artifact that a command works on: a file, or a model of a store.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace gcg::tools {

class ArtifactOption {
 public:
  void add_to(CLI::App& command);
  /// The path of the file. Throws if neither a file nor a model is given, or if the store has no such model.
  std::string path() const;
  /// The signature that the store keeps with the model; empty for a file. Throws if it is needed and the store has
  /// none.
  std::vector<uint8_t> signature(bool is_needed) const;

 private:
  std::string file_, store_, model_;
};

}  // namespace gcg::tools
