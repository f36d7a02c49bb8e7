// Writes Dims as straight-line code of the artifact's shape program.
#pragma once

#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "compiler/ir/dim.h"
#include "gart_generated.h"

namespace gcg {

/// Gives every requested Dim a slot; equal Dims share a slot.
class ShapeProgramBuilder {
 public:
  /// Slots [0, symbols.size()) are the symbols.
  explicit ShapeProgramBuilder(const std::vector<std::string>& symbols);
  /// Throws CompileError if `d` has a symbol that is not in the list.
  uint32_t slot(const Dim& d);
  const std::vector<gart::fb::Instruction>& instructions() const { return instructions_; }

 private:
  uint32_t atom(const Dim::AtomRef& a);
  uint32_t computed(const Dim::Atom& a);
  uint32_t emit(gart::fb::ExprOp op, uint32_t a, uint32_t b, int64_t value = 0);

  uint32_t symbols_;
  std::map<std::string, uint32_t> symbol_slots_;
  std::map<std::tuple<gart::fb::ExprOp, uint32_t, uint32_t, int64_t>, uint32_t> known_;
  std::map<Dim::AtomRef, uint32_t> atom_slots_;  // an atom occurs in many Dims and in other atoms; it gets one slot
  std::vector<gart::fb::Instruction> instructions_;
};

}  // namespace gcg
