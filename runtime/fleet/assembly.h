// A verified assembly (fleet plan) as the fleet uses it: the maker and the readers of each value, and the extents of
// all values.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "artifact_schema/shape_program.h"
#include "assembly_generated.h"
#include "gart/gart.hpp"

namespace gart::fleet {

inline constexpr uint32_t kNone = UINT32_MAX;

struct DeviceKind;

struct Value {
  TensorInfo info;
  std::vector<uint32_t> dims;  // slots
  uint32_t input = kNone;      // index among the model's inputs
  uint32_t maker = kNone;      // the call that makes the value; kNone: the caller supplies it
  bool input_bound = false;    // True if its extents are known before the first call
};

struct PartCall {
  uint32_t entry = 0;  // the part, as an entry point of the manifest
  uint32_t group = 0;
  std::vector<uint32_t> inputs, outputs;  // values
  std::vector<uint32_t> extents;          // slots
  // Values that the call needs, each once: its inputs, and values that determine symbols of its extents.
  std::vector<uint32_t> needs;
};

struct Constraint {
  uint32_t a = 0, b = 0;
  std::string reason;
};

struct Device {
  std::string name, target, host;
  const DeviceKind* kind = nullptr;
  std::vector<uint32_t> cores;
  uint32_t ordinal = 0;
  uint64_t memory = 0;  // 0: not known
};

struct Group {
  std::string name;
  std::vector<uint32_t> support;  // devices
  uint32_t device = 0;
  uint64_t peak_bytes = 0, weight_bytes = 0;
  std::vector<double> predicted;  // microseconds on each device of `support`; may be empty
  uint32_t calls = 0;
};

struct Symbol {
  std::string name;
  uint32_t value = 0, axis = 0;
};

struct Assembly {
  std::vector<std::string> entries;  // names of the manifest's entry points
  std::vector<Symbol> symbols;
  ShapeProgram program;  // in the artifact
  std::vector<Constraint> constraints;
  std::vector<Value> values;
  std::vector<PartCall> calls;
  std::vector<Group> groups;
  std::vector<Device> devices;
  std::vector<uint32_t> inputs, outputs;       // values that are inputs and outputs of the model
  std::vector<std::vector<uint32_t>> carried;  // per value: the symbols that are its extents

  size_t slots() const { return symbols.size() + program.size(); }
  /// The value named `name`. Throws Failure naming the most similar names.
  uint32_t find_value(std::string_view name) const;
  uint32_t find_device(std::string_view name) const;  // kNone: not found
  uint32_t find_group(std::string_view name) const;
};

/// Requires an assembly that verify_assembly accepts.
Assembly decode_assembly(const fb::Manifest& manifest, const fb::Assembly& assembly);

}  // namespace gart::fleet
