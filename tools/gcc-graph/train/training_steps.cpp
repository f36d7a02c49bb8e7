#include "tools/gcc-graph/train/training_steps.h"

#include <thread>

#include "tools/gcc-graph/support/fail.h"
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
  ReplicaSteps(const gart::Program& program, int64_t replicas, const TrainingData& data, const StepNumbers& numbers)
      : replicas_(program, replicas, data, numbers) {}

  size_t wanted() const override { return replicas_.count() - pending(); }

  std::vector<double> run(std::span<const Batch> group) override {
    const double share = 1.0 / static_cast<double>(replicas_.count());
    size_t updates = pending();
    compute(group);
    std::vector<double> losses;
    for (size_t i = 0; i < group.size(); ++i) {
      losses.push_back(replicas_.loss(i));
      const auto done = replicas_.update(i, share, ++updates == replicas_.count());
      if (!done.ok()) fail_step(group[i], done.error());
    }
    return losses;
  }

 private:
  /// Gradients in the sums come from a training that ended within a group.
  size_t pending() const {
    const int64_t pending = replicas_.pending();
    if (pending < 0 || static_cast<size_t>(pending) >= replicas_.count())
      fail("--replicas ", replicas_.count(), ": the file's states hold the sum of ", pending,
           " gradients, expected fewer than there are replicas");
    return static_cast<size_t>(pending);
  }

  /// Computes the gradients of all batches at the same time. Replica i draws random numbers for i updates later.
  void compute(std::span<const Batch> group) {
    std::vector<gart::Result<void>> done(group.size());
    const auto compute_one = [&](size_t i) { done[i] = replicas_.compute(i, group[i], static_cast<int64_t>(i)); };
    {
      std::vector<std::jthread> threads;
      for (size_t i = 1; i < group.size(); ++i) threads.emplace_back(compute_one, i);
      compute_one(0);
    }
    for (size_t i = 0; i < group.size(); ++i)
      if (!done[i].ok()) fail_step(group[i], done[i].error());
  }

  Replicas replicas_;
};

}  // namespace

std::unique_ptr<TrainingSteps> single_steps(const gart::Program& program, const std::string& entry,
                                            const TrainingData& data, const StepNumbers& numbers) {
  return std::make_unique<SingleSteps>(program, entry, data, numbers);
}

std::unique_ptr<TrainingSteps> replica_steps(const gart::Program& program, int64_t replicas, const TrainingData& data,
                                             const StepNumbers& numbers) {
  return std::make_unique<ReplicaSteps>(program, replicas, data, numbers);
}

}  // namespace gcg::tools
