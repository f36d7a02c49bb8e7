// ThreadMapping::elements: a thread per element, or per vector of elements, of a single store.
#include "codegen/cuda/loops/loop_text.h"
#include "codegen/cuda/text/vector_access.h"
#include "compiler/kernel/loop_planning.h"

namespace gcg::cuda {
namespace {

class ElementsText : public LoopText {
 public:
  ElementsText(const Kernel& kernel, const LoopPlan& plan) : LoopText(kernel, plan) {}
  KernelText emit();

 private:
  /// Emits whole vectors from `base` on, then the rest of the lane axis one by one.
  void emit_vectors(const StagePlan& s, const std::string& base);
  void emit_vector(const StagePlan& s, const std::string& base);
};

KernelText ElementsText::emit() {
  const StagePlan& s = plan_.stages[0];
  std::vector<Axis> axes = plan_.outer;
  if (s.lane.id >= 0) axes.push_back({s.lane.id, ceil_div(s.lane.extent, Dim(s.vector))});
  const Dim items = extent_of(axes);
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

void ElementsText::emit_vectors(const StagePlan& s, const std::string& base) {
  if (is_multiple(s.lane.extent, s.vector)) return emit_vector(s, base);
  const std::string end = f_.dim(s.lane.extent).text;
  f_.open("if (", base, " + ", s.vector, " <= ", end, ")");
  emit_vector(s, base);
  f_.close_else();
  const std::string i = f_.fresh("b");
  f_.open("for (", lane_type(s), " ", i, " = ", base, "; ", i, " < ", end, "; ++", i, ")");
  EvaluationPoint place = place_;
  place.axes[s.lane.id] = i;
  emit_store(s, place);
  f_.close();
  f_.close();
}

void ElementsText::emit_vector(const StagePlan& s, const std::string& base) {
  emit_lanes(s, place_, base, "", [&](const EvaluationPoint& place) { emit_store(s, place); });
}

}  // namespace

KernelText emit_elements(const Kernel& kernel, const LoopPlan& plan) { return ElementsText(kernel, plan).emit(); }

}  // namespace gcg::cuda
