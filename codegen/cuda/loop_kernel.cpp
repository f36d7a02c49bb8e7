// Loop kernels as text: which thread computes which elements stands in loop_plan.h.
#include <algorithm>
#include <functional>

#include "codegen/cuda/expr_text.h"
#include "codegen/cuda/loop_plan.h"
#include "codegen/cuda/operator_text.h"
#include "codegen/cuda/vector_access.h"

namespace gcg::cuda {
namespace {

constexpr int kWarp = 32;

class LoopText {
 public:
  LoopText(const Kernel& kernel, const LoopPlan& plan) : f_(kernel), plan_(plan) {
    f_.ranges().add(plan.outer);
    for (const StagePlan& s : plan.stages) {
      f_.ranges().add(s.loops);
      if (s.lane.id >= 0) f_.ranges().add(s.lane);
    }
    for (int id : plan.unit_axes) place_.axes[id] = "0";
  }

  KernelText emit() { return plan_.mapping == Mapping::elements ? emit_elements() : emit_groups(); }

 private:
  using Body = std::function<void(const Place&)>;

  // ---- elements --------------------------------------------------------------------------------------------------

  KernelText emit_elements() {
    const StagePlan& s = plan_.stages[0];
    std::vector<Axis> axes = plan_.outer;
    if (s.lane.id >= 0) axes.push_back({s.lane.id, ceil_div(s.lane.extent, Dim(s.vector))});
    Dim items(1);
    for (const Axis& a : axes) items = items * a.extent;
    const std::string item = number("item", items, concat("blockIdx.x * ", plan_.threads, " + threadIdx.x"),
                                    concat("(long long)blockIdx.x * ", plan_.threads, " + threadIdx.x"));
    f_.line("if (", item, " >= ", f_.dim(items).text, ") return;");
    const std::vector<std::string> names = f_.coordinates(axes, {item, !fits(items)});
    for (size_t k = 0; k < axes.size(); ++k) place_.axes[axes[k].id] = names[k];
    if (s.lane.id < 0 || s.vector == 1) {
      emit_store(s, place_);
    } else {
      const std::string base = f_.fresh("b");
      f_.line("const ", lane_type(s), " ", base, " = ", names.back(), " * ", s.vector, ";");
      emit_vectors(s, base);
    }
    KernelText text = f_.finish("loop", plan_.threads);
    text.tasks = ceil_div(items, Dim(plan_.threads));
    text.note = concat("elements ", items.str(), s.vector > 1 ? concat(", ", s.vector, " per thread") : "");
    return text;
  }

  /// Whole vectors from `base` on, or one by one what is left of the lane axis.
  void emit_vectors(const StagePlan& s, const std::string& base) {
    if (is_multiple(s.lane.extent, s.vector)) return emit_vector(s, base);
    const std::string end = f_.dim(s.lane.extent).text;
    f_.open("if (", base, " + ", s.vector, " <= ", end, ")");
    emit_vector(s, base);
    f_.close_else();
    const std::string i = f_.fresh("b");
    f_.open("for (", lane_type(s), " ", i, " = ", base, "; ", i, " < ", end, "; ++", i, ")");
    Place place = place_;
    place.axes[s.lane.id] = i;
    emit_store(s, place);
    f_.close();
    f_.close();
  }

  void emit_vector(const StagePlan& s, const std::string& base) {
    emit_lanes(s, place_, base, "", [&](const Place& place) { emit_store(s, place); });
  }

  // ---- groups ----------------------------------------------------------------------------------------------------

  KernelText emit_groups() {
    Dim points(1);
    for (const Axis& a : plan_.outer) points = points * a.extent;
    const int per_block = plan_.threads / plan_.group;
    emit_point(points, per_block);
    for (size_t k = 0; k < plan_.kept.size(); ++k) emit_kept_array(k);
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
    if (!plan_.kept.empty()) text.note += concat(", ", plan_.kept.size(), " rows in registers");
    return text;
  }

  /// The point of this thread and its number within the point's group. Threads without a point compute the last one
  /// again, so that whole warps take part in every exchange, and store nothing.
  void emit_point(const Dim& points, int per_block) {
    std::string in_block = concat("threadIdx.x / ", plan_.group);
    if (per_block == 1) in_block = "0u";
    const std::string first = concat("blockIdx.x * ", per_block, " + ");
    const std::string point = number("point", points, first + in_block, "(long long)" + first + in_block);
    const std::string end = f_.dim(points).text;
    Index mine{point, !fits(points)};
    if (plan_.group == 1) {
      f_.line("if (", point, " >= ", end, ") return;");
    } else {
      f_.line("const int lane = ", per_block == 1 ? "threadIdx.x" : concat("threadIdx.x % ", plan_.group), ";");
      if (per_block > 1) {
        f_.line("const bool active = ", point, " < ", end, ";");
        const std::string clamped = f_.fresh("e");
        f_.line("const ", mine.wide ? "long long " : "int ", clamped, " = active ? ", point, " : ", end, " - 1;");
        mine.text = clamped;
      }
    }
    const std::vector<std::string> names = f_.coordinates(plan_.outer, mine);
    for (size_t k = 0; k < names.size(); ++k) place_.axes[plan_.outer[k].id] = names[k];
  }

  void emit_kept_array(size_t k) {
    const StagePlan& s = *std::find_if(plan_.stages.begin(), plan_.stages.end(),
                                       [](const StagePlan& p) { return p.lane.id >= 0; });
    f_.line(type_of(plan_.kept[k].dtype), " k", k, "[", rounds(s) * s.vector, "];");
  }

  void emit_reduce(size_t number) {
    const StagePlan& s = plan_.stages[number];
    const Stage& stage = s.stage;
    const DType dtype = stage.value->dtype;
    const std::string local = concat("l", stage.local), type = type_of(dtype);
    f_.line(type, " ", local, " = ", constant_text(*reduce_identity(stage.reduce, dtype)), ";");
    emit_row(number, [&](const Place& place) { ExprText(f_, place).accumulate(stage.reduce, stage.value, local); });
    if (plan_.group > 1 && s.lane.id >= 0) emit_exchange(stage, local, type);
    place_.locals[stage.local] = local;
  }

  /// The group's threads put their parts together.
  void emit_exchange(const Stage& stage, const std::string& local, const std::string& type) {
    const std::string functor = combine_functor(stage.reduce);
    if (plan_.group <= kWarp)
      return f_.line(local, " = gart_warp_reduce<", plan_.group, ", ", functor, ">(", local, ");");
    const std::string slots = f_.fresh("s");
    f_.line("__shared__ ", type, " ", slots, "[", plan_.group / kWarp, "];");
    f_.line(local, " = gart_block_reduce<", plan_.group, ", ", functor, ">(", local, ", ", slots, ");");
  }

  void emit_row_store(size_t number) {
    const StagePlan& s = plan_.stages[number];
    std::string guard = plan_.group > 1 && plan_.threads > plan_.group ? "active" : "";
    if (plan_.group > 1 && s.lane.id < 0) guard += concat(guard.empty() ? "" : " && ", "lane == 0");
    if (!guard.empty()) f_.open("if (", guard, ")");
    emit_row(number, [&](const Place& place) { emit_store(s, place); });
    if (!guard.empty()) f_.close();
    if (plan_.group > 1 && number + 1 < plan_.stages.size()) f_.line(plan_.group > kWarp ? "__syncthreads();" : "__syncwarp();");
  }

  /// The group's threads walk over the elements of a stage.
  void emit_row(size_t number, const Body& body) {
    const StagePlan& s = plan_.stages[number];
    if (s.lane.id < 0) {
      f_.open("");
      body(place_);
      return f_.close();
    }
    if (plan_.group == 1) return emit_serial(s, body);
    if (!plan_.kept.empty()) return emit_rounds(number, body);
    if (is_short(s)) return emit_linear(s, body);
    Place place = place_;
    open_loops(s.loops, place);
    const std::string i = f_.fresh("i");
    const std::string first = s.vector > 1 ? concat("lane * ", s.vector) : "lane";
    f_.line("#pragma unroll 4");
    f_.open("for (", lane_type(s), " ", i, " = ", first, "; ", i, " < ", f_.dim(s.lane.extent).text, "; ", i,
            " += ", plan_.group * s.vector, ")");
    emit_lanes(s, place, i, "", body);
    for (size_t k = 0; k <= s.loops.size(); ++k) f_.close();
  }

  void emit_serial(const StagePlan& s, const Body& body) {
    Place place = place_;
    open_loops(s.loops, place);
    f_.line("#pragma unroll 4");
    open_loops({s.lane}, place);
    body(place);
    for (size_t k = 0; k <= s.loops.size(); ++k) f_.close();
  }

  /// Several axes of which the lane's is shorter than the group: one loop over all of their points.
  void emit_linear(const StagePlan& s, const Body& body) {
    std::vector<Axis> axes = s.loops;
    axes.push_back(s.lane);
    Dim points(1);
    for (const Axis& a : axes) points = points * a.extent;
    const std::string i = f_.fresh("i");
    f_.open("for (", fits(points) ? "int " : "long long ", i, " = lane; ", i, " < ", f_.dim(points).text, "; ", i,
            " += ", plan_.group, ")");
    const std::vector<std::string> names = f_.coordinates(axes, {i, !fits(points)});
    Place place = place_;
    for (size_t k = 0; k < axes.size(); ++k) place.axes[axes[k].id] = names[k];
    body(place);
    f_.close();
  }

  /// A row of constant length, `rounds` vectors per thread, with what the stages keep of it.
  void emit_rounds(size_t number, const Body& body) {
    const StagePlan& s = plan_.stages[number];
    const std::string j = f_.fresh("j"), i = f_.fresh("i");
    f_.line("#pragma unroll");
    f_.open("for (int ", j, " = 0; ", j, " < ", rounds(s), "; ++", j, ")");
    f_.line("const int ", i, " = (", j, " * ", plan_.group, " + lane) * ", s.vector, ";");
    const bool partial = !is_multiple(s.lane.extent, int64_t{plan_.group} * s.vector);
    if (partial) f_.open("if (", i, " < ", f_.dim(s.lane.extent).text, ")");
    Place place = place_;
    for (size_t k = 0; k < plan_.kept.size(); ++k)
      for (const KeptRow::Use& use : plan_.kept[k].uses)
        if (use.stage == number) (use.computes ? place.kept : place.known)[use.node.get()] = concat("k", k);
    emit_lanes(s, place, i, s.vector > 1 ? concat(j, " * ", s.vector) : j, body);
    if (partial) f_.close();
    f_.close();
  }

  // ---- elements of a row -----------------------------------------------------------------------------------------

  /// The elements of one vector: its loads first, then each element, then the store. Names of kept rows in `place` get
  /// `slot` (plus the element's number) as their index.
  void emit_lanes(const StagePlan& s, Place place, const std::string& base, const std::string& slot, const Body& body) {
    place.axes[s.lane.id] = base;
    if (s.vector == 1) {
      index_kept(place, slot);
      return body(place);
    }
    std::unordered_set<const ExprNode*> known;
    for (const auto& [node, name] : place.known) known.insert(node);
    const Stage& stage = s.stage;
    std::vector<std::pair<Expr, std::string>> vectors;
    {
      ExprText exprs(f_, place_at(s, base));
      for (const Expr& e : vector_loads(stage.value, f_.kernel().operands, s.lane.id, s.vector, known)) {
        const std::string offset = exprs.access(e->operand, e->args).offset.text, name = f_.fresh("v");
        f_.line("const gart_vector<", stored_type(e->dtype), ", ", s.vector, "> ", name, " = gart_load<", s.vector,
                ">(", f_.pointer(e->operand), " + ", offset, ");");
        vectors.emplace_back(e, name);
      }
    }
    const bool stores = stage.kind == Stage::Kind::store;
    if (stores) {
      vector_result_ = f_.fresh("v");
      f_.line("gart_vector<", stored_type(stage.value->dtype), ", ", s.vector, "> ", vector_result_, ";");
    }
    const std::string v = f_.fresh("u"), element = f_.fresh("i");
    f_.line("#pragma unroll");
    f_.open("for (int ", v, " = 0; ", v, " < ", s.vector, "; ++", v, ")");
    f_.line("const ", lane_type(s), " ", element, " = ", base, " + ", v, ";");
    place.axes[s.lane.id] = element;
    index_kept(place, slot.empty() ? "" : slot + " + " + v);
    for (const auto& [e, name] : vectors) {
      const std::string at = concat(name, ".at[", v, "]");
      place.known[e.get()] = e->dtype == DType::boolean ? concat("(", at, " != 0)") : at;
      if (const auto it = place.kept.find(e.get()); it != place.kept.end()) f_.line(it->second, " = ", place.known[e.get()], ";");
    }
    vector_index_ = v;
    body(place);
    vector_index_.clear();
    f_.close();
    if (!stores) return;
    ExprText exprs(f_, place_at(s, base));
    f_.line("gart_store(", f_.pointer(stage.operand), " + ", exprs.access(stage.operand, stage.index).offset.text, ", ",
            vector_result_, ");");
  }

  static void index_kept(Place& place, const std::string& slot) {
    for (auto* names : {&place.known, &place.kept})
      for (auto& [node, name] : *names) name += "[" + slot + "]";
  }

  Place place_at(const StagePlan& s, const std::string& base) {
    Place place = place_;
    place.axes[s.lane.id] = base;
    return place;
  }

  /// One element: to memory, or to its place in the vector that is stored afterwards.
  void emit_store(const StagePlan& s, const Place& place) {
    ExprText exprs(f_, place);
    const std::string value = exprs.value(s.stage.value);
    if (vector_index_.empty()) return exprs.store(s.stage.operand, s.stage.index, value);
    f_.line(vector_result_, ".at[", vector_index_, "] = ", value, ";");
  }

  void open_loops(const std::vector<Axis>& axes, Place& place) {
    for (const Axis& a : axes) {
      const std::string i = f_.fresh("i");
      place.axes[a.id] = i;
      f_.open("for (", index_type(f_.ranges().of_axis(a.id)), " ", i, " = 0; ", i, " < ", f_.dim(a.extent).text, "; ++",
              i, ")");
    }
  }

  // ---- numbers ---------------------------------------------------------------------------------------------------

  /// Can numbers up to this count, and one block beyond, be ints?
  static bool fits(const Dim& count) {
    const auto upper = count.upper_bound();
    return upper && *upper <= INT32_MAX - 65536;
  }
  std::string number(const std::string& name, const Dim& count, const std::string& narrow, const std::string& wide) {
    f_.line(fits(count) ? "const int " : "const long long ", name, " = ", fits(count) ? narrow : wide, ";");
    return name;
  }
  std::string lane_type(const StagePlan& s) { return index_type(f_.ranges().of_axis(s.lane.id)); }
  /// Vectors per thread of a row of constant length.
  int64_t rounds(const StagePlan& s) const {
    const int64_t step = int64_t{plan_.group} * s.vector;
    return (s.lane.extent.constant() + step - 1) / step;
  }
  bool is_short(const StagePlan& s) const {
    const auto upper = s.lane.extent.upper_bound();
    return !s.loops.empty() && upper && *upper < plan_.group;
  }

  FunctionText f_;
  const LoopPlan& plan_;
  Place place_;
  std::string vector_index_, vector_result_;  // while the elements of a vector are computed
};

}  // namespace

KernelText emit_loop_kernel(const Kernel& kernel, const Target&) {
  const LoopPlan plan = plan_loops(kernel, std::get<LoopKernel>(kernel.body));
  return LoopText(kernel, plan).emit();
}

}  // namespace gcg::cuda
