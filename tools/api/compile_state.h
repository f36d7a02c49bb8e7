// Shared code of the two ways to compile: from a graph, and from a file. The installed headers do not expose it.
#pragma once

#include "compiler/compile.h"
#include "compiler/support/unsupported.h"
#include "gcc_graph/compile_model.h"

namespace gcc_graph::detail {

/// The options that have a counterpart in the compiler.
gcg::CompileOptions own_options(const CompileOptions& requested);
/// The backends for CPUs and GPUs. `cache`: folder for GPU kernels; empty: the user's folder. `code`: where the code of
/// kernels is printed; null: it is not printed.
gcg::Backends make_backends(const std::string& cache, std::ostream* code = nullptr);
Compiled given_result(gcg::CompileResult result);
/// Adds the opset versions of the rejected nodes: later stages do not know them, but the importer does.
Unsupported given_error(const gcg::UnsupportedModel& error, const std::map<std::string, int64_t>& opsets);

}  // namespace gcc_graph::detail
