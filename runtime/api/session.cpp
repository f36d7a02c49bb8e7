#include "runtime/errors.h"
#include "runtime/session_state.h"

namespace gart {
namespace detail {

InvocationState& SessionState::invocation(const Entry& entry) {
  for (auto& invocation : idle) {
    if (invocation->entry == &entry) return *invocation;
  }
  idle.push_back(std::make_unique<InvocationState>(*program, entry));
  idle.back()->session = this;
  return *idle.back();
}

namespace {

/// An invocation of the session, or an idle one of the program; the destructor returns an idle invocation to the
/// program.
class InvocationLease {
 public:
  InvocationLease(ProgramState& program, SessionState* session, const Entry& entry)
      : place_(program), program_(program), idle_(session == nullptr ? program.borrow(entry) : nullptr) {
    used_ = idle_ != nullptr ? idle_.get() : &session->invocation(entry).idle();
    used_->inputs.forget();
    used_->outputs.forget();
  }
  ~InvocationLease() {
    if (idle_ != nullptr) program_.give_back(std::move(idle_));
  }
  InvocationState& operator*() { return *used_; }

 private:
  const RunPlace place_;  // taken before an arena is allocated
  ProgramState& program_;
  std::unique_ptr<InvocationState> idle_;
  InvocationState* used_ = nullptr;
};

}  // namespace

Result<std::vector<Tensor>> run_once(ProgramState& program, SessionState* session, std::string_view entry,
                                     const AnyInputs& inputs) {
  return guarded([&] {
    InvocationLease invocation(program, session, program.entry(entry));
    inputs.set(*invocation);
    return (*invocation).run_owned();
  });
}

}  // namespace detail

Result<Session> Program::new_session() const {
  return guarded([&] { return Session(std::make_shared<detail::SessionState>(state_)); });
}

Session::Session(std::shared_ptr<detail::SessionState> state) : state_(std::move(state)) {}

Result<std::vector<Tensor>> Session::run(std::span<const TensorView> inputs, std::string_view entry) const {
  return detail::run_once(*state_->program, state_.get(), entry, detail::AnyInputs(inputs));
}

Result<std::vector<Tensor>> Session::run(const std::vector<Tensor>& inputs, std::string_view entry) const {
  return detail::run_once(*state_->program, state_.get(), entry, detail::AnyInputs(std::span<const Tensor>(inputs)));
}

Result<std::vector<Tensor>> Session::run(std::span<const NamedTensor> inputs, std::string_view entry) const {
  return detail::run_once(*state_->program, state_.get(), entry, detail::AnyInputs(inputs));
}

Result<Invocation> Session::new_invocation(std::string_view entry) const {
  return guarded([&] {
    auto invocation = std::make_unique<detail::InvocationState>(*state_->program, state_->program->entry(entry));
    invocation->session = state_.get();
    invocation->keep_session = state_;
    return Invocation(std::move(invocation));
  });
}

Result<Tensor> Session::state(std::string_view name) const { return state_->state(name); }

Result<void> Session::set_state(std::string_view name, const TensorView& value) const {
  return state_->set_state(name, value);
}

Result<void> Session::reset() const {
  return guarded([&] { state_->reset(); });
}

Result<void> Session::shorten(int64_t rows) const {
  return guarded([&] { state_->shorten(rows); });
}

Result<Session> Session::fork() const {
  return guarded([&] {
    auto copy = std::make_shared<detail::SessionState>(state_->program);
    state_->copy_to(*copy);
    return Session(std::move(copy));
  });
}

Result<void> Session::save(const std::string& path) const { return state_->save(path); }

Result<void> Session::load(const std::string& path) const { return state_->load(path); }

}  // namespace gart
