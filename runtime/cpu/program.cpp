#include "runtime/cpu/program.h"

#include <cstring>

#include "artifact_schema/imports.h"
#include "runtime/cpu/imports.h"
#include "runtime/errors.h"
#include "runtime/step_errors.h"

namespace gart::cpu {

namespace {

int32_t call_guarded(void* user, const gart_op_call* call) {
  const auto& op = *static_cast<const gart_custom_op*>(user);
  try {
    return op.function(op.user, call);
  } catch (...) {
    return kThrown;
  }
}

}  // namespace

void Program::bind_imports(const fb::Target& target) {
  const uint32_t count = count_of(target.imports());
  custom_ops_ = std::make_unique<Guarded[]>(count);
  for (uint32_t i = 0; i < count; ++i) {
    const std::string_view name = target.imports()->Get(i)->string_view();
    imports_.push_back(import_address(name));
    if (imports_[i] != nullptr) continue;
    const std::string_view function_name = name.substr(std::strlen(kCustomImport));
    const gart_custom_op* op = custom_op(function_name, app_op_);
    if (op == nullptr) {
      fail(ErrorCode::unsupported, "the model needs a function for its operator '", function_name,
           "', which LoadOptions.custom_ops does not give");
    }
    custom_ops_[i] = {{nullptr, call_guarded, &custom_ops_[i].app_op}, *op};
    imports_[i] = &custom_ops_[i].call;
  }
}

void Program::load(const ArtifactView& artifact, std::span<Entry> entries) {
  const fb::Target& target = *artifact.manifest->targets()->Get(DeviceProgram::target());
  weights_ = artifact.weights().data();
  bind_imports(target);
  if (target.code_section() < 0) return;
  const size_t section = static_cast<size_t>(target.code_section());
  code_ = Mapping::of_code(file_, artifact.sections[section].offset, artifact.section(section));
  for (Entry& entry : entries) {
    for (Plan& plan : entry.plans) {
      for (PlanStep& step : plan.steps) {
        if (step.kernel != nullptr) step.function = code_.bytes().data() + step.kernel->offset();
      }
    }
  }
}

}  // namespace gart::cpu
