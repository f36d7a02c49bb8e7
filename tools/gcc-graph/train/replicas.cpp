#include "tools/gcc-graph/train/replicas.h"

#include <algorithm>
#include <cstring>

#include "tools/gcc-graph/io/model_inputs.h"
#include "tools/gcc-graph/support/fail.h"

namespace gcg::tools {
namespace {

constexpr const char *kUpdate = "update", *kAdd = "add", *kAccumulate = "accumulate", *kAccumulated = "accumulated",
                     *kSteps = "steps", *kStatisticPrefix = "statistic.";

/// Throws Error if an entry point of replicas is missing.
std::vector<std::string> checked_phases(const gart::Program& program) {
  const std::vector<std::string> known = program.entry_points();
  for (const char* entry : {kGradientsEntry, kAdd, kUpdate, kAccumulate})
    if (std::find(known.begin(), known.end(), entry) == known.end())
      fail("--replicas: the file has no entry point '", entry, "'; compile the model with --train '...,replicas=on'");
  return phases_of(program);
}

gart::TensorView scalar(const double& number) { return {&number, gart::DType::f64, {}}; }

}  // namespace

Replicas::Replicas(const gart::Program& program, int64_t count, const TrainingData& data, const StepNumbers& numbers)
    : program_(program), phases_(checked_phases(program)), exchange_(program, phases_) {
  for (int64_t i = 0; i < count; ++i) replicas_.push_back(std::make_unique<Replica>(program, phases_, data, numbers));
  for (const std::string& phase : phases_)
    for (const gart::TensorInfo& output : program.outputs(phase)) {
      if (output.name.starts_with(kGradientPrefix))
        parameters_.push_back(output.name.substr(std::strlen(kGradientPrefix)));
      if (output.name.starts_with(kStatisticPrefix)) statistics_.push_back(output.name);
    }
  update_ = open(kUpdate);
  accumulate_ = open(kAccumulate);
  for (Invocation& invocation : adds_) invocation = open(kAdd);
  for (const auto& [name, tensor] : numbers)
    if (has_input(program, kUpdate, name)) value_or_throw(update_->set_input(name, tensor.view()));
  counts_steps_ = has_input(program, kUpdate, kSteps);
}

Replicas::Invocation Replicas::open(const char* entry) const {
  return std::make_unique<gart::Invocation>(value_or_throw(program_.new_invocation(entry)));
}

gart::Result<void> Replicas::exchange(size_t phase, size_t count) {
  return exchange_.run(phase, std::span(replicas_).first(count));
}

Gradients Replicas::gradients(size_t replica) const {
  Gradients views;
  for (const std::string& name : parameters_) views.push_back(replicas_[replica]->output(kGradientPrefix + name));
  return views;
}

gart::Result<void> Replicas::set_operands(gart::Invocation& invocation, const Operand& first,
                                          const Operand& second) const {
  for (const auto& [name, operand] : {std::pair("first", &first), std::pair("second", &second)}) {
    for (size_t i = 0; i < parameters_.size(); ++i) {
      const auto set = invocation.set_input(concat(name, ".", parameters_[i]), operand->gradients[i]);
      if (!set.ok()) return set;
    }
    if (auto set = invocation.set_input(concat("share.", name), scalar(operand->share)); !set.ok()) return set;
  }
  return {};
}

gart::Result<void> Replicas::add(Operand& sum, const Operand& next, gart::Invocation& invocation) {
  if (auto set = set_operands(invocation, sum, next); !set.ok()) return set;
  if (auto done = invocation.run(); !done.ok()) return done;
  for (size_t i = 0; i < parameters_.size(); ++i) sum.gradients[i] = invocation.output("sum." + parameters_[i]);
  sum.share = 1;
  return {};
}

gart::Result<void> Replicas::update(std::span<const Gradients> group, double share) {
  std::vector<gart::Tensor> pending_tensors;
  Operand sum{group[0], share};
  size_t next = 1;
  if (pending() > 0) {
    auto sums = pending_sums();
    if (!sums.ok()) return sums.error();
    pending_tensors = std::move(*sums);
    sum = {{pending_tensors.begin(), pending_tensors.end()}, 1};
    next = 0;
  }
  for (; next + 1 < group.size(); ++next)
    if (auto added = add(sum, {group[next], share}, *adds_[next % 2]); !added.ok()) return added;
  const Operand last = next < group.size() ? Operand{group[next], share} : Operand{sum.gradients, 0};
  if (auto set = set_operands(*update_, sum, last); !set.ok()) return set;
  const auto steps = static_cast<int64_t>(group.size());
  if (counts_steps_)
    if (auto set = update_->set_input(kSteps, {&steps, gart::DType::i64, {}}); !set.ok()) return set;
  for (const std::string& name : statistics_)  // all replicas have the same ones
    if (auto set = update_->set_input(name, replicas_[0]->output(name)); !set.ok()) return set;
  if (auto done = update_->run(); !done.ok() || pending_tensors.empty()) return done;
  return drop_pending(std::move(pending_tensors));
}

gart::Result<void> Replicas::accumulate(const Gradients& gradients, double share) {
  for (size_t i = 0; i < parameters_.size(); ++i)
    if (auto set = accumulate_->set_input(kGradientPrefix + parameters_[i], gradients[i]); !set.ok()) return set;
  if (auto set = accumulate_->set_input("share", scalar(share)); !set.ok()) return set;
  return accumulate_->run();
}

int64_t Replicas::pending() const {
  const gart::Tensor state = value_or_throw(program_.state(kAccumulated));
  return *static_cast<const int64_t*>(state.data());
}

gart::Result<std::vector<gart::Tensor>> Replicas::pending_sums() const {
  std::vector<gart::Tensor> sums;
  for (const std::string& name : parameters_) {
    auto state = program_.state(name + ".gradient");
    if (!state.ok()) return state.error();
    sums.push_back(std::move(*state));
  }
  return sums;
}

gart::Result<void> Replicas::drop_pending(std::vector<gart::Tensor> sums) {
  for (size_t i = 0; i < sums.size(); ++i) {
    std::memset(sums[i].data(), 0, sums[i].bytes());
    if (auto set = program_.set_state(parameters_[i] + ".gradient", sums[i]); !set.ok()) return set;
  }
  const int64_t none = 0;
  return program_.set_state(kAccumulated, {&none, gart::DType::i64, {}});
}

}  // namespace gcg::tools
