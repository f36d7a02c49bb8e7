#include "tools/serve/model_json.h"

#include <algorithm>

#include "tools/serve/datatypes.h"
#include "tools/serve/json_elements.h"

namespace gcg::serve {
namespace {

std::string shape_json(const gart::TensorInfo& info) {
  std::string out = "[";
  for (const std::string& extent : info.dims) {
    const bool is_number = !extent.empty() && std::ranges::all_of(extent, [](char c) { return c >= '0' && c <= '9'; });
    out += (out.size() > 1 ? "," : "") + (is_number ? extent : std::string("-1"));
  }
  return out + "]";
}

std::string tensors_json(std::span<const gart::TensorInfo> infos, const char* type_key, const char* shape_key,
                         const char* type_prefix) {
  std::string out = "[";
  for (const gart::TensorInfo& info : infos) {
    if (out.size() > 1) out += ',';
    out += "{\"name\":" + in_quotes(info.name) + ",\"" + type_key + "\":\"" + type_prefix +
           std::string(datatype_name(info.dtype)) + "\",\"" + shape_key + "\":" + shape_json(info) + "}";
  }
  return out + "]";
}

std::string escaped(const std::string& text) {
  std::string out;
  for (const char c : text) {
    if (c == '<')
      out += "&lt;";
    else if (c == '&')
      out += "&amp;";
    else if (c == '"')
      out += "&quot;";
    else
      out += c;
  }
  return out;
}

}  // namespace

std::string metadata_json(const Model& model) {
  return "{\"name\":" + in_quotes(model.id()) + ",\"versions\":[\"" + model.version() +
         "\"],\"platform\":\"gart\",\"inputs\":" + tensors_json(model.inputs(""), "datatype", "shape", "") +
         ",\"outputs\":" + tensors_json(model.outputs(""), "datatype", "shape", "") + "}";
}

std::string configuration_json(const Model& model) {
  std::string entries = "{";
  for (const gart::store::Operation& operation : model.stored().facts.operations)
    entries += (entries.size() > 1 ? "," : "") + in_quotes("entry." + operation.entry) + ":{\"string_value\":\"" +
               operation.kind + "\"}";
  const bool sequential = model.is_sequential("");
  return "{\"name\":" + in_quotes(model.id()) +
         ",\"platform\":\"gart\",\"backend\":\"gart\",\"version_policy\":" + "{\"specific\":{\"versions\":[" +
         model.version() +
         "]}},\"max_batch_size\":0,\"input\":" + tensors_json(model.inputs(""), "data_type", "dims", "TYPE_") +
         ",\"output\":" + tensors_json(model.outputs(""), "data_type", "dims", "TYPE_") +
         (model.stored().rows > 1 ? ",\"dynamic_batching\":{\"max_queue_delay_microseconds\":0}" : "") +
         (sequential ? ",\"sequence_batching\":{}" : "") +
         ",\"instance_group\":[{\"name\":" + in_quotes(model.device()) + ",\"kind\":\"" +
         (model.device().starts_with("cuda") ? "KIND_GPU" : "KIND_CPU") + "\",\"count\":1}]" +
         ",\"parameters\":" + entries + "}}";
}

std::string page_html(const std::vector<gart::store::StoredVersion>& versions,
                      const std::function<bool(const gart::store::StoredVersion&)>& is_loaded) {
  std::string out =
      "<!DOCTYPE html><html lang=\"en\"><meta charset=\"utf-8\"><title>gcc-graph serve</title><style>body{font:16px "
      "sans-serif;margin:2em}td,th{padding:.3em 1em;text-align:left;border-bottom:1px solid #ccc}</style>"
      "<h1>Models</h1><table><tr><th>Model<th>Version<th>State<th>Operations<th>Groups<th>Bytes<th>Digest</tr>";
  for (const auto& v : versions) {
    std::string operations, groups;
    for (const auto& o : v.facts.operations) operations += (operations.empty() ? "" : ", ") + o.entry + ": " + o.kind;
    for (const auto& g : v.facts.groups) groups += (groups.empty() ? "" : ", ") + g.name + " on " + g.device;
    out += "<tr><td><a href=\"/v2/models/" + v.id + "/versions/" + std::to_string(v.version) + "\">" + v.id +
           "</a><td>" + std::to_string(v.version) + "<td>" + (is_loaded(v) ? "loaded" : "not loaded") + "<td>" +
           escaped(operations) + "<td>" + escaped(groups) + "<td>" + std::to_string(v.bytes) + "<td>" + v.digest +
           "</tr>";
  }
  return out + "</table></html>\n";
}

}  // namespace gcg::serve
