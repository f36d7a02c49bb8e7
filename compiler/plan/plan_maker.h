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

  /// A group ready to be emitted: its kernel with operand buffers, or its control node.
  struct ReadyGroup {
    const FusionGroup* group = nullptr;
    LoweredGroup lowered;
    std::vector<BufferId> operands;
    std::set<BufferId> reads, writes;
    std::set<std::string> needs, gives;  // symbols that are bound during the run
    int64_t position = 0;                // of its node in the graph's order: ties are broken by it
  };

  /// Where a row of a Loop's scan output goes.
  struct RowStore {
    BufferId target, iteration;
    Shape shape;              // of the target
    ValueId iteration_value;  // in the body
  };

  /// A loop in the making, and the buffers of its body's inputs and outputs.
  struct LoopParts {
    const Graph& body;
    size_t carried;  // how many variables
    Loop loop;
    BufferMap inputs;
    std::vector<BufferId> outputs;
    bool may_end_early = false;  // a condition decides, not only the trip count
  };

  /// One graph's steps. `inputs`: buffers of its inputs. `outputs`: buffers that its outputs must be written to.
  /// `rows`: by output, for a Loop's scan outputs, where the row goes. Returns the sequence's number.
  SequenceId sequence(const Graph& graph, const BufferMap& inputs, const std::vector<BufferId>& outputs,
                      const std::map<size_t, RowStore>& rows);
  BufferId add_buffer(Buffer::Kind kind, const Value& v, int index = 0);
  BufferId constant(const Value& v);
  BufferId buffer(Scope& scope, ValueId v);

  std::vector<ReadyGroup> ordered(Scope& scope, const std::vector<BufferId>& outputs);
  void describe(Scope& scope, const FusionGroup& group, const std::vector<BufferId>& outputs, ReadyGroup& w);
  /// Readers after every writer of what they read, and uses of a symbol after it is bound; otherwise in the order of
  /// the graph.
  static std::vector<ReadyGroup> topological(std::vector<ReadyGroup> works);
  void emit(Scope& scope, const ReadyGroup& w, Sequence& steps);
  Step launch(const LoweredGroup& lowered, std::vector<BufferId> operands);

  // make_control.cpp
  void bind_steps(Scope& scope, const Node& n, Sequence& steps);
  /// Checks what the graph assumes about extents as soon as they are known.
  void check_facts(Sequence& steps);
  /// Is the extent known here, by the inputs or by what has been bound?
  bool known(const Dim& d) const;
  /// Buffers of a body's last inputs: the values the node captures.
  void bind_captures(Scope& scope, const Node& n, const Graph& body, BufferMap& map);
  void branch(Scope& scope, const Node& n, Sequence& steps);
  void loop(Scope& scope, const Node& n, Sequence& steps);
  /// At the end of an iteration, the extents of what the next one gets.
  void rebind(const Node& n, const LoopParts& parts);
  void loop_condition(Scope& scope, const Node& n, LoopParts& parts, Sequence& steps);
  void loop_variables(Scope& scope, const Node& n, LoopParts& parts, Sequence& steps);
  std::map<size_t, RowStore> loop_rows(Scope& scope, const Node& n, LoopParts& parts);
  /// A boolean constant `true` into a buffer.
  void fill_true(BufferId to, const std::string& source, Sequence& steps);
  void store_row(Scope& scope, ValueId value, BufferId from, const RowStore& row, Sequence& steps);

  DeviceClass device_;
  const Graph* outermost_ = nullptr;
  std::set<std::string> symbols_;  // of the inputs, and those bound so far
  std::set<std::string> late_;
  std::vector<DimConstraint> late_facts_;  // of the graph at hand, not checked yet
  Plan out_;
  std::map<std::pair<const Tensor*, DType>, BufferId> constants_;  // by their data and the type they are stored in
  std::map<std::string, KernelId> kernels_;
  std::vector<UnsupportedNode> problems_;
  TensorRef true_;
};

}  // namespace gcg
