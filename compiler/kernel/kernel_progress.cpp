#include "compiler/kernel/kernel_progress.h"

#include <cmath>

#include "compiler/support/error.h"

namespace gcg {
namespace {

thread_local KernelProgress::Scope* innermost = nullptr;

}  // namespace

KernelProgress::Scope::Scope(Observer observer)
    : observer_(std::move(observer)), outer_(std::exchange(innermost, this)) {}

KernelProgress::Scope::~Scope() { innermost = outer_; }

KernelProgress::KernelProgress(size_t all)
    : observer_(innermost != nullptr && innermost->observer_ ? &innermost->observer_ : nullptr), all_(all) {}

void KernelProgress::finish_one() {
  if (observer_ == nullptr) return;
  const std::lock_guard lock(mutex_);
  (*observer_)(++done_, all_);
}

KernelProgress::Observer CodeStages::begin(const std::string& target) {
  if (!say_) return {};
  const std::string stage = "code " + target;
  say_(stage);
  return [this, stage, before = begun_++](size_t done, size_t all) {
    const double share = (static_cast<double>(before) + static_cast<double>(done) / static_cast<double>(all)) /
                         static_cast<double>(targets_);
    const std::chrono::duration<double> spent = std::chrono::steady_clock::now() - start_;
    const auto left = static_cast<int64_t>(std::ceil(spent.count() * (1 - share) / share));
    say_(concat(stage, " ", done, "/", all, left > 0 ? concat(", about ", left, " s left") : ""));
  };
}

}  // namespace gcg
