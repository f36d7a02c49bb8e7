// Convolutions and attention by cuDNN: a graph of operations, for which the library's heuristic proposes engines; the first one that computes
// as accurately as asked and with the workspace allowed is taken.
#include <algorithm>

#include "runtime/cuda/cudnn_descriptor.h"
#include "runtime/cuda/cudnn_graph.h"
#include "runtime/cuda/library.h"
#include "runtime/errors.h"

namespace gart::cuda {
namespace {

constexpr SharedLibrary::Symbol kSymbols[] = {
#define GART_CUDNN_SYMBOL(result, name, ...) {#name, offsetof(CudnnFunctions, name), false},
    GART_CUDNN_FUNCTIONS(GART_CUDNN_SYMBOL)
#undef GART_CUDNN_SYMBOL
#define GART_CUDNN_SYMBOL(result, name, ...) {#name, offsetof(CudnnFunctions, name), true},
        GART_CUDNN_OPTIONAL_FUNCTIONS(GART_CUDNN_SYMBOL)
#undef GART_CUDNN_SYMBOL
};

class Cudnn final : public Library {
 public:
  Cudnn(Device& d, const CudnnFunctions& functions) : dnn(functions), capture(d), device(d) {}
  ~Cudnn() override {
    const CurrentContext current(device, std::nothrow);
    if (handle != nullptr) dnn.cudnnDestroy(handle);
  }
  uint64_t version() const override { return dnn.cudnnGetVersion(); }
  void start() override { check_cudnn(dnn, dnn.cudnnCreate(&handle), "cudnnCreate", {}); }
  std::unique_ptr<CallPlan> plan(const CallProblem& problem) override;

  const CudnnFunctions dnn;
  Capture capture;
  Device& device;
  cudnnHandle_t handle = nullptr;
};

/// May an engine with these notes compute what is asked?
bool is_accurate(const std::vector<int>& notes, const CallProblem& p) {
  const fb::Precision precision = p.call->precision();
  const bool f32 = p.tensors[0].dtype == fb::DType::f32;
  return std::none_of(notes.begin(), notes.end(), [&](int note) {
    switch (note) {
      case CUDNN_NUMERICAL_NOTE_TENSOR_CORE:
        return f32 && precision == fb::Precision::fp32;
      case CUDNN_NUMERICAL_NOTE_DOWN_CONVERT_INPUTS:
        return f32 && (precision == fb::Precision::fp32 || precision == fb::Precision::tf32);
      case CUDNN_NUMERICAL_NOTE_REDUCED_PRECISION_REDUCTION:
      case CUDNN_NUMERICAL_NOTE_NONDETERMINISTIC:
      case CUDNN_NUMERICAL_NOTE_WINOGRAD_TILE_13x13:
        return true;
      default:
        return false;
    }
  });
}

std::vector<int> notes_of(const CudnnDescriptor& engine, cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type) {
  std::vector<int> notes(static_cast<size_t>(engine.count(name, type)));
  if (!notes.empty()) notes.resize(size_t(std::min<int64_t>(engine.get(name, type, notes.data(), notes.size()), int64_t(notes.size()))));
  return notes;
}

class CudnnPlan final : public CallPlan {
 public:
  CudnnPlan(Cudnn& library, const CallProblem& p) : library_(library) {
    const CudnnGraph graph(library.dnn, library.handle, p);
    uids_ = graph.uids();
    scalars_ = graph.scalars();
    cudnnStatus_t refusal = CUDNN_STATUS_NOT_SUPPORTED;
    for (const cudnnBackendHeurMode_t mode : {CUDNN_HEUR_MODE_A, CUDNN_HEUR_MODE_FALLBACK}) {
      if (choose(graph, mode, p, refusal)) return;
    }
    check_cudnn(library.dnn, refusal, "the heuristic", p.step);
  }

  CUgraph record(const std::vector<void*>& data, void* workspace, const std::string& step) override {
    CudnnDescriptor pack(library_.dnn, CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR, step);
    pack.set_int64(CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS, uids_);
    std::vector<void*> pointers = data;
    for (float& scalar : scalars_) pointers.push_back(&scalar);
    pack.set(CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS, CUDNN_TYPE_VOID_PTR, pointers.data(), pointers.size());
    pack.set(CUDNN_ATTR_VARIANT_PACK_WORKSPACE, CUDNN_TYPE_VOID_PTR, &workspace);
    pack.finalize();
    return populates_ ? populate(pack, step) : execute(pack, step);
  }

 private:
  /// Takes the best engine that will do; false: none of this mode's.
  bool choose(const CudnnGraph& graph, cudnnBackendHeurMode_t mode, const CallProblem& p, cudnnStatus_t& refusal) {
    const CudnnFunctions& dnn = library_.dnn;
    CudnnDescriptor heuristic(dnn, CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR, p.step);
    heuristic.set(CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH, graph.operations());
    heuristic.set(CUDNN_ATTR_ENGINEHEUR_MODE, CUDNN_TYPE_HEUR_MODE, &mode);
    if (const cudnnStatus_t status = heuristic.try_finalize(); status != CUDNN_STATUS_SUCCESS) {
      refusal = status;
      return false;
    }
    const int64_t count = heuristic.count(CUDNN_ATTR_ENGINEHEUR_RESULTS, CUDNN_TYPE_BACKEND_DESCRIPTOR);
    std::vector<CudnnDescriptor> configs;
    std::vector<cudnnBackendDescriptor_t> handles;
    for (int64_t i = 0; i < count; ++i) {
      configs.emplace_back(dnn, CUDNN_BACKEND_ENGINECFG_DESCRIPTOR, p.step);
      handles.push_back(configs.back().handle());
    }
    const int64_t got =
        count == 0 ? 0 : heuristic.get(CUDNN_ATTR_ENGINEHEUR_RESULTS, CUDNN_TYPE_BACKEND_DESCRIPTOR, handles.data(), handles.size());
    for (int64_t i = 0; i < std::min(got, count); ++i) {
      if (!take(configs[size_t(i)], p, refusal)) continue;
      config_ = std::make_unique<CudnnDescriptor>(std::move(configs[size_t(i)]));
      return true;
    }
    return false;
  }

  bool take(const CudnnDescriptor& config, const CallProblem& p, cudnnStatus_t& refusal) {
    const CudnnFunctions& dnn = library_.dnn;
    const CudnnDescriptor engine(dnn, CUDNN_BACKEND_ENGINE_DESCRIPTOR, p.step);
    cudnnBackendDescriptor_t handle = engine.handle();
    config.get(CUDNN_ATTR_ENGINECFG_ENGINE, CUDNN_TYPE_BACKEND_DESCRIPTOR, &handle, 1);
    if (!is_accurate(notes_of(engine, CUDNN_ATTR_ENGINE_NUMERICAL_NOTE, CUDNN_TYPE_NUMERICAL_NOTE), p)) return false;
    CudnnDescriptor plan(dnn, CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR, p.step);
    plan.set(CUDNN_ATTR_EXECUTION_PLAN_HANDLE, CUDNN_TYPE_HANDLE, &library_.handle);
    plan.set(CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG, config);
    if (const cudnnStatus_t status = plan.try_finalize(); status != CUDNN_STATUS_SUCCESS) {
      refusal = status;
      return false;
    }
    int64_t workspace = 0;
    plan.get(CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE, CUDNN_TYPE_INT64, &workspace, 1);
    if (workspace > int64_t(p.call->workspace())) return false;
    const std::vector<int> behavior = notes_of(engine, CUDNN_ATTR_ENGINE_BEHAVIOR_NOTE, CUDNN_TYPE_BEHAVIOR_NOTE);
    populates_ = dnn.cudnnBackendPopulateCudaGraph != nullptr &&
                 std::find(behavior.begin(), behavior.end(), CUDNN_BEHAVIOR_NOTE_SUPPORTS_CUDA_GRAPH_NATIVE_API) != behavior.end();
    plan_ = std::make_unique<CudnnDescriptor>(std::move(plan));
    return true;
  }

  CUgraph populate(const CudnnDescriptor& pack, const std::string& step) {
    const Driver& driver = library_.device.driver;
    CUgraph graph = nullptr;
    library_.device.check(driver.cuGraphCreate(&graph, 0), "cuGraphCreate", step);
    const cudnnStatus_t status =
        library_.dnn.cudnnBackendPopulateCudaGraph(library_.handle, plan_->handle(), pack.handle(), graph);
    if (status != CUDNN_STATUS_SUCCESS) driver.cuGraphDestroy(graph);
    check_cudnn(library_.dnn, status, "cudnnBackendPopulateCudaGraph", step);
    return graph;
  }

  CUgraph execute(const CudnnDescriptor& pack, const std::string& step) {
    return library_.capture.record(step, [&](CUstream stream) {
      check_cudnn(library_.dnn, library_.dnn.cudnnSetStream(library_.handle, stream), "cudnnSetStream", step);
      check_cudnn(library_.dnn, library_.dnn.cudnnBackendExecute(library_.handle, plan_->handle(), pack.handle()),
                  "cudnnBackendExecute", step);
    });
  }

  Cudnn& library_;
  std::vector<int64_t> uids_;   // of the call's tensors, in their order, and of the scalars
  std::vector<float> scalars_;
  std::unique_ptr<CudnnDescriptor> config_, plan_;
  bool populates_ = false;
};

std::unique_ptr<CallPlan> Cudnn::plan(const CallProblem& problem) { return std::make_unique<CudnnPlan>(*this, problem); }

}  // namespace

std::unique_ptr<Library> open_cudnn(Device& device, std::string& reason) {
  SharedLibrary library({"libcudnn.so.9"});
  CudnnFunctions functions;
  if (!library.is_open() || !library.load(kSymbols, &functions)) {
    reason = library.reason();
    return nullptr;
  }
  return std::make_unique<Cudnn>(device, functions);
}

}  // namespace gart::cuda
