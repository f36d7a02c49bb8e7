// Finds equal parts, so that they are stored once.
#pragma once

#include <string>
#include <unordered_map>
#include <vector>

#include "compiler/partition/assembly.h"

namespace gcg {

/// Parts are equal if their operators, attributes, types, facts and constants are. Names of values and nodes do not
/// matter.
class EqualParts {
 public:
  /// The number of an equal part in `parts`. If there is none, adds this one and returns its number.
  int find_or_add(std::vector<Part>& parts, Part part);

 private:
  std::unordered_map<std::string, std::vector<int>> known_;  // numbers of parts, by their text without data
};

}  // namespace gcg
