#include "tools/gcc-graph/train/training_steps.h"

#include <algorithm>
#include <thread>

#include "tools/gcc-graph/fleet/rank_messages.h"
#include "tools/gcc-graph/support/fail.h"
#include "tools/gcc-graph/train/host_replicas.h"
#include "tools/gcc-graph/train/replicas.h"

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
      : count_(static_cast<size_t>(replicas)), replicas_(program, replicas_of_rank_0(replicas, job), data, numbers) {
    if (job.hosts != nullptr) others_ = std::make_unique<HostReplicas>(job, program, replicas, data, numbers);
  }

  size_t wanted() const override { return count_ - pending(); }

  std::vector<double> run(std::span<const Batch> group) override {
    const double share = 1.0 / static_cast<double>(count_);
    size_t updates = pending();
    compute(group);
    std::vector<double> losses;
    for (size_t i = 0; i < group.size(); ++i) {
      const bool is_here = i < replicas_.count();
      losses.push_back(is_here ? replicas_.loss(i) : others_->loss(i));
      const auto done =
          replicas_.update(is_here ? replicas_.gradients(i) : others_->gradients(i), share, ++updates == count_);
      if (!done.ok()) fail_step(group[i], done.error());
    }
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
    const auto compute_one = [&](size_t i) { done[i] = replicas_.compute(i, group[i], static_cast<int64_t>(i)); };
    {
      std::vector<std::jthread> threads;
      if (others_ != nullptr) threads.emplace_back([&] { others_->compute(group, done); });
      for (size_t i = 1; i < std::min(group.size(), replicas_.count()); ++i) threads.emplace_back(compute_one, i);
      compute_one(0);
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
