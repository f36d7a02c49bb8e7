#include <array>
#include <condition_variable>
#include <cstdio>
#include <mutex>
#include <optional>
#include <thread>

#include "tools/gcc-graph/support/fail.h"
#include "tools/gcc-graph/train/replicas.h"
#include "tools/gcc-graph/train/staleness.h"
#include "tools/gcc-graph/train/training_steps.h"

namespace gcg::tools {
namespace {

constexpr size_t kRounds = 16;  // batches per replica in a run; all replicas wait for each other at the end of a run
// Distance of the replicas' random numbers, in steps. Two replicas may read the same random state, and must draw
// different numbers.
constexpr int64_t kDraws = int64_t{1} << 20;

class AsynchronousSteps : public TrainingSteps {
 public:
  AsynchronousSteps(const gart::Program& program, int64_t replicas, int64_t staleness, const TrainingData& data,
                    const StepNumbers& numbers)
      : replicas_(program, replicas, data, numbers), staleness_(replicas_.count(), staleness) {
    if (replicas_.phases() > 1)
      fail("--staleness: the replicas of this file exchange statistics of their batches, so they must run together");
    if (const int64_t pending = replicas_.pending(); pending != 0)
      fail("--staleness: the file's states hold the sum of ", pending, " gradients, expected none");
  }

  size_t wanted() const override { return kRounds * replicas_.count(); }

  std::vector<double> run(std::span<const Batch> group) override {
    group_ = group;
    next_ = 0;
    losses_.assign(group.size(), 0);
    {
      std::vector<std::jthread> threads;
      for (size_t r = 1; r < replicas_.count(); ++r) threads.emplace_back([this, r] { work(r); });
      work(0);
    }
    if (failed_) fail_step(group[failed_->batch], failed_->error);
    return losses_;
  }

  std::string summary() const override {
    char mean[32];
    std::snprintf(mean, sizeof mean, "%.2f", staleness_.mean());
    return concat("asynchronous replicas: ", staleness_.updates(), " updates with a staleness of at most ",
                  staleness_.largest(), ", ", mean, " on average");
  }

 private:
  struct StepFailure {
    size_t batch;
    gart::Error error;
  };

  /// Trains with batches until there is none left, or a replica has failed.
  void work(size_t replica) {
    for (std::optional<size_t> batch; (batch = begin(replica));) {
      const auto computed = replicas_.begin(replica, group_[*batch], static_cast<int64_t>(replica) * kDraws);
      finish(replica, *batch, computed);
    }
  }

  std::optional<size_t> begin(size_t replica) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return failed_ || next_ == group_.size() || staleness_.can_begin(); });
    if (failed_ || next_ == group_.size()) return std::nullopt;
    staleness_.begin(replica);
    return next_++;
  }

  void finish(size_t replica, size_t batch, const gart::Result<void>& computed) {
    std::unique_lock lock(mutex_);
    if (computed.ok()) changed_.wait(lock, [&] { return failed_ || staleness_.can_update(replica); });
    const auto update = [&] { return replicas_.update(std::array{replicas_.gradients(replica)}, 1); };
    const auto done = computed.ok() && !failed_ ? update() : computed;
    if (done.ok() && !failed_) {
      losses_[batch] = replicas_.loss(replica);
      staleness_.update(replica);
    } else {
      staleness_.drop(replica);
      if (!failed_) failed_ = StepFailure{batch, done.error()};
    }
    changed_.notify_all();
  }

  Replicas replicas_;
  std::mutex mutex_;
  std::condition_variable changed_;
  Staleness staleness_;  // this and the next members: under the mutex
  size_t next_ = 0;
  std::optional<StepFailure> failed_;
  std::vector<double> losses_;
  std::span<const Batch> group_;
};

}  // namespace

std::unique_ptr<TrainingSteps> asynchronous_steps(const gart::Program& program, int64_t replicas, int64_t staleness,
                                                  const TrainingData& data, const StepNumbers& numbers) {
  return std::make_unique<AsynchronousSteps>(program, replicas, staleness, data, numbers);
}

}  // namespace gcg::tools
