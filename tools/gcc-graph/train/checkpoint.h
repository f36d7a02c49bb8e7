// Lets training continue where it stopped: keeps the states, and the position in the data.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "gart/gart.hpp"

namespace gcg::tools {

/// The position after `steps` steps in total: `position` samples into epoch `epoch` (counted from 0).
struct TrainingPlace {
  int64_t epoch = 0, position = 0, steps = 0;
};

/// The model of a training run, and the facts that determine the order of its samples and the updates.
struct TrainingFacts {
  std::string model;  // artifact_identity
  std::string entry;
  int64_t samples = 0, batch = 0;
  uint64_t seed = 0;
  bool shuffle = true;
  int64_t replicas = 1;
};

/// A folder with checkpoint.json, which names the file of states. Each save writes new states first, then replaces
/// checkpoint.json, so a crash leaves the old checkpoint or the new one.
class Checkpoint {
 public:
  /// If `folder` is empty, there is no checkpoint, and save() does nothing.
  explicit Checkpoint(std::string folder) : folder_(std::move(folder)) {}

  /// Creates the folder. Throws Error.
  void prepare() const;
  void save(const gart::Program& program, const TrainingFacts& facts, const TrainingPlace& place) const;
  /// Loads the states into the program, and returns the place. Throws Error if there is no checkpoint, if it is
  /// damaged, or if it belongs to a run with other facts.
  TrainingPlace load(const gart::Program& program, const TrainingFacts& facts) const;
  /// The facts of the checkpoint. Throws Error.
  TrainingFacts facts() const;

 private:
  std::string folder_;
};

}  // namespace gcg::tools
