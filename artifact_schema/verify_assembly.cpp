#include "artifact_schema/verify_assembly.h"

#include <cmath>
#include <set>

#include "artifact_schema/utf8.h"
#include "artifact_schema/verify_internal.h"

namespace gart {
namespace {

using namespace verify;

constexpr int64_t kNobody = INT64_MAX;  // a value that no call makes

/// Runs the check of each item of one kind, in order, up to the first failure.
template <class Check>
Status for_each(size_t count, const char* what, Check check) {
  for (uint32_t i = 0; i < count; ++i) {
    if (Status status = check(i); !status.ok()) return within(status, text(what, " ", i));
  }
  return {};
}

Status check_number(double number, const char* what) {
  return std::isfinite(number) && number >= 0 ? Status() : failure(what, " is negative or not a number");
}

/// Checks the time of one group or transfer; the times of a run are sums of these.
Status check_time(double time, const char* what) {
  if (time <= kMaxMicroseconds) return check_number(time, what);
  return failure(what, " is longer than ", int64_t(kMaxMicroseconds), " microseconds, or not a number");
}

Status check_rate(double rate, const char* what) {
  if (rate == 0 || (rate >= kMinRate && rate <= kMaxRate)) return {};
  return failure(what, " is neither 0 nor from 0.000001 to ", int64_t(kMaxRate));
}

Status check_name(Budget& budget, const flatbuffers::String* name, std::set<std::string_view>& names) {
  if (Status status = check_string(budget, name, "its name"); !status.ok()) return status;
  if (view_of(name).empty()) return failure("it has no name");
  if (!is_utf8(view_of(name))) return failure("its name is not UTF-8");
  return names.insert(view_of(name)).second ? Status() : failure("its name occurs twice");
}

Status check_strings(Budget& budget, const flatbuffers::Vector<flatbuffers::Offset<flatbuffers::String>>* strings,
                     const char* what) {
  return for_each(count_of(strings), what,
                  [&](uint32_t i) { return check_string(budget, strings->Get(i), "its text"); });
}

class AssemblyCheck {
 public:
  AssemblyCheck(const ArtifactView& artifact, const fb::Assembly& assembly)
      : manifest_(*artifact.manifest),
        model_(*manifest_.entry_points()->Get(0)),
        assembly_(assembly),
        budget_{artifact.assembly().size()},
        symbols_(count_of(assembly.symbols())),
        makers_(count_of(assembly.values()), kNobody) {}

  Status run() {
    if (Status status = check_program(); !status.ok()) return status;
    if (Status status = check_values(); !status.ok()) return status;
    if (Status status = check_devices(); !status.ok()) return status;
    if (Status status = check_groups(); !status.ok()) return status;
    if (Status status = find_makers(); !status.ok()) return status;
    if (Status status = check_symbols(); !status.ok()) return status;
    if (Status status = check_calls(); !status.ok()) return status;
    return check_group_order(assembly_, makers_, budget_);
  }

 private:
  size_t slots() const { return symbols_ + program_.size(); }
  const fb::PartValue& value(uint32_t index) const { return *assembly_.values()->Get(index); }
  const fb::PartCall& call(uint32_t index) const { return *assembly_.calls()->Get(index); }

  Status check_program() {
    program_ = span_of(assembly_.program());
    if (Status status = check_elements_aligned(program_, "its program"); !status.ok()) return status;
    if (Status status = budget_.spend(program_.size()); !status.ok()) return status;
    if (Status status = verify_program(program_, symbols_); !status.ok()) return status;
    return for_each(count_of(assembly_.constraints()), "constraint", [&](uint32_t i) {
      const fb::Constraint& constraint = *assembly_.constraints()->Get(i);
      if (Status status = check_index(constraint.a(), slots(), "a", "slots"); !status.ok()) return status;
      if (Status status = check_index(constraint.b(), slots(), "b", "slots"); !status.ok()) return status;
      return check_string(budget_, constraint.reason(), "its reason");
    });
  }

  static Status check_type(const fb::TensorInfo& info, const fb::TensorInfo& wanted, const char* whose) {
    if (info.dtype() != wanted.dtype()) return failure("its type is not that of ", whose);
    if (count_of(info.dims()) != count_of(wanted.dims()))
      return failure("its rank is ", count_of(info.dims()), ", that of ", whose, " is ", count_of(wanted.dims()));
    return {};
  }

  /// Checks the known extents. The other extents follow from the caller's shapes, and are limited then.
  Status check_extents(const fb::TensorInfo& info) {
    int64_t elements = 1;
    for (uint32_t i = 0; i < count_of(info.dims()); ++i) {
      const uint32_t slot = info.dims()->Get(i);
      if (slot < symbols_ || program_[slot - symbols_].op() != fb::ExprOp::constant) continue;
      const int64_t extent = program_[slot - symbols_].value();
      if (extent < 0 || extent > kMaxExtent)
        return failure("axis ", i, " is ", extent, "; 0 to ", kMaxExtent, " are possible");
      if (elements > 0 && extent > kMaxExtent / elements) return failure("it has more than ", kMaxExtent, " elements");
      elements *= extent;
    }
    return {};
  }

  Status check_value(uint32_t index, std::vector<uint8_t>& inputs, std::vector<uint8_t>& outputs) {
    const fb::PartValue& value = this->value(index);
    if (value.info() == nullptr) return failure("it is not described");
    const fb::TensorInfo& info = *value.info();
    if (Status status = check_string(budget_, info.name(), "its name"); !status.ok()) return status;
    if (info.dtype() == fb::DType::undefined || info.dtype() > fb::DType::MAX) return failure("its type is unknown");
    if (count_of(info.dims()) > kMaxTensorRank)
      return failure("its rank is ", count_of(info.dims()), ", the limit is ", kMaxTensorRank);
    if (Status status = check_indices(budget_, span_of(info.dims()), slots(), "dim", "slots"); !status.ok())
      return status;
    if (Status status = check_extents(info); !status.ok()) return status;
    if (value.input() != -1) {
      const uint32_t input = uint32_t(value.input());
      if (Status status = check_index(input, inputs.size(), "its input", "inputs"); !status.ok()) return status;
      if (inputs[input]++ != 0) return failure("input ", input, " is also another value");
      makers_[index] = kCaller;
      if (Status status = check_type(info, *model_.inputs()->Get(input), "the model's input"); !status.ok())
        return status;
    }
    if (Status status = check_indices(budget_, span_of(value.outputs()), outputs.size(), "output", "outputs");
        !status.ok())
      return status;
    for (const uint32_t output : span_of(value.outputs())) {
      if (outputs[output]++ != 0) return failure("output ", output, " is also another value");
      if (Status status = check_type(info, *model_.outputs()->Get(output), "the model's output"); !status.ok())
        return status;
    }
    return {};
  }

  Status check_values() {
    std::vector<uint8_t> inputs(count_of(model_.inputs())), outputs(count_of(model_.outputs()));
    Status status = for_each(makers_.size(), "value", [&](uint32_t i) { return check_value(i, inputs, outputs); });
    if (!status.ok()) return status;
    for (uint32_t i = 0; i < inputs.size(); ++i)
      if (inputs[i] == 0) return failure("no value is the model's input ", i);
    for (uint32_t i = 0; i < outputs.size(); ++i)
      if (outputs[i] == 0) return failure("no value is the model's output ", i);
    return {};
  }

  Status check_device(const fb::FleetDevice& device, std::set<std::string_view>& names) {
    if (Status status = check_name(budget_, device.name(), names); !status.ok()) return status;
    if (device.kind() != fb::TargetKind::cpu && device.kind() != fb::TargetKind::cuda_sm)
      return failure("its kind is unknown");
    if (Status status = check_indices(budget_, span_of(device.cores()), kMaxCores, "core", "possible"); !status.ok())
      return status;
    if (Status status = check_index(device.ordinal(), kMaxCores, "its ordinal", "possible"); !status.ok())
      return status;
    if (device.memory() > uint64_t(INT64_MAX)) return failure("its memory is ", device.memory(), " bytes");
    if (Status status = check_string(budget_, device.target(), "its target"); !status.ok()) return status;
    if (Status status = check_string(budget_, device.host(), "its host"); !status.ok()) return status;
    if (Status status = check_strings(budget_, device.supports(), "supports"); !status.ok()) return status;
    if (Status status = check_strings(budget_, device.denies(), "denies"); !status.ok()) return status;
    if (Status status = check_rate(device.gflops(), "its rate"); !status.ok()) return status;
    return check_rate(device.gbytes_per_s(), "its bandwidth");
  }

  Status check_devices() {
    std::set<std::string_view> names;
    const size_t devices = count_of(assembly_.devices());
    Status status =
        for_each(devices, "device", [&](uint32_t i) { return check_device(*assembly_.devices()->Get(i), names); });
    if (!status.ok()) return status;
    return for_each(count_of(assembly_.links()), "link", [&](uint32_t i) {
      const fb::FleetLink& link = *assembly_.links()->Get(i);
      if (Status from = check_index(link.from(), devices, "from", "devices"); !from.ok()) return from;
      if (Status to = check_index(link.to(), devices, "to", "devices"); !to.ok()) return to;
      if (Status rate = check_rate(link.gbytes_per_s(), "its bandwidth"); !rate.ok()) return rate;
      return check_time(link.us(), "its latency");
    });
  }

  Status check_group(const fb::Group& group, std::set<std::string_view>& names) {
    if (Status status = check_name(budget_, group.name(), names); !status.ok()) return status;
    const auto support = span_of(group.support());
    const size_t devices = count_of(assembly_.devices());
    if (Status status = check_indices(budget_, support, devices, "support", "devices"); !status.ok()) return status;
    bool placed = false;
    for (const uint32_t device : support) placed = placed || device == group.device();
    if (!placed) return failure("it is placed on device ", group.device(), ", which does not support it");
    if (group.peak_bytes() > uint64_t(kMaxExtent) || group.weight_bytes() > uint64_t(kMaxExtent))
      return failure("its bytes exceed the limit");
    bytes_ += int64_t(group.peak_bytes() + group.weight_bytes());
    if (bytes_ > kMaxAssemblyBytes)
      return failure("it and those before it need more than ", kMaxAssemblyBytes, " bytes");
    if (Status status = check_times(span_of(group.predicted()), support.size(), "predictions", "a prediction");
        !status.ok())
      return status;
    return check_times(span_of(group.crossing()), support.size(), "transfer times", "a transfer time");
  }

  /// The vector is empty or has one entry per device.
  template <class Times>
  Status check_times(const Times& times, size_t devices, const char* all, const char* one) {
    if (Status status = check_elements_aligned(times, one); !status.ok()) return status;
    if (Status status = budget_.spend(times.size()); !status.ok()) return status;
    if (!times.empty() && times.size() != devices)
      return failure("it has ", times.size(), " ", all, " for ", devices, " devices");
    for (const double time : times)
      if (Status status = check_time(time, one); !status.ok()) return status;
    return {};
  }

  Status check_groups() {
    std::set<std::string_view> names;
    Status status = for_each(count_of(assembly_.groups()), "group",
                             [&](uint32_t i) { return check_group(*assembly_.groups()->Get(i), names); });
    if (!status.ok()) return status;
    return check_string(budget_, assembly_.cut(), "its cut");
  }

  Status find_makers() {
    Status status = for_each(count_of(assembly_.calls()), "call", [&](uint32_t i) {
      const auto outputs = span_of(call(i).outputs());
      if (Status found = check_indices(budget_, outputs, makers_.size(), "output", "values"); !found.ok()) return found;
      for (const uint32_t output : outputs) {
        if (makers_[output] != kNobody) return failure("value ", output, " is made twice");
        makers_[output] = i;
      }
      return Status();
    });
    if (!status.ok()) return status;
    return for_each(makers_.size(), "value",
                    [&](uint32_t i) { return makers_[i] == kNobody ? failure("no call makes it") : Status(); });
  }

  /// A symbol must be an extent of its value, in exactly its slot. Afterwards known_ says after which call a slot has
  /// its value.
  Status check_symbols() {
    std::set<std::string_view> names;
    Status status = for_each(symbols_, "symbol", [&](uint32_t i) {
      const fb::PartSymbol& symbol = *assembly_.symbols()->Get(i);
      if (Status name = check_name(budget_, symbol.name(), names); !name.ok()) return name;
      if (view_of(symbol.name()).size() > kMaxSymbolBytes) return failure("its name is too long");
      if (Status index = check_index(symbol.value(), makers_.size(), "its value", "values"); !index.ok()) return index;
      const auto dims = span_of(value(symbol.value()).info()->dims());
      if (Status axis = check_index(symbol.axis(), dims.size(), "its axis", "axes"); !axis.ok()) return axis;
      if (symbol.typical() > uint64_t(kMaxExtent)) return failure("its typical extent is ", symbol.typical());
      if (dims[symbol.axis()] != i) return failure("axis ", symbol.axis(), " of its value is another extent");
      known_.push_back(makers_[symbol.value()]);
      return Status();
    });
    for (const fb::Instruction& instruction : program_) {
      const bool constant = instruction.op() == fb::ExprOp::constant;
      known_.push_back(constant || !status.ok() ? kCaller : std::max(known_[instruction.a()], known_[instruction.b()]));
    }
    return status;
  }

  Status check_call(uint32_t index) {
    const fb::PartCall& call = this->call(index);
    if (Status status = check_index(call.entry(), manifest_.entry_points()->size(), "its entry", "entry points");
        !status.ok())
      return status;
    const fb::EntryPoint& entry = *manifest_.entry_points()->Get(call.entry());
    if (!entry.internal()) return failure("entry point ", call.entry(), " is not a part");
    if (Status status = check_index(call.group(), count_of(assembly_.groups()), "its group", "groups"); !status.ok())
      return status;
    const auto inputs = span_of(call.inputs()), extents = span_of(call.extents()), outputs = span_of(call.outputs());
    if (inputs.size() + extents.size() != count_of(entry.inputs()) || outputs.size() != count_of(entry.outputs()))
      return failure("it gives ", inputs.size() + extents.size(), " inputs and takes ", outputs.size(),
                     " outputs; its part has ", count_of(entry.inputs()), " and ", count_of(entry.outputs()));
    if (Status status = check_indices(budget_, inputs, makers_.size(), "input", "values"); !status.ok()) return status;
    if (Status status = check_indices(budget_, extents, slots(), "extent", "slots"); !status.ok()) return status;
    if (Status status = check_inputs(call, entry, index); !status.ok()) return status;
    for (uint32_t i = 0; i < outputs.size(); ++i) {
      Status status = check_type(*value(outputs[i]).info(), *entry.outputs()->Get(i), "the part's output");
      if (!status.ok()) return within(status, text("output ", i));
    }
    if (Status status = check_number(call.predicted_begin(), "its beginning"); !status.ok()) return status;
    if (Status status = check_number(call.predicted_end(), "its end"); !status.ok()) return status;
    return check_strings(budget_, call.nodes(), "node");
  }

  Status check_inputs(const fb::PartCall& call, const fb::EntryPoint& entry, int64_t index) {
    const uint32_t inputs = count_of(call.inputs());
    for (uint32_t i = 0; i < inputs; ++i) {
      const uint32_t input = call.inputs()->Get(i);
      if (makers_[input] >= index) return failure("input ", i, " is made by call ", makers_[input]);
      Status status = check_type(*value(input).info(), *entry.inputs()->Get(i), "the part's input");
      if (!status.ok()) return within(status, text("input ", i));
    }
    for (uint32_t i = 0; i < count_of(call.extents()); ++i) {
      const fb::TensorInfo& info = *entry.inputs()->Get(inputs + i);
      if (info.dtype() != fb::DType::boolean || count_of(info.dims()) != 1)
        return failure("extent ", i, " has no boolean vector in its part");
      const int64_t known = known_[call.extents()->Get(i)];
      if (known >= index) return failure("extent ", i, " is known after call ", known);
    }
    return {};
  }

  Status check_calls() {
    return for_each(count_of(assembly_.calls()), "call", [&](uint32_t i) { return check_call(i); });
  }

  const fb::Manifest& manifest_;
  const fb::EntryPoint& model_;
  const fb::Assembly& assembly_;
  Budget budget_;
  ShapeProgram program_;
  const size_t symbols_;
  int64_t bytes_ = 0;            // sum over the groups so far
  std::vector<int64_t> makers_;  // per value: the call that makes it, or kCaller
  std::vector<int64_t> known_;   // per slot: the call after which it has a value; kCaller: from the start of the run
};

}  // namespace

Status verify_assembly(const ArtifactView& artifact, const fb::Assembly*& assembly) {
  assembly = nullptr;
  const std::span<const uint8_t> bytes = artifact.assembly();
  if (bytes.empty()) return {};
  if (bytes.size() < 8 || reinterpret_cast<uintptr_t>(bytes.data()) % 8 != 0)
    return failure("the assembly has ", bytes.size(), " bytes, or is not 8-byte aligned");
  // As for the manifest: a table takes at least 8 bytes.
  flatbuffers::Verifier verifier(bytes.data(), bytes.size(), 64, flatbuffers::uoffset_t(bytes.size() / 8 + 16));
  if (!fb::VerifyAssemblyBuffer(verifier))
    return failure("the assembly is not a well-formed FlatBuffer of this schema");
  const fb::Assembly* found = fb::GetAssembly(bytes.data());
  if (Status status = AssemblyCheck(artifact, *found).run(); !status.ok()) return within(status, "the assembly");
  assembly = found;
  return {};
}

}  // namespace gart
