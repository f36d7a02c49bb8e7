// ThreadMapping::groups: the threads of a group share the rows of one outer point, stage by stage.
#include <algorithm>

#include "codegen/cuda/loops/loop_text.h"
#include "codegen/cuda/text/operator_text.h"
#include "codegen/cuda/text/vector_access.h"
#include "compiler/kernel/loop_planning.h"
#include "compiler/kernel/machine.h"

namespace gcg::cuda {
namespace {

constexpr int64_t kWindow = 32;  // the most points of a window that is unrolled as a whole

class GroupsText : public LoopText {
 public:
  GroupsText(const Kernel& kernel, const LoopPlan& plan) : LoopText(kernel, plan) {}
  KernelText emit();

 private:
  void emit_point(const Dim& points, int per_block);
  void emit_kept_array(size_t k);
  void emit_reduce(size_t number);
  void emit_exchange(const Stage& stage, const std::string& local, const std::string& type);
  void emit_row_store(size_t number);
  void emit_row(size_t number, const Body& body);
  void open_outer_loops(const std::vector<Axis>& axes, EvaluationPoint& place);
  void emit_serial(const StagePlan& s, const Body& body);
  void emit_linear(const StagePlan& s, const Body& body);
  void emit_rounds(size_t number, const Body& body);
  int64_t rounds(const StagePlan& s) const;
  /// True if the lane axis is shorter than the group, so that some threads would be idle.
  bool is_short(const StagePlan& s) const;
};

KernelText GroupsText::emit() {
  const Dim points = extent_of(plan_.outer);
  const int per_block = plan_.threads / plan_.group;
  emit_point(points, per_block);
  for (size_t k = 0; k < plan_.kept_rows.size(); ++k) emit_kept_array(k);
  for (size_t s = 0; s < plan_.stages.size(); ++s) {
    const StagePlan& stage = plan_.stages[s];
    if (stage.stage.kind == Stage::Kind::reduce)
      emit_reduce(s);
    else
      emit_row_store(s);
  }
  KernelText text = f_.finish("loop", plan_.threads);
  text.tasks = ceil_div(points, Dim(per_block));
  text.note = concat("points ", points.str(), ", ", plan_.group, " threads each");
  for (const StagePlan& s : plan_.stages)
    text.note += concat(s.stage.kind == Stage::Kind::store ? ", store " : ", reduce ",
                        s.lane.id < 0 ? "1" : s.lane.extent.str(), s.vector > 1 ? concat(" by ", s.vector) : "");
  if (!plan_.kept_rows.empty()) text.note += concat(", ", plan_.kept_rows.size(), " rows in registers");
  return text;
}

/// Declares this thread's point and its number within the point's group. Threads without a point compute the last one
/// again and store nothing, so that whole warps take part in every exchange.
void GroupsText::emit_point(const Dim& points, int per_block) {
  std::string in_block = concat("threadIdx.x / ", plan_.group);
  if (per_block == 1) in_block = "0u";
  if (plan_.across) in_block = concat("threadIdx.x % ", kWarpThreads);
  const std::string first = concat("blockIdx.x * ", per_block, " + ");
  const std::string point = number("point", points, first + in_block, "(long long)" + first + in_block);
  const std::string end = f_.dim(points).text;
  IndexText own_point{point, !fits(points)};
  if (plan_.group == 1) {
    f_.line("if (", point, " >= ", end, ") return;");
  } else {
    const std::string in_group =
        plan_.across ? concat("threadIdx.x / ", kWarpThreads) : concat("threadIdx.x % ", plan_.group);
    f_.line("const int lane = ", per_block == 1 ? "threadIdx.x" : in_group, ";");
    if (per_block > 1) {
      f_.line("const bool active = ", point, " < ", end, ";");
      const std::string clamped = f_.fresh("e");
      f_.line("const ", own_point.wide ? "long long " : "int ", clamped, " = active ? ", point, " : ", end, " - 1;");
      own_point.text = clamped;
    }
  }
  const std::vector<std::string> names = f_.coordinates(plan_.outer, own_point);
  for (size_t k = 0; k < names.size(); ++k) place_.axes[plan_.outer[k].id] = names[k];
}

void GroupsText::emit_kept_array(size_t k) {
  const StagePlan& s =
      *std::find_if(plan_.stages.begin(), plan_.stages.end(), [](const StagePlan& p) { return p.lane.id >= 0; });
  f_.line(type_of(plan_.kept_rows[k].dtype), " k", k, "[", rounds(s) * s.vector, "];");
}

void GroupsText::emit_reduce(size_t number) {
  const StagePlan& s = plan_.stages[number];
  const Stage& stage = s.stage;
  const DType dtype = stage.value->dtype;
  const std::string local = concat("l", stage.local), type = type_of(dtype);
  f_.line(type, " ", local, " = ", constant_text(*reduce_identity(stage.reduce, dtype)), ";");
  emit_row(number,
           [&](const EvaluationPoint& place) { ExprText(f_, place).accumulate(stage.reduce, stage.value, local); });
  if (plan_.group > 1 && s.lane.id >= 0) emit_exchange(stage, local, type);
  place_.locals[stage.local] = local;
}

/// Combines the values of the group's threads.
void GroupsText::emit_exchange(const Stage& stage, const std::string& local, const std::string& type) {
  const std::string functor = combine_functor(stage.reduce);
  if (plan_.across) {
    const std::string slots = f_.fresh("s");
    f_.line("__shared__ ", type, " ", slots, "[", plan_.threads, "];");
    return f_.line(local, " = gart_across_reduce<", plan_.group, ", ", functor, ">(", local, ", ", slots, ");");
  }
  if (plan_.group <= kWarpThreads)
    return f_.line(local, " = gart_warp_reduce<", plan_.group, ", ", functor, ">(", local, ");");
  const std::string slots = f_.fresh("s");
  f_.line("__shared__ ", type, " ", slots, "[", plan_.group / kWarpThreads, "];");
  f_.line(local, " = gart_block_reduce<", plan_.group, ", ", functor, ">(", local, ", ", slots, ");");
}

void GroupsText::emit_row_store(size_t number) {
  const StagePlan& s = plan_.stages[number];
  std::string guard = plan_.group > 1 && plan_.threads > plan_.group ? "active" : "";
  if (plan_.group > 1 && s.lane.id < 0) guard += concat(guard.empty() ? "" : " && ", "lane == 0");
  if (!guard.empty()) f_.open("if (", guard, ")");
  emit_row(number, [&](const EvaluationPoint& place) { emit_store(s, place); });
  if (!guard.empty()) f_.close();
  if (plan_.group > 1 && number + 1 < plan_.stages.size())
    f_.line(plan_.group > kWarpThreads || plan_.across ? "__syncthreads();" : "__syncwarp();");
}

/// Makes the group's threads iterate over the elements of a stage.
void GroupsText::emit_row(size_t number, const Body& body) {
  const StagePlan& s = plan_.stages[number];
  if (s.lane.id < 0) {
    f_.open("");
    body(place_);
    return f_.close();
  }
  if (plan_.group == 1) return emit_serial(s, body);
  if (!plan_.kept_rows.empty()) return emit_rounds(number, body);
  if (is_short(s)) return emit_linear(s, body);
  EvaluationPoint place = place_;
  open_outer_loops(s.loops, place);
  const std::string i = f_.fresh("i");
  const std::string first = s.vector > 1 ? concat("lane * ", s.vector) : "lane";
  f_.line("#pragma unroll 4");
  f_.open("for (", lane_type(s), " ", i, " = ", first, "; ", i, " < ", f_.dim(s.lane.extent).text, "; ", i,
          " += ", plan_.group * s.vector, ")");
  emit_lanes(s, place, i, "", body);
  for (size_t k = 0; k <= s.loops.size(); ++k) f_.close();
}

/// Emits the loops around the loop over the lane axis. Without a limit, the compiler would unroll, for example, all 49
/// rounds, and hold every value that they read in registers.
void GroupsText::open_outer_loops(const std::vector<Axis>& axes, EvaluationPoint& place) {
  const Dim points = extent_of(axes);
  const bool window = points.is_constant() && points.constant() <= kWindow;
  for (size_t k = 0; k < axes.size(); ++k) {
    if (!window) f_.line(k + 1 == axes.size() ? "#pragma unroll 4" : "#pragma unroll 1");
    open_loops({axes[k]}, place);
  }
}

void GroupsText::emit_serial(const StagePlan& s, const Body& body) {
  std::vector<Axis> axes = s.loops;
  axes.push_back(s.lane);
  const Dim points = extent_of(axes);
  const bool window = points.is_constant() && points.constant() <= kWindow;
  EvaluationPoint place = place_;
  for (size_t k = 0; k < axes.size(); ++k) {
    const char* outer = k + 1 == axes.size() ? "#pragma unroll 4" : "#pragma unroll 1";
    f_.line(window ? "#pragma unroll" : outer);
    open_loops({axes[k]}, place);
  }
  body(place);
  for (size_t k = 0; k < axes.size(); ++k) f_.close();
}

/// Emits one loop over all points of several axes, where the lane axis is shorter than the group.
void GroupsText::emit_linear(const StagePlan& s, const Body& body) {
  std::vector<Axis> axes = s.loops;
  axes.push_back(s.lane);
  const Dim points = extent_of(axes);
  const std::string i = f_.fresh("i");
  f_.open("for (", fits(points) ? "int " : "long long ", i, " = lane; ", i, " < ", f_.dim(points).text, "; ", i,
          " += ", plan_.group, ")");
  const std::vector<std::string> names = f_.coordinates(axes, {i, !fits(points)});
  EvaluationPoint place = place_;
  for (size_t k = 0; k < axes.size(); ++k) place.axes[axes[k].id] = names[k];
  body(place);
  f_.close();
}

/// Emits a row of constant length, `rounds` vectors per thread, with the values that the stages keep.
void GroupsText::emit_rounds(size_t number, const Body& body) {
  const StagePlan& s = plan_.stages[number];
  const std::string j = f_.fresh("j"), i = f_.fresh("i");
  f_.line("#pragma unroll");
  f_.open("for (int ", j, " = 0; ", j, " < ", rounds(s), "; ++", j, ")");
  f_.line("const int ", i, " = (", j, " * ", plan_.group, " + lane) * ", s.vector, ";");
  const bool partial = !is_multiple(s.lane.extent, int64_t{plan_.group} * s.vector);
  if (partial) f_.open("if (", i, " < ", f_.dim(s.lane.extent).text, ")");
  EvaluationPoint place = place_;
  for (size_t k = 0; k < plan_.kept_rows.size(); ++k)
    for (const KeptRow::Use& use : plan_.kept_rows[k].uses)
      if (use.stage == number) (use.computes ? place.assigned : place.known)[use.node.get()] = concat("k", k);
  emit_lanes(s, place, i, s.vector > 1 ? concat(j, " * ", s.vector) : j, body);
  if (partial) f_.close();
  f_.close();
}

/// The number of vectors per thread in a row of constant length.
int64_t GroupsText::rounds(const StagePlan& s) const {
  const int64_t step = int64_t{plan_.group} * s.vector;
  return (s.lane.extent.constant() + step - 1) / step;
}

bool GroupsText::is_short(const StagePlan& s) const {
  const auto upper = s.lane.extent.upper_bound();
  return !s.loops.empty() && upper && *upper < plan_.group;
}

}  // namespace

KernelText emit_groups(const Kernel& kernel, const LoopPlan& plan) { return GroupsText(kernel, plan).emit(); }

}  // namespace gcg::cuda
