#include "tools/gcc-graph/train/replicas.h"

#include <algorithm>

#include "tools/gcc-graph/io/model_inputs.h"
#include "tools/gcc-graph/support/fail.h"

namespace gcg::tools {
namespace {

// Names of the compiler: compiler/train/replica_entries.h and accumulation.h.
constexpr const char *kGradients = "gradients", *kUpdate = "update", *kReplica = "replica", *kShare = "share",
                     *kLast = "last", *kGradientPrefix = "gradient.", *kAccumulated = "accumulated";

}  // namespace

Replicas::Replicas(const gart::Program& program, int64_t count, const TrainingData& data, const StepNumbers& numbers)
    : program_(program) {
  const std::vector<std::string> known = program.entry_points();
  for (const char* entry : {kGradients, kUpdate})
    if (std::find(known.begin(), known.end(), entry) == known.end())
      fail("--replicas ", count, ": the file has no entry point '", entry,
           "'; compile the model with --train '...,replicas=on'");
  for (int64_t i = 0; i < count; ++i)
    entries_.push_back(std::make_unique<LossEntry>(program, kGradients, data, numbers));
  const auto infos = program.outputs(kGradients);
  for (size_t i = 0; i < infos.size(); ++i)
    if (infos[i].name.starts_with(kGradientPrefix)) gradients_.push_back({infos[i].name, i});
  update_ = std::make_unique<gart::Invocation>(value_or_throw(program.new_invocation(kUpdate)));
  for (const auto& [name, tensor] : numbers)
    if (has_input(program, kUpdate, name)) value_or_throw(update_->set_input(name, tensor.view()));
  draws_ = has_input(program, kGradients, kReplica);
}

gart::Result<void> Replicas::compute(size_t replica, const Batch& batch, int64_t draw) {
  LossEntry& entry = *entries_[replica];
  if (draws_)
    if (auto set = entry.invocation().set_input(kReplica, {&draw, gart::DType::i64, {}}); !set.ok()) return set;
  return entry.run(batch);
}

gart::Result<void> Replicas::update(size_t replica, double share, bool is_last) {
  const auto set = [&](const std::string& name, const gart::TensorView& view) {
    return update_->set_input(name, view);
  };
  for (const Gradient& g : gradients_)
    if (auto done = set(g.name, entries_[replica]->invocation().output(g.output)); !done.ok()) return done;
  if (auto done = set(kShare, {&share, gart::DType::f64, {}}); !done.ok()) return done;
  if (auto done = set(kLast, {&is_last, gart::DType::boolean, {}}); !done.ok()) return done;
  return update_->run();
}

int64_t Replicas::pending() const {
  const gart::Tensor state = value_or_throw(program_.state(kAccumulated));
  return *static_cast<const int64_t*>(state.data());
}

}  // namespace gcg::tools
