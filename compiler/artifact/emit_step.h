// Steps as manifest tables.
#pragma once

#include <functional>
#include <memory>

#include "artifact_schema/writer.h"
#include "compiler/artifact/shape_program_builder.h"
#include "compiler/plan/plan.h"

namespace gcg {

/// The number that a call's library has in the manifest.
using LibraryNumber = std::function<uint32_t(const LibraryCall&)>;

/// What the tables of a plan's steps are made with.
struct StepContext {
  const Plan& plan;
  const Target& target;
  ShapeProgramBuilder& program;
  const LibraryNumber& library_number;
};

/// What is asked of the library with that number, by any algorithm.
std::unique_ptr<gart::fb::CallT> call_table(const LibraryCall& call, uint32_t library, const Target& target);

std::unique_ptr<gart::fb::SequenceT> emit_sequence(const Sequence& sequence, const StepContext& context);

}  // namespace gcg
