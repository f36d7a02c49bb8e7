#include <algorithm>
#include <map>
#include <set>

#include "artifact_schema/map_layout.h"
#include "artifact_schema/state_layout.h"
#include "artifact_schema/verify_internal.h"

namespace gart::verify {
namespace {

using Extents = std::span<const uint32_t>;

const fb::TensorInfo& state_input(const fb::EntryPoint& entry, uint32_t state) {
  return *entry.inputs()->Get(uint32_t(count_of(entry.inputs()) - count_of(entry.states())) + state);
}

/// If a state has a first value or belongs to the program, its extents are constants, and the value lies in the
/// weights.
Status check_first_value(const ArtifactView& artifact, const fb::EntryPoint& entry, const fb::State& state,
                         const fb::TensorInfo& in) {
  if (state.scope() == fb::StateScope::session && state.initial() < 0) return {};
  uint64_t bytes = std::max(map_element_bytes(in.dtype()), 1u);  // elements narrower than a byte take one byte each
  for (const uint32_t slot : span_of(in.dims())) {
    const int64_t extent = constant_extent(entry, slot);
    if (extent < 0 || state.axis() >= 0)
      return failure("an extent is open, but a first value and the program's states need constant ones");
    if (__builtin_mul_overflow(bytes, uint64_t(extent), &bytes) || bytes > uint64_t(kMaxExtent))
      return failure("its extents are too large");
  }
  if (state.initial() < 0) return {};
  const uint64_t weights = artifact.weights().size(), offset = uint64_t(state.initial());
  if (offset % kManifestAlignment == 0 && bytes <= weights && offset <= weights - bytes) return {};
  return failure("its first value (", bytes, " bytes at offset ", offset, ") does not lie in the weights of ", weights,
                 " bytes");
}

Status check_state(const ArtifactView& artifact, const fb::EntryPoint& entry, uint32_t index, uint32_t output) {
  const fb::State& state = *entry.states()->Get(index);
  const fb::TensorInfo& in = state_input(entry, index);
  const Extents from = span_of(in.dims());
  if (state.scope() > fb::StateScope::MAX) return failure("its scope ", int(state.scope()), " is not known");
  if (state.axis() < -1 || state.axis() >= int64_t(from.size())) return failure("it has no such axis");
  const bool grows = state.axis() >= 0;
  if (grows && from[0] >= count_of(entry.symbols())) return failure("the extent that grows is not a symbol");
  if (state.in_place() && state.read_only()) return failure("it is written in place, but only read");
  if (state.capacity() > uint64_t(kMaxExtent)) return failure("its capacity is too large");
  if (Status status = check_first_value(artifact, entry, state, in); !status.ok() || state.read_only()) return status;
  if (state.output() != output) return failure("its output is not in the order of the states");
  const fb::TensorInfo& out = *entry.outputs()->Get(output);
  const Extents to = span_of(out.dims());
  if (in.dtype() != out.dtype() || from.size() != to.size())
    return failure("its input and output differ in type or rank");
  for (size_t d = grows ? 1 : 0; d < from.size(); ++d) {
    if (from[d] != to[d]) return failure("its input and output differ in an extent that does not grow");
  }
  return {};
}

/// Checks that two entry points agree about a state. An extent that is symbolic in one of them may differ.
bool agree(const fb::EntryPoint& entry, uint32_t index, const fb::EntryPoint& other, uint32_t other_index) {
  const fb::State &x = *entry.states()->Get(index), &y = *other.states()->Get(other_index);
  const fb::TensorInfo &in = state_input(entry, index), &other_in = state_input(other, other_index);
  const Extents from = span_of(in.dims()), other_from = span_of(other_in.dims());
  if (in.dtype() != other_in.dtype() || from.size() != other_from.size() || x.scope() != y.scope() ||
      x.initial() != y.initial() || x.axis() != y.axis())
    return false;
  for (size_t d = 0; d < from.size(); ++d) {
    const int64_t a = constant_extent(entry, from[d]), b = constant_extent(other, other_from[d]);
    if (a >= 0 && b >= 0 && a != b) return false;
  }
  return true;
}

}  // namespace

Status check_states(Budget& budget, const ArtifactView& artifact, const fb::EntryPoint& entry) {
  const size_t states = count_of(entry.states()), inputs = count_of(entry.inputs()),
               outputs = count_of(entry.outputs()), written = written_states(entry);
  if (states > inputs || written > outputs) {
    return failure("it has ", states, " states, but ", inputs, " inputs and ", outputs, " outputs");
  }
  std::set<std::string_view> names;
  auto output = uint32_t(outputs - written);
  for (uint32_t i = 0; i < states; ++i) {
    const fb::State& state = *entry.states()->Get(i);
    Status status = check_string(budget, state.name(), "name");
    if (status.ok() && !names.insert(view_of(state.name())).second) status = failure("its name occurs twice");
    if (status.ok()) status = check_state(artifact, entry, i, output);
    if (!status.ok()) return within(status, text("state ", i));
    output += state.read_only() ? 0 : 1;
  }
  return {};
}

Status check_shared_states(Budget& budget, const fb::Manifest& manifest) {
  // Name of a state: entry point, and its number there.
  std::map<std::string_view, std::pair<uint32_t, uint32_t>> known;
  for (uint32_t e = 0; e < manifest.entry_points()->size(); ++e) {
    const fb::EntryPoint& entry = *manifest.entry_points()->Get(e);
    for (uint32_t i = 0; i < count_of(entry.states()); ++i) {
      const std::string_view name = view_of(entry.states()->Get(i)->name());
      const auto [it, fresh] = known.try_emplace(name, e, i);
      if (Status status = budget.work(1 + count_of(state_input(entry, i).dims())); !status.ok()) return status;
      const auto [first, number] = it->second;
      if (fresh || agree(entry, i, *manifest.entry_points()->Get(first), number)) continue;
      return failure("entry points ", first, " and ", e, " differ in the type or the first value of state '",
                     name.substr(0, 64), "'");
    }
  }
  return {};
}

}  // namespace gart::verify
