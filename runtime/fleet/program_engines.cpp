#include "runtime/fleet/program_engines.h"

#include <algorithm>

#include "artifact_schema/spans.h"
#include "artifact_schema/verify.h"
#include "artifact_schema/verify_assembly.h"
#include "runtime/errors.h"
#include "runtime/fleet/bindings.h"
#include "runtime/fleet/device_kind.h"
#include "runtime/fleet/program_engine.h"
#include "runtime/fleet/without_device.h"

namespace gart::fleet {

ProgramEngines::ProgramEngines(const LoadOptions& options, bool any_host)
    : options_(options),
      any_host_(any_host || options.hosts != nullptr),
      custom_ops_(options.custom_ops.begin(), options.custom_ops.end()) {}

Assembly ProgramEngines::read(Mapping mapping, std::span<const uint8_t> bytes, const std::string& path, Block copy) {
  file_ = std::move(mapping);
  copy_ = std::move(copy);
  if (!is_aligned(bytes.data())) bytes = copied(bytes);
  Status status = read_artifact(bytes, artifact_, {options_.verify, 1});
  if (status.ok()) status = verify_artifact(artifact_);
  const fb::Assembly* assembly = nullptr;
  if (status.ok()) status = verify_assembly(artifact_, assembly);
  if (!status.ok()) throw Failure{{ErrorCode::invalid_artifact, status.message}};
  if (assembly == nullptr)
    fail(ErrorCode::unsupported, "the model was not compiled for a fleet: compile it with --fleet, --cut or --keep");
  Assembly decoded = decode_assembly(*artifact_.manifest, *assembly);
  assembly_ = decoded;
  if (options_.hosts != nullptr) remote_ = options_.hosts->ranks()->share(assembly_, artifact_.file, path, options_);
  return decoded;
}

std::unique_ptr<Engine> ProgramEngines::open(uint32_t device, std::span<const uint32_t> parts) {
  if (remote_ != nullptr && !remote_->is_here(device)) return remote_->open(device, parts);
  return open_here(device, parts);
}

std::unique_ptr<PartEngine> ProgramEngines::open_here(uint32_t device, std::span<const uint32_t> parts) const {
  const Device& required = assembly_.devices[device];
  gart::LoadOptions options;
  options.verify = false;  // read() has verified the file already
  options.threads = options_.threads;
  options.spin = options_.spin;
  options.blocking = options_.blocking;
  options.custom_ops = custom_ops_;
  for (const DeviceHere& here : options_.devices)
    if (here.name == required.name) options.device = here.device;
  try {
    if (options.device.empty()) options.device = any_host_ ? required.kind->here(required) : device_here(required);
    if (has_target(required.target)) options.target = required.target;
    const DeviceKind* used = named_kind(options.device);
    if (!required.kind->has_threads || (used != nullptr && !used->has_threads)) options.threads = 0;
    auto engine = std::make_unique<ProgramEngine>(artifact_.file, assembly_.entries, options);
    engine->add(parts);
    return engine;
  } catch (const Failure& failure) {
    fail(failure.error.code, "device '", required.name, "' of the file is not available: ", failure.error.message, " (",
         present_devices(), "); ", ways_without(*artifact_.manifest, assembly_, device));
  }
}

DeviceInfo ProgramEngines::describe(const Engine& engine) const {
  const auto& program = static_cast<const PartEngine&>(engine);
  return {{}, program.device(), program.target(), false};
}

/// Copies the bytes once; otherwise each device would make its own copy.
std::span<const uint8_t> ProgramEngines::copied(std::span<const uint8_t> bytes) {
  copy_.reserve(std::max<size_t>(bytes.size(), 1));
  std::copy(bytes.begin(), bytes.end(), copy_.data());
  return {copy_.data(), bytes.size()};
}

bool ProgramEngines::has_target(const std::string& name) const {
  const auto* targets = artifact_.manifest->targets();
  for (uint32_t i = 0; i < count_of(targets); ++i)
    if (view_of(targets->Get(i)->name()) == name) return true;
  return false;
}

}  // namespace gart::fleet
