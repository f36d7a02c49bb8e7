#include "tools/gcc-graph/train/loss_entry.h"

#include <algorithm>
#include <optional>

#include "gcc_graph/values.h"
#include "tools/gcc-graph/io/model_inputs.h"
#include "tools/gcc-graph/support/fail.h"

namespace gcg::tools {
namespace {

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

}  // namespace

bool has_input(const gart::Program& program, const std::string& entry, const std::string& name) {
  const auto infos = program.inputs(entry);
  return std::any_of(infos.begin(), infos.end(), [&](const auto& info) { return info.name == name; });
}

LossEntry::LossEntry(const gart::Program& program, const std::string& entry, const TrainingData& data,
                     const StepNumbers& numbers)
    : data_(data),
      loss_(loss_of(program.outputs(entry), entry)),
      invocation_(value_or_throw(program.new_invocation(entry))) {
  for (const auto& [name, tensor] : numbers)
    if (has_input(program, entry, name)) value_or_throw(invocation_.set_input(name, tensor.view()));
}

gart::Result<void> LossEntry::run(const Batch& batch) {
  for (const auto& [name, view] : data_.batch(batch.samples, memory_))
    if (gart::Result<void> set = invocation_.set_input(name, view); !set.ok()) return set;
  return invocation_.run();
}

double LossEntry::loss() const {
  const gart::TensorView loss = invocation_.output(loss_);
  return gcc_graph::element_at(static_cast<gcc_graph::DType>(loss.dtype), loss.data, 0);
}

void fail_step(const Batch& batch, const gart::Error& error) {
  fail("step ", batch.after.steps, " (epoch ", batch.epoch + 1, "): ", error.message);
}

}  // namespace gcg::tools
