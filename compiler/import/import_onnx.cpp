#include <onnx/onnx_pb.h>

#include "compiler/import/import.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <cstdio>
#include <filesystem>

#include "compiler/import/chosen_outputs.h"
#include "compiler/import/graph_importer.h"
#include "compiler/import/mapped_file.h"
#include "compiler/import/parse_model.h"
#include "compiler/import/separate_names.h"
#include "compiler/import/sequence_inputs.h"
#include "compiler/import/training_info.h"

namespace gcg {
namespace {

std::string hash_of(std::span<const uint8_t> bytes) {
  const XXH128_hash_t hash = XXH3_128bits(bytes.data(), bytes.size());
  char text[33];
  std::snprintf(text, sizeof text, "%016llx%016llx", static_cast<unsigned long long>(hash.high64),
                static_cast<unsigned long long>(hash.low64));
  return text;
}

/// Makes the model's graph the entry point `infer`, and the other graphs the entry points of training.
void import_training(const TrainingInfo& step, std::vector<FunctionLibrary> functions, const std::string& folder,
                     ImportedModel& result, std::vector<UnsupportedNode>& unsupported,
                     const std::vector<CustomOp>& custom_ops) {
  const Graph joined = std::move(result.graph);
  std::vector<Graph> entries = step.entries(joined);
  result.graph = std::move(entries[0]);
  result.training.push_back(std::move(entries[1]));
  if (step.initialization() == nullptr) return;
  GraphImporter importer(step.initialization(), std::move(functions), ExternalData(folder), custom_ops);
  result.training.push_back(step.initialize(importer.import_graph(), joined));
  unsupported.insert(unsupported.end(), importer.unsupported().begin(), importer.unsupported().end());
}

ImportedModel import_bytes(std::span<const uint8_t> bytes, const std::string& what, const std::string& folder,
                           const std::map<std::string, int64_t>& lengths, const std::vector<CustomOp>& custom_ops,
                           const std::vector<std::string>& libraries, const std::vector<std::string>& outputs,
                           bool training = false) {
  const auto model = parse_model(bytes, what);
  std::vector<FunctionLibrary> functions;
  for (const std::string& library : libraries) functions.push_back(read_library(library));
  ImportedModel result;
  result.sequences = spread_sequence_inputs(*model, lengths);
  choose_outputs(*model, outputs);
  std::optional<TrainingInfo> step;
  if (training) step = TrainingInfo::take(*model);
  GraphImporter importer(model, functions, ExternalData(folder), custom_ops);
  result.graph = importer.import_graph();
  if (step) import_training(*step, functions, folder, result, importer.unsupported(), custom_ops);
  result.labels = importer.text_labels();
  result.opsets = opset_versions(model->opset_import(), "the model");
  infer_imported(result.graph, result.opsets, importer.unsupported());
  for (Graph& graph : result.training) infer_imported(graph, result.opsets, importer.unsupported());
  importer.explain_calls(result.graph);
  if (!importer.unsupported().empty()) throw UnsupportedModel(std::move(importer.unsupported()));
  result.separated = separate_names(result.graph);
  for (const auto& tensor : model->graph().initializer()) result.initializers.insert(tensor.name());
  for (Graph& graph : result.training) result.separated.merge(separate_names(graph));
  result.calls = importer.calls();
  result.node_labels = importer.node_labels();
  result.source_hash = hash_of(bytes);
  for (const auto& property : model->metadata_props()) result.metadata[property.key()] = property.value();
  result.training_graphs = model->training_info_size();
  result.producer = model->producer_name();
  if (!model->producer_version().empty()) result.producer += " " + model->producer_version();
  return result;
}

}  // namespace

ImportedModel import_onnx(const std::string& path, const std::map<std::string, int64_t>& lengths,
                          const std::vector<CustomOp>& custom_ops, const std::vector<std::string>& libraries,
                          const std::vector<std::string>& outputs, bool training) {
  const auto file = MappedFile::open(path);
  const std::string folder = std::filesystem::path(path).parent_path().string();
  return import_bytes(file->bytes(), path, folder.empty() ? "." : folder, lengths, custom_ops, libraries, outputs,
                      training);
}

ImportedModel import_onnx(std::span<const uint8_t> bytes, const std::string& folder,
                          const std::vector<std::string>& libraries, const std::vector<std::string>& outputs) {
  return import_bytes(bytes, "the model", folder, {}, {}, libraries, outputs);
}

}  // namespace gcg
