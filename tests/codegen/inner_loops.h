// Reads the assembly text of kernels: finds loops that contain no other loop, to test the register allocator's
// result.
#pragma once

#include <string>
#include <vector>

namespace gcg::cpu {

struct InnerLoop {
  std::string label;
  std::vector<std::string> instructions;

  /// Instructions whose text contains any of the words.
  int count(const std::vector<std::string>& words) const;
  bool multiplies_and_adds() const { return count({"vfmadd", "fmla"}) > 0; }
  /// Vector registers moved to or from the stack.
  int spills() const;
};

/// The innermost loops of x86-64 (AT&T) or AArch64 assembly.
std::vector<InnerLoop> inner_loops(const std::string& assembly);

}  // namespace gcg::cpu
