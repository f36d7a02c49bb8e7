#include "compiler/import/parse_model.h"

#include <limits>

#include "compiler/support/error.h"

namespace gcg {

constexpr int64_t kNewestIrVersion = 13;

std::shared_ptr<onnx::ModelProto> parse_model(std::span<const uint8_t> bytes, const std::string& what) {
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

}  // namespace gcg
