// gart::load: from bytes to a ProgramState.
#include <cstring>

#include "artifact_schema/verify.h"
#include "runtime/cpu/features.h"
#include "runtime/cpu/imports.h"
#include "runtime/errors.h"
#include "runtime/invocation.h"
#include "runtime/program.h"

namespace gart {
namespace {

constexpr int kMaxThreads = 1024;

using detail::ProgramState;

Result<void> check_options(const LoadOptions& options) {
  if (options.device != "cpu") {
    return error(ErrorCode::unsupported, "this runtime has no device '", options.device, "', only 'cpu'");
  }
  if (options.threads < 0 || options.threads > kMaxThreads) {
    return error(ErrorCode::invalid_argument, "threads is ", options.threads, "; 0 to ", kMaxThreads, " are possible");
  }
  return {};
}

bool has_plans(const fb::Manifest& manifest, uint32_t target) {
  for (uint32_t e = 0; e < manifest.entry_points()->size(); ++e) {
    const auto& plans = *manifest.entry_points()->Get(e)->plans();
    bool found = false;
    for (uint32_t p = 0; p < plans.size(); ++p) found = found || plans.Get(p)->target() == target;
    if (!found) return false;
  }
  return true;
}

std::string target_list(const fb::Manifest& manifest) {
  std::string names;
  for (uint32_t i = 0; i < count_of(manifest.targets()); ++i) {
    names += (i == 0 ? "" : ", ") + std::string(view_of(manifest.targets()->Get(i)->name()));
  }
  return names.empty() ? "none" : names;
}

/// The target asked for, or the one with the most features among those this CPU runs.
Result<uint32_t> choose_target(const fb::Manifest& manifest, const std::string& asked) {
  const uint64_t cpu = cpu_features();
  int64_t best = -1;
  for (uint32_t i = 0; i < count_of(manifest.targets()); ++i) {
    const fb::Target& target = *manifest.targets()->Get(i);
    if (target.kind() != fb::TargetKind::cpu || (!asked.empty() && view_of(target.name()) != asked)) continue;
    const uint64_t missing = target.features() & ~cpu;
    if (missing != 0 && !asked.empty()) {
      return error(ErrorCode::unsupported, "target '", asked, "' needs ", cpu_feature_names(missing),
                   ", which this CPU lacks");
    }
    if (missing != 0 || !has_plans(manifest, i)) continue;
    if (best < 0 || target.features() > manifest.targets()->Get(static_cast<uint32_t>(best))->features()) best = i;
  }
  if (best >= 0) return static_cast<uint32_t>(best);
  if (!asked.empty()) {
    return error(ErrorCode::unsupported, "the model has no CPU code for target '", asked,
                 "', only for: ", target_list(manifest));
  }
  return error(ErrorCode::unsupported, "the model has code for ", target_list(manifest), "; this CPU offers ",
               cpu_feature_names(cpu));
}

Result<void> bind_target(ProgramState& program, uint32_t index) {
  const fb::Target& target = *program.artifact.manifest->targets()->Get(index);
  program.target = &target;
  program.target_name = view_of(target.name());
  for (uint32_t i = 0; i < count_of(target.imports()); ++i) {
    program.imports.push_back(import_address(target.imports()->Get(i)->string_view()));
  }
  if (target.code_section() < 0) return {};
  const SectionEntry& section = program.artifact.sections[target.code_section()];
  Result<Mapping> code =
      Mapping::of_code(program.file.file(), section.offset, program.artifact.section(target.code_section()));
  if (!code) return code.error();
  program.code = std::move(*code);
  return {};
}

void decode_entries(ProgramState& program, uint32_t target) {
  const fb::Manifest& manifest = *program.artifact.manifest;
  for (uint32_t e = 0; e < manifest.entry_points()->size(); ++e) {
    const fb::EntryPoint& entry = *manifest.entry_points()->Get(e);
    program.entries.push_back(make_entry(entry));
    for (uint32_t p = 0; p < entry.plans()->size(); ++p) {
      const fb::Plan& plan = *entry.plans()->Get(p);
      if (plan.target() == target)
        program.entries.back().plans.push_back(make_plan(entry, plan, program.code.bytes().data()));
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
  Result<uint32_t> target = choose_target(*program->artifact.manifest, options.target);
  if (!target) return target.error();
  GART_TRY(bind_target(*program, *target));
  decode_entries(*program, *target);
  if (threads > 1) program->team = std::make_unique<ThreadTeam>(threads);
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
    Result<Program> opened = open_program(std::move(program), bytes, options);
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
