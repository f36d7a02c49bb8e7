#include "compiler/passes/failing_body.h"

#include "compiler/ops/op_def.h"

namespace gcg {

Graph failing_body(const Graph& ill_typed, const Graph& other, const std::string& name, const UnsupportedNode& error) {
  Graph body;
  body.name = ill_typed.name;
  for (ValueId v : ill_typed.inputs) {
    Value input = ill_typed.value(v);
    body.inputs.push_back(body.add_value(std::move(input)));
  }
  std::vector<int64_t> dtypes, ranks;
  std::vector<std::string> extents;
  for (ValueId v : other.outputs) {
    dtypes.push_back(static_cast<int64_t>(other.value(v).dtype));
    if (!other.value(v).shape) throw NodeError(error);
    ranks.push_back(static_cast<int64_t>(other.value(v).shape->size()));
    for (const Dim& extent : *other.value(v).shape) {
      extents.push_back(extent.str());
      if (!Dim::parse(extents.back())) throw NodeError(error);  // the extent is too long to be printed in full
    }
  }
  const NodeId failure = body.add_node(
      op("Fail", "gart"), name, body.inputs, static_cast<int>(other.outputs.size()),
      {{"message", std::string(NodeError(error).what())}, {"dtypes", dtypes}, {"ranks", ranks}, {"extents", extents}});
  body.outputs = body.node(failure).outputs;
  return body;
}

}  // namespace gcg
