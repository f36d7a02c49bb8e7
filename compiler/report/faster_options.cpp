#include "compiler/report/faster_options.h"

#include <algorithm>
#include <set>

#include "compiler/kernel/device_traits.h"

namespace gcg {
namespace {

/// The operand with the weights of a product; -1 if the kernel has no weights.
int weights_of(const Kernel& kernel) {
  if (const auto* matmul = std::get_if<MatMulKernel>(&kernel.body)) return matmul->b.operand;
  if (const auto* conv = std::get_if<ConvKernel>(&kernel.body)) return conv->weights;
  return -1;
}

/// One plan's facts.
class PlanFacts {
 public:
  PlanFacts(const Plan& plan, const Target& target) : plan_(plan), target_(target) {
    for (const Sequence& sequence : plan.sequences)
      for (const Step& step : sequence.steps)
        if (const auto* launch = step.as<Launch>()) add(*launch);
  }

  int64_t whole_products = 0, estimated_products = 0, whole_weights = 0;

 private:
  void add(const Launch& launch) {
    const gart::KernelTypes& types = plan_.code[launch.kernel].types;
    if (types.right.empty() || launch.continues) return;  // not a product of two factors, or its second launch
    if (!traits_of(plan_.device).has_libraries) return add_weights(launch, types);
    if (target_.decisions == nullptr) ++estimated_products;
    if (target_.precision == Precision::fp32 && (types.left == "f32" || types.left == "3xtf32")) ++whole_products;
  }

  void add_weights(const Launch& launch, const gart::KernelTypes& types) {
    const int operand = weights_of(plan_.kernels[launch.kernel]);
    if (operand < 0 || types.right != "f32") return;
    const TensorRef& weights = plan_.buffers[launch.operands[static_cast<size_t>(operand)]].constant;
    if (weights && seen_.insert(weights.get()).second) whole_weights += weights->bytes();
  }

  const Plan& plan_;
  const Target& target_;
  std::set<const Tensor*> seen_;
};

std::vector<std::string> open_extents(const Graph& model) {
  std::set<std::string> symbols;
  for (const ValueId input : model.inputs)
    for (const Dim& extent : model.value(input).shape.value_or(Shape())) symbols.merge(extent.symbols());
  return {symbols.begin(), symbols.end()};
}

}  // namespace

FasterOptions faster_options(const std::vector<Plan>& plans, const std::vector<Target>& targets, const Graph& model) {
  FasterOptions out;
  bool has_fixed = false;
  for (const Plan& plan : plans) {
    has_fixed |= !plan.fixed.empty();
    if (plan.entry_point != 0 || plan.is_load_time_packing) continue;
    const PlanFacts facts(plan, targets[static_cast<size_t>(plan.target)]);
    out.whole_products = std::max(out.whole_products, facts.whole_products);
    out.estimated_products = std::max(out.estimated_products, facts.estimated_products);
    out.whole_weights = std::max(out.whole_weights, facts.whole_weights);
  }
  // The extents of states change from run to run, so no number suits them.
  if (!has_fixed && model.states.empty()) out.open_extents = open_extents(model);
  return out;
}

}  // namespace gcg
