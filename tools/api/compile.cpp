#include "gcc_graph/compile.h"

#include <unistd.h>

#include <cstdio>
#include <fstream>

#include "codegen/cpu/cpu_backend.h"
#include "codegen/cuda/cuda_backend.h"
#include "codegen/library/library_binder.h"
#include "compiler/compile.h"
#include "compiler/export/export_onnx.h"
#include "tools/api/compile_state.h"
#include "tools/api/graph_state.h"
#include "tools/api/print_code.h"
#include "tools/api/remark_text.h"

namespace gcc_graph {
namespace {

gcg::Precision precision_of(const std::string& name) {
  for (const gcg::Precision p :
       {gcg::Precision::fp32, gcg::Precision::tf32, gcg::Precision::fp16, gcg::Precision::bf16})
    if (name == gcg::name_of(p)) return p;
  gcg::fail("there is no precision '", name, "'; expected fp32, tf32, fp16 or bf16");
}

gcg::LibraryOptions libraries_of(const std::vector<std::string>& names) {
  gcg::LibraryOptions libraries;
  if (names.empty() || names[0] == "none") return libraries;
  libraries.fallbacks = names[0] == "auto";
  libraries.binder = gcg::library::make_library_binder(libraries.fallbacks ? gcg::library::known_libraries() : names);
  return libraries;
}

}  // namespace

namespace detail {

gcg::CompileOptions own_options(const CompileOptions& requested) {
  gcg::CompileOptions options;
  options.targets = requested.targets;
  options.dims = requested.dims;
  for (const std::string& text : requested.assignments)
    options.cut.assignments.push_back(gcg::parse_node_request("--assign", text));
  options.precision = precision_of(requested.precision);
  options.libraries = libraries_of(requested.libraries);
  options.states = requested.states;
  options.state_capacity = requested.capacity;
  options.cache_window = requested.cache_window;
  if (!requested.train.empty()) options.train = gcg::Training{gcg::parse_train_options(requested.train), {}};
  options.memory_limit = requested.memory_limit;
  options.threads = requested.threads;
  options.passes.disabled = requested.disabled_passes;
  options.progress = requested.progress;
  return options;
}

gcg::Backends make_backends(const std::string& cache, std::ostream* code) {
  std::unique_ptr<gcg::Backend> cpu = gcg::cpu::make_cpu_backend();
  std::unique_ptr<gcg::Backend> cuda =
      cache.empty() ? gcg::cuda::make_cuda_backend() : gcg::cuda::make_cuda_backend(cache);
  gcg::Backends backends;
  backends.push_back(code == nullptr ? std::move(cpu) : printing_assembly(std::move(cpu), *code));
  backends.push_back(code == nullptr ? std::move(cuda) : printing_cuda(std::move(cuda), *code));
  return backends;
}

namespace {

CutReport given_cut(gcg::CutReport source) {
  CutReport cut{std::move(source.rules), {}, {}, source.predicted_us, source.whole_us, std::move(source.whole_on)};
  for (gcg::GroupReport& g : source.groups)
    cut.groups.push_back({std::move(g.name), std::move(g.device), std::move(g.devices), g.nodes, g.calls, g.bytes_in,
                          g.bytes_out, g.fusions_lost});
  for (gcg::TargetLaunches& row : source.launches)
    cut.launches.push_back({std::move(row.target), row.whole, row.parts});
  return cut;
}

}  // namespace

Compiled given_result(gcg::CompileResult source) {
  Compiled out;
  out.artifact = std::move(source.artifact);
  for (gcg::PlanReport& p : source.plans)
    out.plans.push_back({p.entry_point, p.entry, p.target, shapes_text(p), p.steps, p.kernels, std::move(p.calls),
                         p.arena_bytes, p.arena_lower_bound});
  if (source.cut) out.cut = given_cut(std::move(*source.cut));
  out.weight_bytes = source.weight_bytes;
  out.code_bytes = source.code_bytes;
  out.remarks = sentences_of(source.remarks);
  out.faster = sentences_of(source.faster);
  return out;
}

}  // namespace detail

Compiled compile(const Graph& graph, const CompileOptions& requested) {
  return detail::guarded([&] {
    const gcg::Backends backends = detail::make_backends(requested.cache);
    const detail::GraphState& state = *graph.state();
    gcg::CompileOptions options = detail::own_options(requested);
    options.labels = state.labels;
    options.metadata = state.metadata;
    options.same_dims = state.separated;
    return detail::given_result(gcg::compile(state.graph.clone(), state.source_hash, options, backends));
  });
}

void save(const Compiled& compiled, const std::string& path) {
  const std::string beside = path + ".tmp" + std::to_string(getpid());
  std::ofstream file(beside, std::ios::binary);
  file.write(reinterpret_cast<const char*>(compiled.artifact.data()),
             static_cast<std::streamsize>(compiled.artifact.size()));
  file.close();
  if (file.good() && std::rename(beside.c_str(), path.c_str()) == 0) return;
  std::remove(beside.c_str());
  throw Error("cannot write " + path);
}

std::vector<uint8_t> to_onnx(const Graph& graph) {
  const detail::GraphState& state = *graph.state();
  for (const gcg::ValueId input : state.graph.inputs)
    if (const std::string& name = state.graph.value(input).name; state.labels.count(name) != 0)
      throw Error("input '" + name + "' has strings, which an exported model cannot have");
  return detail::guarded([&] { return gcg::export_onnx(state.graph); });
}

}  // namespace gcc_graph
