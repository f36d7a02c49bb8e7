#include "tools/gcc-graph/train/loss_scaling.h"

#include <algorithm>

#include "tools/gcc-graph/io/model_inputs.h"
#include "tools/gcc-graph/support/fail.h"

namespace gcg::tools {
namespace {

// Names of the compiler: compiler/train/loss_scale.h.
constexpr const char *kScale = "loss_scale", *kSkipped = "loss_scale.skipped";

}  // namespace

std::optional<LossScaling> loss_scaling(const gart::Program& program) {
  const auto states = program.program_states();
  const auto has = [&](const char* name) {
    return std::any_of(states.begin(), states.end(), [&](const auto& state) { return state.name == name; });
  };
  if (!has(kScale) || !has(kSkipped)) return std::nullopt;
  const gart::Tensor scale = value_or_throw(program.state(kScale)), skipped = value_or_throw(program.state(kSkipped));
  return LossScaling{*static_cast<const float*>(scale.data()), *static_cast<const int64_t*>(skipped.data())};
}

}  // namespace gcg::tools
