#include "tools/store/artifact_facts.h"

#include <optional>

#include "artifact_schema/spans.h"
#include "artifact_schema/verify.h"
#include "artifact_schema/verify_assembly.h"
#include "tools/store/store_error.h"

namespace gart::store {
namespace {

std::string text(const flatbuffers::String* s) { return s == nullptr ? "" : s->str(); }

ArtifactView read(std::span<const uint8_t> bytes, const std::string& name, bool digests) {
  ArtifactView view;
  if (const Status status = read_artifact(bytes, view, {.digests = digests}); !status.ok())
    refuse(name, ": ", status.message);
  return view;
}

std::string kind_of(const fb::EntryPoint& entry) {
  std::string kind = "inference";
  if (entry.states() == nullptr) return kind;
  for (const fb::State* state : *entry.states()) {
    if (state->scope() == fb::StateScope::program && !state->read_only()) return "training";
    if (state->scope() == fb::StateScope::session) kind = "sequence";
  }
  return kind;
}

}  // namespace

ArtifactFacts verified_facts(std::span<const uint8_t> bytes, const std::string& name) {
  const ArtifactView view = read(bytes, name, true);
  const fb::Assembly* assembly = nullptr;
  Status status = verify_artifact(view);
  if (status.ok()) status = verify_assembly(view, assembly);
  if (!status.ok()) refuse(name, ": ", status.message);
  ArtifactFacts facts;
  for (const fb::EntryPoint* entry : *view.manifest->entry_points())
    if (!entry->internal()) facts.operations.push_back({text(entry->name()), kind_of(*entry)});
  if (assembly == nullptr) return facts;
  for (const fb::Group* group : *assembly->groups()) {
    const auto device = [&](uint32_t number) { return text(assembly->devices()->Get(number)->name()); };
    facts.groups.push_back({text(group->name()), device(group->device()), {}});
    for (const uint32_t number : span_of(group->support())) facts.groups.back().support.push_back(device(number));
  }
  return facts;
}

void check_joins_rows(std::span<const uint8_t> bytes, const std::string& name) {
  const ArtifactView view = read(bytes, name, false);
  const fb::EntryPoint& entry = *view.manifest->entry_points()->Get(0);
  if (entry.states() != nullptr && entry.states()->size() > 0) refuse(name, ": a model with states joins no rows");
  std::optional<uint32_t> first;
  const auto check = [&](const fb::TensorInfo& info) {
    const auto dims = span_of(info.dims());
    const bool is_open = !dims.empty() && entry.symbols() != nullptr && dims[0] < entry.symbols()->size();
    if (!is_open || (first && *first != dims[0]))
      refuse(name, ": rows cannot be joined, because the first axis of '", text(info.name()),
             "' is not the open extent that all inputs and outputs share");
    first = dims[0];
  };
  for (const fb::TensorInfo* info : *entry.inputs()) check(*info);
  for (const fb::TensorInfo* info : *entry.outputs()) check(*info);
}

}  // namespace gart::store
