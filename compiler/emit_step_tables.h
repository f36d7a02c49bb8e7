// Tables of steps: what calls ask of libraries, how kernels see tensors.
#pragma once

#include <memory>

#include "artifact_schema/writer.h"
#include "compiler/kernel/backend.h"
#include "compiler/kernel/library_call.h"
#include "compiler/shape_program.h"

namespace gcg {

std::unique_ptr<gart::fb::CallT> call_table(const LibraryCall& call, uint32_t library, const Target& target);

/// Replaces the tensor maps of the launch by those of its kernel, and adds their numbers to its params.
void add_maps(gart::fb::StepT& step, const CompiledKernel& kernel, ShapeProgram& program);

}  // namespace gcg
