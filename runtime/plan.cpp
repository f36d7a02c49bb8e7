#include "runtime/plan.h"

#include <algorithm>

namespace gart {
namespace {

/// The parts of a plan that are known when only some symbols have a value: values of slots, places of buffers, inputs
/// of steps.
struct Known {
  std::vector<uint8_t> slots, buffers, steps;

  Known(const Plan& plan, std::span<const uint8_t> symbols)
      : slots(reachable_slots(plan.program, symbols)),
        buffers(count_of(plan.manifest->buffers())),
        steps(plan.steps.size()) {
    for (uint32_t i = 0; i < buffers.size(); ++i) {
      const fb::Buffer& buffer = plan.buffer(i);
      const bool view = buffer.alias_of() >= 0;
      buffers[i] = slots[buffer.size()] && (!view || (slots[buffer.alias_offset()] && buffers[buffer.alias_of()]));
    }
    for (size_t i = 0; i < steps.size(); ++i) steps[i] = all_of(plan, plan.steps[i]);
  }

 private:
  bool all_of(const Plan& plan, const PlanStep& step) const {
    bool known = !is_work(step.kind) || slots[step.tasks_slot];
    if (step.kind == fb::StepKind::launch) known = known && slots[step.scratch_slot];
    for (uint32_t i = 0; i < step.operands; ++i) known = known && buffers[plan.operands[step.first_operand + i]];
    for (uint32_t i = 0; i < step.params; ++i) known = known && slots[plan.params[step.first_param + i]];
    return known;
  }
};

/// Appends the unknown indices; returns the new number of entries.
uint32_t add_unknown(std::span<const uint8_t> known, std::vector<uint32_t>& to) {
  for (uint32_t i = 0; i < known.size(); ++i) {
    if (!known[i]) to.push_back(i);
  }
  return static_cast<uint32_t>(to.size());
}

/// `symbols`: the symbols that have values before the first step.
void find_run_bound(Plan& plan, std::span<const uint8_t> symbols) {
  Known input_bound(plan, symbols);
  add_unknown(input_bound.buffers, plan.run_bound_buffers);
  for (size_t i = 0; i < plan.steps.size(); ++i) plan.steps[i].run_bound = !input_bound.steps[i];
  plan.input_bound_slot = std::move(input_bound.slots);
  plan.input_bound_buffer = std::move(input_bound.buffers);
}

bool is_callers(const Plan& plan, uint32_t buffer) {
  const fb::BufferKind kind = plan.buffer(buffer).kind();
  return plan.input_bound_buffer[buffer] && (kind == fb::BufferKind::input || kind == fb::BufferKind::output);
}

void find_callers_buffers(Plan& plan) {
  for (uint32_t i = 0; i < plan.input_bound_buffer.size(); ++i) {
    if (is_callers(plan, i)) plan.io_buffers.push_back(i);
  }
  for (uint32_t i = 0; i < plan.operands.size(); ++i) {
    if (is_callers(plan, plan.operands[i])) plan.io_operands.push_back(i);
  }
}

PlanStep make_step(Plan& plan, const fb::Step& manifest) {
  PlanStep step{
      .kind = manifest.kind(), .value = manifest.value(), .tasks_slot = manifest.tasks(), .manifest = &manifest};
  step.first_operand = static_cast<uint32_t>(plan.operands.size());
  step.first_param = static_cast<uint32_t>(plan.params.size());
  for (const uint32_t buffer : span_of(manifest.operands())) plan.operands.push_back(buffer);
  for (const uint32_t slot : span_of(manifest.params())) plan.params.push_back(slot);
  step.operands = count_of(manifest.operands());
  step.params = count_of(manifest.params());
  if (step.kind == fb::StepKind::launch) {
    step.kernel = plan.manifest->kernels()->Get(manifest.kernel());
    step.scratch_slot = step.kernel->scratch();
  }
  return step;
}

/// The entry's first and last segments hold the copies of inputs and outputs. If such a segment would be a deciding
/// step, an empty segment is added for the copies.
void add_segments(Plan& plan, uint32_t begin, bool entry) {
  const uint32_t end = static_cast<uint32_t>(plan.steps.size());
  const auto works = [&](uint32_t i) { return begin < end && is_work(plan.steps[i].kind); };
  auto& segments = plan.segments;
  const size_t first = segments.size();
  if (entry && !works(begin)) segments.push_back({begin, begin, begin});
  for (uint32_t i = begin; i < end; ++i) {
    const bool work = is_work(plan.steps[i].kind);
    Segment* const last = segments.size() == first ? nullptr : &segments.back();
    if (work && last != nullptr && !last->decides && last->begin < i) {
      last->end = i + 1;
    } else {
      segments.push_back({begin, i, i + 1, !work});
    }
  }
  if (entry && begin < end && !works(end - 1)) segments.push_back({begin, end, end});
  if (entry) segments[first].inputs = segments.back().outputs = true;
  plan.segment_begin.push_back(static_cast<uint32_t>(segments.size()));
}

void add_sequence(Plan& plan, const fb::Sequence& sequence, bool entry) {
  const uint32_t begin = static_cast<uint32_t>(plan.steps.size());
  for (uint32_t i = 0; i < count_of(sequence.steps()); ++i) {
    plan.steps.push_back(make_step(plan, *sequence.steps()->Get(i)));
    const int32_t call = sequence.steps()->Get(i)->fallback_for();
    if (call >= 0) plan.steps.back().call = begin + static_cast<uint32_t>(call);
  }
  add_segments(plan, begin, entry);
  plan.sequence_begin.push_back(static_cast<uint32_t>(plan.steps.size()));
}

}  // namespace

bool writes_operand(const PlanStep& step, uint32_t position) {
  if (step.kind != fb::StepKind::launch && step.kind != fb::StepKind::call) return position == 0;
  const auto writes = span_of(step.manifest->writes());
  return writes.empty() || std::find(writes.begin(), writes.end(), position) != writes.end();
}

Reach reach_of(const Plan& plan, uint32_t symbol) {
  std::vector<uint8_t> symbols(plan.symbols, 1);
  symbols[symbol] = 0;
  const Known others(plan, symbols);
  Reach reach;
  reach.first_buffer = add_unknown(std::span(others.slots).subspan(plan.symbols), reach.parts);
  reach.first_step = add_unknown(others.buffers, reach.parts);
  add_unknown(others.steps, reach.parts);
  return reach;
}

Plan make_plan(const fb::EntryPoint& entry, const fb::Plan& manifest) {
  Plan plan;
  plan.manifest = &manifest;
  plan.symbols = count_of(entry.symbols());
  plan.program = span_of(manifest.program());
  plan.sequence_begin.push_back(0);
  plan.segment_begin.push_back(0);
  const uint32_t sequences = manifest.sequences()->size();
  for (uint32_t i = 0; i < sequences; ++i) add_sequence(plan, *manifest.sequences()->Get(i), i + 1 == sequences);
  find_run_bound(plan, carried_symbols(entry));
  find_callers_buffers(plan);
  return plan;
}

}  // namespace gart
