// Computes the places of a plan's buffers once slots have values. Shared by the verifier (static plans) and the
// runtime.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "artifact_schema/shape_program.h"
#include "artifact_schema/status.h"
#include "gart_generated.h"

namespace gart {

struct BufferExtent {
  int64_t bytes = -1;   // -1: not known yet
  int64_t offset = -1;  // for a constant, offset in the weights; for a temporary, in the arena; for a view, in its
                        // base. -1: none, or not known yet
};

/// Fills extents[index] from the known slots and checks it. A size must be within limits, a view within its base (a
/// lower index, measured before), and a constant within the weights. A temporary with a static offset must be within
/// the arena; run-bound temporaries have no offset (gart.fbs). Requires a structurally verified plan.
Status measure_buffer(const fb::Plan& plan, uint32_t index, bool late, const Slots& slots, uint64_t weight_bytes,
                      std::vector<BufferExtent>& extents);

/// Measures all buffers; those of unknown size stay at -1.
Status measure_buffers(const fb::Plan& plan, const Slots& slots, uint64_t weight_bytes,
                       std::vector<BufferExtent>& extents);

/// Bytes [begin, end) of the arena that a placed buffer takes.
struct PlacedRange {
  int64_t begin, end;
};

/// Places the temporaries of Plan.placement whose size is known: fills their offsets and the arena's size.
/// `scratch`: memory that calls reuse.
Status place_temporaries(const fb::Plan& plan, std::vector<BufferExtent>& extents, int64_t& arena_bytes,
                         std::vector<PlacedRange>& scratch);

}  // namespace gart
