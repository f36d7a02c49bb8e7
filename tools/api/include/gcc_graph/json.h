// The rules of this library for JSON from other people.
#pragma once

#include <string>
#include <string_view>

#include "gcc_graph/types.h"

namespace gcc_graph {

/// Throws Error unless the text is JSON of at most 64 MB and 64 levels in which no object has a field twice. `source`:
/// the text's name in messages. A program that checks a text before it parses it reads the same files as this library.
GCC_GRAPH_API void check_json(std::string_view text, const std::string& source);

}  // namespace gcc_graph
