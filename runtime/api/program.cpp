#include "runtime/program.h"

#include "runtime/errors.h"
#include "runtime/session_state.h"

namespace gart {
namespace detail {
namespace {

constexpr size_t kMaxIdle = 16;

void check_needs_no_session(const Entry& entry) {
  if (!entry.uses_session_states) return;
  fail(ErrorCode::invalid_argument, "entry point '", entry.name,
       "' has states of a session: run it in one (Program::new_session)");
}

/// Null at and past the end.
const char* text_at(const flatbuffers::Vector<flatbuffers::Offset<flatbuffers::String>>* texts, size_t index) {
  return index < count_of(texts) ? texts->Get(static_cast<uint32_t>(index))->c_str() : nullptr;
}

}  // namespace

ProgramState::ProgramState() { idle.reserve(kMaxIdle); }
ProgramState::~ProgramState() = default;

const Entry* ProgramState::find(std::string_view name) const {
  if (name.empty()) return &entries[0];
  for (const Entry& entry : entries) {
    if (entry.name == name) return &entry;
  }
  return nullptr;
}

const Entry& ProgramState::entry(std::string_view name) const {
  if (const Entry* found = find(name)) return *found;
  fail(ErrorCode::invalid_argument, "the model has no entry point '", name, "'");
}

std::unique_ptr<InvocationState> ProgramState::borrow(const Entry& entry) {
  check_needs_no_session(entry);
  {
    const std::lock_guard lock(mutex);
    for (auto& invocation : idle) {
      if (invocation->entry != &entry) continue;
      std::swap(invocation, idle.back());
      auto borrowed = std::move(idle.back());
      idle.pop_back();
      return borrowed;
    }
  }
  return std::make_unique<InvocationState>(*this, entry);
}

RunPlace::RunPlace(ProgramState& program) : program_(program) {
  if (program.runs && !program.runs->enter(1, !program.refuses_runs))
    fail(ErrorCode::busy, "the limit of runs (LoadOptions.runs) is reached");
}

void ProgramState::give_back(std::unique_ptr<InvocationState> invocation) noexcept {
  invocation->inputs.forget();
  invocation->outputs.forget();
  const std::lock_guard lock(mutex);
  if (idle.size() < kMaxIdle) idle.push_back(std::move(invocation));
}

}  // namespace detail

std::string TensorInfo::text() const {
  std::string out = name + " " + name_of(dtype) + "[";
  for (size_t i = 0; i < dims.size(); ++i) out += gart::text(i == 0 ? "" : ",", dims[i]);
  return out + "]";
}

Program::Program(std::shared_ptr<detail::ProgramState> state) : state_(std::move(state)) {}

std::vector<std::string> Program::entry_points() const {
  std::vector<std::string> names;
  for (const Entry& entry : state_->entries) names.push_back(entry.name);
  return names;
}

std::span<const TensorInfo> Program::inputs(std::string_view entry) const {
  const Entry* found = state_->find(entry);
  return found != nullptr ? found->own_inputs() : std::span<const TensorInfo>();
}

std::span<const TensorInfo> Program::outputs(std::string_view entry) const {
  const Entry* found = state_->find(entry);
  return found != nullptr ? found->own_outputs() : std::span<const TensorInfo>();
}

const char* Program::label(size_t output, size_t number, std::string_view entry) const {
  const Entry* found = state_->find(entry);
  if (found == nullptr || output >= found->own_outputs().size()) return nullptr;
  return detail::text_at(found->manifest->outputs()->Get(static_cast<uint32_t>(output))->labels(), number);
}

const char* Program::metadata(size_t index) const {
  return detail::text_at(state_->artifact.manifest->metadata(), index);
}

std::span<const TensorInfo> Program::states() const { return state_->states_of(fb::StateScope::session); }
std::span<const TensorInfo> Program::program_states() const { return state_->states_of(fb::StateScope::program); }

Result<Tensor> Program::state(std::string_view name) const { return state_->own_states->state(name); }

Result<void> Program::set_state(std::string_view name, const TensorView& value) const {
  return state_->own_states->set_state(name, value);
}

Result<void> Program::save_states(const std::string& path) const { return state_->own_states->save(path); }

Result<void> Program::load_states(const std::string& path) const { return state_->own_states->load(path); }

const std::string& Program::target() const { return state_->target_name; }
const std::string& Program::device() const { return state_->device().name; }
int Program::threads() const { return state_->device().threads(); }

Result<std::vector<Tensor>> Program::run(std::span<const TensorView> inputs) const {
  return detail::run_once(*state_, nullptr, {}, detail::AnyInputs(inputs));
}

Result<std::vector<Tensor>> Program::run(const std::vector<Tensor>& inputs) const {
  return detail::run_once(*state_, nullptr, {}, detail::AnyInputs(std::span<const Tensor>(inputs)));
}

Result<std::vector<Tensor>> Program::run(std::span<const NamedTensor> inputs, std::string_view entry) const {
  return detail::run_once(*state_, nullptr, entry, detail::AnyInputs(inputs));
}

Result<Invocation> Program::new_invocation(std::string_view entry) const {
  return guarded([&] {
    const Entry& found = state_->entry(entry);
    detail::check_needs_no_session(found);
    auto invocation = std::make_unique<detail::InvocationState>(*state_, found);
    invocation->keep_alive = state_;
    return Invocation(std::move(invocation));
  });
}

}  // namespace gart
