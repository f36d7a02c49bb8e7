// What a public graph and its values share.
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
  std::map<std::string, std::vector<std::string>> labels;  // as of gcg::ImportedModel
  std::map<std::string, std::string> metadata;
  std::string source_hash;
};

/// What the compiler throws is this library's Error.
template <class Body>
auto guarded(Body body) {
  try {
    return body();
  } catch (const gcg::CompileError& error) {
    throw Error(error.what());
  }
}

}  // namespace gcc_graph::detail
