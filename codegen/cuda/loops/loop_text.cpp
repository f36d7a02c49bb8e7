#include "codegen/cuda/loops/loop_text.h"

#include "codegen/cuda/text/operator_text.h"
#include "codegen/cuda/text/vector_access.h"
#include "compiler/kernel/loop_planning.h"

namespace gcg::cuda {
namespace {

void index_kept(EvaluationPoint& place, const std::string& slot) {
  for (auto* names : {&place.known, &place.assigned})
    for (auto& [node, name] : *names) name = concat(name, "[", slot, "]");
}

}  // namespace

LoopText::LoopText(const Kernel& kernel, const LoopPlan& plan) : f_(kernel), plan_(plan) {
  f_.ranges().add(plan.outer);
  for (const StagePlan& s : plan.stages) {
    f_.ranges().add(s.loops);
    if (s.lane.id >= 0) f_.ranges().add(s.lane);
  }
}

EvaluationPoint LoopText::place_at(const EvaluationPoint& place, const StagePlan& s, const std::string& i) {
  EvaluationPoint result = place;
  result.axes[s.lane.id] = i;
  return result;
}

/// Reads the vectors that the stage's value needs at `place`.
std::vector<LoopText::Vector> LoopText::emit_vector_reads(const StagePlan& s, const EvaluationPoint& place) {
  std::unordered_set<const ExprNode*> known;
  for (const auto& [node, name] : place.known) known.insert(node);
  EvaluationPoint bare = place;  // without the names that are indexed per element
  bare.known.clear();
  bare.assigned.clear();
  return emit_reads(vector_reads(s.stage.value, f_.kernel().operands, s.lane.id, s.vector, known), bare, s.vector);
}

std::vector<LoopText::Vector> LoopText::emit_reads(const std::vector<Expr>& reads, const EvaluationPoint& place,
                                                   int count) {
  std::vector<Vector> vectors;
  for (const Expr& e : reads) {
    vectors.push_back({e, f_.fresh("v")});
    f_.line("gart_vector<", stored_type(e->dtype), ", ", count, "> ", vectors.back().name, ";");
    emit_choice(e, vectors.back().name, place, count);
  }
  return vectors;
}

std::string LoopText::element_of(const Vector& vector, const std::string& v) {
  const std::string at = concat(vector.name, ".at[", v, "]");
  return vector.value->dtype == DType::boolean ? concat("(", at, " != 0)") : at;
}

std::vector<LoopText::Vector> LoopText::emit_windows(const StagePlan& s, const EvaluationPoint& place) {
  std::vector<Vector> sums;
  each_window(s.stage.value, [&](const Expr& window) {
    for (const Vector& v : sums)
      if (v.value == window) return;
    const auto reads = window_reads(*window, f_.kernel().operands, s.lane.id, s.vector);
    if (!reads) return;
    sums.push_back({window, f_.fresh("t")});
    const std::string v = f_.fresh("u"), &name = sums.back().name;
    f_.line(type_of(window->dtype), " ", name, "[", s.vector, "];");
    f_.line("#pragma unroll");
    f_.line("for (int ", v, " = 0; ", v, " < ", s.vector, "; ++", v, ") ", name, "[", v,
            "] = ", constant_text(*reduce_identity(window->reduce, window->dtype)), ";");
    emit_window(s, *window, *reads, place, name);
  });
  return sums;
}

/// Computes one result per element of the vector that begins at `place`.
void LoopText::emit_window(const StagePlan& s, const ExprNode& window, const std::vector<Expr>& reads,
                           EvaluationPoint place, const std::string& sums) {
  constexpr int64_t kUnrolled = 32;
  const Dim taps = extent_of(window.reduce_axes);
  for (const Axis& a : window.reduce_axes) {
    if (is_below(taps, kUnrolled + 1)) f_.line("#pragma unroll");
    open_loops({a}, place);
  }
  const std::string base = place.axes.at(s.lane.id), v = f_.fresh("u"), element = f_.fresh("i");
  const std::vector<Vector> vectors = emit_reads(reads, place, s.vector);
  f_.line("#pragma unroll");
  f_.open("for (int ", v, " = 0; ", v, " < ", s.vector, "; ++", v, ")");
  f_.line("const ", lane_type(s), " ", element, " = ", base, " + ", v, ";");
  EvaluationPoint inside = place_at(place, s, element);
  for (const Vector& vector : vectors) inside.known[vector.value.get()] = element_of(vector, v);
  ExprText(f_, inside).accumulate(window.reduce, window.args[0], concat(sums, "[", v, "]"));
  f_.close();
  for (size_t k = 0; k < window.reduce_axes.size(); ++k) f_.close();
}

/// Assigns to `vector` the values of `e` (a load, a constant or a select of these) at `place` and the elements after
/// it.
void LoopText::emit_choice(const Expr& e, const std::string& vector, const EvaluationPoint& place, int count) {
  ExprText exprs(f_, place);
  if (e->kind == ExprKind::load) {
    const std::string offset = exprs.access(e->operand, e->args).offset.text;
    return f_.line(vector, " = gart_load<", count, ">(", f_.pointer(e->operand), " + ", offset, ");");
  }
  if (e->kind == ExprKind::constant)
    return f_.line(vector, " = gart_fill<", count, ">(", concat("(", stored_type(e->dtype), ")", exprs.value(e)), ");");
  f_.open("if (", exprs.value(e->args[0]), ")");
  emit_choice(e->args[1], vector, place, count);
  f_.close_else();
  emit_choice(e->args[2], vector, place, count);
  f_.close();
}

void LoopText::emit_lanes(const StagePlan& s, EvaluationPoint place, const std::string& base, const std::string& slot,
                          const Body& body) {
  place.axes[s.lane.id] = base;
  if (s.vector == 1) {
    index_kept(place, slot);
    return body(place);
  }
  const Stage& stage = s.stage;
  const std::vector<Vector> vectors = emit_vector_reads(s, place), windows = emit_windows(s, place);
  const bool stores = stage.kind == Stage::Kind::store;
  if (stores) {
    vector_result_ = f_.fresh("v");
    f_.line("gart_vector<", stored_type(stage.value->dtype), ", ", s.vector, "> ", vector_result_, ";");
  }
  const std::string v = f_.fresh("u"), element = f_.fresh("i");
  f_.line("#pragma unroll");
  f_.open("for (int ", v, " = 0; ", v, " < ", s.vector, "; ++", v, ")");
  f_.line("const ", lane_type(s), " ", element, " = ", base, " + ", v, ";");
  EvaluationPoint inside = place_at(place, s, element);
  index_kept(inside, slot.empty() ? "" : concat(slot, " + ", v));
  for (const Vector& vector : vectors) {
    std::string& name = inside.known[vector.value.get()];
    name = element_of(vector, v);
    if (const auto it = inside.assigned.find(vector.value.get()); it != inside.assigned.end())
      f_.line(it->second, " = ", name, ";");
  }
  for (const Vector& window : windows) inside.known[window.value.get()] = concat(window.name, "[", v, "]");
  vector_index_ = v;
  body(inside);
  vector_index_.clear();
  f_.close();
  if (!stores) return;
  ExprText exprs(f_, place);
  f_.line("gart_store(", f_.pointer(stage.operand), " + ", exprs.access(stage.operand, stage.index).offset.text, ", ",
          vector_result_, ");");
}

void LoopText::emit_store(const StagePlan& s, const EvaluationPoint& place) {
  ExprText exprs(f_, place);
  const std::string value = exprs.value(s.stage.value);
  if (vector_index_.empty()) return exprs.store(s.stage.operand, s.stage.index, value);
  f_.line(vector_result_, ".at[", vector_index_, "] = ", value, ";");
}

void LoopText::open_loops(const std::vector<Axis>& axes, EvaluationPoint& place) {
  for (const Axis& a : axes) {
    const std::string i = f_.fresh("i");
    place.axes[a.id] = i;
    f_.open("for (", index_type(f_.ranges().of_axis(a.id)), " ", i, " = 0; ", i, " < ", f_.dim(a.extent).text, "; ++",
            i, ")");
  }
}

bool LoopText::fits(const Dim& count) {
  const auto upper = count.upper_bound();
  return upper && *upper <= INT32_MAX - 65536;
}

std::string LoopText::number(const std::string& name, const Dim& count, const std::string& narrow,
                             const std::string& wide) {
  f_.line(fits(count) ? "const int " : "const long long ", name, " = ", fits(count) ? narrow : wide, ";");
  return name;
}

}  // namespace gcg::cuda
