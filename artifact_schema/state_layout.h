// How an entry point lists its states, for the verifier, the runtime and the tools.
#pragma once

#include <cstddef>
#include <cstdint>

#include "artifact_schema/spans.h"
#include "gart_generated.h"

namespace gart {

/// The number of states that a run of the entry point writes: these are its last outputs.
inline size_t written_states(const fb::EntryPoint& entry) {
  size_t written = 0;
  for (uint32_t i = 0; i < count_of(entry.states()); ++i) written += entry.states()->Get(i)->read_only() ? 0 : 1;
  return written;
}

/// The extent in this slot of the entry point's program; -1: it depends on the caller's shapes. Requires that the slot
/// exists.
inline int64_t constant_extent(const fb::EntryPoint& entry, uint32_t slot) {
  const size_t symbols = count_of(entry.symbols());
  if (slot < symbols) return -1;
  const fb::Instruction& value = *entry.program()->Get(slot - static_cast<uint32_t>(symbols));
  return value.op() == fb::ExprOp::constant ? value.value() : -1;
}

}  // namespace gart
