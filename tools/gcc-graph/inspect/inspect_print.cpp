#include "tools/gcc-graph/inspect/inspect_print.h"

#include <iomanip>
#include <iostream>

#include "tools/gcc-graph/inspect/inspect_assembly.h"
#include "tools/gcc-graph/inspect/inspect_calls.h"
#include "tools/gcc-graph/inspect/inspect_weights.h"
#include "tools/gcc-graph/support/fail.h"
#include "tools/gcc-graph/support/json_text.h"

namespace gcg::tools {
namespace {

using Json = nlohmann::ordered_json;

std::string str(const Json& s) { return s.get<std::string>(); }

std::string tensor_text(const Json& t) {
  std::string dims;
  for (const auto& d : t["dims"]) dims += concat(dims.empty() ? "" : ",", str(d));
  return concat(str(t["name"]), " ", str(t["dtype"]), "[", dims, "]");
}

void print_kernel(const Json& k) {
  std::cout << "    " << std::setw(7) << json_text(k["bytes"], -1) << " bytes  " << str(k["name"]);
  if (k.contains("threads")) {
    std::cout << "  " << k["threads"] << " threads, " << k["registers"] << " registers, " << k["shared_bytes"]
              << " bytes shared";
    if (k["spill_bytes"] > 0) std::cout << ", " << k["spill_bytes"] << " bytes spilled";
  }
  std::cout << "  " << str(k["note"]) << '\n';
}

void print_step(const Json& s) {
  std::cout << "      ";
  std::cout << str(s["kind"]) << ' ';
  if (s.contains("stream")) std::cout << "stream " << s["stream"] << ' ';
  if (s.contains("kernel")) std::cout << str(s["kernel"]);
  std::cout << " buffers " << json_text(s["operands"], -1) << " waits " << json_text(s["waits"], -1)
            << (s.contains("overlaps") ? ", overlaps the previous launch" : "") << "  // " << str(s["source"]) << '\n';
}

void print_sequences(const Json& sequences) {
  for (size_t q = 0; q < sequences.size(); ++q) {
    std::cout << "    sequence " << q << '\n';
    for (const auto& s : sequences[q]) print_step(s);
  }
}

void print_mode(const Json& m) {
  std::cout << "    from " << m["threads"] << " threads on: intra " << m["intra"] << ", inter " << m["inter"]
            << ", replicas " << m["replicas"] << "; " << str(m["reason"]) << " (predicted " << m["predicted_us"]
            << " us; all threads on each step " << m["predicted_us_intra"] << ", one thread " << m["predicted_us_alone"]
            << ")\n";
}

void print_plan(const Json& p) {
  std::cout << "  plan " << str(p["target"]) << " [" << str(p["shapes"]) << "]: " << p["steps"] << " steps, "
            << p["kernels"] << " kernels, " << p["buffers"] << " buffers, ";
  if (p.contains("calls"))
    for (const auto& [library, calls] : p["calls"].items()) std::cout << calls << " calls of " << library << ", ";
  if (p.contains("modules"))
    std::cout << p["modules"] << " modules, " << p["streams"] << " streams, " << p["waits"] << " waits, ";
  if (p.contains("overlapping_launches")) std::cout << p["overlapping_launches"] << " overlapping launches, ";
  if (p.contains("packed_bytes")) std::cout << "makes " << p["packed_bytes"] << " bytes of weights, ";
  if (p["sized_per_shape"].get<bool>())
    std::cout << "arena sized per shape\n";
  else
    std::cout << "arena " << p["arena_bytes"] << " bytes (lower bound " << p["arena_lower_bound_bytes"] << ")\n";
  if (p.contains("modes"))
    for (const Json* last = nullptr; const auto& m : p["modes"]) {
      if (last == nullptr || m["reason"] != (*last)["reason"]) print_mode(m);
      last = &m;
    }
  for (const char* list : {"kernel_list", "call_list"})
    if (p.contains(list))
      for (const auto& row : p[list]) list == std::string_view("call_list") ? print_call(row) : print_kernel(row);
  if (p.contains("sequences")) print_sequences(p["sequences"]);
}

void print_state(const Json& s) {
  std::cout << "  state " << tensor_text(s);
  if (s["scope"] == "program") std::cout << " of the program";
  if (s.contains("read_only")) std::cout << ", only read";
  if (s.contains("initial_offset")) std::cout << ", begins with values in the weights";
  if (s.contains("grows")) {
    const Json& grows = s["grows"];
    std::cout << ", grows along axis " << grows["axis"] << (grows["in_place"].get<bool>() ? " in place" : "");
    if (grows.contains("capacity")) std::cout << " to at most " << grows["capacity"];
  }
  if (s.contains("updated_in_place")) std::cout << ", updated in place";
  std::cout << '\n';
}

void print_entry(const Json& e) {
  std::cout << "entry point " << str(e["name"]) << '\n';
  for (const auto& t : e["inputs"]) std::cout << "  in  " << tensor_text(t) << '\n';
  for (const auto& t : e["outputs"]) std::cout << "  out " << tensor_text(t) << '\n';
  for (const auto& t : e.value("states", Json::array())) print_state(t);
  if (e.contains("constraints"))
    for (const auto& c : e["constraints"]) std::cout << "  requires " << str(c) << '\n';
  for (const auto& p : e["plans"]) print_plan(p);
}

}  // namespace

void print_report(const Json& j) {
  std::cout << str(j["artifact"]) << ": " << j["bytes"] << " bytes, weights " << j["weight_bytes"] << " bytes";
  print_stored_twice(j);
  if (j.contains("provenance"))
    std::cout << "compiled by " << str(j["provenance"]["compiler"]) << " from model "
              << str(j["provenance"]["source_hash"]) << '\n';
  if (j.contains("golden")) std::cout << "golden vectors: " << j["golden"] << '\n';
  if (j.contains("metadata"))
    for (const auto& [name, value] : j["metadata"].items())
      std::cout << "metadata " << name << ": " << str(value) << '\n';
  for (const auto& t : j["targets"]) {
    std::cout << "target " << str(t["name"]) << ": " << t["code_bytes"] << " bytes of code";
    if (t.contains("driver")) std::cout << ", for drivers of CUDA " << str(t["driver"]) << " and newer";
    std::cout << '\n';
  }
  if (j.contains("libraries")) print_libraries(j["libraries"]);
  for (const auto& e : j["entry_points"]) print_entry(e);
  print_assembly(j);
  if (j.contains("parts"))
    for (const auto& e : j["parts"]) print_entry(e);
  if (!j.contains("load_time_packing")) return;
  std::cout << "load-time packing, on the GPU\n";
  for (const auto& p : j["load_time_packing"]["plans"]) print_plan(p);
}

}  // namespace gcg::tools
