#include "runtime/cpu/program.h"

#include "runtime/cpu/imports.h"

namespace gart::cpu {

void Program::load(const ArtifactView& artifact, std::span<Entry> entries, uint32_t number) {
  const fb::Target& target = *artifact.manifest->targets()->Get(DeviceProgram::target());
  weights_ = artifact.weights().data();
  if (artifact.format_minor >= kElementAlignedMinor) alignment_ = kElementAlignment;
  for (uint32_t i = 0; i < count_of(target.imports()); ++i) imports_.push_back(import_address(target.imports()->Get(i)->string_view()));
  if (target.code_section() < 0) return;
  const size_t section = static_cast<size_t>(target.code_section());
  code_ = Mapping::of_code(file_, artifact.sections[section].offset, artifact.section(section));
  for (Entry& entry : entries) {
    for (Plan& plan : entry.plans) {
      for (PlanStep& step : plan.steps) {
        if (step.device == number && step.kernel != nullptr) step.function = code_.bytes().data() + step.kernel->offset();
      }
    }
  }
}

}  // namespace gart::cpu
