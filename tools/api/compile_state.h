// What the two ways to compile, of a graph and of a file, have in common behind the installed headers.
#pragma once

#include "compiler/compile.h"
#include "compiler/support/unsupported.h"
#include "gcc_graph/compile_model.h"

namespace gcc_graph::detail {

/// Those that have their like.
gcg::CompileOptions own_options(const CompileOptions& given);
/// For CPUs and GPUs; `cache` of the latter's kernels, empty: the user's. `code`: where kernels' code is printed, if it
/// is.
gcg::Backends make_backends(const std::string& cache, std::ostream* code = nullptr);
Compiled given_result(gcg::CompileResult result);
/// Nodes that a later stage rejects carry no opset version; the importer knows it.
Unsupported given_error(const gcg::UnsupportedModel& error, const std::map<std::string, int64_t>& opsets);

}  // namespace gcc_graph::detail
