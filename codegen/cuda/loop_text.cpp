#include "codegen/cuda/loop_text.h"

#include "codegen/cuda/vector_access.h"

namespace gcg::cuda {
namespace {

void index_kept(Place& place, const std::string& slot) {
  for (auto* names : {&place.known, &place.kept})
    for (auto& [node, name] : *names) name = concat(name, "[", slot, "]");
}

}  // namespace

LoopText::LoopText(const Kernel& kernel, const LoopPlan& plan) : f_(kernel), plan_(plan) {
  f_.ranges().add(plan.outer);
  for (const StagePlan& s : plan.stages) {
    f_.ranges().add(s.loops);
    if (s.lane.id >= 0) f_.ranges().add(s.lane);
  }
  for (int id : plan.unit_axes) place_.axes.emplace(id, "0");
}

Place LoopText::place_at(const Place& place, const StagePlan& s, const std::string& i) {
  Place result = place;
  result.axes[s.lane.id] = i;
  return result;
}

/// The vectors that the stage's value reads at `place`; under conditions that are the same for all of a vector's
/// elements where only then the elements exist.
std::vector<LoopText::Vector> LoopText::emit_vector_loads(const StagePlan& s, const Place& place) {
  std::unordered_set<const ExprNode*> known;
  for (const auto& [node, name] : place.known) known.insert(node);
  Place bare = place;  // of names that are indexed per element
  bare.known.clear();
  bare.kept.clear();
  ExprText exprs(f_, bare);
  std::vector<Vector> vectors;
  for (const VectorLoad& v : all_vector_loads(s.stage.value, f_.kernel().operands, s.lane.id, s.vector, known)) {
    std::string condition;
    for (const auto& [e, wanted] : v.conditions)
      condition += concat(condition.empty() ? "" : " && ", wanted ? "" : "!", exprs.value(e));
    const Expr& e = v.load;
    const std::string offset = exprs.access(e->operand, e->args).offset.text, name = f_.fresh("v");
    const std::string type = concat("gart_vector<", stored_type(e->dtype), ", ", s.vector, ">");
    const std::string read = concat("gart_load<", s.vector, ">(", f_.pointer(e->operand), " + ", offset, ")");
    if (condition.empty()) {
      f_.line("const ", type, " ", name, " = ", read, ";");
    } else {
      f_.line(type, " ", name, " = {};");
      f_.line("if (", condition, ") ", name, " = ", read, ";");
    }
    vectors.push_back({e, name});
  }
  return vectors;
}

void LoopText::emit_lanes(const StagePlan& s, Place place, const std::string& base, const std::string& slot,
                          const Body& body) {
  place.axes[s.lane.id] = base;
  if (s.vector == 1) {
    index_kept(place, slot);
    return body(place);
  }
  const Stage& stage = s.stage;
  const std::vector<Vector> vectors = emit_vector_loads(s, place);
  const bool stores = stage.kind == Stage::Kind::store;
  if (stores) {
    vector_result_ = f_.fresh("v");
    f_.line("gart_vector<", stored_type(stage.value->dtype), ", ", s.vector, "> ", vector_result_, ";");
  }
  const std::string v = f_.fresh("u"), element = f_.fresh("i");
  f_.line("#pragma unroll");
  f_.open("for (int ", v, " = 0; ", v, " < ", s.vector, "; ++", v, ")");
  f_.line("const ", lane_type(s), " ", element, " = ", base, " + ", v, ";");
  Place inside = place_at(place, s, element);
  index_kept(inside, slot.empty() ? "" : concat(slot, " + ", v));
  for (const Vector& vector : vectors) {
    const std::string at = concat(vector.name, ".at[", v, "]");
    std::string& name = inside.known[vector.load.get()];
    name = vector.load->dtype == DType::boolean ? concat("(", at, " != 0)") : at;
    if (const auto it = inside.kept.find(vector.load.get()); it != inside.kept.end())
      f_.line(it->second, " = ", name, ";");
  }
  vector_index_ = v;
  body(inside);
  vector_index_.clear();
  f_.close();
  if (!stores) return;
  ExprText exprs(f_, place);
  f_.line("gart_store(", f_.pointer(stage.operand), " + ", exprs.access(stage.operand, stage.index).offset.text, ", ",
          vector_result_, ");");
}

void LoopText::emit_store(const StagePlan& s, const Place& place) {
  ExprText exprs(f_, place);
  const std::string value = exprs.value(s.stage.value);
  if (vector_index_.empty()) return exprs.store(s.stage.operand, s.stage.index, value);
  f_.line(vector_result_, ".at[", vector_index_, "] = ", value, ";");
}

void LoopText::open_loops(const std::vector<Axis>& axes, Place& place) {
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
