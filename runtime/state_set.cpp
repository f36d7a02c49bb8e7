#include "runtime/state_set.h"

#include <algorithm>
#include <cstring>

#include "artifact_schema/state_layout.h"
#include "runtime/errors.h"
#include "runtime/safetensors.h"

namespace gart::detail {
namespace {

size_t bytes_of(const Shape& shape, DType dtype) { return static_cast<size_t>(shape.elements()) * size_of(dtype); }

/// Moves axis `from` of a tensor to `to`. One of the two is 0.
Shape moved(const Shape& shape, size_t from, size_t to) {
  int64_t extents[kMaxRank];
  std::copy(shape.extents().begin(), shape.extents().end(), extents);
  if (from > to) {
    std::rotate(extents + to, extents + from, extents + from + 1);
  } else {
    std::rotate(extents + from, extents + from + 1, extents + to + 1);
  }
  return Shape(std::span(extents, shape.rank()));
}

/// Copies the elements of a tensor between the model's order and the order in memory, where axis `axis` is axis 0.
/// `model`: the shape in the model's order. `to_memory`: True if `from` is in the model's order, false if `to` is.
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

/// Makes room for `bytes` in a block and keeps its first `used_bytes` bytes. A block that grows gets half as much
/// again, so that appending row by row copies each row a few times at most.
void grow(Block& block, MemorySource& source, size_t used_bytes, size_t bytes) {
  if (block.capacity() >= bytes && block.data() != nullptr) return;
  Block larger(&source);
  larger.reserve(std::max(bytes, block.capacity() + block.capacity() / 2));
  if (used_bytes > 0) source.move(larger.data(), block.data(), used_bytes);
  block = std::move(larger);
}

}  // namespace

StateGuard::StateGuard(StateSet& set, bool writes) : set_(set), writes_(writes) {
  if (set.scope == fb::StateScope::program) {
    set.turns.enter(writes ? StateSet::kReaders : 1);
  } else if (set.under_way.exchange(true, std::memory_order_acquire)) {
    fail(ErrorCode::invalid_argument, "the session is in use: its runs and changes come one after the other");
  }
}

StateGuard::~StateGuard() {
  if (set_.scope == fb::StateScope::program) {
    set_.turns.leave(writes_ ? StateSet::kReaders : 1);
  } else {
    set_.under_way.store(false, std::memory_order_release);
  }
}

StateSet::StateSet(std::shared_ptr<ProgramState> p, fb::StateScope s)
    : program(std::move(p)), scope(s), states(infos().size()) {
  for (size_t i = 0; i < states.size(); ++i) {
    states[i].block = Block(program->device().site.memory);
    states[i].spare = Block(program->device().site.memory);
    if (scope == fb::StateScope::session) continue;
    const Entry& entry = program->entries[home(i).entry];
    const std::span<const uint32_t> dims = entry.input_dims(entry.state_input(home(i).position));
    int64_t extents[kMaxRank];
    for (size_t d = 0; d < dims.size(); ++d) extents[d] = constant_extent(*entry.manifest, dims[d]);
    begin(i, Shape(std::span(extents, dims.size())));
    states[i].holds = StateMemory::Holds::a_value;
  }
}

const StateHome& StateSet::home(size_t state) const { return program->homes[&infos()[state] - program->states.data()]; }

size_t StateSet::find(std::string_view name) const { return find_tensor(infos(), name, "state"); }

void StateSet::begin(size_t i, const Shape& shape) {
  const TensorInfo& info = infos()[i];
  const int64_t elements = shape.elements();
  if (elements < 0 || elements > kMaxExtent) {
    fail(ErrorCode::invalid_argument, "state '", info.name, "' would have the impossible shape ", shape.text());
  }
  const size_t bytes = bytes_of(shape, info.dtype);
  MemorySource& source = *program->device().site.memory;
  StateMemory& state = states[i];
  grow(state.block, source, 0, bytes);
  state.shape = shape;
  if (bytes == 0) return;
  const int64_t initial = program->entries[home(i).entry].state(home(i).position).initial();
  if (initial >= 0) return source.write(state.block.data(), program->artifact.weights().data() + initial, bytes);
  const std::vector<uint8_t> zeros(bytes);
  source.write(state.block.data(), zeros.data(), bytes);
}

Result<Tensor> StateSet::state(std::string_view name) {
  return guarded([&] {
    const size_t found = find(name);
    const StateGuard guard(*this, false);
    return copy_of(found);
  });
}

Result<void> StateSet::set_state(std::string_view name, const TensorView& value) {
  return guarded([&] { set(find(name), value); });
}

void StateSet::require_whole(size_t state) const {
  if (states[state].holds != StateMemory::Holds::torn) return;
  fail(ErrorCode::run_failed, "state '", infos()[state].name, "' is half changed by a failed run: set or reset it");
}

Tensor StateSet::copy_of(size_t state) const {
  require_whole(state);
  const StateMemory& memory = states[state];
  const TensorInfo& info = infos()[state];
  if (!memory.is_set()) {
    fail(ErrorCode::invalid_argument, "state '", info.name, "' has no value before the first run");
  }
  const int32_t axis = program->entries[home(state).entry].state(home(state).position).axis();
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

void StateSet::set(size_t state, const TensorView& value) {
  const StateGuard guard(*this, true);
  const Entry& entry = program->entries[home(state).entry];
  const TensorInfo& info = infos()[state];
  const auto refuse = [&](const std::string& why) {
    fail(ErrorCode::invalid_argument, "state '", info.name, "' is ", info.text(), ", but the value ", why);
  };
  if (value.dtype != info.dtype) refuse(text("is ", name_of(value.dtype)));
  if (value.device == nullptr || std::string_view(value.device) != "cpu") refuse("is not in host memory");
  const int64_t elements = value.shape.elements();
  if (value.shape.rank() != info.dims.size() || elements < 0 || elements > kMaxExtent)
    refuse(text("has shape ", value.shape.text()));
  if (elements > 0 && value.data == nullptr) refuse("is null");
  const fb::State& facts = entry.state(home(state).position);
  const auto axis = static_cast<size_t>(std::max(facts.axis(), 0));
  const Shape memory_shape = axis > 0 ? moved(value.shape, axis, 0) : value.shape;
  const std::span<const uint32_t> dims = entry.input_dims(entry.state_input(home(state).position));
  for (size_t d = 0; d < dims.size(); ++d) {
    const int64_t fixed = constant_extent(*entry.manifest, dims[d]);
    if (fixed >= 0 && fixed != memory_shape[d]) refuse(text("has shape ", value.shape.text()));
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

void StateSet::reset() {
  const StateGuard guard(*this, true);
  for (StateMemory& state : states) state.holds = StateMemory::Holds::nothing;
}

void StateSet::shorten(int64_t rows) {
  const StateGuard guard(*this, true);
  for (const bool changes : {false, true}) {
    for (size_t i = 0; i < states.size(); ++i) {
      const fb::State& facts = program->entries[home(i).entry].state(home(i).position);
      const std::span<const int64_t> before = states[i].shape.extents();
      const int64_t has = states[i].is_set() ? before[0] : 0;
      if (!facts.in_place() || facts.axis() < 0 || rows < 0 || rows > has) {
        fail(ErrorCode::invalid_argument, "state '", infos()[i].name, "' cannot be shortened to ", rows, " rows");
      }
      if (changes && rows < has) {
        int64_t extents[kMaxRank];
        std::copy(before.begin(), before.end(), extents);
        extents[0] = rows;
        states[i].shape = Shape(std::span(extents, before.size()));
      }
    }
  }
}

void StateSet::copy_to(StateSet& copy) {
  const StateGuard guard(*this, false);
  MemorySource& source = *program->device().site.memory;
  for (size_t i = 0; i < states.size(); ++i) {
    if (!states[i].is_set()) continue;
    const size_t bytes = bytes_of(states[i].shape, infos()[i].dtype);
    StateMemory& to = copy.states[i];
    grow(to.block, source, 0, bytes);
    if (bytes > 0) source.move(to.block.data(), states[i].block.data(), bytes);
    to.shape = states[i].shape;
    to.holds = states[i].holds;
  }
}

std::vector<Tensor> StateSet::values() {
  const StateGuard guard(*this, false);
  std::vector<Tensor> values;
  for (size_t i = 0; i < states.size(); ++i) {
    if (states[i].is_set()) values.push_back(copy_of(i));
  }
  return values;
}

Result<void> StateSet::save(const std::string& path) {
  return guarded([&] { write_safetensors(path, values()); });
}

void StateSet::replace(const Mapping& file) {
  StateSet loaded(program, scope);
  for (const StoredTensor& tensor : read_safetensors(file.bytes())) {
    loaded.set(find(tensor.name), {tensor.bytes.data(), tensor.dtype, tensor.shape, "cpu"});
  }
  const StateGuard guard(*this, true);
  std::swap(states, loaded.states);
}

Result<void> StateSet::load(const std::string& path) {
  return guarded([&] {
    const Mapping file = Mapping::of_file(path);
    try {
      replace(file);
    } catch (const Failure& failure) {
      fail(failure.error.code, "cannot load '", path, "': ", failure.error.message);
    }
  });
}

StateTransaction::StateTransaction(StateSet* session, StateSet& shared, const Entry& entry)
    : session_(session), shared_(shared), entry_(entry) {
  if (session != nullptr) of_session_.emplace(*session, true);
  if (entry.uses_program_states) of_program_.emplace(shared, entry.writes_program_states);
}

Shape StateTransaction::first_shape(const Inputs& inputs, size_t state) const {
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
    const StateMemory& known = memory(carrier);
    if (known.is_set()) {
      slots.set(s, known.shape[static_cast<size_t>(symbol.axis())]);
    } else if (symbol.axis() == 0 && entry.state(carrier).axis() >= 0) {
      slots.set(s, 0);
    }
  }
  if (Status status = evaluate(entry.program, entry.symbols.size(), slots); !status.ok()) {
    fail(ErrorCode::invalid_argument, "the inputs' shapes make no sense to this model: ", status.message);
  }
  int64_t extents[kMaxRank];
  size_t rank = 0;
  for (const uint32_t slot : entry.input_dims(entry.state_input(state))) {
    if (!slots.known[slot]) {
      fail(ErrorCode::invalid_argument, "state '", view_of(entry.state(state).name()),
           "' needs a value: no input has its extent '", describe_slot(entry.program, entry.symbols, slot), "'");
    }
    extents[rank++] = slots[slot];
  }
  return Shape(std::span(extents, rank));
}

void StateTransaction::lend_inputs(Inputs& inputs) {
  inputs.check_complete(entry_.own_inputs().size());
  for (size_t i = 0; i < entry_.states(); ++i) {
    StateMemory& state = memory(i);
    set_of(i).require_whole(entry_.state_numbers[i]);
    if (!state.is_set()) set_of(i).begin(entry_.state_numbers[i], first_shape(inputs, i));
    const size_t input = entry_.state_input(i);
    inputs.lend(input, {state.block.data(), entry_.inputs[input].dtype, state.shape, inputs.site().space});
  }
}

void StateTransaction::lend_outputs(Inputs& inputs, Outputs& outputs, const BoundPlan& bound) {
  const Site& site = inputs.site();
  for (size_t i = 0; i < entry_.states(); ++i) {
    const fb::State& facts = entry_.state(i);
    if (facts.read_only()) continue;
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
    const size_t used_bytes = bytes_of(before, info.dtype), bytes = bytes_of(after, info.dtype);
    if (facts.in_place()) {
      size_t room = 0;
      const size_t row = after[0] > 0 ? bytes / size_t(after[0]) : 0;
      if (after[0] < before[0] || __builtin_mul_overflow(row, facts.capacity(), &room)) {
        fail(ErrorCode::run_failed, "state '", view_of(facts.name()), "' cannot go from ", before[0], " to ", after[0],
             " rows of ", row, " bytes; its capacity is ", facts.capacity());
      }
      grow(state.block, *site.memory, used_bytes, std::max(room, bytes));
      inputs.lend(entry_.state_input(i), {state.block.data(), info.dtype, before, site.space});
    } else {
      grow(state.spare, *site.memory, 0, bytes);
    }
    Block& to = facts.in_place() ? state.block : state.spare;
    outputs.lend(facts.output(), {to.data(), to.capacity(), info.dtype, site.space});
  }
  for (size_t i = 0; i < entry_.states(); ++i) {
    const fb::State& facts = entry_.state(i);
    if (!facts.read_only() && facts.in_place() && facts.axis() < 0 && memory(i).is_set())
      memory(i).holds = StateMemory::Holds::torn;
  }
}

void StateTransaction::commit(const BoundPlan& bound) {
  for (size_t i = 0; i < entry_.states(); ++i) {
    const fb::State& facts = entry_.state(i);
    StateMemory& state = memory(i);
    if (!facts.read_only()) {
      if (!facts.in_place()) std::swap(state.block, state.spare);
      state.shape = bound.output_shape(facts.output());
      state.holds = StateMemory::Holds::a_value;
    }
    if (facts.scope() == fb::StateScope::session)
      state.holds = StateMemory::Holds::a_value;  // other users may read the program's states now
  }
}

}  // namespace gart::detail
