// Evaluates shape programs (gart.fbs): the one implementation of their arithmetic, for the verifier and for the
// runtime.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "artifact_schema/status.h"
#include "gart_generated.h"

namespace gart {

using ShapeProgram = std::span<const fb::Instruction>;

/// The largest byte size, extent or offset: sums of a few of them never overflow.
inline constexpr int64_t kMaxExtent = int64_t{1} << 46;

/// The values of a program's slots; the symbols come first. A slot is unknown while it depends on an unknown symbol.
struct Slots {
  std::vector<int64_t> values;
  std::vector<uint8_t> known;  // 0 or 1

  explicit Slots(size_t count = 0) : values(count), known(count) {}
  size_t size() const { return values.size(); }
  /// `count` slots without values, in the same memory if it suffices.
  void clear(size_t count) { values.assign(count, 0), known.assign(count, 0); }
  void set(size_t slot, int64_t value) { values[slot] = value, known[slot] = 1; }
  /// Requires known[slot].
  int64_t operator[](size_t slot) const { return values[slot]; }
};

/// Checks that every instruction is of a known kind and reads lower slots only.
Status verify_program(ShapeProgram program, size_t symbols);

/// Computes every slot whose operands are known, including slots that had a value before. Requires a verified program
/// and slots.size() == symbols + program.size(). Fails on overflow and division by zero, naming slot and values.
/// `only`: evaluates these instructions in their order; empty: all instructions.
Status evaluate(ShapeProgram program, size_t symbols, Slots& slots, std::span<const uint32_t> only = {});

/// Marks the slots that have a value once the symbols marked in `known_symbols` have one.
std::vector<uint8_t> reachable_slots(ShapeProgram program, std::span<const uint8_t> known_symbols);

/// Marks all slots from which the marked slots are computed. Requires a verified program.
void mark_operands(ShapeProgram program, size_t symbols, std::vector<uint8_t>& marked);

/// The slot as an expression of the symbols: "batch", "224", "2*seq + 1". Big expressions are cut short with "...".
std::string describe_slot(ShapeProgram program, std::span<const std::string> symbols, size_t slot);

}  // namespace gart
