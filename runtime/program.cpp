#include "runtime/program.h"

#include "runtime/errors.h"
#include "runtime/invocation.h"

namespace gart {
namespace detail {
namespace {

constexpr size_t kMaxIdle = 16;

/// Null from the end on.
const char* text_at(const flatbuffers::Vector<flatbuffers::Offset<flatbuffers::String>>* texts, size_t index) {
  return index < count_of(texts) ? texts->Get(static_cast<uint32_t>(index))->c_str() : nullptr;
}

}  // namespace

ProgramState::ProgramState() = default;
ProgramState::~ProgramState() = default;

Result<const Entry*> ProgramState::entry(std::string_view name) const {
  if (name.empty()) return &entries[0];
  for (const Entry& entry : entries) {
    if (entry.name == name) return &entry;
  }
  return error(ErrorCode::invalid_argument, "the model has no entry point '", name, "'");
}

Result<std::unique_ptr<InvocationState>> ProgramState::borrow(const Entry& entry) {
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
  return InvocationState::make(*this, entry);
}

void ProgramState::give_back(std::unique_ptr<InvocationState> invocation) {
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
  Result<const Entry*> found = state_->entry(entry);
  return found ? std::span<const TensorInfo>((*found)->inputs) : std::span<const TensorInfo>();
}

std::span<const TensorInfo> Program::outputs(std::string_view entry) const {
  Result<const Entry*> found = state_->entry(entry);
  return found ? std::span<const TensorInfo>((*found)->outputs) : std::span<const TensorInfo>();
}

const char* Program::label(size_t output, size_t number, std::string_view entry) const {
  Result<const Entry*> found = state_->entry(entry);
  if (!found || output >= (*found)->outputs.size()) return nullptr;
  return detail::text_at((*found)->manifest->outputs()->Get(static_cast<uint32_t>(output))->labels(), number);
}

const char* Program::metadata(size_t index) const { return detail::text_at(state_->artifact.manifest->metadata(), index); }

const std::string& Program::target() const { return state_->target_name; }
const std::string& Program::device() const { return state_->device_name; }
int Program::threads() const { return state_->team == nullptr ? 1 : state_->team->size(); }

namespace {

/// `inputs` are what the caller gave.
using SetInputs = Result<void> (*)(detail::InvocationState& invocation, const void* inputs);

/// Sets the inputs, runs, hands the outputs over. One function for all forms of inputs: this is most of their code.
Result<std::vector<Tensor>> run_once(detail::ProgramState& program, std::string_view entry_name, SetInputs set_inputs, const void* inputs) {
  return guarded([&]() -> Result<std::vector<Tensor>> {
    Result<const Entry*> entry = program.entry(entry_name);
    if (!entry) return entry.error();
    Result<std::unique_ptr<detail::InvocationState>> invocation = program.borrow(**entry);
    if (!invocation) return invocation.error();
    Result<void> set = set_inputs(**invocation, inputs);
    Result<std::vector<Tensor>> outputs = set ? (*invocation)->run_owned() : Result<std::vector<Tensor>>(set.error());
    program.give_back(std::move(*invocation));
    return outputs;
  });
}

template <class T>
Result<void> set_in_order(detail::InvocationState& invocation, const void* data) {
  const auto inputs = *static_cast<const std::span<const T>*>(data);
  const size_t count = invocation.entry->inputs.size();
  if (inputs.size() != count) {
    return error(ErrorCode::invalid_argument, inputs.size(), " inputs were given, the model has ", count);
  }
  for (size_t i = 0; i < count; ++i) GART_TRY(invocation.inputs.set(i, inputs[i]));
  return {};
}

Result<void> set_by_name(detail::InvocationState& invocation, const void* data) {
  for (const NamedTensor& input : *static_cast<const std::span<const NamedTensor>*>(data)) {
    Result<size_t> index = detail::find_tensor(invocation.entry->inputs, input.name, "input");
    if (!index) return index.error();
    if (invocation.inputs.is_set(*index))
      return error(ErrorCode::invalid_argument, "input '", input.name, "' is given twice");
    GART_TRY(invocation.inputs.set(*index, input.tensor));
  }
  return {};
}

}  // namespace

Result<std::vector<Tensor>> Program::run(std::span<const TensorView> inputs) const {
  return run_once(*state_, {}, set_in_order<TensorView>, &inputs);
}

Result<std::vector<Tensor>> Program::run(const std::vector<Tensor>& inputs) const {
  const std::span<const Tensor> all(inputs);
  return run_once(*state_, {}, set_in_order<Tensor>, &all);
}

Result<std::vector<Tensor>> Program::run(std::span<const NamedTensor> inputs, std::string_view entry) const {
  return run_once(*state_, entry, set_by_name, &inputs);
}

Result<Invocation> Program::new_invocation(std::string_view entry) const {
  return guarded([&]() -> Result<Invocation> {
    Result<const Entry*> found = state_->entry(entry);
    if (!found) return found.error();
    Result<std::unique_ptr<detail::InvocationState>> invocation = detail::InvocationState::make(*state_, **found);
    if (!invocation) return invocation.error();
    (*invocation)->keep_alive = state_;
    return Invocation(std::move(*invocation));
  });
}

}  // namespace gart
