#include "tools/gcc-graph/inspect/step_facts.h"

#include <set>

#include "artifact_schema/kernel_note.h"
#include "artifact_schema/shape_program.h"
#include "artifact_schema/spans.h"
#include "tools/gcc-graph/io/artifact_file.h"
#include "tools/gcc-graph/support/fail.h"

namespace gcg::tools {
namespace {

namespace fb = gart::fb;

std::string text(const flatbuffers::String* s) { return s == nullptr ? "" : s->str(); }

/// Values of the symbols in the inputs' shapes.
std::vector<std::optional<int64_t>> symbol_values(const fb::EntryPoint& entry, const NamedTensors& inputs) {
  std::vector<std::optional<int64_t>> values;
  for (uint32_t i = 0; entry.symbols() != nullptr && i < entry.symbols()->size(); ++i) {
    const fb::Symbol& symbol = *entry.symbols()->Get(i);
    values.emplace_back();
    if (symbol.input() < 0) continue;
    const HostTensor& tensor = inputs.at(text(entry.inputs()->Get(static_cast<uint32_t>(symbol.input()))->name()));
    values.back() = tensor.shape.at(static_cast<size_t>(symbol.axis()));
  }
  return values;
}

/// The values of the program's slots; those that depend on unknown values stay unknown.
gart::Slots evaluated(const flatbuffers::Vector<const fb::Instruction*>* instructions,
                      const std::vector<std::optional<int64_t>>& values) {
  const auto program = gart::span_of(instructions);
  gart::Slots slots(values.size() + program.size());
  for (size_t i = 0; i < values.size(); ++i)
    if (values[i]) slots.set(i, *values[i]);
  (void)gart::evaluate(program, values.size(), slots);
  return slots;
}

/// True if the extents that the plan assumes to be equal are equal.
bool holds(const fb::EntryPoint& entry, const fb::Plan& plan, const gart::Slots& slots) {
  for (const uint32_t i : gart::span_of(plan.assumed())) {
    const fb::Constraint& fact = *entry.constraints()->Get(i);
    if (slots[fact.a()] != slots[fact.b()]) return false;
  }
  return true;
}

/// Chooses the plan as the runtime does. A plan is possible if all its fixed symbols have these values and its
/// assumptions hold. The possible plan with the most fixed symbols wins.
const fb::Plan& choose_plan(const fb::Manifest& m, const fb::EntryPoint& entry, const std::string& target,
                            const std::vector<std::optional<int64_t>>& values) {
  const gart::Slots slots = evaluated(entry.program(), values);
  const fb::Plan* best = nullptr;
  int best_fixed = -1;
  for (const fb::Plan* plan : *entry.plans()) {
    if (text(m.targets()->Get(plan->target())->name()) != target) continue;
    int fixed = 0;
    bool fits = true;
    const auto fixed_symbols = gart::span_of(plan->fixed());
    for (size_t i = 0; i < fixed_symbols.size(); ++i) {
      if (fixed_symbols[i] < 0) continue;
      fits = fits && values.at(i) == fixed_symbols[i];
      ++fixed;
    }
    if (fits && fixed > best_fixed && holds(entry, *plan, slots)) best = plan, best_fixed = fixed;
  }
  if (best == nullptr) throw Error("the artifact has no plan for " + target + " and these shapes");
  return *best;
}

const fb::EntryPoint& entry_named(const fb::Manifest& m, const std::string& name) {
  for (const fb::EntryPoint* entry : *m.entry_points())
    if (name.empty() || text(entry->name()) == name) return *entry;
  throw Error("the artifact has no entry point '" + name + "'");
}

class Facts {
 public:
  Facts(const fb::Plan& plan, const std::vector<std::optional<int64_t>>& values) : plan_(plan) {
    const gart::ShapeProgram program(
        plan.program() == nullptr ? nullptr : reinterpret_cast<const fb::Instruction*>(plan.program()->Data()),
        plan.program() == nullptr ? 0 : plan.program()->size());
    slots_ = gart::Slots(values.size() + program.size());
    for (size_t i = 0; i < values.size(); ++i)
      if (values[i]) slots_.set(i, *values[i]);
    if (gart::Status status = gart::evaluate(program, values.size(), slots_); !status.ok()) throw Error(status.message);
  }

  StepFacts of(const fb::Step& step) const {
    StepFacts facts{fb::EnumNameStepKind(step.kind()), "",         "", text(step.source()),
                    value(step.operations()),          bytes(step)};
    if (step.kind() == fb::StepKind::launch) {
      const fb::Kernel& kernel = *plan_.kernels()->Get(step.kernel());
      facts.kernel = text(kernel.name());
      facts.note = gart::parse_note(gart::view_of(kernel.note())).text;
    }
    return facts;
  }

 private:
  std::optional<double> value(int32_t slot) const {
    if (slot < 0 || !slots_.known[static_cast<size_t>(slot)]) return std::nullopt;
    return static_cast<double>(slots_[static_cast<size_t>(slot)]);
  }

  std::optional<double> bytes(const fb::Step& step) const {
    double total = 0;
    const auto operands = gart::span_of(step.operands());
    for (const uint32_t buffer : std::set<uint32_t>(operands.begin(), operands.end())) {
      const auto size = value(static_cast<int32_t>(plan_.buffers()->Get(buffer)->size()));
      if (!size) return std::nullopt;
      total += *size;
    }
    return total;
  }

  const fb::Plan& plan_;
  gart::Slots slots_;
};

}  // namespace

std::vector<StepFacts> step_facts(const std::string& artifact, const gart::Program& program, const std::string& name,
                                  const NamedTensors& inputs) {
  const ArtifactFile file = open_artifact(artifact);
  const fb::Manifest& m = *file.view.manifest;
  const fb::EntryPoint& entry = entry_named(m, name);
  const auto values = symbol_values(entry, inputs);
  const fb::Plan& plan = choose_plan(m, entry, program.target(), values);
  const Facts facts(plan, values);
  std::vector<StepFacts> out;
  for (const fb::Sequence* sequence : *plan.sequences())
    for (uint32_t i = 0; sequence->steps() != nullptr && i < sequence->steps()->size(); ++i)
      out.push_back(facts.of(*sequence->steps()->Get(i)));
  return out;
}

}  // namespace gcg::tools
