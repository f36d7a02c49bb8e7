#include "tools/gcc-graph/train/replica.h"

#include <algorithm>

#include "tools/gcc-graph/io/model_inputs.h"
#include "tools/gcc-graph/support/fail.h"

namespace gcg::tools {

std::vector<std::string> phases_of(const gart::Program& program) {
  const std::vector<std::string> known = program.entry_points();
  std::vector<std::string> phases = {kGradientsEntry};
  for (std::string next;
       next = concat(kGradientsEntry, ".", phases.size()), std::find(known.begin(), known.end(), next) != known.end();)
    phases.push_back(next);
  return phases;
}

Replica::Replica(const gart::Program& program, const std::vector<std::string>& phases, const TrainingData& data,
                 const StepNumbers& numbers)
    : data_(data) {
  for (const std::string& name : phases) {
    Phase phase{value_or_throw(program.new_invocation(name)), {}, {}};
    for (const gart::TensorInfo& input : program.inputs(name)) {
      const auto made = outputs_.find(input.name);
      if (made != outputs_.end())
        phase.from.emplace_back(input.name, made->second);
      else
        phase.own.push_back(input.name);
      if (const auto number = numbers.find(input.name); number != numbers.end())
        value_or_throw(phase.invocation.set_input(input.name, number->second.view()));
    }
    const auto outputs = program.outputs(name);
    for (size_t i = 0; i < outputs.size(); ++i) outputs_.try_emplace(outputs[i].name, Place{phases_.size(), i});
    phases_.push_back(std::move(phase));
  }
  // If the model has a value of this name, the loss is "loss.1" or the like.
  const auto loss = outputs_.lower_bound("loss");
  if (loss == outputs_.end() || !loss->first.starts_with("loss")) fail("the entry point '", phases[0], "' has no loss");
  loss_ = loss->first;
}

gart::Result<void> Replica::begin(const Batch& batch, int64_t draw) {
  draw_ = draw;
  const auto& views = data_.batch(batch.samples, memory_);
  for (Phase& phase : phases_)
    for (const std::string& name : phase.own) {
      const auto view = views.find(name);
      const bool is_draw = name == kReplicaInput;
      if (view == views.end() && !is_draw) continue;
      const gart::TensorView value = is_draw ? gart::TensorView{&draw_, gart::DType::i64, {}} : view->second;
      if (auto set = phase.invocation.set_input(name, value); !set.ok()) return set;
    }
  return phases_[0].invocation.run();
}

gart::Result<void> Replica::run(size_t phase) {
  for (const auto& [name, place] : phases_[phase].from)
    if (auto set = set_input(phase, name, phases_[place.phase].invocation.output(place.output)); !set.ok()) return set;
  return phases_[phase].invocation.run();
}

gart::TensorView Replica::output(const std::string& name) const {
  const Place& place = outputs_.at(name);
  return phases_[place.phase].invocation.output(place.output);
}

}  // namespace gcg::tools
