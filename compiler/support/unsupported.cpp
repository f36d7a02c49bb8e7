#include "compiler/support/unsupported.h"

namespace gcg {
namespace {

std::string table(const std::vector<UnsupportedNode>& nodes) {
  std::string text = concat(nodes.size(), nodes.size() == 1 ? " node" : " nodes", " of the model cannot be compiled:");
  for (const UnsupportedNode& n : nodes) {
    text += concat("\n  '", n.name, "': ", n.op, " (domain ", n.domain.empty() ? "ai.onnx" : n.domain);
    text += concat(n.version > 0 ? concat(", version ", n.version) : "", "): ", n.why);
  }
  return text;
}

}  // namespace

UnsupportedModel::UnsupportedModel(std::vector<UnsupportedNode> nodes)
    : CompileError(table(nodes)), nodes_(std::move(nodes)) {}

}  // namespace gcg
