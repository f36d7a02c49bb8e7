#include "compiler/plan/plan_remarks.h"

#include "compiler/plan/shape_sets.h"
#include "compiler/support/error.h"

namespace gcg {

std::vector<std::string> plan_remarks(const Plan& plan) {
  std::vector<std::string> remarks;
  for (const Sequence& sequence : plan.sequences)
    for (const Step& step : sequence.steps)
      if (const auto* bind = step.as<Bind>())
        remarks.push_back(concat("an extent of what '", step.source, "' gives depends on data ('", bind->symbol,
                                 "'): the graph is split there, and the host waits for the value"));
  return remarks;
}

void add_remarks(std::vector<std::string>& all, DeviceClass device, const SymbolValues& fixed,
                 const std::vector<std::string>& sentences) {
  for (const std::string& s : sentences)
    all.push_back(concat(device == DeviceClass::cuda ? "GPUs [" : "CPUs [",
                         fixed.empty() ? "any shape" : describe(fixed), "]: ", s));
}

}  // namespace gcg
