// Shared state of a public graph and its values.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "compiler/ir/graph.h"
#include "compiler/support/error.h"
#include "gcc_graph/graph.h"

namespace gcc_graph::detail {

struct GraphState {
  gcg::Graph graph;
  std::map<std::string, std::vector<std::string>> labels;  // as in gcg::ImportedModel
  std::map<std::string, std::string> metadata;
  std::map<std::string, std::string> separated;
  std::string source_hash;
};

/// Converts the compiler's exceptions to this library's Error.
template <class Body>
auto guarded(Body body) {
  try {
    return body();
  } catch (const gcg::CompileError& error) {
    throw Error(error.what());
  }
}

}  // namespace gcc_graph::detail
