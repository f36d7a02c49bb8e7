#include <CLI/CLI.hpp>
#include <algorithm>
#include <iostream>
#include <nlohmann/json.hpp>
#include <set>

#include "artifact_schema/map_layout.h"
#include "artifact_schema/spans.h"
#include "artifact_schema/state_layout.h"
#include "tools/gcc-graph/commands/commands.h"
#include "tools/gcc-graph/fleet/read_fleet_profile.h"
#include "tools/gcc-graph/inspect/inspect_assembly.h"
#include "tools/gcc-graph/inspect/inspect_calls.h"
#include "tools/gcc-graph/inspect/inspect_graph.h"
#include "tools/gcc-graph/inspect/inspect_modes.h"
#include "tools/gcc-graph/inspect/inspect_onnx.h"
#include "tools/gcc-graph/inspect/inspect_precision.h"
#include "tools/gcc-graph/inspect/inspect_print.h"
#include "tools/gcc-graph/inspect/inspect_shapes.h"
#include "tools/gcc-graph/inspect/inspect_weights.h"
#include "tools/gcc-graph/inspect/step_times.h"
#include "tools/gcc-graph/io/artifact_file.h"
#include "tools/gcc-graph/io/golden.h"
#include "tools/gcc-graph/io/trust_option.h"
#include "tools/gcc-graph/io/write_file.h"
#include "tools/gcc-graph/support/fail.h"
#include "tools/gcc-graph/support/json_text.h"

namespace gcg::tools {
namespace {

namespace fb = gart::fb;
using Json = nlohmann::ordered_json;

struct Arguments {
  std::string artifact, profile, html, dot, onnx, times;
  bool json = false, kernels = false, steps = false, precision = false;
  TrustOption trust;
};

std::string text(const flatbuffers::String* s) { return s == nullptr ? "" : s->str(); }

template <class V>
size_t count(const V* v) {
  return v == nullptr ? 0 : v->size();
}

Json tensor_json(const fb::TensorInfo& t, SlotTexts& slots) {
  Json dims = Json::array();
  for (uint32_t d : gart::span_of(t.dims())) dims.push_back(slots(d));
  return {{"name", text(t.name())}, {"dtype", fb::EnumNameDType(t.dtype())}, {"dims", dims}};
}

/// A state with the extents that the model gives it.
Json state_json(const fb::EntryPoint& entry, uint32_t index, SlotTexts& slots) {
  const fb::State& state = *entry.states()->Get(index);
  const auto states = static_cast<uint32_t>(count(entry.states()));
  Json out = tensor_json(*entry.inputs()->Get(static_cast<uint32_t>(count(entry.inputs())) - states + index), slots);
  out["name"] = text(state.name());
  out["scope"] = state.scope() == fb::StateScope::program ? "program" : "session";
  if (state.initial() >= 0) out["initial_offset"] = state.initial();
  if (state.read_only()) out["read_only"] = true;
  if (state.axis() < 0 && state.in_place()) out["updated_in_place"] = true;
  if (state.axis() < 0) return out;
  auto& dims = out["dims"].get_ref<Json::array_t&>();
  std::rotate(dims.begin(), dims.begin() + 1, dims.begin() + state.axis() + 1);
  out["grows"] = {{"axis", state.axis()}, {"in_place", state.in_place()}};
  if (state.capacity() > 0) out["grows"]["capacity"] = state.capacity();
  return out;
}

bool is_cuda(const fb::Target& t) { return t.kind() != fb::TargetKind::cpu; }

Json kernel_json(const fb::Kernel& k, bool cuda) {
  const gart::KernelNote note = gart::parse_note(gart::view_of(k.note()));
  Json out = {{"name", text(k.name())}, {"bytes", k.size()}, {"offset", k.offset()}, {"note", note.text}};
  if (!note.types.left.empty()) out["arithmetic"] = arithmetic_text(note.types);
  if (!cuda) return out;
  out.update(
      {{"symbol", text(k.symbol())},
       {"threads", k.threads()},
       {"shared_bytes", k.shared()},
       {"registers", k.registers()},
       {"spill_bytes", k.spill_bytes()},
       {"may_fail", k.may_fail()},
       {"waits", k.waits()},
       {"cluster", k.cluster()},
       {"reads_ahead", std::vector<uint32_t>(gart::span_of(k.ahead()).begin(), gart::span_of(k.ahead()).end())}});
  return out;
}

template <class V>
Json numbers_json(const V* v) {
  return v == nullptr ? Json::array() : Json(std::vector<int64_t>(v->begin(), v->end()));
}

Json map_json(const fb::TensorMap& map) {
  Json out = {{"operand", map.operand()},
              {"dtype", fb::EnumNameDType(map.dtype())},
              {"swizzle", gart::swizzled_bytes(map.swizzle())},
              {"box", numbers_json(map.box())}};
  if (count(map.steps())) out["steps"] = numbers_json(map.steps());
  if (map.kind() != fb::MapKind::im2col) return out;
  out.update({{"pixels", map.pixels()}, {"lower", numbers_json(map.lower())}, {"upper", numbers_json(map.upper())}});
  return out;
}

Json step_json(const fb::Step& s, const fb::Plan& plan) {
  Json out = {{"kind", fb::EnumNameStepKind(s.kind())}, {"source", text(s.source())}};
  if (s.kind() == fb::StepKind::launch) out["kernel"] = text(plan.kernels()->Get(s.kernel())->name());
  out["operands"] =
      s.operands() ? std::vector<uint32_t>(s.operands()->begin(), s.operands()->end()) : std::vector<uint32_t>();
  if (plan.streams() > 1) out["stream"] = s.stream();
  if (count(s.writes())) out["writes"] = std::vector<uint32_t>(s.writes()->begin(), s.writes()->end());
  if (s.kind() == fb::StepKind::copy || s.kind() == fb::StepKind::fill) out["writes"] = {0};
  out["waits"] = s.waits() ? std::vector<uint32_t>(s.waits()->begin(), s.waits()->end()) : std::vector<uint32_t>();
  if (s.overlaps()) out["overlaps"] = true;
  for (uint32_t i = 0; i < count(s.maps()); ++i) out["maps"].push_back(map_json(*s.maps()->Get(i)));
  if (count(s.bodies())) out["bodies"] = std::vector<uint32_t>(s.bodies()->begin(), s.bodies()->end());
  return out;
}

std::string shapes_text(const fb::EntryPoint& entry, const fb::Plan& plan) {
  std::string out;
  for (uint32_t i = 0; i < count(plan.fixed()); ++i)
    if (plan.fixed()->Get(i) >= 0)
      out += concat(out.empty() ? "" : ",", text(entry.symbols()->Get(i)->name()), "=", plan.fixed()->Get(i));
  if (out.empty()) out = count(entry.symbols()) != 0 ? "symbolic" : "static";
  return count(plan.assumed()) != 0 ? out + ", equal extents" : out;
}

/// True if the plan's memory depends on extents that only a run knows.
bool is_open(const fb::EntryPoint& entry, const fb::Plan& plan) {
  for (uint32_t i = 0; i < count(entry.symbols()); ++i)
    if (i >= count(plan.fixed()) || plan.fixed()->Get(i) < 0) return true;
  return false;
}

/// The number of steps, and of edges that order them in addition to their streams.
std::pair<size_t, size_t> count_steps_and_waits(const fb::Plan& plan) {
  size_t steps = 0, waits = 0;
  for (const auto* sequence : *plan.sequences())
    for (uint32_t i = 0; i < count(sequence->steps()); ++i, ++steps) waits += count(sequence->steps()->Get(i)->waits());
  return {steps, waits};
}

/// Number of launches that may start while the previous launch runs.
size_t count_overlaps(const fb::Plan& plan) {
  size_t overlaps = 0;
  for (const auto* sequence : *plan.sequences())
    for (uint32_t i = 0; i < count(sequence->steps()); ++i) overlaps += sequence->steps()->Get(i)->overlaps();
  return overlaps;
}

size_t count_modules(const fb::Plan& plan) {
  std::set<uint64_t> offsets;
  for (uint32_t i = 0; i < count(plan.kernels()); ++i) offsets.insert(plan.kernels()->Get(i)->offset());
  return offsets.size();
}

Json target_json(const ArtifactFile& file, const fb::Target& t) {
  Json out = {
      {"name", text(t.name())},
      {"code_bytes", t.code_section() < 0 ? 0 : file.view.section(static_cast<size_t>(t.code_section())).size()}};
  if (!is_cuda(t)) {
    out["imports"] = count(t.imports());
    return out;
  }
  out["sm"] = t.sm();
  out["driver"] = concat(t.driver() / 1000, ".", t.driver() % 1000 / 10);
  return out;
}

void add_kernels(const fb::Manifest& m, const fb::EntryPoint& entry, const fb::Plan& plan, Json& out) {
  out["kernel_list"] = Json::array();
  for (uint32_t i = 0; i < count(plan.kernels()); ++i)
    out["kernel_list"].push_back(kernel_json(*plan.kernels()->Get(i), is_cuda(*m.targets()->Get(plan.target()))));
  out["call_list"] = call_list_json(m, plan, SlotTexts(entry, plan.program()));
}

Json plan_json(const fb::Manifest& m, const fb::EntryPoint& entry, const fb::Plan& plan, const Arguments& a) {
  const auto [steps, waits] = count_steps_and_waits(plan);
  const bool cuda = is_cuda(*m.targets()->Get(plan.target()));
  Json out = {{"target", text(m.targets()->Get(plan.target())->name())},
              {"shapes", shapes_text(entry, plan)},
              {"steps", steps},
              {"kernels", count(plan.kernels())},
              {"buffers", count(plan.buffers())},
              {"streams", plan.streams()},
              {"waits", waits},
              {"arena_bytes", plan.arena_bytes()},
              {"arena_lower_bound_bytes", plan.arena_lower_bound()},
              {"sized_per_shape", plan.arena_bytes() == 0 && is_open(entry, plan)}};
  if (cuda) out["modules"] = count_modules(plan);
  for (uint32_t i = 0; i < count(plan.modes()); ++i) out["modes"].push_back(mode_json(*plan.modes()->Get(i)));
  if (const size_t overlaps = count_overlaps(plan)) out["overlapping_launches"] = overlaps;
  if (Json calls = calls_json(m, plan); !calls.empty()) out["calls"] = calls;
  if (a.kernels) add_kernels(m, entry, plan, out);
  if (a.steps) {
    Json sequences = Json::array();
    for (const auto* sequence : *plan.sequences()) {
      Json list = Json::array();
      if (sequence->steps())
        for (const auto* s : *sequence->steps()) list.push_back(step_json(*s, plan));
      sequences.push_back(list);
    }
    out["sequences"] = sequences;
    SlotTexts slots(entry, plan.program());
    out["buffer_list"] = buffer_list_json(entry, plan, slots);
  }
  return out;
}

Json entry_json(const fb::Manifest& m, const fb::EntryPoint& entry, const Arguments& a) {
  SlotTexts slots(entry, entry.program());
  Json e = {
      {"name", text(entry.name())}, {"inputs", Json::array()}, {"outputs", Json::array()}, {"plans", Json::array()}};
  const auto states = static_cast<uint32_t>(count(entry.states()));
  const auto written = static_cast<uint32_t>(gart::written_states(entry));
  for (uint32_t i = 0; i + states < count(entry.inputs()); ++i)
    e["inputs"].push_back(tensor_json(*entry.inputs()->Get(i), slots));
  for (uint32_t i = 0; i + written < count(entry.outputs()); ++i)
    e["outputs"].push_back(tensor_json(*entry.outputs()->Get(i), slots));
  for (uint32_t i = 0; i < states; ++i) e["states"].push_back(state_json(entry, i, slots));
  for (uint32_t i = 0; i < count(entry.constraints()); ++i) {
    const fb::Constraint& c = *entry.constraints()->Get(i);
    const char* kind = c.kind() == fb::ConstraintKind::broadcast ? ", or one is 1"
                       : c.kind() == fb::ConstraintKind::assumed ? ", in some plans"
                                                                 : "";
    e["constraints"].push_back(concat(slots(c.a()), " == ", slots(c.b()), kind, " (", text(c.reason()), ")"));
  }
  for (uint32_t i = 0; i < count(entry.plans()); ++i)
    e["plans"].push_back(plan_json(m, entry, *entry.plans()->Get(i), a));
  return e;
}

Json describe(const ArtifactFile& file, const Arguments& a) {
  const fb::Manifest& m = *file.view.manifest;
  Json out = {{"artifact", a.artifact}, {"bytes", file.view.file.size()}, {"weight_bytes", file.view.weights().size()}};
  if (Json twice = stored_twice_json(m); !twice.empty()) out["stored_twice"] = twice;
  if (const auto* p = m.provenance())
    out["provenance"] = {
        {"compiler", text(p->compiler())}, {"source_hash", text(p->source_hash())}, {"model", text(p->model())}};
  for (uint32_t i = 0; i + 1 < count(m.metadata()); i += 2)
    if (const std::string name = text(m.metadata()->Get(i)); name == kGoldenKey)
      out["golden"] = parse_golden(text(m.metadata()->Get(i + 1))).size();
    else
      out["metadata"][name] = text(m.metadata()->Get(i + 1));
  Json targets = Json::array();
  for (const auto* t : *m.targets()) targets.push_back(target_json(file, *t));
  out["targets"] = targets;
  if (Json libraries = libraries_json(m); !libraries.empty()) out["libraries"] = libraries;
  out["entry_points"] = Json::array();
  for (const auto* entry : *m.entry_points())
    (entry->internal() ? out["parts"] : out["entry_points"]).push_back(entry_json(m, *entry, a));
  add_assembly(file.view, out);
  if (!a.profile.empty()) add_measurements(read_fleet_profile(a.profile, file.view), out);
  if (const fb::EntryPoint* entry = m.load_time_packing()) {
    out["load_time_packing"]["plans"] = Json::array();
    for (uint32_t i = 0; i < count(entry->plans()); ++i) {
      Json plan = plan_json(m, *entry, *entry->plans()->Get(i), a);
      plan["shapes"] = "load-time packing";
      plan["packed_bytes"] = entry->plans()->Get(i)->packed_bytes();
      out["load_time_packing"]["plans"].push_back(plan);
    }
  }
  return out;
}

void write_text(const std::string& path, const std::string& text) {
  write_file(path, {text.begin(), text.end()});
  std::cout << "wrote " << path << ": " << text.size() << " bytes\n";
}

void show_precision(const ArtifactFile& file, const Arguments& a) {
  Json report = {{"artifact", a.artifact}};
  report["entry_points"] = precision_json(*file.view.manifest, shapes_text);
  if (a.json)
    std::cout << json_text(report) << '\n';
  else
    print_precision(report);
}

void write_pictures(const ArtifactFile& file, Arguments a) {
  if (!a.onnx.empty()) write_text(a.onnx, onnx_text(file.view));
  if (a.html.empty() && a.dot.empty()) return;
  a.kernels = a.steps = true;
  const Json report = describe(file, a);
  if (!a.html.empty()) write_text(a.html, html_page(report, a.times.empty() ? Json() : read_step_times(a.times)));
  if (!a.dot.empty()) write_text(a.dot, dot_graphs(report));
}

}  // namespace

void add_inspect_command(CLI::App& app) {
  auto a = std::make_shared<Arguments>();
  CLI::App* c = app.add_subcommand("inspect", "Show what an artifact holds");
  c->add_option("artifact", a->artifact, "The .gart file")->required();
  c->add_flag("--json", a->json, "Print JSON");
  c->add_flag("--kernels", a->kernels, "List every plan's kernels");
  c->add_flag("--steps", a->steps, "List every plan's steps");
  c->add_flag("--precision", a->precision,
              "List the types in which each layer multiplies and sums on each target, and where they have fewer digits "
              "than the model's own");
  c->add_option("--profile", a->profile,
                "File of run or bench --monitor: prints when groups ran, and the predicted times");
  auto* html = c->add_option("--html", a->html,
                             "Write a page for browsers to this file: steps, streams, arena, kernels and weights");
  c->add_option("--dot", a->dot, "Write the steps as graphs in Graphviz's language to this file");
  c->add_option("--onnx", a->onnx,
                "Write the steps as an ONNX model, for viewers such as Netron, to this file; it cannot be run");
  c->add_option("--times", a->times, "File of bench --profile --json: shows on the page how long each step takes")
      ->needs(html);
  a->trust.add_to(*c);
  c->callback([a] {
    const ArtifactFile file = open_artifact(a->artifact, a->trust);
    if (!a->html.empty() || !a->dot.empty() || !a->onnx.empty()) return write_pictures(file, *a);
    if (a->precision) return show_precision(file, *a);
    const Json json = describe(file, *a);
    if (a->json)
      std::cout << json_text(json) << '\n';
    else
      print_report(json);
  });
}

}  // namespace gcg::tools
