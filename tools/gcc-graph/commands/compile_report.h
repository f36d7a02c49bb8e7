// The report of gcc-graph compile on the artifact that it wrote to `output` in `seconds`.
#pragma once

#include <string>

#include "gcc_graph/compile.h"

namespace gcg::tools {

void print_compiled(const std::string& output, const gcc_graph::Compiled& result, double seconds);
/// The same facts as JSON, including facts of the fleet's parts.
void print_compiled_json(const std::string& output, const gcc_graph::Compiled& result, double seconds);

}  // namespace gcg::tools
