// The parts that all mappings of a loop kernel share: the elements of one vector, numbers, loops.
#pragma once

#include <functional>
#include <string>

#include "codegen/cuda/loops/loop_plan.h"
#include "codegen/cuda/text/expr_text.h"

namespace gcg::cuda {

/// Writes the text of a loop kernel. Each mapping derives from it.
class LoopText {
 protected:
  using Body = std::function<void(const EvaluationPoint&)>;

  LoopText(const Kernel& kernel, const LoopPlan& plan);

  /// Emits one vector of a stage from `base` on: its loads, then body() per element, then the store. Names of kept rows
  /// in `place` get `slot` as their index, plus the element's number.
  void emit_lanes(const StagePlan& s, EvaluationPoint place, const std::string& base, const std::string& slot,
                  const Body& body);
  /// Stores one element: to memory, or into the vector that is stored afterwards.
  void emit_store(const StagePlan& s, const EvaluationPoint& place);
  void open_loops(const std::vector<Axis>& axes, EvaluationPoint& place);

  /// True if numbers up to `count` plus one block fit an int.
  static bool fits(const Dim& count);
  /// Declares `name`, which is below `count` plus one block, as an int or long long.
  std::string number(const std::string& name, const Dim& count, const std::string& narrow, const std::string& wide);
  std::string lane_type(const StagePlan& s) { return index_type(f_.ranges().of_axis(s.lane.id)); }

  FunctionText f_;
  const LoopPlan& plan_;
  EvaluationPoint place_;

 private:
  struct Vector {
    Expr value;
    std::string name;
  };
  std::vector<Vector> emit_vector_reads(const StagePlan& s, const EvaluationPoint& place);
  std::vector<Vector> emit_reads(const std::vector<Expr>& reads, const EvaluationPoint& place, int count);
  /// The reductions in a stage's value that are computed for a whole vector at once.
  std::vector<Vector> emit_windows(const StagePlan& s, const EvaluationPoint& place);
  void emit_window(const StagePlan& s, const ExprNode& window, const std::vector<Expr>& reads, EvaluationPoint place,
                   const std::string& sums);
  static std::string element_of(const Vector& vector, const std::string& v);
  void emit_choice(const Expr& e, const std::string& vector, const EvaluationPoint& place, int count);
  EvaluationPoint place_at(const EvaluationPoint& place, const StagePlan& s, const std::string& i);

  std::string vector_index_, vector_result_;  // set while the elements of a vector are computed
};

KernelText emit_elements(const Kernel& kernel, const LoopPlan& plan);
KernelText emit_groups(const Kernel& kernel, const LoopPlan& plan);
KernelText emit_grid(const Kernel& kernel, const LoopPlan& plan);
KernelText emit_tiles(const Kernel& kernel, const LoopPlan& plan);

}  // namespace gcg::cuda
