#include "tools/gcc-graph/train/exchange.h"

#include <cstring>

namespace gcg::tools {
namespace {

// Names of the compiler: compiler/train/phases.h.
constexpr std::string_view kPartial = "partial.", kExchanged = "exchange.";

}  // namespace

Exchange::Exchange(const gart::Program& program, const std::vector<std::string>& phases) {
  for (const std::string& phase : phases) {
    by_phase_.emplace_back();
    for (const gart::TensorInfo& input : program.inputs(phase))
      if (input.name.starts_with(kExchanged))
        by_phase_.back().push_back({input.name, std::string(kPartial) + input.name.substr(kExchanged.size()), {}});
  }
}

gart::Result<void> Exchange::run(size_t phase, std::span<const std::unique_ptr<Replica>> replicas) {
  for (Shared& shared : by_phase_[phase]) {
    gart::TensorView all = replicas[0]->output(shared.share);
    const size_t bytes = static_cast<size_t>(all.shape.elements()) * gart::size_of(all.dtype);
    shared.memory.resize(bytes * replicas.size());
    for (size_t i = 0; i < replicas.size(); ++i)
      std::memcpy(shared.memory.data() + i * bytes, replicas[i]->output(shared.share).data, bytes);
    std::vector<int64_t> shape(all.shape.extents().begin(), all.shape.extents().end());
    shape.insert(shape.begin(), static_cast<int64_t>(replicas.size()));
    const gart::TensorView shares{shared.memory.data(), all.dtype, gart::Shape(shape), "cpu"};
    for (const auto& replica : replicas)
      if (auto set = replica->set_input(phase, shared.shares, shares); !set.ok()) return set;
  }
  return {};
}

}  // namespace gcg::tools
