// The functions of the artifact's import table (artifact_schema/imports.h) that a kernel calls.
#pragma once

#include <set>
#include <string>

#include "compiler/kernel/kernel.h"

namespace gcg::cpu {

/// The C function that computes the operator on one element. Empty if generated code computes it.
std::string import_of(UnaryOp op, DType dtype);
std::string import_of(BinaryOp op, DType dtype);
/// True if the operator takes a call for every element; false if only rare elements need one.
bool calls_per_element(UnaryOp op, DType dtype);

/// All functions that the kernel's expressions may call.
std::set<std::string> needed_imports(const Kernel& kernel);

}  // namespace gcg::cpu
