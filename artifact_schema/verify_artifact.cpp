#include <set>

#include "artifact_schema/buffer_plan.h"
#include "artifact_schema/cpu_features.h"
#include "artifact_schema/imports.h"
#include "artifact_schema/verify.h"
#include "artifact_schema/verify_internal.h"

namespace gart {
namespace verify {
namespace {

// Cost of a visit to a table elsewhere in the file, in visits to neighbouring vector elements.
constexpr uint64_t kFarTable = 64;

}  // namespace

Status check_index(uint64_t value, size_t limit, const char* what, const char* things) {
  if (value < limit) return {};
  return failure(what, " is ", value, ", but there are ", limit, " ", things);
}

Status check_indices(Budget& budget, std::span<const uint32_t> values, size_t limit, const char* what,
                     const char* things) {
  if (Status status = budget.spend(values.size()); !status.ok()) return status;
  for (uint32_t i = 0; i < values.size(); ++i) {
    if (values[i] >= limit) return failure(what, " ", i, " is ", values[i], ", but there are ", limit, " ", things);
  }
  return {};
}

Status check_string(Budget& budget, const flatbuffers::String* string, const char* what) {
  const std::string_view view = view_of(string);
  if (Status status = budget.spend(view.size()); !status.ok()) return status;
  if (view.size() > kMaxStringBytes)
    return failure(what, " has ", view.size(), " bytes, the limit is ", kMaxStringBytes);
  if (view.find('\0') != view.npos) return failure(what, " contains a NUL byte");
  return {};
}

Status within(Status status, const std::string& prefix) {
  if (!status.ok()) status.message.insert(0, prefix + ": ");
  return status;
}

Status check_place(const fb::Kernel& kernel, uint64_t code_bytes, const std::string& name) {
  if (kernel.size() != 0 && kernel.size() <= code_bytes && kernel.offset() <= code_bytes - kernel.size()) return {};
  return failure(name, " (", kernel.size(), " bytes at offset ", kernel.offset(), ") lies outside the code of ",
                 code_bytes, " bytes");
}

namespace {

constexpr uint32_t kMaxBlockThreads = 1024, kMaxClusterBlocks = 8, kMaxSharedBytes = 512 << 10;
constexpr uint64_t kModuleAlignment = 64;

bool is_allowed_import(std::string_view name) {
  for (const char* allowed : kImportNames) {
    if (name == allowed) return true;
  }
  return name.starts_with(kCustomImport);
}

/// These limits hold for all GPUs so far; the driver checks the limits of the actual GPU.
Status check_cuda_kernel(Budget& budget, const fb::Kernel& kernel) {
  if (Status status = check_string(budget, kernel.symbol(), "symbol"); !status.ok()) return status;
  if (view_of(kernel.symbol()).empty()) return failure("it has no symbol");
  if (kernel.threads() < 1 || kernel.threads() > kMaxBlockThreads)
    return failure("it has ", kernel.threads(), " threads per block, 1 to ", kMaxBlockThreads, " are possible");
  if (kernel.shared() > kMaxSharedBytes)
    return failure("it asks for ", kernel.shared(), " bytes of shared memory, the limit is ", kMaxSharedBytes);
  if (kernel.cluster() > kMaxClusterBlocks)
    return failure("its clusters have ", kernel.cluster(), " blocks, the limit is ", kMaxClusterBlocks);
  if (kernel.offset() % kModuleAlignment != 0)
    return failure("its module lies at offset ", kernel.offset(), ", not a multiple of ", kModuleAlignment);
  return {};
}

Status check_conditional_kernel(Budget& budget, const ArtifactView& artifact, const fb::Target& target) {
  const fb::Kernel* kernel = target.conditional_kernel();
  if (kernel == nullptr) return {};
  if (target.kind() == fb::TargetKind::cpu) return failure("it has a conditional kernel, but is not for GPUs");
  const bool has_code = target.code_section() >= 0;
  const uint64_t code_bytes = has_code ? artifact.sections[target.code_section()].size : 0;
  if (Status status = check_place(*kernel, code_bytes, "its conditional kernel"); !status.ok()) return status;
  return runs_gpu_plans() ? within(check_cuda_kernel(budget, *kernel), "its conditional kernel") : Status();
}

Status check_target(Budget& budget, const ArtifactView& artifact, const fb::Target& target) {
  if (Status status = check_string(budget, target.name(), "its name"); !status.ok()) return status;
  if (view_of(target.name()).empty()) return failure("it has no name");
  if (target.kind() > fb::TargetKind::MAX) return failure("its kind ", int(target.kind()), " is not known");
  if (target.kind() == fb::TargetKind::cpu && (target.features() & ~kKnownCpuFeatures) != 0)
    return failure("it asks for unknown CPU features ", target.features());
  if (target.code_section() != -1) {
    const uint32_t section = uint32_t(target.code_section());
    if (Status status = check_index(section, artifact.sections.size(), "code_section", "sections"); !status.ok())
      return status;
    if (artifact.sections[section].kind != SectionKind::code)
      return failure("section ", section, " is not a code section");
  }
  if (Status status = check_conditional_kernel(budget, artifact, target); !status.ok()) return status;
  for (uint32_t i = 0; i < count_of(target.imports()); ++i) {
    const std::string_view name = view_of(target.imports()->Get(i));
    if (Status status = budget.spend(name.size() + 1); !status.ok()) return status;
    if (!is_allowed_import(name))
      return failure("import ", i, " '", name.substr(0, 64), "' is not on the allowed list");
  }
  return {};
}

Status check_tensor(Budget& budget, const fb::TensorInfo& tensor, size_t slots, std::set<std::string_view>& names) {
  if (Status status = check_string(budget, tensor.name(), "its name"); !status.ok()) return status;
  if (!names.insert(view_of(tensor.name())).second) return failure("name '", view_of(tensor.name()), "' occurs twice");
  if (tensor.dtype() == fb::DType::undefined || tensor.dtype() > fb::DType::MAX) {
    return failure("its dtype ", int(tensor.dtype()), " is not known");
  }
  if (count_of(tensor.dims()) > kMaxTensorRank) {
    return failure("it has rank ", count_of(tensor.dims()), ", the limit is ", kMaxTensorRank);
  }
  for (uint32_t i = 0; i < count_of(tensor.labels()); ++i) {
    if (Status status = check_string(budget, tensor.labels()->Get(i), "a label"); !status.ok()) return status;
  }
  return check_indices(budget, span_of(tensor.dims()), slots, "dim", "slots");
}

Status check_tensors(Budget& budget, const flatbuffers::Vector<flatbuffers::Offset<fb::TensorInfo>>* tensors,
                     size_t slots, const char* what) {
  std::set<std::string_view> names;
  for (uint32_t i = 0; i < count_of(tensors); ++i) {
    if (Status status = check_tensor(budget, *tensors->Get(i), slots, names); !status.ok())
      return within(status, text(what, " ", i));
  }
  return {};
}

/// Checks the strings that an input accepts. They must ascend, because the runtime searches them.
Status check_input_strings(const fb::TensorInfo& input, bool is_state) {
  const uint32_t count = count_of(input.labels());
  if (count > 0 && input.dtype() != fb::DType::i64) return failure("it has strings, but its dtype is not i64");
  if (count > 0 && is_state) return failure("it has strings, but is a state");
  for (uint32_t i = 1; i < count; ++i) {
    if (view_of(input.labels()->Get(i - 1)) >= view_of(input.labels()->Get(i)))
      return failure("its strings do not ascend at string ", i);
  }
  return {};
}

Status check_strings(const fb::EntryPoint& entry) {
  const uint32_t count = count_of(entry.inputs()), states = count_of(entry.states());
  for (uint32_t i = 0; i < count; ++i) {
    if (Status status = check_input_strings(*entry.inputs()->Get(i), i + states >= count); !status.ok())
      return within(status, text("input ", i));
  }
  return {};
}

/// Checks that the symbol is exactly the extent of an input's axis, or that a bind step binds it.
Status check_symbol(Budget& budget, const fb::EntryPoint& entry, uint32_t index, std::set<std::string_view>& names) {
  const fb::Symbol& symbol = *entry.symbols()->Get(index);
  if (Status status = check_string(budget, symbol.name(), "its name"); !status.ok()) return status;
  const std::string_view name = view_of(symbol.name());
  if (name.size() > kMaxSymbolBytes)
    return failure("its name has ", name.size(), " bytes, the limit is ", kMaxSymbolBytes);
  if (name.empty() || !names.insert(name).second) return failure("name '", name, "' is empty or occurs twice");
  if (symbol.input() == -1) return {};
  if (Status status = check_index(uint32_t(symbol.input()), count_of(entry.inputs()), "input", "inputs"); !status.ok())
    return status;
  const auto dims = span_of(entry.inputs()->Get(symbol.input())->dims());
  if (Status status = check_index(uint32_t(symbol.axis()), dims.size(), "axis", "axes"); !status.ok()) return status;
  if (dims[symbol.axis()] == index) return {};
  return failure("axis ", symbol.axis(), " of input ", symbol.input(), " is slot ", dims[symbol.axis()],
                 ", not the symbol it should carry");
}

/// Checks that input extents and constraints are known before the first step.
Status check_early(Budget& budget, const fb::EntryPoint& entry) {
  const std::vector<uint8_t> input_bound = reachable_slots(span_of(entry.program()), carried_symbols(entry));
  for (uint32_t i = 0; i < count_of(entry.inputs()); ++i) {
    for (const uint32_t slot : span_of(entry.inputs()->Get(i)->dims())) {
      if (!input_bound[slot])
        return failure("an extent of input ", i, " depends on a symbol that is only bound during the run");
    }
  }
  for (uint32_t i = 0; i < count_of(entry.constraints()); ++i) {
    const fb::Constraint& constraint = *entry.constraints()->Get(i);
    const uint32_t slots[] = {constraint.a(), constraint.b()};
    if (Status status = check_indices(budget, slots, input_bound.size(), "side", "slots"); !status.ok())
      return within(status, text("constraint ", i));
    if (!input_bound[slots[0]] || !input_bound[slots[1]])
      return failure("constraint ", i, " depends on a symbol that is only bound during the run");
    if (Status status = check_string(budget, constraint.reason(), "reason"); !status.ok())
      return within(status, text("constraint ", i));
    if (constraint.kind() > fb::ConstraintKind::MAX)
      return failure("constraint ", i, ": its kind ", int(constraint.kind()), " is not known");
  }
  return {};
}

Status check_interface(Budget& budget, const ArtifactView& artifact, const fb::EntryPoint& entry) {
  if (Status status = check_elements_aligned(span_of(entry.program()), "its program"); !status.ok()) return status;
  const size_t symbols = count_of(entry.symbols()), slots = symbols + span_of(entry.program()).size();
  if (Status status = check_tensors(budget, entry.inputs(), slots, "input"); !status.ok()) return status;
  if (Status status = check_tensors(budget, entry.outputs(), slots, "output"); !status.ok()) return status;
  if (Status status = check_strings(entry); !status.ok()) return status;
  std::set<std::string_view> names;
  for (uint32_t i = 0; i < symbols; ++i) {
    if (Status status = check_symbol(budget, entry, i, names); !status.ok()) return within(status, text("symbol ", i));
  }
  if (Status status = budget.spend(slots); !status.ok()) return status;
  if (Status status = verify_program(span_of(entry.program()), symbols); !status.ok()) return status;
  if (Status status = check_states(budget, artifact, entry); !status.ok()) return status;
  return check_early(budget, entry);
}

Status check_shape_set(const PlanCheck& check) {
  const auto fixed = span_of(check.plan.fixed());
  if (fixed.size() != check.symbols) return failure("it fixes ", fixed.size(), " symbols of ", check.symbols);
  for (uint32_t i = 0; i < fixed.size(); ++i) {
    if (fixed[i] < -1 || fixed[i] > kMaxExtent) return failure("symbol ", i, " is fixed to ", fixed[i]);
    if (fixed[i] >= 0 && !check.input_bound[i]) return failure("symbol ", i, " is fixed, but bound during the run");
  }
  return check_indices(check.budget, span_of(check.plan.assumed()), count_of(check.entry.constraints()), "assumed",
                       "constraints");
}

Status check_kernels(const PlanCheck& check) {
  const fb::Target& target = *check.artifact.manifest->targets()->Get(check.plan.target());
  const bool has_code = target.code_section() >= 0;
  const uint64_t code_bytes = has_code ? check.artifact.sections[target.code_section()].size : 0;
  for (uint32_t i = 0; i < count_of(check.plan.kernels()); ++i) {
    const fb::Kernel& kernel = *check.plan.kernels()->Get(i);
    if (Status status = check_place(kernel, code_bytes, text("kernel ", i)); !status.ok()) return status;
    if (Status status = check_index(kernel.scratch(), check.slots(), "scratch", "slots"); !status.ok())
      return within(status, text("kernel ", i));
    if (Status status = check_string(check.budget, kernel.name(), "name"); !status.ok())
      return within(status, text("kernel ", i));
    if (Status status = check_string(check.budget, kernel.note(), "note"); !status.ok())
      return within(status, text("kernel ", i));
    if (Status status = check_waiting_kernel(check.budget, kernel); !status.ok())
      return within(status, text("kernel ", i));
    if (target.kind() == fb::TargetKind::cpu || !runs_gpu_plans()) continue;
    if (Status status = check_cuda_kernel(check.budget, kernel); !status.ok())
      return within(status, text("kernel ", i));
  }
  return {};
}

/// Checks that the packed region belongs to a GPU, and that the first plan for the target is one that writes it.
Status check_packed_region(const PlanCheck& check) {
  if (check.plan.packed_bytes() == 0) return {};
  const fb::Manifest& manifest = *check.artifact.manifest;
  if (manifest.targets()->Get(check.plan.target())->kind() == fb::TargetKind::cpu)
    return failure("it has a packed region, but is for a CPU");
  if (check.plan.packed_bytes() > uint64_t(kMaxExtent))
    return failure("its packed region has ", check.plan.packed_bytes(), " bytes, the limit is ", kMaxExtent);
  for (uint32_t i = 0; manifest.load_time_packing() != nullptr && i < count_of(manifest.load_time_packing()->plans());
       ++i) {
    if (Status status = check.budget.work(kFarTable); !status.ok()) return status;
    const fb::Plan& plan = *manifest.load_time_packing()->plans()->Get(i);
    if (plan.target() != check.plan.target()) continue;
    if (plan.packed_bytes() == check.plan.packed_bytes()) return {};
    break;
  }
  return failure("no load-time packing writes its packed region of ", check.plan.packed_bytes(), " bytes");
}

Status check_plan(Budget& budget, const ArtifactView& artifact, const fb::EntryPoint& entry, const fb::Plan& plan) {
  if (Status status = check_elements_aligned(span_of(plan.program()), "its program"); !status.ok()) return status;
  if (Status status = check_elements_aligned(span_of(plan.fixed()), "its list of fixed symbols"); !status.ok())
    return status;
  PlanCheck check{budget, artifact, entry, plan, count_of(entry.symbols()), span_of(plan.program()), {}, {}};
  if (Status status = check_index(plan.target(), count_of(artifact.manifest->targets()), "target", "targets");
      !status.ok())
    return status;
  if (Status status = budget.spend(check.program.size() + count_of(plan.fixed())); !status.ok()) return status;
  if (Status status = verify_program(check.program, check.symbols); !status.ok()) return status;
  check.input_bound = reachable_slots(check.program, carried_symbols(entry));
  check.is_load_time_packing = &entry == artifact.manifest->load_time_packing();
  if (Status status = check_packed_region(check); !status.ok()) return status;
  if (Status status = check_shape_set(check); !status.ok()) return status;
  if (Status status = check_buffers(check); !status.ok()) return status;
  if (Status status = check_kernels(check); !status.ok()) return status;
  if (Status status = check_sequences(check); !status.ok()) return status;
  return check_bind_order(check);
}

bool is_gpu_plan(const fb::Manifest& manifest, const fb::Plan& plan) {
  return plan.target() < count_of(manifest.targets()) &&
         manifest.targets()->Get(plan.target())->kind() != fb::TargetKind::cpu;
}

Status check_entry(Budget& budget, const ArtifactView& artifact, const fb::EntryPoint& entry) {
  if (Status status = check_string(budget, entry.name(), "its name"); !status.ok()) return status;
  if (Status status = check_interface(budget, artifact, entry); !status.ok()) return status;
  if (count_of(entry.plans()) == 0) return failure("it has no plan");
  for (uint32_t i = 0; i < entry.plans()->size(); ++i) {
    const fb::Plan& plan = *entry.plans()->Get(i);
    if (Status status = budget.work(1 + count_of(plan.buffers())); !status.ok()) return status;
    if (!runs_gpu_plans() && is_gpu_plan(*artifact.manifest, plan)) continue;
    Status status = check_plan(budget, artifact, entry, plan);
    if (!status.ok()) return within(status, text("plan ", i));
  }
  return {};
}

}  // namespace
}  // namespace verify

Status verify_artifact(const ArtifactView& artifact) {
  using namespace verify;
  const fb::Manifest& manifest = *artifact.manifest;
  Budget budget{artifact.section(0).size()};
  if (manifest.weights_section() != -1) {
    const uint32_t section = uint32_t(manifest.weights_section());
    if (Status status = check_index(section, artifact.sections.size(), "weights_section", "sections"); !status.ok())
      return status;
    if (artifact.sections[section].kind != SectionKind::weights)
      return failure("section ", section, " is not a weights section");
  }
  for (uint32_t i = 0; i < count_of(manifest.targets()); ++i) {
    Status status = check_target(budget, artifact, *manifest.targets()->Get(i));
    if (!status.ok()) return within(status, text("target ", i));
  }
  if (runs_gpu_plans()) {
    if (Status status = check_libraries(budget, manifest); !status.ok()) return status;
  }
  if (count_of(manifest.entry_points()) == 0) return failure("the artifact has no entry point");
  std::set<std::string_view> names;
  for (uint32_t i = 0; i < manifest.entry_points()->size(); ++i) {
    const fb::EntryPoint& entry = *manifest.entry_points()->Get(i);
    if (!names.insert(view_of(entry.name())).second) return failure("entry point ", i, ": its name occurs twice");
    if (Status status = check_entry(budget, artifact, entry); !status.ok()) {
      return within(status, text("entry point ", i, " '", view_of(entry.name()).substr(0, 64), "'"));
    }
  }
  if (Status status = check_shared_states(budget, manifest); !status.ok()) return status;
  const fb::EntryPoint* packing = manifest.load_time_packing();
  if (packing == nullptr || !runs_gpu_plans()) return {};
  if (count_of(packing->symbols()) + count_of(packing->inputs()) + count_of(packing->outputs()) != 0)
    return failure("the load-time packing has symbols, inputs or outputs");
  return within(check_entry(budget, artifact, *packing), "the load-time packing");
}

}  // namespace gart
