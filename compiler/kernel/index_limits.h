// The limits against which a kernel checks the indices that it reads from its operands.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "compiler/kernel/kernel.h"

namespace gcg {

/// The distinct ranges that the kernel checks indices against, such as "[-5, 5)"; symbols appear by name.
std::set<std::string> index_limits(const Kernel& kernel);

/// Elements first, first + step, ... of an operand are indices in [0, limit), or in [-limit, limit) if `from_end`.
struct IndexCheck {
  int operand = -1;
  DType dtype{};
  int64_t first = 0, step = 1;
  Dim limit;
  bool from_end = false;
  bool operator==(const IndexCheck&) const = default;
};

/// The kernel's indices that are unmodified elements of an operand, each once. Indices that other data may mark as
/// unused are left out.
std::vector<IndexCheck> index_checks(const Kernel& kernel);

}  // namespace gcg
