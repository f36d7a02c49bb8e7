#include "runtime/session_memory.h"

#include <algorithm>
#include <cstring>

#include "runtime/errors.h"

namespace gart::detail {
namespace {

size_t bytes_of(const Shape& shape, DType dtype) { return static_cast<size_t>(shape.elements()) * size_of(dtype); }

/// Moves axis `from` of a tensor to `to`; one of both is 0.
Shape moved(const Shape& shape, size_t from, size_t to) {
  std::vector<int64_t> extents(shape.extents().begin(), shape.extents().end());
  const int64_t extent = extents[from];
  extents.erase(extents.begin() + static_cast<int64_t>(from));
  extents.insert(extents.begin() + static_cast<int64_t>(to), extent);
  return Shape(extents);
}

/// Copies the elements of a tensor while axis 0 of one order becomes axis `axis` of the other. `model`: the shape whose
/// axis `axis` is meant; `to_memory`: `from` has this shape, otherwise `to` has it.
void move_axis(uint8_t* to, const uint8_t* from, const Shape& model, size_t axis, size_t size, bool to_memory) {
  size_t outer = 1, inner = size;
  const auto rows = static_cast<size_t>(model[axis]);
  for (size_t d = 0; d < axis; ++d) outer *= static_cast<size_t>(model[d]);
  for (size_t d = axis + 1; d < model.rank(); ++d) inner *= static_cast<size_t>(model[d]);
  for (size_t o = 0; o < outer; ++o) {
    for (size_t r = 0; r < rows; ++r) {
      const size_t in_model = (o * rows + r) * inner, in_memory = (r * outer + o) * inner;
      std::memcpy(to + (to_memory ? in_memory : in_model), from + (to_memory ? in_model : in_memory), inner);
    }
  }
}

/// Makes room for `bytes` in a block and keeps its first `kept` bytes. A block that grows gets half as much again, so
/// that appending row by row copies each row a few times at most.
void grow(Block& block, MemorySource& source, size_t kept, size_t bytes) {
  if (block.capacity() >= bytes && block.data() != nullptr) return;
  Block larger(&source);
  larger.reserve(std::max(bytes, block.capacity() + block.capacity() / 2));
  if (kept > 0) source.move(larger.data(), block.data(), kept);
  block = std::move(larger);
}

}  // namespace

SessionGuard::SessionGuard(SessionMemory& session) : session_(session) {
  if (session.under_way.exchange(true, std::memory_order_acquire)) {
    fail(ErrorCode::invalid_argument, "the session is in use: its runs and changes come one after the other");
  }
}

SessionMemory::SessionMemory(std::shared_ptr<ProgramState> p) : program(std::move(p)) {
  for (size_t i = 0; i < program->states.size(); ++i) states.emplace_back(program->device().site.memory);
}

void SessionMemory::require_whole(size_t state) const {
  if (states[state].holds != StateMemory::Holds::torn) return;
  fail(ErrorCode::run_failed, "state '", program->states[state].name,
       "' is half changed by a failed run: set or reset it");
}

Tensor SessionMemory::get(size_t state) {
  const SessionGuard guard(*this);
  require_whole(state);
  const StateHome& home = program->homes[state];
  const Entry* const entry = &program->entries[home.entry];
  const StateMemory& memory = states[state];
  const TensorInfo& info = program->states[state];
  if (!memory.is_set()) {
    fail(ErrorCode::invalid_argument, "state '", info.name, "' has no value before the first run");
  }
  const int32_t axis = entry->state(home.position).axis();
  const Shape model = axis > 0 ? moved(memory.shape, 0, static_cast<size_t>(axis)) : memory.shape;
  Tensor out = value_or_fail(Tensor::allocate(info.dtype, model, info.name));
  MemorySource& source = *program->device().site.memory;
  if (out.bytes() == 0) return out;
  if (axis <= 0) {
    source.read(out.data(), memory.block.data(), out.bytes());
    return out;
  }
  std::vector<uint8_t> rows(out.bytes());
  source.read(rows.data(), memory.block.data(), rows.size());
  move_axis(static_cast<uint8_t*>(out.data()), rows.data(), model, static_cast<size_t>(axis), size_of(info.dtype),
            false);
  return out;
}

void SessionMemory::set(size_t state, const TensorView& value) {
  const SessionGuard guard(*this);
  const StateHome& home = program->homes[state];
  const Entry* const entry = &program->entries[home.entry];
  const TensorInfo& info = program->states[state];
  const auto refuse = [&](const std::string& why) {
    fail(ErrorCode::invalid_argument, "state '", info.name, "' is ", info.text(), ", but the value ", why);
  };
  if (value.dtype != info.dtype) refuse(text("is ", name_of(value.dtype)));
  if (value.device == nullptr || std::string_view(value.device) != "cpu") refuse("is not in host memory");
  const int64_t elements = value.shape.elements();
  if (value.shape.rank() != info.dims.size() || elements < 0 || elements > kMaxExtent)
    refuse(text("has shape ", value.shape.text()));
  if (elements > 0 && value.data == nullptr) refuse("is null");
  const fb::State& facts = entry->state(home.position);
  const auto axis = static_cast<size_t>(std::max(facts.axis(), 0));
  const Shape memory_shape = axis > 0 ? moved(value.shape, axis, 0) : value.shape;
  const std::span<const uint32_t> dims = entry->input_dims(entry->state_input(home.position));
  for (size_t d = 0; d < dims.size(); ++d) {
    const size_t slot = dims[d];
    const bool fixed =
        slot >= entry->symbols.size() && entry->program[slot - entry->symbols.size()].op() == fb::ExprOp::constant;
    if (fixed && entry->program[slot - entry->symbols.size()].value() != memory_shape[d])
      refuse(text("has shape ", value.shape.text()));
  }
  if (facts.axis() >= 0 && facts.capacity() > 0 && uint64_t(memory_shape[0]) > facts.capacity())
    refuse(text("has ", memory_shape[0], " along axis ", axis, "; its capacity is ", facts.capacity()));
  const size_t bytes = bytes_of(memory_shape, info.dtype);
  StateMemory& memory = states[state];
  MemorySource& source = *program->device().site.memory;
  grow(memory.block, source, 0, bytes);
  const auto* data = static_cast<const uint8_t*>(value.data);
  std::vector<uint8_t> rows;
  if (axis > 0) {
    rows.resize(bytes);
    move_axis(rows.data(), data, value.shape, axis, size_of(info.dtype), true);
    data = rows.data();
  }
  if (bytes > 0) source.write(memory.block.data(), data, bytes);
  memory.shape = memory_shape;
  memory.holds = StateMemory::Holds::a_value;
}

void SessionMemory::reset() {
  const SessionGuard guard(*this);
  for (StateMemory& state : states) state.holds = StateMemory::Holds::nothing;
}

void SessionMemory::copy_to(SessionMemory& copy) {
  const SessionGuard guard(*this);
  MemorySource& source = *program->device().site.memory;
  for (size_t i = 0; i < states.size(); ++i) {
    if (!states[i].is_set()) continue;
    const size_t bytes = bytes_of(states[i].shape, program->states[i].dtype);
    StateMemory& to = copy.states[i];
    grow(to.block, source, 0, bytes);
    if (bytes > 0) source.move(to.block.data(), states[i].block.data(), bytes);
    to.shape = states[i].shape;
    to.holds = states[i].holds;
  }
}

Shape SessionTurn::first_shape(const Inputs& inputs, size_t state) const {
  const Entry& entry = entry_;
  Slots slots(entry.slots());
  for (size_t s = 0; s < entry.symbols.size(); ++s) {
    const fb::Symbol& symbol = *entry.manifest->symbols()->Get(static_cast<uint32_t>(s));
    if (symbol.input() < 0) continue;
    const auto input = static_cast<size_t>(symbol.input());
    if (input < entry.own_inputs().size()) {
      slots.set(s, inputs.shape(input)[static_cast<size_t>(symbol.axis())]);
      continue;
    }
    const size_t carrier = input - entry.own_inputs().size();
    const StateMemory& memory = session_.states[entry.program_states[carrier]];
    if (memory.is_set()) {
      slots.set(s, memory.shape[static_cast<size_t>(symbol.axis())]);
    } else if (symbol.axis() == 0 && entry.state(carrier).axis() >= 0) {
      slots.set(s, 0);
    }
  }
  if (Status status = evaluate(entry.program, entry.symbols.size(), slots); !status.ok()) {
    fail(ErrorCode::invalid_argument, "the inputs' shapes make no sense to this model: ", status.message);
  }
  std::vector<int64_t> extents;
  for (const uint32_t slot : entry.input_dims(entry.state_input(state))) {
    if (!slots.known[slot]) {
      fail(ErrorCode::invalid_argument, "state '", view_of(entry.state(state).name()),
           "' needs a value: no input has its extent '", describe_slot(entry.program, entry.symbols, slot), "'");
    }
    extents.push_back(slots[slot]);
  }
  return Shape(extents);
}

void SessionTurn::lend_inputs(Inputs& inputs) {
  const Site& site = inputs.site();
  inputs.check_complete(entry_.own_inputs().size());
  for (size_t i = 0; i < entry_.states(); ++i) {
    StateMemory& state = memory(i);
    session_.require_whole(entry_.program_states[i]);
    const TensorInfo& info = entry_.inputs[entry_.state_input(i)];
    Shape shape = state.is_set() ? state.shape : first_shape(inputs, i);
    if (!state.is_set()) {
      const int64_t elements = shape.elements();
      if (elements < 0 || elements > kMaxExtent) {
        fail(ErrorCode::invalid_argument, "state '", info.name, "' would have the impossible shape ", shape.text());
      }
      const size_t bytes = bytes_of(shape, info.dtype);
      grow(state.block, *site.memory, 0, bytes);
      const std::vector<uint8_t> zeros(bytes);
      if (bytes > 0) site.memory->write(state.block.data(), zeros.data(), bytes);
    }
    inputs.lend(entry_.state_input(i), {state.block.data(), info.dtype, shape, site.space});
  }
}

void SessionTurn::lend_outputs(Inputs& inputs, Outputs& outputs, const BoundPlan& bound) {
  const Site& site = inputs.site();
  session_.after.clear();
  for (size_t i = 0; i < entry_.states(); ++i) {
    const fb::State& facts = entry_.state(i);
    StateMemory& state = memory(i);
    const TensorInfo& info = entry_.inputs[entry_.state_input(i)];
    if (!bound.output_shape_known(facts.output())) {
      fail(ErrorCode::run_failed, "the extents of state '", view_of(facts.name()), "' depend on computed values");
    }
    const Shape before = inputs.shape(entry_.state_input(i)), after = bound.output_shape(facts.output());
    if (facts.axis() >= 0 && facts.capacity() > 0 && uint64_t(after[0]) > facts.capacity()) {
      fail(ErrorCode::run_failed, "state '", view_of(facts.name()), "' would have ", after[0], " along axis ",
           facts.axis(), "; its capacity is ", facts.capacity());
    }
    const size_t kept = bytes_of(before, info.dtype), bytes = bytes_of(after, info.dtype);
    if (facts.in_place()) {
      size_t room = 0;
      const size_t row = after[0] > 0 ? bytes / size_t(after[0]) : 0;
      if (after[0] < before[0] || __builtin_mul_overflow(row, facts.capacity(), &room)) {
        fail(ErrorCode::run_failed, "state '", view_of(facts.name()), "' cannot go from ", before[0], " to ", after[0],
             " rows of ", row, " bytes; its capacity is ", facts.capacity());
      }
      grow(state.block, *site.memory, kept, std::max(room, bytes));
      inputs.lend(entry_.state_input(i), {state.block.data(), info.dtype, before, site.space});
    } else {
      grow(state.spare, *site.memory, 0, bytes);
    }
    Block& to = facts.in_place() ? state.block : state.spare;
    outputs.lend(facts.output(), {to.data(), to.capacity(), info.dtype, site.space});
    session_.after.push_back(after);
  }
  for (size_t i = 0; i < entry_.states(); ++i) {
    const fb::State& facts = entry_.state(i);
    if (facts.in_place() && facts.axis() < 0 && memory(i).is_set()) memory(i).holds = StateMemory::Holds::torn;
  }
}

void SessionTurn::commit() {
  for (size_t i = 0; i < entry_.states(); ++i) {
    StateMemory& state = memory(i);
    if (!entry_.state(i).in_place()) std::swap(state.block, state.spare);
    state.shape = session_.after[i];
    state.holds = StateMemory::Holds::a_value;
  }
}

}  // namespace gart::detail
