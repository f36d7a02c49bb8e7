#include <onnx/onnx_pb.h>

#include "compiler/import/import.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <cstdio>
#include <filesystem>
#include <limits>

#include "compiler/import/graph_importer.h"
#include "compiler/import/mapped_file.h"
#include "compiler/import/sequence_inputs.h"

namespace gcg {
namespace {

constexpr int64_t kNewestIrVersion = 13;

std::string hash_of(std::span<const uint8_t> bytes) {
  const XXH128_hash_t hash = XXH3_128bits(bytes.data(), bytes.size());
  char text[33];
  std::snprintf(text, sizeof text, "%016llx%016llx", static_cast<unsigned long long>(hash.high64),
                static_cast<unsigned long long>(hash.low64));
  return text;
}

std::shared_ptr<onnx::ModelProto> parse(std::span<const uint8_t> bytes, const std::string& what) {
  if (bytes.empty()) fail(what, " is empty");
  if (bytes.size() > std::numeric_limits<int>::max())
    fail(what, " has ", bytes.size(), " bytes; past 2 GiB a model must keep its weights in external files");
  auto model = std::make_shared<onnx::ModelProto>();
  if (!model->ParseFromArray(bytes.data(), static_cast<int>(bytes.size())))
    fail(what, " is not an ONNX model: its bytes are truncated, damaged, nested more than 100 deep or something else");
  if (model->ir_version() <= 0 || !model->has_graph())
    fail(what, " is not an ONNX model: it has no ", model->ir_version() <= 0 ? "IR version" : "graph");
  if (model->ir_version() > kNewestIrVersion)
    fail(what, " has IR version ", model->ir_version(), "; versions up to ", kNewestIrVersion, " are read");
  if (model->opset_import_size() == 0) fail(what, " imports no opset");
  return model;
}

ImportedModel import_bytes(std::span<const uint8_t> bytes, const std::string& what, const std::string& folder,
                           const std::map<std::string, int64_t>& lengths, const std::vector<CustomOp>& custom_ops) {
  const auto model = parse(bytes, what);
  ImportedModel result;
  result.sequences = spread_sequence_inputs(*model, lengths);
  GraphImporter importer(model, ExternalData(folder), custom_ops);
  result.graph = importer.import_graph();
  result.labels = importer.output_labels();
  result.opsets = opset_versions(model->opset_import(), "the model");
  infer_imported(result.graph, result.opsets, importer.unsupported());
  if (!importer.unsupported().empty()) throw UnsupportedModel(std::move(importer.unsupported()));
  result.source_hash = hash_of(bytes);
  for (const auto& property : model->metadata_props()) result.metadata[property.key()] = property.value();
  result.producer = model->producer_name();
  if (!model->producer_version().empty()) result.producer += " " + model->producer_version();
  return result;
}

}  // namespace

ImportedModel import_onnx(const std::string& path, const std::map<std::string, int64_t>& lengths,
                          const std::vector<CustomOp>& custom_ops) {
  const auto file = MappedFile::open(path);
  const std::string folder = std::filesystem::path(path).parent_path().string();
  return import_bytes(file->bytes(), path, folder.empty() ? "." : folder, lengths, custom_ops);
}

ImportedModel import_onnx(std::span<const uint8_t> bytes, const std::string& folder) {
  return import_bytes(bytes, "the model", folder, {}, {});
}

}  // namespace gcg
