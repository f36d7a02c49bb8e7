#include "tools/gcc-graph/inspect/inspect_assembly.h"

#include <algorithm>
#include <iomanip>
#include <iostream>
#include <map>
#include <set>

#include "artifact_schema/shape_program.h"
#include "artifact_schema/spans.h"
#include "assembly_generated.h"
#include "gcc_graph/fleet.h"
#include "tools/gcc-graph/support/fail.h"

namespace gcg::tools {
namespace {

namespace fb = gart::fb;
using Json = nlohmann::ordered_json;

std::string text(const flatbuffers::String* s) { return s == nullptr ? "" : s->str(); }

Json texts(const flatbuffers::Vector<flatbuffers::Offset<flatbuffers::String>>* list) {
  Json out = Json::array();
  if (list != nullptr)
    for (const auto* s : *list) out.push_back(text(s));
  return out;
}

/// The values that cross between groups, with their makers and readers.
class Crossings {
 public:
  explicit Crossings(const fb::Assembly& assembly)
      : assembly_(assembly), slots_(symbols() + gart::span_of(assembly.program()).size()) {
    for (size_t s = 0; s < symbols(); ++s) {
      const fb::PartSymbol& symbol = *assembly.symbols()->Get(static_cast<uint32_t>(s));
      slots_.set(s, symbol.typical() > 0 ? static_cast<int64_t>(symbol.typical()) : gcc_graph::kTypicalExtent);
      names_.push_back(text(symbol.name()));
    }
    typical_ = gart::evaluate(gart::span_of(assembly.program()), symbols(), slots_).ok();
    for (const auto* call : *assembly.calls()) {
      for (uint32_t v : gart::span_of(call->outputs())) makers_[v] = call->group();
      for (uint32_t v : gart::span_of(call->inputs())) readers_[v].insert(call->group());
    }
  }

  /// The values that cross between groups, each with its source, its readers and its bytes.
  Json list() const {
    Json out = Json::array();
    for (const auto& [v, groups] : readers_)
      for (uint32_t to : groups) {
        const auto maker = makers_.find(v);
        if (maker == makers_.end() || maker->second == to) continue;
        out.push_back({{"value", text(value(v).info()->name())},
                       {"from", group_name(maker->second)},
                       {"to", group_name(to)},
                       {"extents", extents(v)},
                       {"bytes", bytes(v)},
                       {"moves", device_of(maker->second) != device_of(to)}});
      }
    return out;
  }
  int64_t bytes_in(uint32_t group) const {
    int64_t sum = 0;
    for (const auto& [v, groups] : readers_)
      if (const auto maker = makers_.find(v); groups.count(group) && maker != makers_.end() && maker->second != group)
        sum += bytes(v);
    return sum;
  }
  int64_t bytes_out(uint32_t group) const {
    int64_t sum = 0;
    for (const auto& [v, maker] : makers_)
      if (const auto read = readers_.find(v);
          maker == group && read != readers_.end() && (read->second.size() > 1 || *read->second.begin() != group))
        sum += bytes(v);
    return sum;
  }

 private:
  size_t symbols() const { return assembly_.symbols() == nullptr ? 0 : assembly_.symbols()->size(); }
  const fb::PartValue& value(uint32_t v) const { return *assembly_.values()->Get(v); }
  std::string group_name(uint32_t g) const { return text(assembly_.groups()->Get(g)->name()); }
  uint32_t device_of(uint32_t g) const { return assembly_.groups()->Get(g)->device(); }
  std::string extents(uint32_t v) const {
    std::string out;
    for (uint32_t slot : gart::span_of(value(v).info()->dims()))
      out += (out.empty() ? "" : ",") + gart::describe_slot(gart::span_of(assembly_.program()), names_, slot);
    return out;
  }
  int64_t bytes(uint32_t v) const {
    int64_t n = gcc_graph::size_of(static_cast<gcc_graph::DType>(value(v).info()->dtype()));
    for (uint32_t slot : gart::span_of(value(v).info()->dims())) n *= typical_ ? slots_[slot] : 0;
    return n;
  }

  const fb::Assembly& assembly_;
  gart::Slots slots_;
  std::vector<std::string> names_;
  bool typical_ = false;
  std::map<uint32_t, uint32_t> makers_;  // the group that makes each value
  std::map<uint32_t, std::set<uint32_t>> readers_;
};

Json device_json(const fb::FleetDevice& d) {
  Json out = {{"name", text(d.name())}, {"kind", d.kind() == fb::TargetKind::cpu ? "cpu" : "cuda"}};
  if (d.kind() == fb::TargetKind::cpu)
    out["cores"] = std::vector<uint32_t>(gart::span_of(d.cores()).begin(), gart::span_of(d.cores()).end());
  else
    out["ordinal"] = d.ordinal();
  out["memory_bytes"] = d.memory();
  out["supports"] = texts(d.supports());
  out["denies"] = texts(d.denies());
  out["gflops"] = d.gflops();
  out["gbytes_per_s"] = d.gbytes_per_s();
  return out;
}

Json group_json(const fb::Manifest& m, const fb::Assembly& a, uint32_t number, const Crossings& crossings) {
  const fb::Group& g = *a.groups()->Get(number);
  Json out = {{"name", text(g.name())}, {"device", text(a.devices()->Get(g.device())->name())}};
  out["support"] = Json::array();
  for (uint32_t d : gart::span_of(g.support())) out["support"].push_back(text(a.devices()->Get(d)->name()));
  out["nodes"] = Json::array();
  out["parts"] = Json::array();
  out["timeline"] = Json::array();
  std::set<std::string> seen;  // all nodes derived from one model node have its name
  for (const auto* call : *a.calls()) {
    if (call->group() != number) continue;
    for (const Json& node : texts(call->nodes()))
      if (seen.insert(node.get<std::string>()).second) out["nodes"].push_back(node);
    out["parts"].push_back(text(m.entry_points()->Get(call->entry())->name()));
    out["timeline"].push_back({{"begin_us", call->predicted_begin()}, {"end_us", call->predicted_end()}});
  }
  out["bytes_in"] = crossings.bytes_in(number);
  out["bytes_out"] = crossings.bytes_out(number);
  out["weight_bytes"] = g.weight_bytes();
  out["peak_bytes"] = g.peak_bytes();
  for (uint32_t i = 0; i < gart::span_of(g.predicted()).size(); ++i)
    out["predicted_us"][out["support"][i].get<std::string>()] = g.predicted()->Get(i);
  return out;
}

std::string str(const Json& s) { return s.get<std::string>(); }

std::string listed(const Json& names, size_t most) {
  std::string out;
  for (size_t i = 0; i < std::min(most, names.size()); ++i) out += (i ? ", " : "") + str(names[i]);
  if (names.size() > most) out += concat(", and ", names.size() - most, " more");
  return out;
}

void print_group(const Json& g) {
  std::cout << "  group " << str(g["name"]) << " on " << str(g["device"]) << " (of " << listed(g["support"], 6)
            << "): " << g["nodes"].size() << (g["nodes"].size() == 1 ? " node, " : " nodes, ") << g["parts"].size()
            << (g["parts"].size() == 1 ? " part" : " parts") << ", " << g["bytes_in"] << " bytes in, " << g["bytes_out"]
            << " out, " << g["weight_bytes"] << " of weights\n    " << listed(g["nodes"], 8) << '\n';
  for (const auto& t : g["timeline"])
    if (t["end_us"].get<double>() > 0)
      std::cout << "    predicted " << std::fixed << std::setprecision(1) << t["begin_us"].get<double>() << " to "
                << t["end_us"].get<double>() << " us\n"
                << std::defaultfloat;
  if (!g.contains("measured")) return;
  for (const auto& m : g["measured"])
    std::cout << "    measured from " << std::fixed << std::setprecision(1) << m["begin_us"].get<double>()
              << " us on: " << m["operation_us"].get<double>() << " us on " << str(m["device"])
              << (m["crossed"].get<bool>() ? " with inputs from another device" : "") << ", which waited "
              << m["idle_us"].get<double>() << " us before\n"
              << std::defaultfloat;
}

}  // namespace

void add_assembly(const gart::ArtifactView& artifact, Json& report) {
  if (artifact.assembly().empty()) return;
  const fb::Manifest& m = *artifact.manifest;
  const fb::Assembly& a = *fb::GetAssembly(artifact.assembly().data());
  const Crossings crossings(a);
  report["cut"] = text(a.cut());
  report["devices"] = Json::array();
  for (const auto* d : *a.devices()) report["devices"].push_back(device_json(*d));
  report["links"] = Json::array();
  if (a.links() != nullptr)
    for (const auto* l : *a.links())
      report["links"].push_back({{"from", text(a.devices()->Get(l->from())->name())},
                                 {"to", text(a.devices()->Get(l->to())->name())},
                                 {"gbytes_per_s", l->gbytes_per_s()},
                                 {"us", l->us()}});
  report["groups"] = Json::array();
  for (uint32_t g = 0; g < a.groups()->size(); ++g) report["groups"].push_back(group_json(m, a, g, crossings));
  report["crossings"] = crossings.list();
  report["kept"] = Json::array();
  for (const auto* v : *a.values())
    if (v->kept()) report["kept"].push_back(text(v->info()->name()));
  report["predicted_us"] = a.predicted();
}

void add_measurements(const gcc_graph::FleetProfile& profile, Json& report) {
  if (!report.contains("groups")) return;
  report["measured_us"] = profile.run_us;
  for (Json& group : report["groups"]) {
    group["measured"] = Json::array();
    for (const gcc_graph::GroupMeasurement& m : profile.groups)
      if (m.group == str(group["name"]))
        group["measured"].push_back({{"device", m.device},
                                     {"begin_us", m.begin_us},
                                     {"operation_us", m.operation_us},
                                     {"idle_us", m.idle_us},
                                     {"runs", m.runs},
                                     {"crossed", m.crossed}});
  }
}

void print_assembly(const Json& report) {
  if (!report.contains("groups")) return;
  std::cout << "cut by " << str(report["cut"]) << " for";
  for (const auto& d : report["devices"]) std::cout << ' ' << str(d["name"]);
  std::cout << ", predicted " << report["predicted_us"] << " us";
  if (report.contains("measured_us")) std::cout << ", measured " << report["measured_us"] << " us";
  std::cout << '\n';
  for (const auto& g : report["groups"]) print_group(g);
  for (const auto& c : report["crossings"])
    std::cout << "  " << str(c["value"]) << " [" << str(c["extents"]) << "], " << c["bytes"]
              << " bytes: " << str(c["from"]) << " -> " << str(c["to"])
              << (c["moves"].get<bool>() ? "" : " (on one device)") << '\n';
  if (!report["kept"].empty()) std::cout << "  kept: " << listed(report["kept"], 20) << '\n';
}

}  // namespace gcg::tools
