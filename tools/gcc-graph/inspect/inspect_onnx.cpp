#include "tools/gcc-graph/inspect/inspect_onnx.h"

#include <onnx/onnx_pb.h>

#include <algorithm>
#include <map>
#include <set>

#include "artifact_schema/spans.h"
#include "tools/gcc-graph/inspect/inspect_precision.h"
#include "tools/gcc-graph/inspect/inspect_shapes.h"
#include "tools/gcc-graph/support/fail.h"

namespace gcg::tools {
namespace {

namespace fb = gart::fb;

constexpr const char* kDomain = "gart";
constexpr int64_t kIrVersion = 10, kOpset = 21;

std::string text(const flatbuffers::String* s) { return std::string(gart::view_of(s)); }

/// TensorProto.DataType of an element type. Older headers of ONNX lack the last names.
int onnx_type(fb::DType type) {
  using T = onnx::TensorProto;
  constexpr int kFloat8 = 17, kUint4 = 21, kInt4 = 22, kFloat4 = 23, kUint2 = 25, kInt2 = 26;
  constexpr int kTypes[] = {T::UNDEFINED, T::FLOAT, T::DOUBLE, T::FLOAT16,  T::BFLOAT16, T::INT8,
                            T::INT16,     T::INT32, T::INT64,  T::UINT8,    T::UINT16,   T::UINT32,
                            T::UINT64,    T::BOOL,  kFloat8,   kFloat8 + 1, kFloat8 + 2, kFloat8 + 3,
                            kFloat4,      kInt4,    kUint4,    kInt2,       kUint2};
  return kTypes[static_cast<size_t>(type)];
}

void describe(const fb::TensorInfo& info, SlotTexts& slots, onnx::ValueInfoProto& out) {
  out.set_name(text(info.name()));
  auto& type = *out.mutable_type()->mutable_tensor_type();
  type.set_elem_type(onnx_type(info.dtype()));
  auto& shape = *type.mutable_shape();
  for (const uint32_t slot : gart::span_of(info.dims())) {
    const std::string extent = slots(slot);
    const bool is_number =
        extent.size() < 19 && std::all_of(extent.begin(), extent.end(), [](char c) { return c >= '0' && c <= '9'; });
    auto& dim = *shape.add_dim();
    if (is_number)
      dim.set_dim_value(std::stoll(extent));
    else
      dim.set_dim_param(extent);
  }
}

onnx::AttributeProto& add_attribute(onnx::NodeProto& node, const char* name, onnx::AttributeProto::AttributeType type) {
  onnx::AttributeProto& attribute = *node.add_attribute();
  attribute.set_name(name);
  attribute.set_type(type);
  return attribute;
}
void add_text(onnx::NodeProto& node, const char* name, const std::string& value) {
  if (!value.empty()) add_attribute(node, name, onnx::AttributeProto::STRING).set_s(value);
}

/// Writes the steps of one plan as nodes. ONNX assigns each value once, so each write of a buffer makes a new value.
class PlanNodes {
 public:
  PlanNodes(const fb::Manifest& manifest, const fb::EntryPoint& entry, const fb::Plan& plan)
      : manifest_(manifest), entry_(entry), plan_(plan), slots_(entry, plan.program()) {}

  /// `Owner`: a GraphProto or a FunctionProto. Its outputs get the names of the entry point's outputs.
  template <class Owner>
  void add_to(Owner& owner) {
    const uint32_t last = plan_.sequences()->size() - 1;
    onnx::GraphProto steps;
    add_sequence(last, steps, 0);
    for (onnx::NodeProto& constant : constants_) *owner.add_node() = std::move(constant);
    for (onnx::NodeProto& node : *steps.mutable_node()) *owner.add_node() = std::move(node);
    for (uint32_t i = 0; i < gart::count_of(plan_.buffers()); ++i)
      if (const fb::Buffer& b = *plan_.buffers()->Get(i); b.kind() == fb::BufferKind::output && b.alias_of() < 0)
        add_output(b, i, owner);
  }
  const std::set<std::string>& domains() const { return domains_; }

 private:
  uint32_t root(uint32_t buffer) const {
    const int32_t of = plan_.buffers()->Get(buffer)->alias_of();
    return of < 0 ? buffer : static_cast<uint32_t>(of);
  }

  /// The value that a step reads from the buffer; "" if nothing has written it.
  std::string read(uint32_t buffer) {
    const uint32_t at = root(buffer);
    if (const auto known = values_.find(at); known != values_.end()) return known->second;
    const fb::Buffer& b = *plan_.buffers()->Get(at);
    if (b.kind() == fb::BufferKind::input) return text(entry_.inputs()->Get(b.index())->name());
    if (b.kind() != fb::BufferKind::constant && b.kind() != fb::BufferKind::packed) return "";
    return values_[at] = constant(b, at);
  }

  /// A node that represents constant data of the file.
  std::string constant(const fb::Buffer& b, uint32_t at) {
    onnx::NodeProto node;
    node.set_op_type("Constant");
    const std::string name = unique(concat(b.kind() == fb::BufferKind::packed ? "packed" : "weights", at));
    node.add_output(name);
    node.set_name(name);
    add_text(node, "value_string", concat(slots_(b.size()), " bytes at ", b.offset()));
    constants_.push_back(std::move(node));
    return name;
  }

  std::string written(uint32_t buffer) {
    const uint32_t at = root(buffer);
    return values_[at] = unique(concat("buffer", at));
  }

  /// Makes the name unique among all values, inputs and outputs.
  std::string unique(const std::string& name) {
    const auto is_taken = [&](const std::string& wanted) {
      const auto has = [&](const auto* infos) {
        for (uint32_t i = 0; i < gart::count_of(infos); ++i)
          if (text(infos->Get(i)->name()) == wanted) return true;
        return false;
      };
      return has(entry_.inputs()) || has(entry_.outputs()) || !names_.insert(wanted).second;
    };
    std::string wanted = name;
    for (size_t i = 2; is_taken(wanted); ++i) wanted = concat(name, ".", i);
    return wanted;
  }

  void name_node(const fb::Step& step, uint32_t number, onnx::NodeProto& node) {
    std::string domain = kDomain, type = fb::EnumNameStepKind(step.kind());
    if (step.kind() == fb::StepKind::launch) {
      const fb::Kernel& kernel = *plan_.kernels()->Get(step.kernel());
      type = text(kernel.name());
      const gart::KernelNote note = gart::parse_note(gart::view_of(kernel.note()));
      add_text(node, "note", note.text);
      add_text(node, "arithmetic", arithmetic_text(note.types));
    } else if (step.kind() == fb::StepKind::call) {
      domain = text(manifest_.libraries()->Get(step.call()->library())->name());
      type = fb::EnumNameOperation(step.call()->operation());
    }
    node.set_op_type(type.empty() ? "kernel" : type);
    node.set_domain(domain);
    node.set_name(concat("step ", number));
    node.set_doc_string(text(step.source()));
    add_attribute(node, "stream", onnx::AttributeProto::INT).set_i(step.stream());
    add_text(node, "message", text(step.message()));
    domains_.insert(domain);
  }

  /// Positions in `operands` that the step writes.
  static std::set<uint32_t> writes_of(const fb::Step& step) {
    if (step.kind() == fb::StepKind::copy || step.kind() == fb::StepKind::fill) return {0};
    const auto writes = gart::span_of(step.writes());
    return {writes.begin(), writes.end()};
  }

  void add_step(const fb::Step& step, uint32_t number, onnx::GraphProto& graph, int depth) {
    onnx::NodeProto& node = *graph.add_node();
    name_node(step, number, node);
    const std::set<uint32_t> writes = writes_of(step);
    const auto operands = gart::span_of(step.operands());
    std::set<uint32_t> changed;
    for (uint32_t i = 0; i < operands.size(); ++i) {
      const bool is_part = plan_.buffers()->Get(operands[i])->alias_of() >= 0;
      // A step that writes only a part of a buffer also reads the buffer, because the rest keeps its contents.
      const std::string from = writes.count(i) == 0 || is_part ? read(operands[i]) : "";
      if (writes.count(i) == 0 || !from.empty()) node.add_input(from);
      if (writes.count(i) != 0) changed.insert(root(operands[i]));
    }
    if (const fb::Loop* loop = step.loop())
      for (const int32_t buffer : {loop->trip_count(), loop->condition()})
        if (buffer >= 0) node.add_input(read(static_cast<uint32_t>(buffer)));
    add_bodies(step, node, changed, depth);
    for (const uint32_t buffer : changed) node.add_output(written(buffer));
  }

  /// The outputs of the step are all values that its bodies write.
  void add_bodies(const fb::Step& step, onnx::NodeProto& node, std::set<uint32_t>& changed, int depth) {
    if (gart::count_of(step.bodies()) == 0) return;
    const std::map<uint32_t, std::string> before = values_;
    const bool is_branch = step.kind() == fb::StepKind::branch;
    for (uint32_t i = 0; i < step.bodies()->size(); ++i) {
      const char* name = !is_branch ? "body" : i == 0 ? "then_branch" : "else_branch";
      onnx::GraphProto& body = *add_attribute(node, name, onnx::AttributeProto::GRAPH).mutable_g();
      body.set_name(concat(name, " ", step.bodies()->Get(i)));
      add_sequence(step.bodies()->Get(i), body, depth + 1);
      for (const auto& [buffer, value] : values_) {
        const auto outer = before.find(buffer);
        const fb::BufferKind kind = plan_.buffers()->Get(buffer)->kind();
        if (kind == fb::BufferKind::constant || kind == fb::BufferKind::packed ||
            (outer != before.end() && outer->second == value))
          continue;
        changed.insert(buffer);
        body.add_output()->set_name(value);
      }
      for (auto value = values_.begin(); value != values_.end();) {
        const auto outer = before.find(value->first);
        const fb::BufferKind kind = plan_.buffers()->Get(value->first)->kind();
        const bool stays = kind == fb::BufferKind::constant || kind == fb::BufferKind::packed;
        if (outer != before.end()) value->second = outer->second;
        value = outer == before.end() && !stays ? values_.erase(value) : std::next(value);
      }
    }
  }

  void add_sequence(uint32_t sequence, onnx::GraphProto& graph, int depth) {
    constexpr int kMostDepth = 64;  // the verifier's limit
    if (depth > kMostDepth) return;
    const fb::Sequence& steps = *plan_.sequences()->Get(sequence);
    for (uint32_t i = 0; i < gart::count_of(steps.steps()); ++i) add_step(*steps.steps()->Get(i), i, graph, depth);
  }

  /// Adds an Identity node that gives the last value of an output buffer the name of the output.
  template <class Owner>
  void add_output(const fb::Buffer& buffer, uint32_t at, Owner& owner) {
    onnx::NodeProto& node = *owner.add_node();
    node.set_op_type("Identity");
    node.set_name(concat("output ", buffer.index()));
    const std::string value = read(at);
    if (value.empty()) node.set_op_type("Constant"), add_text(node, "value_string", "no step writes this output");
    if (!value.empty()) node.add_input(value);
    node.add_output(text(entry_.outputs()->Get(buffer.index())->name()));
  }

  const fb::Manifest& manifest_;
  const fb::EntryPoint& entry_;
  const fb::Plan& plan_;
  SlotTexts slots_;
  std::map<uint32_t, std::string> values_;  // by root buffer: the name of its current value
  std::vector<onnx::NodeProto> constants_;
  std::set<std::string> names_, domains_;
};

std::string title(const fb::Manifest& manifest, const fb::EntryPoint& entry, const fb::Plan& plan) {
  std::string out = concat(text(entry.name()), " ", text(manifest.targets()->Get(plan.target())->name()));
  for (uint32_t i = 0; i < gart::count_of(plan.fixed()); ++i)
    if (plan.fixed()->Get(i) >= 0) out += concat(" ", text(entry.symbols()->Get(i)->name()), "=", plan.fixed()->Get(i));
  return out;
}

template <class Owner>
void import_domains(const std::set<std::string>& domains, Owner& owner) {
  const auto import = [&](const std::string& domain, int64_t version) {
    auto& entry = *owner.add_opset_import();
    entry.set_domain(domain);
    entry.set_version(version);
  };
  import("", kOpset);
  for (const std::string& domain : domains) import(domain, 1);
}

void add_graph(const fb::Manifest& manifest, const fb::EntryPoint& entry, const fb::Plan& plan, onnx::GraphProto& graph,
               std::set<std::string>& domains) {
  graph.set_name(title(manifest, entry, plan));
  SlotTexts slots(entry, entry.program());
  for (uint32_t i = 0; i < gart::count_of(entry.inputs()); ++i)
    describe(*entry.inputs()->Get(i), slots, *graph.add_input());
  for (uint32_t i = 0; i < gart::count_of(entry.outputs()); ++i)
    describe(*entry.outputs()->Get(i), slots, *graph.add_output());
  PlanNodes nodes(manifest, entry, plan);
  nodes.add_to(graph);
  domains.insert(nodes.domains().begin(), nodes.domains().end());
}

void add_function(const fb::Manifest& manifest, const fb::EntryPoint& entry, const fb::Plan& plan, size_t number,
                  onnx::FunctionProto& function) {
  function.set_name(concat("plan ", number, ": ", title(manifest, entry, plan)));
  function.set_domain("gart.plan");
  for (uint32_t i = 0; i < gart::count_of(entry.inputs()); ++i)
    function.add_input(text(entry.inputs()->Get(i)->name()));
  for (uint32_t i = 0; i < gart::count_of(entry.outputs()); ++i)
    function.add_output(text(entry.outputs()->Get(i)->name()));
  PlanNodes nodes(manifest, entry, plan);
  nodes.add_to(function);
  import_domains(nodes.domains(), function);
}

}  // namespace

std::string onnx_text(const gart::ArtifactView& artifact) {
  const fb::Manifest& manifest = *artifact.manifest;
  onnx::ModelProto model;
  std::set<std::string> domains = {kDomain};
  size_t number = 0;
  for (const fb::EntryPoint* entry : *manifest.entry_points())
    for (uint32_t i = 0; i < gart::count_of(entry->plans()); ++i)
      if (!model.has_graph())
        add_graph(manifest, *entry, *entry->plans()->Get(i), *model.mutable_graph(), domains);
      else
        add_function(manifest, *entry, *entry->plans()->Get(i), ++number, *model.add_functions());
  if (model.functions_size() > 0) domains.insert("gart.plan");
  import_domains(domains, model);
  model.set_ir_version(kIrVersion);
  model.set_producer_name("gcc-graph");
  if (const fb::Provenance* provenance = manifest.provenance()) model.set_doc_string(text(provenance->model()));
  std::string out;
  if (!model.SerializeToString(&out)) fail("the plans are too large for an ONNX file");
  return out;
}

}  // namespace gcg::tools
