// An entry point as the runtime uses it: its inputs and outputs as text, and how the caller's shapes give symbols their
// values.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "artifact_schema/spans.h"
#include "gart/gart.hpp"
#include "runtime/plan.h"

namespace gart {

struct Entry {
  const fb::EntryPoint* manifest = nullptr;
  std::string name;
  std::vector<TensorInfo> inputs, outputs;  // the caller's tensors, then those of states
  std::vector<std::string> symbols;
  std::vector<uint8_t> carried;           // per symbol: 1 if it is an extent of an input
  std::vector<uint8_t> input_bound_slot;  // per slot: 1 if it is known before the first step
  ShapeProgram program;
  std::vector<Plan> plans;              // for the program's target
  std::vector<uint32_t> state_numbers;  // per state: its number among the states of its owner (ProgramState::states_of)
  size_t written = 0;                   // number of states that a run writes; these are the last outputs
  bool uses_session_states = false, uses_program_states = false, writes_program_states = false;

  size_t states() const { return count_of(manifest->states()); }
  const fb::State& state(size_t i) const { return *manifest->states()->Get(static_cast<uint32_t>(i)); }
  std::span<const TensorInfo> own_inputs() const { return std::span(inputs).first(inputs.size() - states()); }
  std::span<const TensorInfo> own_outputs() const { return std::span(outputs).first(outputs.size() - written); }
  size_t state_input(size_t i) const { return inputs.size() - states() + i; }
  std::span<const uint32_t> input_dims(size_t input) const {
    return span_of(manifest->inputs()->Get(static_cast<uint32_t>(input))->dims());
  }
  size_t slots() const { return symbols.size() + program.size(); }
};

/// Makes an entry without plans.
Entry make_entry(const fb::EntryPoint& manifest);

/// The index of the tensor with that name; the error lists the existing names.
size_t find_tensor(std::span<const TensorInfo> infos, std::string_view name, const char* what);

/// Sets `slots` to the values of the entry's slots for inputs of these shapes, whose ranks were checked. Fails if
/// extents disagree with the model or with each other, naming inputs, axes and values.
void bind_shapes(const Entry& entry, std::span<const Shape> inputs, Slots& slots);

/// The shapes that a plan with these fixed symbols is for; empty if some shape is not determined.
std::vector<Shape> static_input_shapes(const Entry& entry, const Plan& plan);

/// The plan whose fixed symbols all match. If several do, the one that fixes the most symbols.
const Plan* choose_plan(const Entry& entry, const Slots& slots);

/// The shape of output `index` with the extents from the slots; fails if one is negative or too great.
Shape output_shape(const Entry& entry, size_t index, const Slots& slots);
bool output_shape_known(const Entry& entry, size_t index, const Slots& slots);

}  // namespace gart
