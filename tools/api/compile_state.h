// Shared by the two ways to compile, of a graph and of a file, behind the installed headers.
#pragma once

#include "compiler/compile.h"
#include "compiler/support/unsupported.h"
#include "gcc_graph/compile_model.h"

namespace gcc_graph::detail {

/// The options that have a counterpart in the compiler.
gcg::CompileOptions own_options(const CompileOptions& requested);
/// The backends for CPUs and GPUs. `cache`: folder for GPU kernels; empty: the user's. `code`: where kernels' code is
/// printed; null: nowhere.
gcg::Backends make_backends(const std::string& cache, std::ostream* code = nullptr);
Compiled given_result(gcg::CompileResult result);
/// Nodes that a later stage rejects carry no opset version, but the importer knows it.
Unsupported given_error(const gcg::UnsupportedModel& error, const std::map<std::string, int64_t>& opsets);

}  // namespace gcc_graph::detail
