#include "compiler/plan/plan_remarks.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "compiler/kernel/typical_extent.h"
#include "compiler/plan/shape_sets.h"
#include "compiler/plan/step_cost.h"
#include "compiler/support/error.h"

namespace gcg {
namespace {

bool has(const std::vector<BufferId>& buffers, BufferId b) {
  return std::find(buffers.begin(), buffers.end(), b) != buffers.end();
}

bool uses(const Step& step, BufferId b) { return has(step.reads(), b) || has(step.writes(), b); }

/// What the copies of a step of the host move: before it what it is the first to read, behind it what it writes.
struct Traffic {
  HostTransfer in, out;
};

/// Has a step of the host between `copy` and `index` used the buffer?
bool used_between(const Sequence& sequence, StepId copy, StepId index, BufferId b) {
  for (StepId i : sequence.steps.ids())
    if (copy < i && i < index && sequence.steps[i].on_host() && uses(sequence.steps[i], b)) return true;
  return false;
}

Traffic traffic_of(const Plan& plan, const Sequence& sequence, StepId index) {
  const Step& step = sequence.steps[index];
  Traffic traffic;
  for (StepId i : sequence.steps.ids()) {
    const auto* copy = sequence.steps[i].as<Copy>();
    if (copy == nullptr) continue;
    const Buffer &to = plan.buffers[copy->to], &from = plan.buffers[copy->from];
    if (i < index && to.space == MemorySpace::host && uses(step, copy->to) &&
        !used_between(sequence, i, index, copy->to))
      traffic.in.add(to);
    if (i > index && from.space == MemorySpace::host && has(step.writes(), copy->from)) traffic.out.add(from);
  }
  return traffic;
}

void add_symbols(const Dim& d, std::set<std::string>& all) {
  for (const std::string& s : d.symbols()) all.insert(s);
}

/// The extents that the estimate had to assume: ", taking 'batch' as 64"; "" if it had to assume none.
std::string assumed_text(const Plan& plan, const Launch& launch) {
  std::set<std::string> symbols;
  for (const Operand& o : plan.kernel_of(launch).operands)
    for (const Dim& d : o.shape) add_symbols(d, symbols);
  for (BufferId b : launch.operands) add_symbols(plan.buffers[b].bytes, symbols);
  std::string list;
  for (const std::string& name : symbols) list += concat(list.empty() ? ", taking '" : "', '", name);
  return list.empty() ? "" : concat(list, "' as ", kTypicalExtent);
}

std::string host_remark(const Plan& plan, const Sequence& sequence, StepId index, const Launch& launch) {
  const Step& step = sequence.steps[index];
  const Traffic traffic = traffic_of(plan, sequence, index);
  const double work = host_microseconds(plan.kernel_of(launch));
  const bool waits =
      index.index == 0 || !sequence.steps[StepId(index.index - 1)].on_host();  // otherwise it just follows on that one
  const double border = traffic.in.microseconds() + traffic.out.microseconds() + (waits ? kHostWait : 0);
  return concat("'", step.source, "' runs on the CPU: about ", std::lround(work + border), " us, of which ",
                std::lround(work), " us are work, the rest ", waits ? "waiting and " : "", "copies of ",
                static_cast<int64_t>(traffic.in.bytes), " bytes to it and ", static_cast<int64_t>(traffic.out.bytes),
                " bytes back", assumed_text(plan, launch));
}

}  // namespace

std::vector<std::string> plan_remarks(const Plan& plan) {
  std::vector<std::string> remarks;
  for (const Sequence& sequence : plan.sequences)
    for (StepId i : sequence.steps.ids()) {
      const Step& step = sequence.steps[i];
      if (step.on_host()) remarks.push_back(host_remark(plan, sequence, i, *step.as<Launch>()));
      if (const auto* bind = step.as<Bind>())
        remarks.push_back(concat("an extent of what '", step.source, "' gives depends on data ('", bind->symbol,
                                 "'): the graph is split there, and the host waits for the value"));
    }
  return remarks;
}

void add_remarks(std::vector<std::string>& all, DeviceClass device, const SymbolValues& fixed,
                 const std::vector<std::string>& sentences) {
  for (const std::string& s : sentences)
    all.push_back(concat(device == DeviceClass::cuda ? "GPUs [" : "CPUs [",
                         fixed.empty() ? "any shape" : describe(fixed), "]: ", s));
}

}  // namespace gcg
