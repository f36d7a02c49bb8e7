#include "tools/gcc-graph/train/host_replicas.h"

#include <algorithm>
#include <thread>

#include "artifact_schema/container.h"
#include "runtime/errors.h"
#include "runtime/memory.h"
#include "tools/gcc-graph/fleet/rank_messages.h"
#include "tools/gcc-graph/io/model_inputs.h"
#include "tools/gcc-graph/train/replicas.h"

namespace gcg::tools {
namespace {

using nlohmann::json;

/// Calls work(rank) for all ranks but 0 at the same time.
template <class Work>
void on_other_ranks(int ranks, const Work& work) {
  std::vector<std::jthread> threads;
  for (int rank = 1; rank < ranks; ++rank) threads.emplace_back([&work, rank] { work(rank); });
}

}  // namespace

int64_t replicas_of_rank_0(int64_t replicas, const TrainingJob& job) {
  const int64_t ranks = job.hosts == nullptr ? 1 : job.hosts->size();
  if (replicas < ranks)
    fail("--replicas ", replicas, ": the job has ", ranks, " processes, and each of them needs a replica");
  return (replicas + ranks - 1) / ranks;
}

HostReplicas::HostReplicas(const TrainingJob& job, const gart::Program& program, int64_t replicas,
                           const TrainingData& data, const StepNumbers& numbers)
    : hosts_(*job.hosts),
      program_(program),
      replicas_(replicas),
      data_(data),
      numbers_(numbers),
      loss_(loss_output(program, kGradientsEntry)),
      draws_(has_input(program, kGradientsEntry, kReplicaInput)),
      remote_(static_cast<size_t>(replicas)),
      has_states_(static_cast<size_t>(job.hosts->size())) {
  const auto outputs = program.outputs(kGradientsEntry);
  for (size_t i = 0; i < outputs.size(); ++i) {
    if (!outputs[i].name.starts_with(kGradientPrefix)) continue;
    gradients_.push_back(i);
    parameters_.push_back(outputs[i].name.substr(std::string(kGradientPrefix).size()));
  }
  if (draws_) parameters_.emplace_back(kRandomState);
  const gart::Mapping file = value_or_throw(gart::guarded([&] { return gart::Mapping::of_file(job.artifact); }));
  std::vector<std::string> failures(static_cast<size_t>(hosts_.size()));
  on_other_ranks(hosts_.size(), [&](int rank) {
    try {
      introduce(rank, file.bytes());
    } catch (const std::exception& error) {
      failures[static_cast<size_t>(rank)] = error.what();
    }
  });
  for (const std::string& failure : failures)
    if (!failure.empty()) fail(failure);
}

/// The rank compares its own copy of the artifact with rank 0's, and gets it if they differ.
void HostReplicas::introduce(int rank, std::span<const uint8_t> file) {
  const RankMessages messages(hosts_, rank);
  const std::vector<uint8_t> prologue(file.begin(), file.begin() + sizeof(gart::Prologue));
  messages.send(json{{"bytes", file.size()}, {"prologue", json::binary(prologue)}});
  if (messages.receive().at("lacks").get<bool>()) messages.send(file);
  checked_answer(messages.receive(), rank);
}

/// Rank r has the replicas i with i * ranks / replicas == r.
int64_t HostReplicas::first_replica(int rank) const {
  const int64_t ranks = hosts_.size();
  return (rank * replicas_ + ranks - 1) / ranks;
}

void HostReplicas::compute(std::span<const Batch> group, std::span<gart::Result<void>> done) {
  // The first time all states, because a checkpoint may have changed any of them.
  std::vector<std::string> names = parameters_;
  if (std::count(has_states_.begin() + 1, has_states_.end(), 0) > 0) {
    names.clear();
    for (const gart::TensorInfo& state : program_.program_states()) names.push_back(state.name);
  }
  states_.clear();
  for (const std::string& name : names) {
    gart::Result<gart::Tensor> state = program_.state(name);
    if (!state.ok()) {
      std::fill(done.begin() + first_replica(1), done.end(), gart::Result<void>(state.error()));
      return;
    }
    states_.emplace_back(name, std::move(*state));
  }
  on_other_ranks(hosts_.size(), [&](int rank) {
    const auto first = static_cast<size_t>(first_replica(rank));
    const size_t count = std::min(static_cast<size_t>(first_replica(rank + 1)), group.size()) - first;
    if (first >= group.size()) return;
    const std::span<gart::Result<void>> own = done.subspan(first, count);
    const auto fail_all = [&](gart::ErrorCode code, const std::exception& error) {
      std::fill(own.begin(), own.end(), gart::Result<void>(gart::Error{code, error.what()}));
    };
    try {
      compute_on(rank, group.subspan(first, count), own);
    } catch (const LostRank& error) {
      fail_all(gart::ErrorCode::device_lost, error);
    } catch (const std::exception& error) {
      fail_all(gart::ErrorCode::run_failed, error);
    }
  });
}

/// The inputs of a batch for the entry point.
HostReplicas::Named HostReplicas::inputs_of(size_t replica, const Batch& batch) {
  Remote& remote = remote_[replica];
  Named inputs;
  for (const auto& [name, view] : data_.batch(batch.samples, remote.memory)) inputs.emplace_back(name, view);
  for (const auto& [name, tensor] : numbers_)
    if (has_input(program_, kGradientsEntry, name)) inputs.emplace_back(name, tensor.view());
  remote.draw = static_cast<int64_t>(replica);
  if (draws_) inputs.emplace_back(kReplicaInput, gart::TensorView{&remote.draw, gart::DType::i64, {}});
  return inputs;
}

/// `group`, `done`: those of the rank's replicas.
void HostReplicas::compute_on(int rank, std::span<const Batch> group, std::span<gart::Result<void>> done) {
  const RankMessages messages(hosts_, rank);
  const auto first = static_cast<size_t>(first_replica(rank));
  json states = json::array(), batches = json::array();
  for (const auto& [name, state] : states_) states.push_back(described(name, state));
  std::vector<Named> inputs;
  for (size_t i = 0; i < group.size(); ++i) {
    inputs.push_back(inputs_of(first + i, group[i]));
    json batch = json::array();
    for (const auto& [name, view] : inputs.back()) batch.push_back(described(name, view));
    batches.push_back(std::move(batch));
  }
  messages.send(json{{"states", std::move(states)}, {"batches", std::move(batches)}});
  for (const auto& [name, state] : states_) messages.send(gart::TensorView(state));
  for (const Named& batch : inputs)
    for (const auto& [name, view] : batch) messages.send(view);
  const json answers = checked_answer(messages.receive(), rank);
  for (size_t i = 0; i < group.size(); ++i) {
    const json& answer = answers.at(i);
    if (answer.contains("error")) {
      done[i] = gart::Error{gart::ErrorCode::run_failed, answer.at("error").get<std::string>()};
      continue;
    }
    std::vector<HostTensor>& outputs = remote_[first + i].outputs;
    outputs.resize(answer.at("outputs").size());
    for (size_t o = 0; o < outputs.size(); ++o) messages.receive(answer.at("outputs").at(o), outputs[o]);
  }
  has_states_[static_cast<size_t>(rank)] = 1;
}

Gradients HostReplicas::gradients(size_t replica) const {
  Gradients views;
  for (const size_t output : gradients_) views.push_back(remote_[replica].outputs[output].view());
  return views;
}

}  // namespace gcg::tools
