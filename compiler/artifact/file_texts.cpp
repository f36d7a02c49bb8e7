#include "compiler/artifact/file_texts.h"

#include "artifact_schema/utf8.h"
#include "artifact_schema/verify.h"
#include "compiler/support/error.h"

namespace gcg {
namespace {

namespace fb = gart::fb;

constexpr size_t kMostBytes = size_t{1} << 16;  // the runtime accepts texts 16 times as long

void tidy(std::string& text) {
  if (text.size() > kMostBytes || text.find('\0') != std::string::npos) text = file_text(text);
}

/// Makes the names of one entry point's tensors fit for the file. Changed names get the tensor's number, so that no two
/// are equal.
void tidy(std::vector<std::unique_ptr<fb::TensorInfoT>>& tensors) {
  for (size_t i = 0; i < tensors.size(); ++i) {
    const std::string was = tensors[i]->name;
    tidy(tensors[i]->name);
    if (tensors[i]->name != was) tensors[i]->name += concat(" (", i, ")");
  }
}

void check_text(const std::string& text, const std::string& what) {
  if (text.find('\0') != std::string::npos) fail(what, " contains a NUL byte");
  if (text.size() > gart::kMaxStringBytes)
    fail(what, " has ", text.size(), " bytes, but at most ", gart::kMaxStringBytes, " are possible");
}

void tidy(fb::EntryPointT& entry) {
  tidy(entry.name);
  tidy(entry.inputs);
  tidy(entry.outputs);
  for (auto& constraint : entry.constraints) tidy(constraint->reason);
  for (auto& plan : entry.plans) {
    for (auto& kernel : plan->kernels) tidy(kernel->name), tidy(kernel->note);
    for (auto& sequence : plan->sequences)
      for (auto& step : sequence->steps) tidy(step->message), tidy(step->source);
  }
}

}  // namespace

std::string file_text(const std::string& text) {
  std::string out;
  for (const char c : text.substr(0, kMostBytes))
    if (c == '\0')
      out += "\\0";
    else
      out += c;
  if (text.size() <= kMostBytes) return out;
  while (!out.empty() && (out.back() & 0xc0) == 0x80) out.pop_back();  // removes an incomplete UTF-8 character
  if (!out.empty() && (out.back() & 0x80) != 0) out.pop_back();
  return out + "...";
}

std::string group_name(const std::string& text, const std::set<std::string>& taken) {
  std::string name = file_text(text);
  if (!gart::is_utf8(name))
    for (char& c : name)
      if ((c & 0x80) != 0) c = '?';
  std::string unique = name;
  for (int i = 2; taken.count(unique) != 0; ++i) unique = concat(name, " (", i, ")");
  return unique;
}

void check_interface(const Graph& graph, const std::map<std::string, std::vector<std::string>>& labels) {
  const auto named = [&](const char* kind, size_t i, ValueId v) {
    const std::string& name = graph.value(v).name;
    check_text(name, concat(kind, " ", i, ": its name '", file_text(name.substr(0, 40)), "'"));
  };
  for (size_t i = 0; i < graph.inputs.size(); ++i) named("input", i, graph.inputs[i]);
  for (size_t i = 0; i < graph.outputs.size(); ++i) named("output", i, graph.outputs[i]);
  for (const auto& [name, of] : labels)
    for (size_t i = 0; i < of.size(); ++i) check_text(of[i], concat("'", name, "': string ", i));
}

void check_entry_names(const Graph& model, const std::vector<Graph>& more) {
  std::set<std::string> names = {model.name};
  for (const Graph& other : more)
    if (!names.insert(other.name).second) fail("two entry points are called '", other.name, "'");
}

void tidy_texts(fb::ManifestT& manifest) {
  for (auto& entry : manifest.entry_points) tidy(*entry);
  if (manifest.load_time_packing != nullptr) tidy(*manifest.load_time_packing);
  tidy(manifest.provenance->model);
}

}  // namespace gcg
