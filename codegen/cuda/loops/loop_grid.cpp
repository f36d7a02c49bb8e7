// ThreadMapping::grid: few points with long rows. A row is cut into chunks, one per block. A launch reduces chunks to
// partial results in the workspace. The next launch combines them, always in the same order, before its own work.
#include <algorithm>
#include <set>

#include "codegen/cuda/loops/loop_text.h"
#include "codegen/cuda/text/operator_text.h"
#include "codegen/cuda/text/vector_access.h"
#include "compiler/kernel/loop_planning.h"
#include "compiler/kernel/machine.h"

namespace gcg::cuda {
namespace {

constexpr int64_t kPartialBytes = 8;  // room for a partial result of any type

bool is_reduce(const StagePlan& s) { return s.stage.kind == Stage::Kind::reduce; }
/// True if the stage runs over a row that blocks share.
bool is_shared(const StagePlan& s) { return s.lane.id >= 0; }

std::set<int> locals_of(const Stage& stage) {
  std::set<int> locals;
  const auto see = [&](const ExprNode& n) {
    if (n.kind == ExprKind::local) locals.insert(n.local);
  };
  visit(stage.value, see);
  for (const Expr& i : stage.index) visit(i, see);
  return locals;
}

/// Stages [begin, end) of a plan, which one launch computes.
struct StageRange {
  size_t begin, end;
};

/// Independent reductions share a launch. A store has its own launch, because it may overwrite memory that other stages
/// read, and other stages may read its result.
std::vector<StageRange> launches_of(const std::vector<StagePlan>& stages) {
  std::vector<StageRange> ranges;
  std::set<int> reduced;  // results of the reductions in the last range
  bool reduces = false;
  for (size_t s = 0; s < stages.size(); ++s) {
    const std::set<int> needed_locals = locals_of(stages[s].stage);
    const bool waits =
        std::any_of(needed_locals.begin(), needed_locals.end(), [&](int l) { return reduced.count(l) > 0; });
    if (ranges.empty() || !reduces || !is_reduce(stages[s]) || waits) {
      ranges.push_back({s, s});
      reduced.clear();
    }
    ranges.back().end = s + 1;
    reduces = is_reduce(stages[s]);
    if (reduces) reduced.insert(stages[s].stage.local);
  }
  return ranges;
}

class GridText : public LoopText {
 public:
  GridText(const Kernel& kernel, const LoopPlan& plan, StageRange range)
      : LoopText(kernel, plan), range_(range), points_(extent_of(plan.outer)) {}
  KernelText emit();

 private:
  void emit_place();
  std::set<int> needed_locals() const;
  void emit_combination(const StagePlan& s);
  void emit_partial(const StagePlan& s);
  void emit_row_store(const StagePlan& s);
  void emit_chunk(const StagePlan& s, const Body& body);
  void emit_vector(const StagePlan& s, const EvaluationPoint& place, const std::string& base, const Body& body);
  void emit_exchange(const Stage& stage, const std::string& local);
  void declare(const Stage& stage);
  std::string partials(const Stage& stage);
  std::string note() const;

  StageRange range_;
  Dim points_;
};

KernelText GridText::emit() {
  emit_place();
  const std::set<int> needed = needed_locals();
  for (size_t s = 0; s < range_.begin; ++s)
    if (is_reduce(plan_.stages[s]) && needed.count(plan_.stages[s].stage.local) > 0) emit_combination(plan_.stages[s]);
  for (size_t s = range_.begin; s < range_.end; ++s)
    is_reduce(plan_.stages[s]) ? emit_partial(plan_.stages[s]) : emit_row_store(plan_.stages[s]);
  KernelText text = f_.finish("loop", plan_.threads);
  const Dim tiles = plan_.across ? ceil_div(points_, Dim(kWarpThreads)) : points_;
  // A store with one element per point needs only one block per point.
  const bool is_single = range_.end == range_.begin + 1 && !is_shared(plan_.stages[range_.begin]);
  text.tasks = is_single ? tiles : tiles * Dim(plan_.chunks);
  text.scratch_bytes = points_ * Dim(plan_.chunks * kPartialBytes * static_cast<int64_t>(plan_.stages.size()));
  text.note = note();
  return text;
}

std::string GridText::note() const {
  std::string text = concat("points ", points_.str(), ", ", plan_.chunks, " blocks each");
  for (size_t s = range_.begin; s < range_.end; ++s) {
    const StagePlan& stage = plan_.stages[s];
    std::vector<Axis> axes = stage.loops;
    if (is_shared(stage)) axes.push_back(stage.lane);
    text += concat(is_reduce(stage) ? ", reduce " : ", store ", extent_of(axes).str(),
                   stage.vector > 1 ? concat(" by ", stage.vector) : "");
  }
  return text;
}

/// Declares `chunk`, the thread's number `lane` among those that share a row, and the point's coordinates. Threads
/// without a point compute the last one again and store nothing.
void GridText::emit_place() {
  const bool is_single = range_.end == range_.begin + 1 && !is_shared(plan_.stages[range_.begin]);
  const int chunks = is_single ? 1 : plan_.chunks;
  f_.line("const int chunk = (int)(blockIdx.x % ", chunks, "u), tile = (int)(blockIdx.x / ", chunks, "u);");
  f_.line("const int lane = (int)threadIdx.x", plan_.across ? concat(" / ", kWarpThreads) : "", ";");
  if (plan_.across) {
    f_.line("const bool active = tile * ", kWarpThreads, " + (int)threadIdx.x % ", kWarpThreads, " < ",
            f_.dim(points_).text, ";");
    f_.line("const int point = active ? tile * ", kWarpThreads, " + (int)threadIdx.x % ", kWarpThreads, " : ",
            f_.dim(points_).text, " - 1;");
  } else {
    f_.line("const int point = tile;");
  }
  const std::vector<std::string> names = f_.coordinates(plan_.outer, {"point", false});
  for (size_t k = 0; k < names.size(); ++k) place_.axes[plan_.outer[k].id] = names[k];
}

/// The results of earlier reductions that this launch needs.
std::set<int> GridText::needed_locals() const {
  std::set<int> needed;
  for (size_t s = range_.end; s-- > 0;) {
    const StagePlan& stage = plan_.stages[s];
    const bool computed = s >= range_.begin || (!is_shared(stage) && needed.count(stage.stage.local) > 0);
    if (computed) needed.merge(locals_of(stage.stage));
  }
  return needed;
}

void GridText::declare(const Stage& stage) {
  const std::string local = concat("l", stage.local);
  f_.line(type_of(stage.value->dtype), " ", local, " = ",
          constant_text(*reduce_identity(stage.reduce, stage.value->dtype)), ";");
  place_.locals[stage.local] = local;
}

/// The workspace address of a reduction's partial results. The partial results of one point, or those of neighbouring
/// points, are side by side.
std::string GridText::partials(const Stage& stage) {
  const std::string type = type_of(stage.value->dtype);
  const Dim offset = points_ * Dim(plan_.chunks * kPartialBytes * stage.local);
  return concat("((", type, "*)((char*)workspace + ", f_.dim(offset).as_wide(), "))");
}

/// Combines the partial results of an earlier launch's reduction.
void GridText::emit_combination(const StagePlan& s) {
  const Stage& stage = s.stage;
  declare(stage);
  const std::string local = place_.locals[stage.local];
  if (!is_shared(s)) {
    f_.open("");
    ExprText(f_, place_).accumulate(stage.reduce, stage.value, local);
    return f_.close();
  }
  const std::string from = partials(stage), c = f_.fresh("c");
  const std::string at = plan_.across ? concat(c, " * ", f_.dim(points_).as_wide(), " + point")
                                      : concat("point * ", plan_.chunks, "LL + ", c);
  f_.line("for (int ", c, " = lane; ", c, " < ", plan_.chunks, "; ", c, " += ", plan_.group, ") ", local, " = ",
          combine_functor(stage.reduce), "::of(", local, ", ", from, "[", at, "]);");
  emit_exchange(stage, local);
}

/// Combines the values of the threads that share a row.
void GridText::emit_exchange(const Stage& stage, const std::string& local) {
  const std::string slots = f_.fresh("s"), functor = combine_functor(stage.reduce);
  const int count = plan_.across ? plan_.threads : plan_.threads / kWarpThreads;
  f_.line("__shared__ ", type_of(stage.value->dtype), " ", slots, "[", count, "];");
  f_.line(local, " = ", plan_.across ? "gart_across_reduce<" : "gart_block_reduce<", plan_.group, ", ", functor, ">(",
          local, ", ", slots, ");");
}

void GridText::emit_partial(const StagePlan& s) {
  const Stage& stage = s.stage;
  if (!is_shared(s)) return emit_combination(s);
  declare(stage);
  const std::string local = place_.locals[stage.local];
  emit_chunk(s,
             [&](const EvaluationPoint& place) { ExprText(f_, place).accumulate(stage.reduce, stage.value, local); });
  emit_exchange(stage, local);
  const std::string at = plan_.across ? concat("chunk * ", f_.dim(points_).as_wide(), " + point")
                                      : concat("point * ", plan_.chunks, "LL + chunk");
  f_.line("if (lane == 0", plan_.across ? " && active" : "", ") ", partials(stage), "[", at, "] = ", local, ";");
}

void GridText::emit_row_store(const StagePlan& s) {
  std::string guard = plan_.across ? "active" : "";
  if (!is_shared(s)) guard += concat(guard.empty() ? "" : " && ", "lane == 0");
  if (!guard.empty()) f_.open("if (", guard, ")");
  if (is_shared(s))
    emit_chunk(s, [&](const EvaluationPoint& place) { emit_store(s, place); });
  else
    emit_store(s, place_);
  if (!guard.empty()) f_.close();
}

/// Makes the block's threads iterate over its part of a row, one vector at a time.
void GridText::emit_chunk(const StagePlan& s, const Body& body) {
  std::vector<Axis> axes = s.loops;
  axes.push_back({s.lane.id, ceil_div(s.lane.extent, Dim(s.vector))});
  const Dim items = extent_of(axes), each = ceil_div(items, Dim(plan_.chunks));
  const bool narrow = fits(items);
  const char* type = narrow ? "int" : "long long";
  const std::string i = f_.fresh("i"), end = f_.fresh("e"), count = f_.dim(items).text;
  const std::string part = concat("(", type, ")", f_.dim(each).text);
  f_.line("const ", type, " ", end, " = ", part, " * (chunk + 1) < ", count, " ? ", part, " * (chunk + 1) : ", count,
          ";");
  f_.line("#pragma unroll 4");
  f_.open("for (", type, " ", i, " = ", part, " * chunk + lane; ", i, " < ", end, "; ", i, " += ", plan_.group, ")");
  const std::vector<std::string> names = f_.coordinates(axes, {i, !narrow});
  EvaluationPoint place = place_;
  for (size_t k = 0; k < axes.size(); ++k) place.axes[axes[k].id] = names[k];
  emit_vector(s, place, names.back(), body);
  f_.close();
}

/// Emits one vector, or the rest of a row element by element.
void GridText::emit_vector(const StagePlan& s, const EvaluationPoint& place, const std::string& item,
                           const Body& body) {
  if (s.vector == 1) return body(place);
  const std::string base = f_.fresh("b");
  f_.line("const ", lane_type(s), " ", base, " = ", item, " * ", s.vector, ";");
  if (is_multiple(s.lane.extent, s.vector)) return emit_lanes(s, place, base, "", body);
  const std::string end = f_.dim(s.lane.extent).text, i = f_.fresh("b");
  f_.open("if (", base, " + ", s.vector, " <= ", end, ")");
  emit_lanes(s, place, base, "", body);
  f_.close_else();
  f_.open("for (", lane_type(s), " ", i, " = ", base, "; ", i, " < ", end, "; ++", i, ")");
  EvaluationPoint one = place;
  one.axes[s.lane.id] = i;
  body(one);
  f_.close();
  f_.close();
}

}  // namespace

KernelText emit_grid(const Kernel& kernel, const LoopPlan& plan) {
  const std::vector<StageRange> ranges = launches_of(plan.stages);
  KernelText text;
  for (size_t r = ranges.size(); r-- > 0;) {
    KernelText launch = GridText(kernel, plan, ranges[r]).emit();
    if (r + 1 < ranges.size()) launch.then.push_back(std::move(text));
    text = std::move(launch);
  }
  return text;
}

}  // namespace gcg::cuda
