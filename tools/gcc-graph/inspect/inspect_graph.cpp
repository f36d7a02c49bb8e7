#include "tools/gcc-graph/inspect/inspect_graph.h"

#include <algorithm>
#include <map>
#include <set>

#include "page_text.h"
#include "tools/gcc-graph/support/fail.h"
#include "tools/gcc-graph/support/json_text.h"

namespace gcg::tools {
namespace {

namespace fb = gart::fb;
using Json = nlohmann::ordered_json;

std::string name_of(const fb::EntryPoint& entry, const fb::Buffer& b) {
  const auto* all = b.kind() == fb::BufferKind::input    ? entry.inputs()
                    : b.kind() == fb::BufferKind::output ? entry.outputs()
                                                         : nullptr;
  return all == nullptr || b.index() >= all->size() ? "" : all->Get(b.index())->name()->str();
}

/// A quoted text in Graphviz's language.
std::string quoted(const std::string& text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    out += static_cast<unsigned char>(c) < ' ' ? ' ' : c;
  }
  return out + '"';
}

/// The sources of a step, shortened to the longest text that is shown.
std::string shortened(const std::string& text) {
  constexpr size_t kMost = 60;
  return text.size() <= kMost ? text : text.substr(0, kMost) + "...";
}

/// The steps of one sequence and the edges between them.
void add_steps(const Json& sequence, const Json& buffers, const std::string& prefix, std::string& out) {
  const auto root = [&](uint64_t b) { return buffers[b].value("view_of", b); };
  std::map<uint64_t, size_t> writer;
  for (size_t i = 0; i < sequence.size(); ++i) {
    const Json& step = sequence[i];
    const std::string label = step.value("kernel", step["kind"].get<std::string>());
    out += concat("    ", prefix, i, " [label=", quoted(concat(i, " ", label)),
                  ", tooltip=", quoted(shortened(step["source"].get<std::string>())), "];\n");
    const std::set<size_t> writes = step.value("writes", std::set<size_t>());
    std::set<size_t> from;
    for (size_t k = 0; k < step["operands"].size(); ++k)
      if (const auto at = writer.find(root(step["operands"][k].get<uint64_t>()));
          writes.count(k) == 0 && at != writer.end())
        from.insert(at->second);
    for (const size_t f : from) out += concat("    ", prefix, f, " -> ", prefix, i, ";\n");
    for (const size_t k : writes) writer[root(step["operands"][k].get<uint64_t>())] = i;
  }
}

}  // namespace

Json buffer_list_json(const fb::EntryPoint& entry, const fb::Plan& plan, SlotTexts& slots) {
  Json list = Json::array();
  for (uint32_t i = 0; i < gart::count_of(plan.buffers()); ++i) {
    const fb::Buffer& b = *plan.buffers()->Get(i);
    const std::string bytes = slots(b.size());
    const bool is_number = std::all_of(bytes.begin(), bytes.end(), [](char c) { return c >= '0' && c <= '9'; });
    Json buffer = {{"kind", fb::EnumNameBufferKind(b.kind())}};
    buffer["bytes"] = is_number ? Json(std::stoull(bytes)) : Json(bytes);
    if (const std::string name = name_of(entry, b); !name.empty()) buffer["name"] = name;
    if (b.alias_of() >= 0)
      buffer["view_of"] = b.alias_of();
    else if (b.kind() == fb::BufferKind::temporary && plan.arena_bytes() != 0)
      buffer["offset"] = b.offset();
    list.push_back(std::move(buffer));
  }
  return list;
}

std::string html_page(Json report, Json times) {
  constexpr std::string_view kPlace = R"(<script type="application/json" id="data">{}</script>)";
  if (!times.is_null()) report["times"] = std::move(times);
  // A name may hold "</script>", which would end the element.
  std::string data;
  for (const char c : json_text(report))
    if (c == '<')
      data += "\\u003c";
    else
      data += c;
  std::string page = kPage;
  const size_t at = page.find(kPlace);
  return page.replace(at, kPlace.size(), concat(R"(<script type="application/json" id="data">)", data, "</script>"));
}

std::string dot_graphs(const Json& report) {
  std::string out;
  for (const char* entries : {"entry_points", "parts"})
    for (const Json& entry : report.value(entries, Json::array()))
      for (const Json& plan : entry["plans"]) {
        out += concat("digraph ",
                      quoted(concat(entry["name"].get<std::string>(), " ", plan["target"].get<std::string>(), " ",
                                    plan["shapes"].get<std::string>())),
                      " {\n  node [shape=box, fontname=\"sans-serif\"];\n");
        for (size_t s = 0; s < plan["sequences"].size(); ++s) {
          out += concat("  subgraph cluster_", s,
                        " {\n    label=", quoted(s + 1 == plan["sequences"].size() ? "" : concat("body ", s)), ";\n");
          add_steps(plan["sequences"][s], plan["buffer_list"], concat("s", s, "_"), out);
          out += "  }\n";
        }
        out += "}\n";
      }
  return out;
}

}  // namespace gcg::tools
