// Writes steps as manifest tables.
#pragma once

#include <functional>
#include <memory>

#include "artifact_schema/writer.h"
#include "compiler/artifact/shape_program_builder.h"
#include "compiler/plan/plan.h"

namespace gcg {

/// The number of a call's library in the manifest.
using LibraryNumber = std::function<uint32_t(const LibraryCall&)>;

/// The context in which the tables of a plan's steps are made.
struct StepContext {
  const Plan& plan;
  const Target& target;
  ShapeProgramBuilder& program;
  const LibraryNumber& library_number;
};

/// The table of the call, independent of the algorithm. `library`: its number in the manifest.
std::unique_ptr<gart::fb::CallT> call_table(const LibraryCall& call, uint32_t library, const Target& target);

std::unique_ptr<gart::fb::SequenceT> emit_sequence(const Sequence& sequence, const StepContext& context);

}  // namespace gcg
