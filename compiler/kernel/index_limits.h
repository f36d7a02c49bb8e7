// What a kernel allows the indices that it finds in its operands' data.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "compiler/kernel/kernel.h"

namespace gcg {

/// The ranges that it checks indices against, "[-5, 5)", each once, symbols by name.
std::set<std::string> index_limits(const Kernel& kernel);

/// Elements first, first + step, ... of an operand are indices: in [0, limit), or in [-limit, limit).
struct IndexCheck {
  int operand = -1;
  DType dtype{};
  int64_t first = 0, step = 1;
  Dim limit;
  bool from_end = false;
  bool operator==(const IndexCheck&) const = default;
};

/// Those of its indices that are an operand's elements as they are, each once. Not among them are indices of which
/// other data says that they are not used.
std::vector<IndexCheck> index_checks(const Kernel& kernel);

}  // namespace gcg
