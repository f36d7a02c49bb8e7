#include "compiler/artifact/emit_assembly.h"

#include <algorithm>
#include <map>
#include <memory>
#include <set>

#include "assembly_generated.h"
#include "compiler/artifact/file_texts.h"
#include "compiler/artifact/shape_program_builder.h"
#include "compiler/fleet/fleet_tables.h"
#include "compiler/support/error.h"

namespace gcg {
namespace {

namespace fb = gart::fb;

std::vector<uint32_t> numbers(const std::vector<int>& of) { return {of.begin(), of.end()}; }

/// Numbers the values that cross parts.
class Values {
 public:
  explicit Values(const Assembly& assembly) : graph_(assembly.graph) {
    for (ValueId v : graph_.inputs) add(v);
    for (const PartCall& call : assembly.calls)
      for (ValueId v : call.outputs) add(v);
  }

  const std::vector<ValueId>& all() const { return values_; }
  uint32_t number(ValueId v) const {
    const auto found = numbers_.find(v);
    GCG_CHECK(found != numbers_.end(), "value '", graph_.value(v).name, "' crosses parts, but none makes it");
    return found->second;
  }
  std::vector<uint32_t> numbers_of(const std::vector<ValueId>& of) const {
    std::vector<uint32_t> out;
    for (ValueId v : of) out.push_back(number(v));
    return out;
  }

 private:
  void add(ValueId v) {
    if (numbers_.emplace(v, static_cast<uint32_t>(values_.size())).second) values_.push_back(v);
  }

  const Graph& graph_;
  std::vector<ValueId> values_;
  std::map<ValueId, uint32_t> numbers_;
};

std::unique_ptr<fb::PartSymbolT> emit_symbol(const SymbolSource& source, const Values& values) {
  auto out = std::make_unique<fb::PartSymbolT>();
  out->name = source.symbol;
  out->value = values.number(source.value);
  out->axis = static_cast<uint32_t>(source.axis);
  return out;
}

std::unique_ptr<fb::PartValueT> emit_value(const Graph& graph, ValueId v, size_t model_outputs,
                                           ShapeProgramBuilder& program) {
  const Value& value = graph.value(v);
  auto out = std::make_unique<fb::PartValueT>();
  out->info = std::make_unique<fb::TensorInfoT>();
  out->info->name = file_text(value.name);
  out->info->dtype = static_cast<fb::DType>(value.dtype);
  for (const Dim& d : *value.shape) out->info->dims.push_back(program.slot(d));
  const auto input = std::find(graph.inputs.begin(), graph.inputs.end(), v);
  if (input != graph.inputs.end()) out->input = static_cast<int32_t>(input - graph.inputs.begin());
  for (size_t i = 0; i < graph.outputs.size(); ++i) {
    if (graph.outputs[i] != v) continue;
    if (i < model_outputs) out->outputs.push_back(static_cast<uint32_t>(i));
    if (i >= model_outputs) out->kept = true;
  }
  return out;
}

bool is_known(const Dim& d, const std::vector<std::string>& symbols) {
  for (const std::string& s : d.symbols())
    if (std::find(symbols.begin(), symbols.end(), s) == symbols.end()) return false;
  return true;
}

void emit_constraints(fb::AssemblyT& out, const Graph& graph, const std::vector<std::string>& symbols,
                      ShapeProgramBuilder& program) {
  for (const DimConstraint& c : graph.constraints) {
    if (!is_known(c.a, symbols) || !is_known(c.b, symbols)) continue;  // a part checks such a constraint during its run
    auto constraint = std::make_unique<fb::ConstraintT>();
    constraint->a = program.slot(c.a);
    constraint->b = program.slot(c.b);
    constraint->reason = file_text(c.reason);
    out.constraints.push_back(std::move(constraint));
  }
}

std::unique_ptr<fb::PartCallT> emit_call(const PartCall& call, const Values& values, ShapeProgramBuilder& program) {
  auto out = std::make_unique<fb::PartCallT>();
  out->entry = static_cast<uint32_t>(call.part) + 1;  // entry point 0 is the whole model
  out->group = static_cast<uint32_t>(call.group);
  out->inputs = values.numbers_of(call.inputs);
  for (const Dim& d : call.extents) out->extents.push_back(program.slot(d));
  out->outputs = values.numbers_of(call.outputs);
  for (const std::string& node : call.nodes) out->nodes.push_back(file_text(node));
  return out;
}

std::unique_ptr<fb::GroupT> emit_group(const Group& group, size_t number, const AssemblyPlacement& placement) {
  auto out = std::make_unique<fb::GroupT>();
  out->name = group.name;
  out->support = numbers(group.support);
  out->device = static_cast<uint32_t>(placement.device.at(number));
  out->peak_bytes = static_cast<uint64_t>(placement.peak_bytes.at(number));
  out->weight_bytes = static_cast<uint64_t>(placement.weight_bytes.at(number));
  out->predicted = placement.operation.at(number);
  return out;
}

}  // namespace

std::vector<uint8_t> emit_assembly(const Assembly& assembly, size_t model_outputs, const Fleet& fleet,
                                   const AssemblyPlacement& placement) {
  fb::AssemblyT out;
  const Values values(assembly);
  std::vector<std::string> symbols;
  for (const SymbolSource& source : assembly.symbols) {
    symbols.push_back(source.symbol);
    out.symbols.push_back(emit_symbol(source, values));
    if (const auto fixed = placement.typical.find(source.symbol); fixed != placement.typical.end())
      out.symbols.back()->typical = static_cast<uint64_t>(fixed->second);
  }
  ShapeProgramBuilder program(symbols);
  for (ValueId v : values.all()) out.values.push_back(emit_value(assembly.graph, v, model_outputs, program));
  emit_constraints(out, assembly.graph, symbols, program);
  for (size_t i = 0; i < assembly.calls.size(); ++i) {
    out.calls.push_back(emit_call(assembly.calls[i], values, program));
    out.calls.back()->predicted_begin = placement.begin.at(i);
    out.calls.back()->predicted_end = placement.end.at(i);
  }
  std::set<std::string> names;
  for (size_t g = 0; g < assembly.cut.groups.size(); ++g) {
    out.groups.push_back(emit_group(assembly.cut.groups[g], g, placement));
    std::string& name = out.groups.back()->name;
    name = *names.insert(group_name(name, names)).first;
  }
  for (const FleetDevice& d : fleet.devices) out.devices.push_back(emit_device(d));
  for (const FleetLink& l : fleet.links) out.links.push_back(emit_link(l));
  out.cut = assembly.cut.rules;
  out.predicted = placement.makespan;
  out.program = program.instructions();
  flatbuffers::FlatBufferBuilder builder;
  fb::FinishAssemblyBuffer(builder, fb::Assembly::Pack(builder, &out));
  return {builder.GetBufferPointer(), builder.GetBufferPointer() + builder.GetSize()};
}

}  // namespace gcg
