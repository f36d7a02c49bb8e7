#include "tools/gcc-graph/train/training_steps.h"

#include <algorithm>
#include <optional>
#include <thread>

#include "gcc_graph/values.h"
#include "tools/gcc-graph/io/model_inputs.h"
#include "tools/gcc-graph/support/fail.h"

namespace gcg::tools {
namespace {

// Names of the compiler: compiler/train/replica_entries.h and accumulation.h.
constexpr const char *kGradients = "gradients", *kUpdate = "update", *kReplica = "replica", *kShare = "share",
                     *kLast = "last", *kGradientPrefix = "gradient.", *kAccumulated = "accumulated";

/// The number of the output with the loss: the output called "loss" if there is one, otherwise a single number.
size_t loss_of(std::span<const gart::TensorInfo> outputs, const std::string& entry) {
  std::optional<size_t> found;
  for (size_t i = 0; i < outputs.size(); ++i) {
    const bool is_scalar = std::all_of(outputs[i].dims.begin(), outputs[i].dims.end(),
                                       [](const std::string& extent) { return extent == "1"; });
    if (is_scalar && (!found || outputs[i].name == "loss")) found = i;
  }
  if (!found) fail("entry point '", entry, "' has no output of one number, which would be the loss");
  return *found;
}

bool has_input(std::span<const gart::TensorInfo> infos, const std::string& name) {
  return std::any_of(infos.begin(), infos.end(), [&](const auto& info) { return info.name == name; });
}

/// An entry point that computes the loss of a batch.
class LossEntry {
 public:
  LossEntry(const gart::Program& program, const std::string& entry, const TrainingData& data,
            const StepNumbers& numbers)
      : data_(data),
        loss_(loss_of(program.outputs(entry), entry)),
        invocation_(value_or_throw(program.new_invocation(entry))) {
    for (const auto& [name, tensor] : numbers)
      if (has_input(program.inputs(entry), name)) value_or_throw(invocation_.set_input(name, tensor.view()));
  }

  gart::Result<void> run(const Batch& batch) {
    for (const auto& [name, view] : data_.batch(batch.samples, memory_))
      if (gart::Result<void> set = invocation_.set_input(name, view); !set.ok()) return set;
    return invocation_.run();
  }

  double loss() const {
    const gart::TensorView loss = invocation_.output(loss_);
    return gcc_graph::element_at(static_cast<gcc_graph::DType>(loss.dtype), loss.data, 0);
  }

  gart::Invocation& invocation() { return invocation_; }

 private:
  const TrainingData& data_;
  const size_t loss_;
  BatchMemory memory_;
  gart::Invocation invocation_;
};

[[noreturn]] void fail_step(const Batch& batch, const gart::Error& error) {
  fail("step ", batch.after.steps, " (epoch ", batch.epoch + 1, "): ", error.message);
}

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
      : program_(program),
        count_(static_cast<size_t>(replicas)),
        share_(1.0 / static_cast<double>(replicas)),
        update_(value_or_throw(program.new_invocation(kUpdate))) {
    for (size_t i = 0; i < count_; ++i)
      entries_.push_back(std::make_unique<LossEntry>(program, kGradients, data, numbers));
    const auto infos = program.outputs(kGradients);
    for (size_t i = 0; i < infos.size(); ++i)
      if (infos[i].name.starts_with(kGradientPrefix)) gradients_.push_back({infos[i].name, i});
    for (const auto& [name, tensor] : numbers)
      if (has_input(program.inputs(kUpdate), name)) value_or_throw(update_.set_input(name, tensor.view()));
    draws_ = has_input(program.inputs(kGradients), kReplica);
    value_or_throw(update_.set_input(kShare, {&share_, gart::DType::f64, {}}));
    value_or_throw(update_.set_input(kLast, {&last_, gart::DType::boolean, {}}));
  }

  size_t wanted() const override { return count_ - pending(); }

  std::vector<double> run(std::span<const Batch> group) override {
    size_t pending_updates = pending();
    run_replicas(group);
    std::vector<double> losses;
    for (size_t i = 0; i < group.size(); ++i) {
      losses.push_back(entries_[i]->loss());
      last_ = ++pending_updates == count_;
      for (const Gradient& g : gradients_)
        value_or_throw(update_.set_input(g.name, entries_[i]->invocation().output(g.output)));
      if (const auto done = update_.run(); !done.ok()) fail_step(group[i], done.error());
    }
    return losses;
  }

 private:
  struct Gradient {
    std::string name;
    size_t output;
  };

  /// How many gradients the sums in the states have already. They come from a training that ended within a group.
  size_t pending() const {
    const gart::Tensor state = value_or_throw(program_.state(kAccumulated));
    const int64_t count = *static_cast<const int64_t*>(state.data());
    if (count < 0 || static_cast<size_t>(count) >= count_)
      fail("--replicas ", count_, ": the file's states hold the sum of ", count,
           " gradients, expected fewer than there are replicas");
    return static_cast<size_t>(count);
  }

  /// Computes the gradients of a batch per replica, all at the same time.
  void run_replicas(std::span<const Batch> group) {
    std::vector<gart::Result<void>> done(group.size());
    std::vector<std::thread> threads;
    const auto run_one = [&](size_t i) { done[i] = run_replica(i, group[i]); };
    for (size_t i = 1; i < group.size(); ++i) threads.emplace_back(run_one, i);
    run_one(0);
    for (std::thread& thread : threads) thread.join();
    for (size_t i = 0; i < group.size(); ++i)
      if (!done[i].ok()) fail_step(group[i], done[i].error());
  }

  gart::Result<void> run_replica(size_t i, const Batch& batch) {
    const auto number = static_cast<int64_t>(i);  // updates between the state that the replica reads and its own update
    if (draws_) {
      auto set = entries_[i]->invocation().set_input(kReplica, {&number, gart::DType::i64, {}});
      if (!set.ok()) return set;
    }
    return entries_[i]->run(batch);
  }

  const gart::Program& program_;
  const size_t count_;
  double share_;
  bool last_ = false, draws_ = false;
  gart::Invocation update_;
  std::vector<std::unique_ptr<LossEntry>> entries_;
  std::vector<Gradient> gradients_;
};

}  // namespace

std::unique_ptr<TrainingSteps> single_steps(const gart::Program& program, const std::string& entry,
                                            const TrainingData& data, const StepNumbers& numbers) {
  return std::make_unique<SingleSteps>(program, entry, data, numbers);
}

std::unique_ptr<TrainingSteps> replica_steps(const gart::Program& program, int64_t replicas, const TrainingData& data,
                                             const StepNumbers& numbers) {
  const std::vector<std::string> entries = program.entry_points();
  for (const char* entry : {kGradients, kUpdate})
    if (std::find(entries.begin(), entries.end(), entry) == entries.end())
      fail("--replicas ", replicas, ": the file has no entry point '", entry,
           "'; compile the model with --train '...,replicas=on'");
  return std::make_unique<ReplicaSteps>(program, replicas, data, numbers);
}

}  // namespace gcg::tools
