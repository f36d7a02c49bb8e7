#include "runtime/fleet/assembly.h"

#include <algorithm>

#include "artifact_schema/spans.h"
#include "runtime/errors.h"
#include "runtime/fleet/device_kind.h"

namespace gart::fleet {
namespace {

std::vector<uint32_t> numbers(const flatbuffers::Vector<uint32_t>* of) {
  const auto span = span_of(of);
  return {span.begin(), span.end()};
}

std::string text_of(const flatbuffers::String* string) { return std::string(view_of(string)); }

void decode_values(const fb::Assembly& from, Assembly& to) {
  std::vector<std::string> names;
  for (const Symbol& symbol : to.symbols) names.push_back(symbol.name);
  for (uint32_t i = 0; i < count_of(from.values()); ++i) {
    const fb::PartValue& value = *from.values()->Get(i);
    Value out;
    out.info.name = text_of(value.info()->name());
    out.info.dtype = static_cast<DType>(value.info()->dtype());
    out.dims = numbers(value.info()->dims());
    for (const uint32_t slot : out.dims) out.info.dims.push_back(describe_slot(to.program, names, slot));
    if (value.input() >= 0) {
      out.input = uint32_t(value.input());
      to.inputs.resize(std::max<size_t>(to.inputs.size(), out.input + 1));
      to.inputs[out.input] = i;
    }
    for (const uint32_t output : span_of(value.outputs())) {
      to.outputs.resize(std::max<size_t>(to.outputs.size(), output + 1));
      to.outputs[output] = i;
    }
    to.values.push_back(std::move(out));
  }
}

void decode_calls(const fb::Assembly& from, Assembly& to) {
  for (uint32_t i = 0; i < count_of(from.calls()); ++i) {
    const fb::PartCall& call = *from.calls()->Get(i);
    PartCall out;
    out.entry = call.entry();
    out.group = call.group();
    out.inputs = numbers(call.inputs());
    out.outputs = numbers(call.outputs());
    out.extents = numbers(call.extents());
    for (const uint32_t value : out.outputs) to.values[value].maker = i;
    ++to.groups[out.group].calls;
    to.calls.push_back(std::move(out));
  }
}

void decode_places(const fb::Assembly& from, Assembly& to) {
  for (uint32_t i = 0; i < count_of(from.devices()); ++i) {
    const fb::FleetDevice& device = *from.devices()->Get(i);
    to.devices.push_back({text_of(device.name()), text_of(device.target()), text_of(device.host()),
                          &device_kind(device.kind(), view_of(device.name())), numbers(device.cores()),
                          device.ordinal(), device.memory()});
  }
  for (uint32_t i = 0; i < count_of(from.groups()); ++i) {
    const fb::Group& group = *from.groups()->Get(i);
    const auto predicted = span_of(group.predicted());
    to.groups.push_back({text_of(group.name()),
                         numbers(group.support()),
                         group.device(),
                         group.peak_bytes(),
                         group.weight_bytes(),
                         {predicted.begin(), predicted.end()},
                         0});
  }
}

/// Flags the slots that the caller's inputs determine.
std::vector<uint8_t> input_bound_slots(const Assembly& assembly) {
  std::vector<uint8_t> input_bound;
  for (const Symbol& symbol : assembly.symbols) input_bound.push_back(assembly.values[symbol.value].maker == kNone);
  return reachable_slots(assembly.program, input_bound);
}

/// Adds to call.needs the values whose extents are the symbols of the call's extents.
void add_carriers(const Assembly& assembly, PartCall& call) {
  std::vector<uint8_t> read(assembly.symbols.size() + assembly.program.size());
  for (const uint32_t slot : call.extents) read[slot] = 1;
  mark_operands(assembly.program, assembly.symbols.size(), read);
  for (size_t i = 0; i < assembly.symbols.size(); ++i)
    if (read[i] != 0) call.needs.push_back(assembly.symbols[i].value);
}

void find_needs(Assembly& assembly) {
  for (PartCall& call : assembly.calls) {
    call.needs = call.inputs;
    if (!call.extents.empty()) add_carriers(assembly, call);
    std::sort(call.needs.begin(), call.needs.end());
    call.needs.erase(std::unique(call.needs.begin(), call.needs.end()), call.needs.end());
  }
}

/// Edit distance: letters to insert, delete or replace.
size_t edits(std::string_view a, std::string_view b) {
  std::vector<size_t> row(b.size() + 1);
  for (size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (size_t i = 1; i <= a.size(); ++i) {
    size_t diagonal = std::exchange(row[0], i);
    for (size_t j = 1; j <= b.size(); ++j) {
      const size_t changed = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
      diagonal = std::exchange(row[j], std::min({changed, row[j] + 1, row[j - 1] + 1}));
    }
  }
  return row[b.size()];
}

template <class Things>
uint32_t find_name(const Things& things, std::string_view name) {
  for (uint32_t i = 0; i < things.size(); ++i)
    if (things[i].name == name) return i;
  return kNone;
}

}  // namespace

Assembly decode_assembly(const fb::Manifest& manifest, const fb::Assembly& from) {
  Assembly to;
  for (uint32_t i = 0; i < manifest.entry_points()->size(); ++i)
    to.entries.push_back(text_of(manifest.entry_points()->Get(i)->name()));
  for (uint32_t i = 0; i < count_of(from.symbols()); ++i) {
    const fb::PartSymbol& symbol = *from.symbols()->Get(i);
    to.symbols.push_back({text_of(symbol.name()), symbol.value(), symbol.axis()});
  }
  to.program = span_of(from.program());
  for (uint32_t i = 0; i < count_of(from.constraints()); ++i) {
    const fb::Constraint& constraint = *from.constraints()->Get(i);
    to.constraints.push_back({constraint.a(), constraint.b(), text_of(constraint.reason())});
  }
  decode_places(from, to);
  decode_values(from, to);
  decode_calls(from, to);
  const std::vector<uint8_t> input_bound = input_bound_slots(to);
  for (Value& value : to.values)
    value.input_bound =
        std::all_of(value.dims.begin(), value.dims.end(), [&](uint32_t slot) { return input_bound[slot] != 0; });
  to.carried.resize(to.values.size());
  for (uint32_t i = 0; i < to.symbols.size(); ++i) to.carried[to.symbols[i].value].push_back(i);
  find_needs(to);
  return to;
}

uint32_t Assembly::find_value(std::string_view name) const {
  constexpr size_t kMostNames = 3, kLongName = 256;
  std::vector<std::pair<size_t, std::string_view>> near;
  for (uint32_t i = 0; i < values.size(); ++i) {
    if (values[i].info.name == name) return i;
    near.emplace_back(edits(name.substr(0, kLongName), std::string_view(values[i].info.name).substr(0, kLongName)),
                      values[i].info.name);
  }
  const size_t count = std::min(kMostNames, near.size());
  std::partial_sort(near.begin(), near.begin() + std::ptrdiff_t(count), near.end());
  std::string names;
  for (size_t i = 0; i < count; ++i) names += text(i == 0 ? "" : ", ", "'", near[i].second, "'");
  fail(ErrorCode::invalid_argument, "no value '", name, "' crosses parts or is kept; the nearest are ", names,
       "; to keep a value that fusion removes, compile with --keep ", name);
}

uint32_t Assembly::find_device(std::string_view name) const { return find_name(devices, name); }
uint32_t Assembly::find_group(std::string_view name) const { return find_name(groups, name); }

}  // namespace gart::fleet
