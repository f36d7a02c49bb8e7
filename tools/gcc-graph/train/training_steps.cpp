#include "tools/gcc-graph/train/training_steps.h"

#include <algorithm>
#include <thread>

#include "tools/gcc-graph/fleet/rank_messages.h"
#include "tools/gcc-graph/support/fail.h"
#include "tools/gcc-graph/train/host_replicas.h"
#include "tools/gcc-graph/train/replicas.h"
#include "tools/gcc-graph/train/workers.h"

namespace gcg::tools {
namespace {

class SingleSteps : public TrainingSteps {
 public:
  SingleSteps(const gart::Program& program, const std::string& entry, const TrainingData& data,
              const StepNumbers& numbers)
      : entry_(program, entry, data, numbers) {}

  size_t wanted() const override { return 1; }

  std::vector<double> run(std::span<const Batch> group) override {
    if (const auto done = entry_.run(group[0]); !done.ok()) fail_step(group[0], done.error());
    return {entry_.loss()};
  }

 private:
  LossEntry entry_;
};

class ReplicaSteps : public TrainingSteps {
 public:
  ReplicaSteps(const gart::Program& program, int64_t replicas, const TrainingData& data, const StepNumbers& numbers,
               const TrainingJob& job)
      : count_(static_cast<size_t>(replicas)),
        replicas_(program, replicas_of_rank_0(replicas, job), data, numbers),
        workers_(replicas_.count()) {
    if (job.hosts != nullptr && replicas_.phases() > 1)
      fail(
          "train: the replicas of this file exchange statistics of their batches, which needs one process; the job "
          "has ",
          job.hosts->size());
    if (job.hosts != nullptr) others_ = std::make_unique<HostReplicas>(job, program, replicas, data, numbers);
  }

  size_t wanted() const override { return count_ - pending(); }

  std::vector<double> run(std::span<const Batch> group) override {
    const double share = 1.0 / static_cast<double>(count_);
    const bool is_complete = pending() + group.size() == count_;
    compute(group);
    std::vector<double> losses;
    std::vector<Gradients> gradients;
    for (size_t i = 0; i < group.size(); ++i) {
      const bool is_here = i < replicas_.count();
      losses.push_back(is_here ? replicas_.loss(i) : others_->loss(i));
      gradients.push_back(is_here ? replicas_.gradients(i) : others_->gradients(i));
    }
    if (is_complete) {
      if (const auto done = replicas_.update(gradients, share); !done.ok()) fail_step(group.back(), done.error());
      return losses;
    }
    for (size_t i = 0; i < group.size(); ++i)
      if (const auto done = replicas_.accumulate(gradients[i], share); !done.ok()) fail_step(group[i], done.error());
    return losses;
  }

 private:
  /// Gradients in the sums come from a training that ended within a group.
  size_t pending() const {
    const int64_t pending = replicas_.pending();
    if (pending < 0 || static_cast<size_t>(pending) >= count_)
      fail("--replicas ", count_, ": the file's states hold the sum of ", pending,
           " gradients, expected fewer than there are replicas");
    return static_cast<size_t>(pending);
  }

  /// Computes the gradients of all batches at the same time. Replica i draws random numbers for i updates later.
  void compute(std::span<const Batch> group) {
    std::vector<gart::Result<void>> done(group.size());
    {
      std::jthread remote;
      if (others_ != nullptr) remote = std::jthread([&] { others_->compute(group, done); });
      workers_.run(std::min(group.size(), replicas_.count()),
                   [&](size_t i) { done[i] = replicas_.begin(i, group[i], static_cast<int64_t>(i)); });
    }
    const auto is_ok = [](const gart::Result<void>& result) { return result.ok(); };
    for (size_t phase = 1; phase < replicas_.phases() && std::all_of(done.begin(), done.end(), is_ok); ++phase) {
      if (const auto exchanged = replicas_.exchange(phase, group.size()); !exchanged.ok())
        fail_step(group[0], exchanged.error());
      workers_.run(group.size(), [&](size_t i) { done[i] = replicas_.go_on(i, phase); });
    }
    for (size_t i = 0; i < group.size(); ++i) {
      if (done[i].ok()) continue;
      if (i >= replicas_.count() && done[i].error().code == gart::ErrorCode::device_lost)
        throw LostRank(done[i].error().message);
      fail_step(group[i], done[i].error());
    }
  }

  const size_t count_;
  Replicas replicas_;  // of this process
  Workers workers_;
  std::unique_ptr<HostReplicas> others_;
};

}  // namespace

std::unique_ptr<TrainingSteps> single_steps(const gart::Program& program, const std::string& entry,
                                            const TrainingData& data, const StepNumbers& numbers) {
  return std::make_unique<SingleSteps>(program, entry, data, numbers);
}

std::unique_ptr<TrainingSteps> replica_steps(const gart::Program& program, int64_t replicas, const TrainingData& data,
                                             const StepNumbers& numbers, const TrainingJob& job) {
  return std::make_unique<ReplicaSteps>(program, replicas, data, numbers, job);
}

}  // namespace gcg::tools
