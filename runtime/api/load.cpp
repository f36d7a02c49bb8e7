// gart::load: from bytes to a ProgramState.
#include <cstring>

#include "artifact_schema/verify.h"
#include "runtime/cpu/program.h"
#include "runtime/errors.h"
#include "runtime/features.h"
#include "runtime/invocation.h"
#include "runtime/program.h"
#include "runtime/state_set.h"
#include "runtime/targets.h"
#include "runtime/trust.h"

namespace gart {
namespace {

constexpr int kMaxThreads = 1024;
const std::string kAnyCore = "cpu";

using detail::ProgramState;

/// True if the device is of this kind: "cpu", or "cpu:0" with a number or cores.
bool is_kind(std::string_view device, std::string_view kind) {
  return device.starts_with(kind) && (device.size() == kind.size() || device[kind.size()] == ':');
}

void check_options(const LoadOptions& options) {
  if (!options.device.empty() && !is_kind(options.device, "cpu") && !is_kind(options.device, "cuda")) {
    fail(ErrorCode::unsupported, "this runtime has no device '", options.device,
         "', only 'cpu', 'cpu:0-1' (these cores), 'cuda' and 'cuda:1'");
  }
  const auto check_count = [](const char* name, int count) {
    if (count < 0 || count > kMaxThreads)
      fail(ErrorCode::invalid_argument, name, " is ", count, "; 0 to ", kMaxThreads, " are possible");
  };
  check_count("threads", options.threads);
  check_count("intra", options.parallel.intra);
  check_count("inter", options.parallel.inter);
  check_count("replicas", options.parallel.replicas);
  check_count("runs", options.runs);
}

/// The program on the device that the options name. If they name none: on the best device that the artifact has code
/// for.
std::unique_ptr<DeviceProgram> open_device(const ProgramState& program, const LoadOptions& options) {
  const fb::Manifest& manifest = *program.artifact.manifest;
  std::string reason;
  if (!is_kind(options.device, "cpu")) {
    DeviceChoice choice = choose_cuda(manifest, options);
    if (choice.program != nullptr) return std::move(choice.program);
    const bool for_gpu = is_kind(options.device, "cuda") || is_cuda_target(manifest, options.target);
    if (for_gpu) throw Failure{{ErrorCode::unsupported, std::move(choice.reason)}};
    if (target_list(manifest, TargetsOf::cuda) != "none") reason = text("; on GPUs: ", choice.reason);
  }
  try {
    const std::string& device = options.device.empty() ? kAnyCore : options.device;
    return std::make_unique<cpu::Program>(device, options, choose_cpu_target(manifest, options), program.file.file());
  } catch (Failure& failure) {
    failure.error.message += reason;
    throw;
  }
}

void decode_entries(ProgramState& program, const LoadOptions& options) {
  const fb::Manifest& manifest = *program.artifact.manifest;
  for (uint32_t e = 0; e < manifest.entry_points()->size(); ++e) {
    const fb::EntryPoint& entry = *manifest.entry_points()->Get(e);
    if (!is_wanted(entry, options)) continue;
    program.entries.push_back(make_entry(entry));
    for (uint32_t p = 0; p < entry.plans()->size(); ++p) {
      const fb::Plan& plan = *entry.plans()->Get(p);
      if (plan.target() == program.part->target()) program.entries.back().plans.push_back(make_plan(entry, plan));
    }
  }
}

/// Collects the states of all entries that have this owner. Entries that have a state of the same name share it.
void decode_states(ProgramState& program, fb::StateScope scope) {
  const size_t first = program.states.size();
  for (uint32_t e = 0; e < program.entries.size(); ++e) {
    Entry& entry = program.entries[e];
    entry.state_numbers.resize(entry.states());
    for (uint32_t i = 0; i < entry.states(); ++i) {
      const fb::State& state = entry.state(i);
      if (state.scope() != scope) continue;
      (scope == fb::StateScope::session ? entry.uses_session_states : entry.uses_program_states) = true;
      entry.writes_program_states |= scope == fb::StateScope::program && !state.read_only();
      TensorInfo info = entry.inputs[entry.state_input(i)];
      info.name = view_of(state.name());
      if (state.axis() > 0) std::rotate(info.dims.begin(), info.dims.begin() + 1, info.dims.begin() + state.axis() + 1);
      const auto known = std::find_if(program.states.begin() + static_cast<std::ptrdiff_t>(first), program.states.end(),
                                      [&](const TensorInfo& other) { return other.name == info.name; });
      entry.state_numbers[i] = static_cast<uint32_t>(known - program.states.begin()) - static_cast<uint32_t>(first);
      if (known != program.states.end()) continue;
      program.homes.push_back({e, i});
      program.states.push_back(std::move(info));
    }
  }
}

/// `bytes` are in program.file, in program.copy, or in the caller's memory.
Program open_program(std::shared_ptr<ProgramState> program, std::span<const uint8_t> bytes,
                     const LoadOptions& options) {
  const int threads = options.threads > 0 ? options.threads : cpu::Cores::allowed().count();
  Status status = read_artifact(bytes, program->artifact, {options.verify, threads});
  if (status.ok()) status = verify_artifact(program->artifact);
  if (!status.ok()) throw Failure{{ErrorCode::invalid_artifact, status.message}};
  if (options.runs > 0) program->runs.emplace(static_cast<uint32_t>(options.runs));
  program->refuses_runs = options.refuse_runs;
  program->part = open_device(*program, options);
  program->target_name = view_of(program->target().name());
  decode_entries(*program, options);
  if (program->entries.empty()) fail(ErrorCode::invalid_artifact, "it has none of the requested entry points");
  decode_states(*program, fb::StateScope::session);
  program->session_states = program->states.size();
  decode_states(*program, fb::StateScope::program);
  program->part->load(program->artifact, program->entries);
  const std::shared_ptr<ProgramState> unowned(std::shared_ptr<void>(), program.get());
  program->own_states = std::make_unique<detail::StateSet>(unowned, fb::StateScope::program);
  return Program(std::move(program));
}

}  // namespace

Result<Program> load(const std::string& path, const LoadOptions& options) {
  return guarded([&] {
    check_options(options);
    auto program = std::make_shared<ProgramState>();
    program->file = Mapping::of_file(path);
    std::span<const uint8_t> bytes = program->file.bytes();
    try {
      if (!options.trusted_keys.empty())
        bytes = read_trusted(path, program->file, {options.trusted_keys, options.signature}, program->copy);
      return open_program(std::move(program), bytes, options);
    } catch (...) {
      const Error reason = caught_error();
      fail(reason.code, "cannot load '", path, "': ", reason.message);
    }
  });
}

Result<Program> load(std::span<const uint8_t> artifact, const LoadOptions& options) {
  return guarded([&] {
    check_options(options);
    auto program = std::make_shared<ProgramState>();
    std::span<const uint8_t> bytes = artifact;
    if (!options.trusted_keys.empty()) {
      bytes = copy_trusted(artifact, {options.trusted_keys, options.signature}, program->copy);
    } else if (!is_aligned(artifact.data())) {
      program->copy.reserve(artifact.size());
      if (!artifact.empty()) std::memcpy(program->copy.data(), artifact.data(), artifact.size());
      bytes = {program->copy.data(), artifact.size()};
    }
    return open_program(std::move(program), bytes, options);
  });
}

}  // namespace gart
