// Parts that are the same are stored once.
#pragma once

#include <string>
#include <unordered_map>
#include <vector>

#include "compiler/partition/assembly.h"

namespace gcg {

/// Finds a part again: the same operators, attributes, types, facts and constants, whatever values and nodes are
/// called.
class EqualParts {
 public:
  /// The number in `parts` of one that is equal; if there is none, of this one, which is there then.
  int find_or_add(std::vector<Part>& parts, Part part);

 private:
  std::unordered_map<std::string, std::vector<int>> known_;  // by text without data
};

}  // namespace gcg
