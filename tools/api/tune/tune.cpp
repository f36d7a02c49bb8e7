#include "gcc_graph/tune.h"

#include "compiler/import/import.h"
#include "tools/api/compile_state.h"
#include "tools/api/graph_state.h"
#include "tools/api/tuning_file.h"

#if GCC_GRAPH_CUDA_RUNTIME
#include "codegen/cuda/cuda_backend.h"
#include "tools/api/tune/call_tuner.h"
#include "tools/api/tune/kernel_tuner.h"
#endif

namespace gcc_graph {

#if GCC_GRAPH_CUDA_RUNTIME
namespace {

gcg::Target require_gpu_target(const std::string& name) {
  const std::vector<gcg::Target> targets = gcg::require_targets({name});
  if (targets.size() != 1 || targets[0].device != gcg::DeviceClass::cuda)
    gcg::fail("--target ", name, ": expected the target of one GPU");
  return targets[0];
}

Tuned measured(const std::string& path, const TuneOptions& requested, const std::optional<NamedText>& known) {
  gcg::CompileOptions options = detail::own_options(requested);
  if (options.targets.empty()) options.targets = {gcg::tune::target_of_gpu()};
  gcg::Target asking = require_gpu_target(options.targets.front());
  asking.precision = options.precision;
  gcg::TuningFile file;
  if (known) file = gcg::TuningFile::parse({known->text.begin(), known->text.end()}, known->name);
  const auto report = [&](const std::string& text) {
    if (requested.progress) requested.progress(text);
  };
  gcg::tune::Tuner tuner(file, {requested.launches, requested.again, requested.run_us}, report);
  const std::unique_ptr<gcg::Backend> backend =
      requested.cache.empty() ? gcg::cuda::make_cuda_backend() : gcg::cuda::make_cuda_backend(requested.cache);
  gcg::Backends backends;
  backends.push_back(std::make_unique<gcg::tune::KernelTuner>(*backend, tuner));
  std::shared_ptr<const gcg::tune::CallTuner> calls;
  if (options.libraries.binder)
    options.libraries.binder = calls = std::make_shared<gcg::tune::CallTuner>(options.libraries.binder, asking, tuner);
  gcg::ImportedModel model = gcg::import_onnx(path, {}, {}, requested.functions);
  options.same_dims = model.separated;
  gcg::compile(std::move(model.graph), model.source_hash, options, backends);
  const std::vector<uint8_t> json = file.bytes();
  Tuned out{options.targets.front(), {json.begin(), json.end()}, {}, {}, {}, {}, {}};
  out.measured = static_cast<int64_t>(tuner.measured());
  out.known = static_cast<int64_t>(tuner.known());
  out.in_all = static_cast<int64_t>(file.size());
  out.open = static_cast<int64_t>(tuner.open());
  if (calls) out.not_measured = calls->refusals();
  return out;
}

}  // namespace

Tuned tune(const std::string& model, const TuneOptions& options, const std::optional<NamedText>& known) {
  return detail::guarded([&] {
    try {
      return measured(model, options, known);
    } catch (const gcg::UnsupportedModel& error) {
      throw detail::given_error(error, {});
    }
  });
}
#else
Tuned tune(const std::string&, const TuneOptions&, const std::optional<NamedText>&) {
  throw Error("tuning measures on a GPU; this gcc-graph was built without GCC_GRAPH_CUDA_RUNTIME");
}
#endif

}  // namespace gcc_graph
