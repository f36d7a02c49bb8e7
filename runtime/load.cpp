// gart::load: from bytes to a ProgramState.
#include <cstring>

#include "artifact_schema/imports.h"
#include "artifact_schema/verify.h"
#include "runtime/cpu/features.h"
#include "runtime/cpu/imports.h"
#include "runtime/errors.h"
#include "runtime/invocation.h"
#include "runtime/program.h"
#include "runtime/targets.h"

namespace gart {
namespace {

constexpr int kMaxThreads = 1024;

using detail::ProgramState;

bool names_gpu(const std::string& device) { return device == "cuda" || device.starts_with("cuda:"); }

Result<void> check_options(const LoadOptions& options) {
  if (!options.device.empty() && options.device != "cpu" && !names_gpu(options.device)) {
    return error(ErrorCode::unsupported, "this runtime has no device '", options.device,
                 "', only 'cpu', 'cuda' and 'cuda:N'");
  }
  if (options.threads < 0 || options.threads > kMaxThreads) {
    return error(ErrorCode::invalid_argument, "threads is ", options.threads, "; 0 to ", kMaxThreads, " are possible");
  }
  return {};
}

/// The index of the target, whose device program.device then is; null: the CPU's.
Result<uint32_t> choose_target(ProgramState& program, const LoadOptions& options) {
  const fb::Manifest& manifest = *program.artifact.manifest;
  std::string reason;
  if (options.device != "cpu") {
    DeviceChoice choice = choose_cuda(manifest, options);
    if (choice.program != nullptr) {
      program.device = std::move(choice.program);
      program.device_name = program.device->name();
      return program.device->target();
    }
    const bool for_gpu = names_gpu(options.device) || is_cuda_target(manifest, options.target);
    if (for_gpu) return Error{ErrorCode::unsupported, std::move(choice.reason)};
    if (target_list(manifest, TargetsOf::cuda) != "none") reason = std::move(choice.reason);
  }
  Result<uint32_t> target = choose_cpu_target(manifest, options.target);
  if (target || reason.empty()) return target;
  return error(target.error().code, target.error().message, "; on GPUs: ", reason);
}

/// Makes the code of a CPU target, and what it imports, ready to run.
Result<void> bind_cpu_code(ProgramState& program, uint32_t index, const LoadOptions& options) {
  const fb::Target& target = *program.artifact.manifest->targets()->Get(index);
  const uint32_t imports = count_of(target.imports());
  program.imports.resize(imports);
  program.custom_ops = std::make_unique<gart_custom_op[]>(imports);
  for (uint32_t i = 0; i < imports; ++i) {
    const std::string_view name = target.imports()->Get(i)->string_view();
    program.imports[i] = import_address(name);
    if (program.imports[i] != nullptr) continue;
    const gart_custom_op* op = custom_op(name.substr(std::strlen(kCustomImport)), options.custom_ops);
    if (op == nullptr) {
      return error(ErrorCode::unsupported, "the model needs a function for its operator '", name.substr(std::strlen(kCustomImport)),
                   "', which LoadOptions.custom_ops does not give");
    }
    program.custom_ops[i] = *op;
    program.imports[i] = &program.custom_ops[i];
  }
  if (target.code_section() < 0) return {};
  const SectionEntry& section = program.artifact.sections[target.code_section()];
  Result<Mapping> code =
      Mapping::of_code(program.file.file(), section.offset, program.artifact.section(target.code_section()));
  if (!code) return code.error();
  program.code = std::move(*code);
  return {};
}

Result<void> bind_target(ProgramState& program, uint32_t index, const LoadOptions& options) {
  const fb::Target& target = *program.artifact.manifest->targets()->Get(index);
  program.target = &target;
  program.target_name = view_of(target.name());
  if (program.device == nullptr) {
    program.cpu_target = index;
  } else {
    Result<int64_t> host = choose_host_target(*program.artifact.manifest, index);
    if (!host) return host.error();
    program.cpu_target = *host;
  }
  if (program.cpu_target >= 0) return bind_cpu_code(program, uint32_t(program.cpu_target), options);
  return {};
}

void decode_entries(ProgramState& program, uint32_t target) {
  const CpuCode code{program.cpu_target < 0 ? 0 : uint32_t(program.cpu_target), program.code.bytes().data()};
  const fb::Manifest& manifest = *program.artifact.manifest;
  for (uint32_t e = 0; e < manifest.entry_points()->size(); ++e) {
    const fb::EntryPoint& entry = *manifest.entry_points()->Get(e);
    program.entries.push_back(make_entry(entry));
    for (uint32_t p = 0; p < entry.plans()->size(); ++p) {
      const fb::Plan& plan = *entry.plans()->Get(p);
      if (plan.target() == target)
        program.entries.back().plans.push_back(make_plan(entry, plan, code));
    }
  }
}

/// `bytes` live in program.file, in program.copy, or are the caller's.
Result<Program> open_program(std::shared_ptr<ProgramState> program, std::span<const uint8_t> bytes,
                             const LoadOptions& options) {
  const int threads = options.threads > 0 ? options.threads : usable_cpus();
  Status status = read_artifact(bytes, program->artifact, {options.verify, threads});
  if (status.ok()) status = verify_artifact(program->artifact);
  if (!status.ok()) return Error{ErrorCode::invalid_artifact, status.message};
  Result<uint32_t> target = choose_target(*program, options);
  if (!target) return target.error();
  GART_TRY(bind_target(*program, *target, options));
  decode_entries(*program, *target);
  if (threads > 1 && program->cpu_target >= 0) program->team = std::make_unique<ThreadTeam>(threads);
  if (program->device != nullptr) {
    program->device->load(program->artifact, program->entries, {program->team.get(), program->imports.data()});
  }
  return Program(std::move(program));
}

}  // namespace

Result<Program> load(const std::string& path, const LoadOptions& options) {
  return guarded([&]() -> Result<Program> {
    GART_TRY(check_options(options));
    auto program = std::make_shared<ProgramState>();
    Result<Mapping> file = Mapping::of_file(path);
    if (!file) return file.error();
    program->file = std::move(*file);
    const std::span<const uint8_t> bytes = program->file.bytes();
    Result<Program> opened = guarded([&] { return open_program(std::move(program), bytes, options); });
    if (!opened) return error(opened.error().code, "cannot load '", path, "': ", opened.error().message);
    return opened;
  });
}

Result<Program> load(std::span<const uint8_t> artifact, const LoadOptions& options) {
  return guarded([&]() -> Result<Program> {
    GART_TRY(check_options(options));
    auto program = std::make_shared<ProgramState>();
    std::span<const uint8_t> bytes = artifact;
    if (!is_aligned(artifact.data())) {
      program->copy.reserve(artifact.size());
      if (!artifact.empty()) std::memcpy(program->copy.data(), artifact.data(), artifact.size());
      bytes = {program->copy.data(), artifact.size()};
    }
    return open_program(std::move(program), bytes, options);
  });
}

}  // namespace gart
