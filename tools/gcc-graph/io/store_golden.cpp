#include "tools/gcc-graph/io/store_golden.h"

#include <algorithm>
#include <map>

#include "tools/gcc-graph/io/exact_numbers.h"
#include "tools/gcc-graph/io/golden.h"
#include "tools/gcc-graph/io/model_inputs.h"
#include "tools/gcc-graph/io/rewrite_artifact.h"

namespace gcg::tools {
namespace {

bool is_open(const gart::Program& program, const std::string& extent) {
  const auto infos = program.inputs();
  return std::any_of(infos.begin(), infos.end(),
                     [&](const gart::TensorInfo& i) { return std::ranges::count(i.dims, extent) != 0; });
}

GoldenCase golden_case(const gart::Program& program, uint64_t seed, int cases, const std::vector<std::string>& dims) {
  InputOptions options;
  options.random_seed = static_cast<int64_t>(seed);
  for (const std::string& dim : dims)
    if (is_open(program, dim.substr(0, dim.find('=')))) options.dims.push_back(dim);
  NamedTensors inputs = collect_inputs(program.inputs(), options);
  GoldenCase out{seed, {}, {}};
  std::vector<gart::NamedTensor> views;
  for (auto& [name, tensor] : inputs) {
    tensor = exact_numbers(name, tensor.dtype, tensor.shape, seed);
    views.push_back({name, tensor.view()});
    out.inputs.push_back(golden_input(name, tensor.view()));
  }
  const auto count = static_cast<int64_t>(program.outputs().size());
  const int64_t most_bytes = kGoldenBytes / cases / std::max<int64_t>(count, 1);
  for (const gart::Tensor& t : value_or_throw(program.run(std::span<const gart::NamedTensor>(views))))
    out.outputs.push_back(golden_output(t.name(), t, most_bytes));
  return out;
}

}  // namespace

void remove_golden(gart::fb::ManifestT& manifest) {
  for (size_t i = 0; i + 1 < manifest.metadata.size(); i += 2)
    if (manifest.metadata[i] == kGoldenKey) {
      const auto at = manifest.metadata.begin() + static_cast<std::ptrdiff_t>(i);
      manifest.metadata.erase(at, at + 2);
      return;
    }
}

std::vector<uint8_t> with_golden(const std::vector<uint8_t>& artifact, const std::vector<uint8_t>& reference, int cases,
                                 const std::vector<std::string>& dims) {
  gart::LoadOptions load;
  load.device = "cpu";
  const gart::Program program = value_or_throw(gart::load(std::span<const uint8_t>(reference), load));
  std::vector<GoldenCase> all;
  for (int i = 1; i <= cases; ++i) all.push_back(golden_case(program, static_cast<uint64_t>(i), cases, dims));
  gart::ArtifactView view;
  const gart::Status status = gart::read_artifact(artifact, view, {.digests = false});
  if (!status.ok()) fail("--golden: ", status.message);
  return rewritten(view, [&](gart::ArtifactContent& content) {
    std::map<std::string, std::string> sorted = {{kGoldenKey, golden_text(all)}};
    std::vector<std::string>& texts = content.manifest.metadata;
    for (size_t i = 0; i + 1 < texts.size(); i += 2) sorted.try_emplace(texts[i], texts[i + 1]);
    texts.clear();
    for (const auto& [name, value] : sorted) texts.insert(texts.end(), {name, value});
  });
}

}  // namespace gcg::tools
