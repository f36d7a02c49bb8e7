#include "compiler/artifact/emit_artifact.h"

#include <algorithm>
#include <map>
#include <set>

#include "artifact_schema/writer.h"
#include "compiler/artifact/emit_plan.h"
#include "compiler/artifact/file_texts.h"
#include "compiler/artifact/shape_program_builder.h"
#include "compiler/ir/states.h"
#include "compiler/kernel/cpu_levels.h"
#include "compiler/support/error.h"

namespace gcg {
namespace {

namespace fb = gart::fb;

fb::DType to_fb(DType t) { return static_cast<fb::DType>(t); }

std::unique_ptr<fb::TargetT> emit_target(const TargetCode& code) {
  const Target& target = code.target;
  auto out = std::make_unique<fb::TargetT>();
  out->name = target.name;
  out->imports = code.blob.imports;
  if (const CpuLevel* level = find_cpu_level(target.name)) {
    out->kind = fb::TargetKind::cpu;
    out->features = level->features;
    return out;
  }
  out->kind = target.is_ptx() ? fb::TargetKind::cuda_ptx : fb::TargetKind::cuda_sm;
  out->sm = static_cast<uint32_t>(target.sm);
  out->driver = static_cast<uint32_t>(code.blob.driver);
  if (const auto& conditional_kernel = code.blob.conditional_kernel) {
    out->conditional_kernel = std::make_unique<fb::KernelT>();
    out->conditional_kernel->name = out->conditional_kernel->symbol = conditional_kernel->symbol;
    out->conditional_kernel->offset = conditional_kernel->offset;
    out->conditional_kernel->size = conditional_kernel->size;
    out->conditional_kernel->threads = static_cast<uint32_t>(conditional_kernel->threads);
  }
  return out;
}

/// The symbols of entry point `entry`: those that inputs carry, then those that are bound during the run.
std::vector<std::string> all_symbols(const Graph& graph, const std::vector<Plan>& plans, int entry) {
  std::vector<std::string> names;
  for (ValueId in : graph.inputs)
    for (const Dim& d : *graph.value(in).shape)
      if (auto s = d.symbol_name(); s && std::find(names.begin(), names.end(), *s) == names.end()) names.push_back(*s);
  for (const Plan& plan : plans) {
    if (plan.entry_point != entry || plan.is_load_time_packing) continue;
    for (const std::string& s : plan.run_bound_symbols)
      if (std::find(names.begin(), names.end(), s) == names.end()) names.push_back(s);
  }
  return names;
}

std::unique_ptr<fb::TensorInfoT> tensor_info(const Value& v, ShapeProgramBuilder& program) {
  auto out = std::make_unique<fb::TensorInfoT>();
  out->name = v.name;
  out->dtype = to_fb(v.dtype);
  for (const Dim& d : *v.shape) out->dims.push_back(program.slot(d));
  return out;
}

std::unique_ptr<fb::SymbolT> symbol(const Graph& graph, const std::string& name) {
  auto out = std::make_unique<fb::SymbolT>();
  out->name = name;
  for (size_t i = 0; i < graph.inputs.size(); ++i) {
    const Shape& shape = *graph.value(graph.inputs[i]).shape;
    for (size_t d = 0; d < shape.size(); ++d)
      if (shape[d].symbol_name() == name) {
        out->input = static_cast<int32_t>(i);
        out->axis = static_cast<int32_t>(d);
        return out;
      }
  }
  return out;  // bound during the run
}

bool is_input_bound(const fb::EntryPointT& entry, const Dim& d) {
  const std::set<std::string> names = d.symbols();
  return std::none_of(entry.symbols.begin(), entry.symbols.end(),
                      [&](const auto& s) { return s->input < 0 && names.count(s->name) != 0; });
}

/// Returns the library's number, and widens its version range to include the call's range.
uint32_t library_number(fb::ManifestT& manifest, const LibraryCall& call) {
  for (size_t i = 0; i < manifest.libraries.size(); ++i) {
    fb::LibraryT& known = *manifest.libraries[i];
    if (known.name != call.library) continue;
    known.oldest = std::min(known.oldest, call.oldest);
    known.below = std::max(known.below, call.below);
    return static_cast<uint32_t>(i);
  }
  auto library = std::make_unique<fb::LibraryT>();
  library->name = call.library;
  library->oldest = call.oldest;
  library->below = call.below;
  manifest.libraries.push_back(std::move(library));
  return static_cast<uint32_t>(manifest.libraries.size()) - 1;
}

/// The facts of an entry point beyond its graph's constraints.
struct EntryFacts {
  std::vector<DimConstraint> pairs;    // both extents are equal, or one of them is 1
  std::vector<DimConstraint> assumed;  // facts that must hold in runs of some plans
};

bool are_same(const DimConstraint& x, const DimConstraint& y) {
  return (x.a == y.a && x.b == y.b) || (x.a == y.b && x.b == y.a);
}

EntryFacts facts_of(const ArtifactParts& parts, int entry) {
  EntryFacts facts;
  if (entry == 0) facts.pairs = parts.pairs;
  for (const Plan& plan : parts.plans) {
    if (plan.entry_point != entry || plan.is_load_time_packing) continue;
    for (const DimConstraint& fact : plan.assumed)
      if (std::none_of(facts.assumed.begin(), facts.assumed.end(),
                       [&](const DimConstraint& f) { return are_same(f, fact); }))
        facts.assumed.push_back(fact);
  }
  return facts;
}

std::unique_ptr<fb::StateT> emit_state(const State& state, const WeightsSection& weights) {
  auto out = std::make_unique<fb::StateT>();
  out->name = state.name;
  out->read_only = !is_written(state);
  if (is_written(state)) out->output = static_cast<uint32_t>(state.output);
  out->axis = state.axis;
  out->capacity = static_cast<uint64_t>(state.capacity);
  out->in_place = state.in_place;
  if (state.scope == StateScope::program) out->scope = fb::StateScope::program;
  if (state.initial) out->initial = static_cast<int64_t>(weights.place_of(*state.initial));
  return out;
}

/// Writes the entry point without plans. Removes from `facts.assumed` the facts that are not checked before the run.
std::unique_ptr<fb::EntryPointT> entry_point(const Graph& graph, const std::vector<std::string>& symbols,
                                             const WeightsSection& weights, EntryFacts& facts) {
  auto out = std::make_unique<fb::EntryPointT>();
  out->name = graph.name.empty() ? "main" : graph.name;
  ShapeProgramBuilder program(symbols);
  for (const std::string& s : symbols) out->symbols.push_back(symbol(graph, s));
  for (ValueId v : graph.inputs) out->inputs.push_back(tensor_info(graph.value(v), program));
  for (ValueId v : graph.outputs) out->outputs.push_back(tensor_info(graph.value(v), program));
  const auto add = [&](const DimConstraint& c, fb::ConstraintKind kind) {
    auto f = std::make_unique<fb::ConstraintT>();
    f->a = program.slot(c.a);
    f->b = program.slot(c.b);
    f->reason = c.reason;
    f->kind = kind;
    out->constraints.push_back(std::move(f));
  };
  const auto is_run_bound = [&](const DimConstraint& c) {
    return !is_input_bound(*out, c.a) || !is_input_bound(*out, c.b);
  };
  std::erase_if(facts.assumed, is_run_bound);
  for (const DimConstraint& c : graph.constraints)
    // Facts about run-bound symbols are checked during the run.
    if (!is_run_bound(c)) add(c, fb::ConstraintKind::equal);
  for (const DimConstraint& c : facts.pairs) add(c, fb::ConstraintKind::broadcast);
  for (const DimConstraint& c : facts.assumed) add(c, fb::ConstraintKind::assumed);
  for (const State& s : graph.states) out->states.push_back(emit_state(s, weights));
  out->program = program.instructions();
  return out;
}

/// Lists the weights that are stored in several layouts or types, by their names in the model, for reports.
void tell_stored_twice(fb::ManifestT& manifest, const Graph& graph, const WeightsSection& weights) {
  constexpr size_t kMostNames = 8;
  std::vector<std::pair<TensorRef, std::string>> sources;
  for (int64_t i = 0; i < graph.value_count(); ++i)
    if (const Value& v = graph.value(ValueId(i)); v.constant) sources.emplace_back(v.constant, v.name);
  manifest.stored_twice_bytes = 0;
  for (const StoredTwice& s : weights.stored_twice(sources)) {
    manifest.stored_twice_bytes += s.bytes;
    if (manifest.stored_twice.size() == kMostNames) continue;
    auto named = std::make_unique<fb::StoredTwiceT>();
    named->name = file_text(s.name);
    named->bytes = static_cast<uint64_t>(s.bytes);
    manifest.stored_twice.push_back(std::move(named));
  }
}

void label_tensors(fb::EntryPointT& entry, const std::map<std::string, std::vector<std::string>>& labels) {
  for (const auto* tensors : {&entry.inputs, &entry.outputs})
    for (const auto& tensor : *tensors)
      if (const auto known = labels.find(tensor->name); known != labels.end()) tensor->labels = known->second;
}

/// The positions of the plan's assumed facts in the entry point's list of constraints. `facts.assumed` are the last
/// entries of that list.
std::vector<uint32_t> assumed_of(const Plan& plan, const EntryFacts& facts, const fb::EntryPointT& entry) {
  std::vector<uint32_t> numbers;
  const size_t first = entry.constraints.size() - facts.assumed.size();
  for (size_t i = 0; i < facts.assumed.size(); ++i)
    if (std::any_of(plan.assumed.begin(), plan.assumed.end(),
                    [&](const DimConstraint& f) { return are_same(f, facts.assumed[i]); }))
      numbers.push_back(static_cast<uint32_t>(first + i));
  return numbers;
}

/// Writes all entry points with their plans, and the plans for weight relayout at load.
void emit_entries(fb::ManifestT& manifest, const ArtifactParts& parts) {
  const LibraryNumber number = [&](const LibraryCall& call) { return library_number(manifest, call); };
  for (size_t e = 0; e < parts.entries.size(); ++e) {
    const std::vector<std::string> symbols = all_symbols(*parts.entries[e], parts.plans, static_cast<int>(e));
    EntryFacts facts = facts_of(parts, static_cast<int>(e));
    auto entry = entry_point(*parts.entries[e], symbols, parts.weights, facts);
    entry->internal = e >= parts.models;
    if (e == 0) label_tensors(*entry, parts.labels);
    for (size_t t = 0; t < parts.targets.size(); ++t)
      for (const Plan& plan : parts.plans)
        if (plan.entry_point == static_cast<int>(e) && plan.target == static_cast<int>(t) &&
            !plan.is_load_time_packing) {
          entry->plans.push_back(emit_plan(plan, parts.targets[t].target, symbols, parts.weights, number));
          entry->plans.back()->assumed = assumed_of(plan, facts, *entry);
        }
    manifest.entry_points.push_back(std::move(entry));
  }
  auto packing = std::make_unique<fb::EntryPointT>();
  packing->name = "load_time_packing";
  for (size_t t = 0; t < parts.targets.size(); ++t)
    for (const Plan& plan : parts.plans)
      if (plan.is_load_time_packing && plan.target == static_cast<int>(t))
        packing->plans.push_back(emit_plan(plan, parts.targets[t].target, {}, parts.weights, number));
  if (!packing->plans.empty()) manifest.load_time_packing = std::move(packing);
}

}  // namespace

std::vector<uint8_t> emit_artifact(ArtifactParts parts, const Provenance& provenance) {
  gart::ArtifactContent content;
  emit_entries(content.manifest, parts);
  for (const TargetCode& target : parts.targets) {
    content.manifest.targets.push_back(emit_target(target));
    content.code.push_back(target.blob.code);
  }
  content.manifest.provenance = std::make_unique<fb::ProvenanceT>();
  content.manifest.provenance->compiler = provenance.compiler;
  content.manifest.provenance->source_hash = provenance.source_hash;
  content.manifest.provenance->options = provenance.options;
  content.manifest.provenance->model = provenance.model;
  for (const auto& [name, value] : provenance.metadata)
    content.manifest.metadata.insert(content.manifest.metadata.end(), {name, value});
  tell_stored_twice(content.manifest, *parts.entries[0], parts.weights);
  content.weight_bytes = parts.weights.bytes();
  content.weight_pieces = parts.weights.pieces();
  content.assembly = std::move(parts.assembly);
  tidy_texts(content.manifest);
  return gart::write_artifact(std::move(content));
}

}  // namespace gcg
