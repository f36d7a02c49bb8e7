#include "compiler/plan_remarks.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "compiler/kernel/typical_extent.h"
#include "compiler/schedule/step_cost.h"
#include "compiler/shape_sets.h"
#include "compiler/support/error.h"

namespace gcg {
namespace {

bool has(const Step& step, BufferId b) {
  return std::find(step.operands.begin(), step.operands.end(), b) != step.operands.end();
}

bool writes(const Step& step, BufferId b) {
  return std::any_of(step.writes.begin(), step.writes.end(), [&](int w) { return step.operands[static_cast<size_t>(w)] == b; });
}

/// What the copies of a step of the host move: before it what it is the first to read, behind it what it writes.
struct Traffic {
  HostTransfer in, out;
};

/// Has a step of the host between `copy` and `index` used the buffer?
bool used_between(const Sequence& sequence, size_t copy, size_t index, BufferId b) {
  for (size_t i = copy + 1; i < index; ++i)
    if (sequence.steps[i].on_host && has(sequence.steps[i], b)) return true;
  return false;
}

Traffic traffic_of(const Schedule& s, const Sequence& sequence, size_t index) {
  const Step& step = sequence.steps[index];
  Traffic traffic;
  for (size_t i = 0; i < sequence.steps.size(); ++i) {
    const Step& copy = sequence.steps[i];
    if (copy.kind != Step::Kind::copy) continue;
    const Buffer& to = s.buffers[static_cast<size_t>(copy.operands[0].index)];
    const Buffer& from = s.buffers[static_cast<size_t>(copy.operands[1].index)];
    if (i < index && to.on_host && has(step, copy.operands[0]) && !used_between(sequence, i, index, copy.operands[0]))
      traffic.in.add(to);
    if (i > index && from.on_host && writes(step, copy.operands[1])) traffic.out.add(from);
  }
  return traffic;
}

void add_symbols(const Dim& d, std::set<std::string>& all) {
  for (const std::string& s : d.symbols()) all.insert(s);
}

/// The extents that the estimate had to assume: ", taking 'batch' as 64"; "" if it had to assume none.
std::string assumed_text(const Schedule& s, const Step& step) {
  std::set<std::string> symbols;
  for (const Operand& o : s.host_kernels[static_cast<size_t>(step.kernel.index)].operands)
    for (const Dim& d : o.shape) add_symbols(d, symbols);
  for (BufferId b : step.operands) add_symbols(s.buffers[static_cast<size_t>(b.index)].bytes, symbols);
  std::string list;
  for (const std::string& name : symbols) list += concat(list.empty() ? ", taking '" : "', '", name);
  return list.empty() ? "" : concat(list, "' as ", kTypicalExtent);
}

std::string host_remark(const Schedule& s, const Sequence& sequence, size_t index) {
  const Step& step = sequence.steps[index];
  const Traffic traffic = traffic_of(s, sequence, index);
  const double work = host_step_microseconds(s, step);
  const bool waits = index == 0 || !sequence.steps[index - 1].on_host;  // otherwise it just follows on that one
  const double border = traffic.in.microseconds() + traffic.out.microseconds() + (waits ? kHostWait : 0);
  return concat("'", step.source, "' runs on the CPU: about ", std::lround(work + border), " us, of which ",
                std::lround(work), " us are work, the rest ", waits ? "waiting and " : "", "copies of ",
                static_cast<int64_t>(traffic.in.bytes), " bytes to it and ", static_cast<int64_t>(traffic.out.bytes),
                " bytes back", assumed_text(s, step));
}

}  // namespace

std::vector<std::string> plan_remarks(const Schedule& schedule) {
  std::vector<std::string> remarks;
  for (const Sequence& sequence : schedule.sequences)
    for (size_t i = 0; i < sequence.steps.size(); ++i) {
      const Step& step = sequence.steps[i];
      if (step.on_host) remarks.push_back(host_remark(schedule, sequence, i));
      if (step.kind == Step::Kind::bind)
        remarks.push_back(concat("an extent of what '", step.source, "' gives depends on data ('", step.symbol,
                                 "'): the graph is split there, and the host waits for the value"));
    }
  return remarks;
}

void add_remarks(std::vector<std::string>& all, DeviceClass device, const SymbolValues& fixed,
                 const std::vector<std::string>& sentences) {
  for (const std::string& s : sentences)
    all.push_back(concat(device == DeviceClass::cuda ? "GPUs [" : "CPUs [", fixed.empty() ? "any shape" : describe(fixed), "]: ", s));
}

}  // namespace gcg
