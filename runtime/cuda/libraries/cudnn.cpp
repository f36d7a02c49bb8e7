// Convolutions and attention by cuDNN: a graph of operations, for which the library's heuristic proposes engines. Uses
// the engine that was measured to be the fastest. If there is none, uses the first engine that is accurate enough and
// needs no more workspace than allowed.
#include <algorithm>

#include "runtime/cuda/driver/symbols.h"
#include "runtime/cuda/libraries/cudnn_descriptor.h"
#include "runtime/cuda/libraries/cudnn_engines.h"
#include "runtime/cuda/libraries/library.h"
#include "runtime/errors.h"

namespace gart::cuda {
namespace {

/// The heuristic's modes, in the order in which they are tried.
constexpr cudnnBackendHeurMode_t kModes[] = {CUDNN_HEUR_MODE_A, CUDNN_HEUR_MODE_FALLBACK};

constexpr char kSymbols[] =
#define GART_CUDNN_SYMBOL(result, name, ...) GART_SYMBOL(name)
    GART_CUDNN_FUNCTIONS(GART_CUDNN_SYMBOL)
#undef GART_CUDNN_SYMBOL
#define GART_CUDNN_SYMBOL(result, name, ...) GART_OPTIONAL_SYMBOL(name)
        GART_CUDNN_OPTIONAL_FUNCTIONS(GART_CUDNN_SYMBOL)
#undef GART_CUDNN_SYMBOL
    ;

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

class CudnnPlan final : public CallPlan {
 public:
  CudnnPlan(Cudnn& library, const CallProblem& p) : library_(library) {
    const CudnnGraph graph(library.dnn, library.handle, p);
    uids_ = graph.uids();
    scalars_ = graph.scalars();
    if (take_stored(graph, p)) return;
    cudnnStatus_t refusal = CUDNN_STATUS_NOT_SUPPORTED;
    for (const cudnnBackendHeurMode_t mode : kModes) {
      for (CudnnDescriptor& config : propose_engines(library.dnn, graph, mode, refusal)) {
        if (take(config, p, refusal)) return;
      }
    }
    check_cudnn(library.dnn, refusal, "the heuristic", p.step);
  }

  /// The usable engines of both modes. Afterwards the plan holds the last of them.
  std::vector<std::vector<int64_t>> algorithms(const CallProblem& p, size_t most) {
    const CudnnGraph graph(library_.dnn, library_.handle, p);
    std::vector<std::vector<int64_t>> all;
    cudnnStatus_t refusal = CUDNN_STATUS_SUCCESS;
    for (const cudnnBackendHeurMode_t mode : kModes) {
      for (CudnnDescriptor& config : propose_engines(library_.dnn, graph, mode, refusal)) {
        if (all.size() == most) return all;
        if (!take(config, p, refusal)) continue;
        std::vector<int64_t> numbers = numbers_of_engine(library_.dnn, *config_, p.step);
        if (std::find(all.begin(), all.end(), numbers) == all.end()) all.push_back(std::move(numbers));
      }
    }
    return all;
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
  /// Uses the engine that was measured on this kind of GPU, if the library accepts it.
  bool take_stored(const CudnnGraph& graph, const CallProblem& p) {
    const std::span<const int64_t> stored = p.algorithm(library_.device.sm(), library_.version());
    if (stored.empty()) return false;
    try {
      cudnnStatus_t refusal = CUDNN_STATUS_SUCCESS;
      parts_ = stored_engine(library_.dnn, graph, stored);
      return take(parts_.back(), p, refusal);
    } catch (const Failure& failure) {
      if (failure.error.code != ErrorCode::unsupported) throw;
      return false;
    }
  }

  bool take(CudnnDescriptor& config, const CallProblem& p, cudnnStatus_t& refusal) {
    const CudnnFunctions& dnn = library_.dnn;
    const EngineNotes notes = notes_of_engine(dnn, config, p);
    if (!notes.accurate) return false;
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
    populates_ = dnn.cudnnBackendPopulateCudaGraph != nullptr && notes.populates;
    config_ = std::make_unique<CudnnDescriptor>(std::move(config));
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
  std::vector<int64_t> uids_;  // ids of the call's tensors, in order, and of the scalars
  std::vector<float> scalars_;
  std::vector<CudnnDescriptor> parts_;  // descriptors that a stored configuration points to
  std::unique_ptr<CudnnDescriptor> config_, plan_;
  bool populates_ = false;
};

std::unique_ptr<CallPlan> Cudnn::plan(const CallProblem& problem) {
  return std::make_unique<CudnnPlan>(*this, problem);
}

}  // namespace

std::vector<std::vector<int64_t>> cudnn_algorithms(Library& library, const CallProblem& problem, size_t most) {
  return CudnnPlan(static_cast<Cudnn&>(library), problem).algorithms(problem, most);
}

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
