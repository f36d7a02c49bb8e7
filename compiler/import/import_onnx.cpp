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

namespace gcg {
namespace {

std::string hash_of(std::span<const uint8_t> bytes) {
  const XXH128_hash_t hash = XXH3_128bits(bytes.data(), bytes.size());
  char text[33];
  std::snprintf(text, sizeof text, "%016llx%016llx", static_cast<unsigned long long>(hash.high64),
                static_cast<unsigned long long>(hash.low64));
  return text;
}

ImportedModel import_bytes(std::span<const uint8_t> bytes, const std::string& what, const std::string& folder,
                           const std::map<std::string, int64_t>& lengths, const std::vector<CustomOp>& custom_ops,
                           const std::vector<std::string>& libraries, const std::vector<std::string>& outputs) {
  const auto model = parse_model(bytes, what);
  std::vector<FunctionLibrary> functions;
  for (const std::string& library : libraries) functions.push_back(read_library(library));
  ImportedModel result;
  result.sequences = spread_sequence_inputs(*model, lengths);
  choose_outputs(*model, outputs);
  GraphImporter importer(model, std::move(functions), ExternalData(folder), custom_ops);
  result.graph = importer.import_graph();
  result.labels = importer.output_labels();
  result.opsets = opset_versions(model->opset_import(), "the model");
  infer_imported(result.graph, result.opsets, importer.unsupported());
  importer.explain_calls(result.graph);
  if (!importer.unsupported().empty()) throw UnsupportedModel(std::move(importer.unsupported()));
  result.separated = separate_names(result.graph);
  for (const auto& tensor : model->graph().initializer()) result.initializers.insert(tensor.name());
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
                          const std::vector<std::string>& outputs) {
  const auto file = MappedFile::open(path);
  const std::string folder = std::filesystem::path(path).parent_path().string();
  return import_bytes(file->bytes(), path, folder.empty() ? "." : folder, lengths, custom_ops, libraries, outputs);
}

ImportedModel import_onnx(std::span<const uint8_t> bytes, const std::string& folder,
                          const std::vector<std::string>& libraries, const std::vector<std::string>& outputs) {
  return import_bytes(bytes, "the model", folder, {}, {}, libraries, outputs);
}

}  // namespace gcg
