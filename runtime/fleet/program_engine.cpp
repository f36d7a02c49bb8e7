#include "runtime/fleet/program_engine.h"

#include <algorithm>

#include "runtime/errors.h"
#include "runtime/fleet/device_kind.h"

namespace gart::fleet {

ProgramEngine::ProgramEngine(std::span<const uint8_t> artifact, const std::vector<std::string>& entries,
                             const gart::LoadOptions& options)
    : artifact_(artifact), entries_(entries), options_(options), parts_(entries.size()) {}

void ProgramEngine::add(std::span<const uint32_t> parts) {
  std::vector<uint32_t> missing;
  std::vector<std::string_view> names;
  for (const uint32_t part : parts) {
    if (parts_[part] != nullptr || std::find(missing.begin(), missing.end(), part) != missing.end()) continue;
    missing.push_back(part);
    names.push_back(entries_[part]);
  }
  if (missing.empty()) return;
  std::sort(names.begin(), names.end());
  gart::LoadOptions options = options_;
  options.entry_points = names;
  programs_.push_back(value_or_fail(gart::load(artifact_, options)));
  if (programs_.size() == 1) {
    device_ = programs_[0].device();
    target_ = programs_[0].target();
    space_ = open_space(device_);
  }
  for (const uint32_t part : missing)
    parts_[part] = std::make_unique<Invocation>(value_or_fail(programs_.back().new_invocation(entries_[part])));
}

Result<void> ProgramEngine::run(uint32_t entry, std::span<const TensorView> inputs,
                                std::span<const OutputBuffer> outputs, std::span<TensorView> results) {
  Invocation& part = *parts_[entry];
  for (size_t i = 0; i < inputs.size(); ++i)
    if (Result<void> set = part.set_input(i, inputs[i]); !set) return set;
  for (size_t i = 0; i < outputs.size(); ++i)
    if (Result<void> set = part.set_output(i, outputs[i]); !set) return set;
  if (Result<void> run = part.run(); !run) return run;
  for (size_t i = 0; i < results.size(); ++i) results[i] = part.output(i);
  return {};
}

}  // namespace gart::fleet
