// Verifies libraries and call steps, as far as the manifest describes them. The caller of a library checks the numbers
// of the tensors when they are known.
#include <algorithm>
#include <cmath>
#include <set>

#include "artifact_schema/call_layout.h"
#include "artifact_schema/verify_internal.h"

namespace gart::verify {
namespace {

constexpr uint32_t kMaxWindow = 1 << 20;  // limit for strides, dilations and pads of convolutions

Status check_kinds(const fb::Call& call) {
  if (call.operation() > fb::Operation::MAX) return failure("its operation ", int(call.operation()), " is not known");
  if (call.activation() > fb::Activation::MAX)
    return failure("its activation ", int(call.activation()), " is not known");
  if (call.precision() > fb::Precision::MAX) return failure("its precision ", int(call.precision()), " is not known");
  if (!std::isfinite(call.scale())) return failure("its scale is not a number");
  if (call.workspace() > uint64_t(kMaxExtent))
    return failure("its workspace has ", call.workspace(), " bytes, the limit is ", kMaxExtent);
  return {};
}

Status check_views(const PlanCheck& check, const fb::Call& call) {
  if (Status status = check.budget.spend(count_of(call.views())); !status.ok()) return status;
  for (uint32_t i = 0; i < count_of(call.views()); ++i) {
    const fb::CallView& view = *call.views()->Get(i);
    if (view.dtype() == fb::DType::undefined || view.dtype() > fb::DType::MAX)
      return failure("view ", i, " has dtype ", int(view.dtype()), ", which is not known");
    const size_t rank = call_rank(call, i);
    if (view.rank() != rank) return failure("view ", i, " has rank ", int(view.rank()), " instead of ", rank);
  }
  return {};
}

Status check_window(const PlanCheck& check, const fb::Call& call) {
  const bool convolution = call.operation() == fb::Operation::convolution;
  const auto strides = span_of(call.strides()), dilations = span_of(call.dilations()), pads = span_of(call.pads());
  if (Status status = check.budget.spend(strides.size() + dilations.size() + pads.size()); !status.ok()) return status;
  if (dilations.size() != strides.size() || pads.size() != strides.size())
    return failure("it has ", strides.size(), " strides, ", dilations.size(), " dilations and ", pads.size(), " pads");
  if (convolution ? strides.empty() || strides.size() > kMaxSpatialAxes : !strides.empty())
    return failure("it has ", strides.size(), " spatial axes");
  for (size_t i = 0; i < strides.size(); ++i) {
    if (strides[i] < 1 || dilations[i] < 1 || std::max({strides[i], dilations[i], pads[i]}) > kMaxWindow)
      return failure("spatial axis ", i, " has stride ", strides[i], ", dilation ", dilations[i], " and pad ", pads[i]);
  }
  if (call.bias() && call.operation() == fb::Operation::attention) return failure("it is an attention with a bias");
  if (call.groups() < 1 || (!convolution && call.groups() != 1)) return failure("it has ", call.groups(), " groups");
  return {};
}

Status check_algorithm(const PlanCheck& check, const fb::Call& call) {
  if (call.algorithm() == nullptr) return {};
  const size_t numbers = count_of(call.algorithm()->config());
  if (Status status = check.budget.spend(numbers); !status.ok()) return status;
  if (Status status = check_elements_aligned(span_of(call.algorithm()->config()), "its algorithm"); !status.ok())
    return status;
  if (is_algorithm_size(call, numbers)) return {};
  return failure("its algorithm has ", numbers, " numbers, which no algorithm for ",
                 fb::EnumNameOperation(call.operation()), " has");
}

}  // namespace

Status check_libraries(Budget& budget, const fb::Manifest& manifest) {
  std::set<std::string_view> names;
  for (uint32_t i = 0; i < count_of(manifest.libraries()); ++i) {
    const fb::Library& library = *manifest.libraries()->Get(i);
    const std::string where = text("library ", i);
    if (Status status = check_string(budget, library.name(), "its name"); !status.ok()) return within(status, where);
    if (view_of(library.name()).empty() || !names.insert(view_of(library.name())).second)
      return failure(where, ": name '", view_of(library.name()).substr(0, 64), "' is empty or occurs twice");
    if (library.oldest() >= library.below())
      return failure(where, ": no version is from ", library.oldest(), " on and below ", library.below());
  }
  return {};
}

Status check_call(const PlanCheck& check, const fb::Step& step) {
  const fb::Manifest& manifest = *check.artifact.manifest;
  if (manifest.targets()->Get(check.plan.target())->kind() == fb::TargetKind::cpu)
    return failure("it calls a library, but the plan is for a CPU");
  const fb::Call* call = step.call();
  if (call == nullptr) return failure("it is a call without a call table");
  if (Status status = check_index(call->library(), count_of(manifest.libraries()), "library", "libraries");
      !status.ok())
    return status;
  const fb::Library& library = *manifest.libraries()->Get(call->library());
  if (call->oldest() != 0 && (call->oldest() < library.oldest() || call->oldest() >= library.below()))
    return failure("it needs version ", call->oldest(), ", the library's are from ", library.oldest(), " on and below ",
                   library.below());
  if (Status status = check_kinds(*call); !status.ok()) return status;
  if (Status status = check_window(check, *call); !status.ok()) return status;
  if (Status status = check_algorithm(check, *call); !status.ok()) return status;
  const size_t operands = call_operands(*call);
  if (count_of(step.operands()) != operands || count_of(call->views()) != operands)
    return failure("it has ", count_of(step.operands()), " operands and ", count_of(call->views()), " views, ",
                   fb::EnumNameOperation(call->operation()), " takes ", operands);
  if (Status status = check_views(check, *call); !status.ok()) return status;
  size_t params = 0;
  for (uint32_t i = 0; i < operands; ++i) params += call_params(call->views()->Get(i)->rank());
  if (count_of(step.params()) != params)
    return failure("it has ", count_of(step.params()), " params, its views take ", params);
  const size_t result = call_result(*call);
  const auto writes = span_of(step.writes());
  if (writes.size() != 1 || writes[0] != result) return failure("it does not write operand ", result, " alone");
  return check_writable(check, step.operands()->Get(uint32_t(result)));
}

Status check_fallback(const fb::Sequence& sequence, const fb::Step& step, uint32_t index) {
  if (step.fallback_for() == -1) return {};
  if (step.kind() != fb::StepKind::launch) return failure("it is the fallback for a step, but not a launch");
  if (Status status = check_index(uint32_t(step.fallback_for()), index, "fallback_for", "earlier steps"); !status.ok())
    return status;
  if (sequence.steps()->Get(uint32_t(step.fallback_for()))->kind() == fb::StepKind::call) return {};
  return failure("it is the fallback for step ", step.fallback_for(), ", not a call");
}

}  // namespace gart::verify
