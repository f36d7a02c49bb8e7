// Makes the plan of a graph: internal to make_plan.cpp and make_control.cpp.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "compiler/fusion/fuse.h"
#include "compiler/lowering/lower_group.h"
#include "compiler/plan/plan.h"
#include "compiler/support/unsupported.h"

namespace gcg {

class PlanMaker {
 public:
  explicit PlanMaker(DeviceClass device) : device_(device) {}

  /// Throws UnsupportedModel.
  Plan run(const Graph& graph);

 private:
  using BufferMap = std::map<ValueId, BufferId>;

  struct Scope {
    const Graph& graph;
    Fusion fusion;
    BufferMap buffers;  // by storage value
  };

  /// A group that is ready to be emitted: its kernel with operand buffers, or its control node.
  struct ReadyGroup {
    const FusionGroup* group = nullptr;
    LoweredGroup lowered;
    std::vector<BufferId> operands;
    std::set<BufferId> reads, writes;
    std::set<std::string> needs, gives;  // symbols that other steps bind during the run; symbols that this one binds
    int64_t position = 0;                // position of the group's node in the graph's order; breaks ties
  };

  /// The destination of one row of a Loop's scan output.
  struct RowStore {
    BufferId target, iteration;
    Shape shape;              // shape of the target
    ValueId iteration_value;  // the number of the iteration, a value of the subgraph
  };

  /// A Loop under construction, and the buffers of its subgraph's inputs and outputs.
  struct LoopParts {
    const Graph& body;
    size_t carried;  // the number of carried variables
    Loop loop;
    BufferMap inputs;
    std::vector<BufferId> outputs;
    bool may_end_early = false;  // True if a condition can end the loop before the trip count is reached
  };

  /// Makes the steps of one graph and returns the number of their sequence. `inputs`: the buffers of its inputs.
  /// `outputs`: the buffers that its outputs must be written to. `rows`: for each output, the destination of a row of
  /// the Loop's scan output.
  SequenceId sequence(const Graph& graph, const BufferMap& inputs, const std::vector<BufferId>& outputs,
                      const std::map<size_t, RowStore>& rows);
  BufferId add_buffer(Buffer::Kind kind, const Value& v, int index = 0);
  BufferId constant(const Value& v);
  BufferId buffer(Scope& scope, ValueId v);

  std::vector<ReadyGroup> ordered(Scope& scope, const std::vector<BufferId>& outputs);
  void describe(Scope& scope, const FusionGroup& group, const std::vector<BufferId>& outputs, ReadyGroup& w);
  /// Orders readers after all writers of their inputs, and uses of a symbol after the step that binds it. Otherwise
  /// keeps the graph's order.
  static std::vector<ReadyGroup> topological(std::vector<ReadyGroup> works);
  void emit(Scope& scope, const ReadyGroup& w, Sequence& steps);
  /// Writes the rows that a run appends to a state or replaces in it. The output's memory already holds the other rows.
  void fail_steps(Scope& scope, const Node& n, Sequence& steps);
  void write_in_place(Scope& scope, const Node& n, Sequence& steps);
  Step launch(const LoweredGroup& lowered, std::vector<BufferId> operands);

  // make_control.cpp
  void bind_steps(Scope& scope, const Node& n, Sequence& steps);
  /// Adds checks of the graph's constraints on extents, as soon as the extents are known.
  void check_facts(Sequence& steps);
  /// True if the extent is known here, from inputs or from symbols bound so far.
  bool known(const Dim& d) const;
  /// Maps a subgraph's last inputs to the buffers of the values that the node captures.
  void bind_captures(Scope& scope, const Node& n, const Graph& body, BufferMap& map);
  void branch(Scope& scope, const Node& n, Sequence& steps);
  void loop(Scope& scope, const Node& n, Sequence& steps);
  /// At the end of an iteration, gives the extents of the next iteration's inputs their new values.
  void rebind(const Node& n, const LoopParts& parts);
  void loop_condition(Scope& scope, const Node& n, LoopParts& parts, Sequence& steps);
  void loop_variables(Scope& scope, const Node& n, LoopParts& parts, Sequence& steps);
  std::map<size_t, RowStore> loop_rows(Scope& scope, const Node& n, LoopParts& parts);
  /// Copies the boolean constant `true` into a buffer.
  void fill_true(BufferId to, const std::string& source, Sequence& steps);
  void store_row(Scope& scope, ValueId value, BufferId from, const RowStore& row, Sequence& steps);

  DeviceClass device_;
  const Graph* outermost_ = nullptr;
  std::set<std::string> symbols_;  // symbols of the inputs, and symbols bound so far
  std::set<std::string> run_bound_;
  std::vector<DimConstraint> run_bound_facts_;  // constraints of the current graph that are not checked yet
  Plan out_;
  std::map<std::pair<const Tensor*, DType>, BufferId> constants_;  // constant buffers by data and stored type
  std::map<std::string, KernelId> kernels_;
  std::vector<UnsupportedNode> problems_;
  TensorRef true_;
};

}  // namespace gcg
