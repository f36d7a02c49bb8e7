#include "runtime/entry.h"

#include "artifact_schema/state_layout.h"
#include "runtime/errors.h"

namespace gart {
namespace {

static_assert(uint8_t(DType::u2) == uint8_t(fb::DType::u2), "one numbering of dtypes");

std::vector<TensorInfo> tensor_infos(const flatbuffers::Vector<flatbuffers::Offset<fb::TensorInfo>>* tensors,
                                     const Entry& entry, bool are_inputs) {
  std::vector<TensorInfo> infos(count_of(tensors));
  for (uint32_t i = 0; i < infos.size(); ++i) {
    const fb::TensorInfo& tensor = *tensors->Get(i);
    infos[i].name = view_of(tensor.name());
    infos[i].dtype = static_cast<DType>(tensor.dtype());
    if (are_inputs && count_of(tensor.labels()) > 0) {
      infos[i].dtype = DType::string;
      for (const auto* label : *tensor.labels()) infos[i].strings.emplace_back(view_of(label));
    }
    for (const uint32_t slot : span_of(tensor.dims())) {
      infos[i].dims.push_back(describe_slot(entry.program, entry.symbols, slot));
    }
  }
  return infos;
}

/// "'seq' = 7 (axis 1 of input 'ids')" for a symbol, "'2*seq' = 14" for an expression, "224" for a number.
std::string origin(const Entry& entry, size_t slot, const Slots& slots) {
  const std::string expression = describe_slot(entry.program, entry.symbols, slot);
  const std::string value = std::to_string(slots[slot]);
  if (expression == value) return value;
  std::string out = text("'", expression, "' = ", value);
  if (slot < entry.symbols.size()) {
    const fb::Symbol& symbol = *entry.manifest->symbols()->Get(static_cast<uint32_t>(slot));
    out += text(" (axis ", symbol.axis(), " of input '", entry.inputs[symbol.input()].name, "')");
  }
  return out;
}

void check_extents(const Entry& entry, std::span<const Shape> inputs, const Slots& slots) {
  for (size_t i = 0; i < inputs.size(); ++i) {
    const auto dims = entry.input_dims(i);
    for (size_t axis = 0; axis < dims.size(); ++axis) {
      if (inputs[i][axis] == slots[dims[axis]]) continue;
      fail(ErrorCode::invalid_argument, "input '", entry.inputs[i].name, "' has shape ", inputs[i].text(), ": axis ",
           axis, " is ", inputs[i][axis], ", but must be ", origin(entry, dims[axis], slots));
    }
  }
}

bool are_equal(const fb::Constraint& constraint, const Slots& slots) {
  return slots[constraint.a()] == slots[constraint.b()];
}

[[noreturn]] void fail_constraint(const Entry& entry, const fb::Constraint& constraint, const Slots& slots) {
  const std::string_view reason = view_of(constraint.reason());
  fail(ErrorCode::invalid_argument, "the inputs' extents disagree: ", origin(entry, constraint.a(), slots),
       " must equal ", origin(entry, constraint.b(), slots),
       constraint.kind() == fb::ConstraintKind::broadcast ? ", or one of them must be 1" : "",
       reason.empty() ? "" : ": ", reason);
}

void check_constraints(const Entry& entry, const Slots& slots) {
  for (uint32_t i = 0; i < count_of(entry.manifest->constraints()); ++i) {
    const fb::Constraint& constraint = *entry.manifest->constraints()->Get(i);
    if (are_equal(constraint, slots) || constraint.kind() == fb::ConstraintKind::assumed) continue;
    const bool broadcasts = constraint.kind() == fb::ConstraintKind::broadcast;
    if (broadcasts && (slots[constraint.a()] == 1 || slots[constraint.b()] == 1)) continue;
    fail_constraint(entry, constraint, slots);
  }
}

/// The first fact that the plan assumes, but that does not hold; null if all hold.
const fb::Constraint* wrong_assumption(const Entry& entry, const Plan& plan, const Slots& slots) {
  for (const uint32_t i : span_of(plan.manifest->assumed())) {
    const fb::Constraint& fact = *entry.manifest->constraints()->Get(i);
    if (!are_equal(fact, slots)) return &fact;
  }
  return nullptr;
}

std::string shape_sets(const Entry& entry) {
  std::string out;
  for (const Plan& plan : entry.plans) {
    out += out.empty() ? "" : "; ";
    const auto fixed = span_of(plan.manifest->fixed());
    for (size_t i = 0; i < fixed.size(); ++i) {
      if (fixed[i] >= 0) out += text(i == 0 ? "" : ", ", entry.symbols[i], "=", fixed[i]);
    }
  }
  return out;
}

}  // namespace

Entry make_entry(const fb::EntryPoint& manifest) {
  Entry entry;
  entry.manifest = &manifest;
  entry.name = view_of(manifest.name());
  for (uint32_t i = 0; i < count_of(manifest.symbols()); ++i) {
    entry.symbols.emplace_back(view_of(manifest.symbols()->Get(i)->name()));
  }
  entry.carried = carried_symbols(manifest);
  entry.program = span_of(manifest.program());
  entry.input_bound_slot = reachable_slots(entry.program, entry.carried);
  entry.inputs = tensor_infos(manifest.inputs(), entry, true);
  entry.outputs = tensor_infos(manifest.outputs(), entry, false);
  entry.written = written_states(manifest);
  return entry;
}

size_t find_tensor(std::span<const TensorInfo> infos, std::string_view name, const char* what) {
  std::string names;
  for (size_t i = 0; i < infos.size(); ++i) {
    if (infos[i].name == name) return i;
    names += text(i == 0 ? "" : ", ", "'", infos[i].name, "'");
  }
  fail(ErrorCode::invalid_argument, "the model has no ", what, " '", name, "', only ", names.empty() ? "none" : names);
}

void bind_shapes(const Entry& entry, std::span<const Shape> inputs, Slots& slots) {
  slots.clear(entry.slots());
  for (size_t i = 0; i < entry.symbols.size(); ++i) {
    const fb::Symbol& symbol = *entry.manifest->symbols()->Get(static_cast<uint32_t>(i));
    if (symbol.input() >= 0) slots.set(i, inputs[symbol.input()][symbol.axis()]);
  }
  if (Status status = evaluate(entry.program, entry.symbols.size(), slots); !status.ok()) {
    fail(ErrorCode::invalid_argument, "the inputs' shapes do not suit this model: ", status.message);
  }
  check_extents(entry, inputs, slots);
  check_constraints(entry, slots);
}

std::vector<Shape> static_input_shapes(const Entry& entry, const Plan& plan) {
  Slots slots(entry.slots());
  const auto fixed = span_of(plan.manifest->fixed());
  for (size_t i = 0; i < fixed.size(); ++i) {
    if (entry.carried[i] && fixed[i] < 0) return {};
    if (fixed[i] >= 0) slots.set(i, fixed[i]);
  }
  if (!evaluate(entry.program, entry.symbols.size(), slots).ok()) return {};
  std::vector<Shape> shapes;
  for (size_t i = 0; i < entry.inputs.size(); ++i) {
    std::vector<int64_t> extents;
    for (const uint32_t slot : entry.input_dims(i)) extents.push_back(slots[slot]);
    shapes.emplace_back(extents);
  }
  return shapes;
}

const Plan* choose_plan(const Entry& entry, const Slots& slots) {
  const Plan* best = nullptr;
  size_t best_fixed = 0;
  const fb::Constraint* wrong = nullptr;
  for (const Plan& plan : entry.plans) {
    const auto fixed = span_of(plan.manifest->fixed());
    size_t matching = 0;
    bool fits = true;
    for (size_t i = 0; i < fixed.size(); ++i) {
      if (fixed[i] < 0) continue;
      fits = fits && fixed[i] == slots[i];
      ++matching;
    }
    if (!fits || (best != nullptr && matching <= best_fixed)) continue;
    if (const fb::Constraint* fact = wrong_assumption(entry, plan, slots)) {
      wrong = fact;
      continue;
    }
    best = &plan, best_fixed = matching;
  }
  if (best != nullptr) return best;
  if (wrong != nullptr) fail_constraint(entry, *wrong, slots);
  std::string requested;
  for (size_t i = 0; i < entry.symbols.size(); ++i) {
    if (entry.carried[i]) requested += text(requested.empty() ? "" : ", ", entry.symbols[i], "=", slots[i]);
  }
  fail(ErrorCode::unsupported, "the model was compiled for ", shape_sets(entry), ", not for ", requested);
}

bool output_shape_known(const Entry& entry, size_t index, const Slots& slots) {
  for (const uint32_t slot : span_of(entry.manifest->outputs()->Get(static_cast<uint32_t>(index))->dims())) {
    if (!slots.known[slot]) return false;
  }
  return true;
}

Shape output_shape(const Entry& entry, size_t index, const Slots& slots) {
  const auto dims = span_of(entry.manifest->outputs()->Get(static_cast<uint32_t>(index))->dims());
  int64_t extents[kMaxRank] = {};
  for (size_t axis = 0; axis < dims.size(); ++axis) {
    extents[axis] = slots[dims[axis]];
    if (extents[axis] < 0 || extents[axis] > kMaxExtent) {
      fail(ErrorCode::run_failed, "output '", entry.outputs[index].name, "' would have extent ", extents[axis],
           " on axis ", axis);
    }
  }
  return Shape(std::span<const int64_t>(extents, dims.size()));
}

}  // namespace gart
