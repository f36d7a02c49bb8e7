// What gcc-graph compile says of the artifact it wrote to `output` in `seconds`.
#pragma once

#include <string>

#include "gcc_graph/compile.h"

namespace gcg::tools {

void print_compiled(const std::string& output, const gcc_graph::Compiled& result, double seconds);
/// The same facts, and those of the fleet's parts, as JSON.
void print_compiled_json(const std::string& output, const gcc_graph::Compiled& result, double seconds);

}  // namespace gcg::tools
