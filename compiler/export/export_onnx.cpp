#include "compiler/export/export_onnx.h"

#include <onnx/onnx_pb.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <set>

#include "compiler/export/graph_exporter.h"
#include "compiler/export/standard_onnx.h"
#include "compiler/support/error.h"

namespace gcg {
namespace {

/// The first opset in which all older operators have their present form. Runtimes have read it since 2024.
constexpr int64_t kOldestWritten = 21;

int64_t ir_version_of(int64_t opset) {
  if (opset < 23) return 10;
  return opset < 25 ? opset - 12 : 13;
}

onnx::ModelProto model_of(const Graph& graph, const ExportOptions& options, ExternalWeights* external,
                          const std::string& location) {
  Graph written = graph.clone();
  to_standard_onnx(written);
  GraphExporter exporter(external, location);
  onnx::ModelProto model;
  *model.mutable_graph() = exporter.export_graph(written);
  const int64_t opset = opset_of(written, kOldestWritten);
  model.set_ir_version(ir_version_of(opset));
  model.set_producer_name(options.producer);
  const auto import = [&](const std::string& domain, int64_t version) {
    auto& entry = *model.add_opset_import();
    entry.set_domain(domain);
    entry.set_version(version);
  };
  import("", opset);
  for (const auto& [domain, version] : exporter.domains()) import(domain, version);
  for (const auto& [key, value] : options.metadata) {
    auto& entry = *model.add_metadata_props();
    entry.set_key(key);
    entry.set_value(value);
  }
  return model;
}

/// Total bytes of the constants; each constant is counted once.
int64_t constant_bytes(const Graph& graph, std::set<const Tensor*>& counted) {
  int64_t bytes = 0;
  for (int64_t i = 0; i < graph.value_count(); ++i) {
    const TensorRef& tensor = graph.value(ValueId(i)).constant;
    if (tensor != nullptr && counted.insert(tensor.get()).second) bytes += tensor->bytes();
  }
  for (NodeId id : graph.order())
    for (const auto& body : graph.node(id).bodies) bytes += constant_bytes(*body, counted);
  return bytes;
}
int64_t constant_bytes(const Graph& graph) {
  std::set<const Tensor*> counted;
  return constant_bytes(graph, counted);
}

/// Writes to a temporary file beside the target, then renames it.
class AtomicFile {
 public:
  explicit AtomicFile(std::string path)
      : path_(std::move(path)), temporary_(path_ + ".tmp" + std::to_string(getpid())) {}
  ~AtomicFile() { std::remove(temporary_.c_str()); }
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;

  void write(const std::function<bool(std::ostream&)>& content) {
    std::ofstream file(temporary_, std::ios::binary);
    const bool whole = file.good() && content(file);
    file.close();
    if (!whole || !file.good()) refuse();
  }
  void put_in_place() {
    if (std::rename(temporary_.c_str(), path_.c_str()) != 0) refuse();
  }

 private:
  [[noreturn]] void refuse() const { fail("cannot write ", path_, ": ", std::strerror(errno)); }

  std::string path_, temporary_;
};

bool write_weights(const ExternalWeights& weights, std::ostream& file) {
  for (size_t i = 0; i < weights.tensors.size(); ++i) {
    const auto gap = static_cast<size_t>(weights.offsets[i]) - static_cast<size_t>(file.tellp());
    file.write(std::string(gap, '\0').data(), static_cast<std::streamsize>(gap));
    const Tensor& tensor = *weights.tensors[i];
    file.write(reinterpret_cast<const char*>(tensor.data()), tensor.bytes());
  }
  return file.good();
}

}  // namespace

std::vector<uint8_t> export_onnx(const Graph& graph, const ExportOptions& options) {
  const auto refuse = [&](int64_t bytes) {
    fail("the model has ", bytes, " bytes; past ", options.most_bytes, " it must be written as a file");
  };
  if (const int64_t bytes = constant_bytes(graph); bytes > options.most_bytes) refuse(bytes);
  const onnx::ModelProto model = model_of(graph, options, nullptr, "");
  const size_t bytes = model.ByteSizeLong();
  if (static_cast<int64_t>(bytes) > options.most_bytes) refuse(static_cast<int64_t>(bytes));
  std::vector<uint8_t> out(bytes);
  GCG_CHECK(model.SerializeToArray(out.data(), static_cast<int>(bytes)), "a model of ", bytes, " bytes");
  return out;
}

void export_onnx(const Graph& graph, const std::string& path, const ExportOptions& options) {
  const std::string data_path = path + ".data";
  const bool is_large = constant_bytes(graph) > options.most_bytes;
  ExternalWeights weights;
  const onnx::ModelProto model =
      model_of(graph, options, is_large ? &weights : nullptr, std::filesystem::path(data_path).filename().string());
  if (static_cast<int64_t>(model.ByteSizeLong()) > options.most_bytes)
    fail("cannot write ", path, ": the model without its weights has ", model.ByteSizeLong(), " bytes; at most ",
         options.most_bytes, " are written");
  AtomicFile file(path), data(data_path);
  file.write([&](std::ostream& out) { return model.SerializeToOstream(&out); });
  if (!weights.tensors.empty()) {
    data.write([&](std::ostream& out) { return write_weights(weights, out); });
    data.put_in_place();
  }
  file.put_in_place();
}

}  // namespace gcg
