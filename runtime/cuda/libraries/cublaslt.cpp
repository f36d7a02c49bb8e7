// Matrix products by cuBLASLt. The library expects contiguous columns, but our matrices mostly have contiguous rows.
// Therefore it computes the transposed product: transposed b times transposed a.
#include <algorithm>
#include <cstring>

#include "runtime/cuda/driver/symbols.h"
#include "runtime/cuda/libraries/cublaslt_api.h"
#include "runtime/cuda/libraries/library.h"
#include "runtime/errors.h"

namespace gart::cuda {
namespace {

struct Functions {
#define GART_CUBLASLT_MEMBER(result, name, ...) result (*name)(__VA_ARGS__) = nullptr;
  GART_CUBLASLT_FUNCTIONS(GART_CUBLASLT_MEMBER)
#undef GART_CUBLASLT_MEMBER
};

constexpr char kSymbols[] =
#define GART_CUBLASLT_SYMBOL(result, name, ...) GART_SYMBOL(name)
    GART_CUBLASLT_FUNCTIONS(GART_CUBLASLT_SYMBOL)
#undef GART_CUBLASLT_SYMBOL
    ;

/// Throws Failure unless the call `name` succeeded.
void check(const Functions& lt, cublasStatus_t status, const char* name, const std::string& step) {
  if (status == CUBLAS_STATUS_SUCCESS) return;
  const char* text = lt.cublasLtGetStatusName(status);
  fail(ErrorCode::unsupported, name, " of cuBLASLt ", library_version_text(lt.cublasLtGetVersion()), " failed",
       step.empty() ? "" : " in ", step, ": ", text == nullptr ? "status" : text, " (", status, ")");
}

cudaDataType data_type(fb::DType dtype, const std::string& step) {
  if (dtype == fb::DType::f32) return CUDA_R_32F;
  if (dtype == fb::DType::f16) return CUDA_R_16F;
  if (dtype == fb::DType::bf16) return CUDA_R_16BF;
  fail(ErrorCode::unsupported, step, ": cuBLASLt has no products of ", fb::EnumNameDType(dtype));
}

/// The format to which f32 factors are rounded; other factors are not rounded.
cublasComputeType_t compute_type(const CallProblem& p) {
  if (p.tensors[0].dtype != fb::DType::f32) return CUBLAS_COMPUTE_32F;
  switch (p.call->precision()) {
    case fb::Precision::tf32:
      return CUBLAS_COMPUTE_32F_FAST_TF32;
    case fb::Precision::fp16:
      return CUBLAS_COMPUTE_32F_FAST_16F;
    case fb::Precision::bf16:
      return CUBLAS_COMPUTE_32F_FAST_16BF;
    default:
      return CUBLAS_COMPUTE_32F;
  }
}

uint32_t epilogue(const fb::Call& call) {
  uint32_t epilogue = call.bias() ? CUBLASLT_EPILOGUE_BIAS : 0;
  if (call.activation() == fb::Activation::relu) epilogue |= CUBLASLT_EPILOGUE_RELU;
  if (call.activation() == fb::Activation::gelu_tanh) epilogue |= CUBLASLT_EPILOGUE_GELU;
  return epilogue == 0 ? uint32_t{CUBLASLT_EPILOGUE_DEFAULT} : epilogue;
}

/// The library's view of the transpose of one of our matrices.
struct TransposedView {
  int64_t rows, columns, stride;
  bool transposed;
};

TransposedView transposed_view(const CallTensor& t, const std::string& step) {
  const int64_t rows = t.extents[1], columns = t.extents[2], row_stride = t.strides[1], column_stride = t.strides[2];
  TransposedView s = {};
  if (columns == 1 || column_stride == 1) {
    s = {columns, rows, rows == 1 ? columns : row_stride, false};
  } else if (rows == 1 || row_stride == 1) {
    s = {rows, columns, columns == 1 ? rows : column_stride, true};
  }
  if (s.rows > 0 && s.stride >= s.rows) return s;
  fail(ErrorCode::unsupported, step, ": cuBLASLt takes no matrix of ", rows, " x ", columns, " elements with strides ",
       row_stride, " and ", column_stride);
}

class CublasLt final : public Library {
 public:
  CublasLt(Device& d, const Functions& functions) : lt(functions), capture(d), device(d) {}
  ~CublasLt() override {
    const CurrentContext current(device, std::nothrow);
    if (handle != nullptr) lt.cublasLtDestroy(handle);
  }
  uint64_t version() const override { return lt.cublasLtGetVersion(); }
  void start() override { check(lt, lt.cublasLtCreate(&handle), "cublasLtCreate", {}); }
  std::unique_ptr<CallPlan> plan(const CallProblem& problem) override;

  const Functions lt;
  Capture capture;
  Device& device;
  cublasLtHandle_t handle = nullptr;
};

/// Destroys its handle, even if the constructor of its owner failed.
struct Description {
  explicit Description(const Functions& functions) : lt(functions) {}
  ~Description() {
    if (handle != nullptr) lt.cublasLtMatmulDescDestroy(handle);
  }
  Description(const Description&) = delete;
  Description& operator=(const Description&) = delete;
  const Functions& lt;
  cublasLtMatmulDesc_t handle = nullptr;
};

class Layout {
 public:
  explicit Layout(const Functions& lt) : lt_(lt) {}
  ~Layout() {
    if (handle != nullptr) lt_.cublasLtMatrixLayoutDestroy(handle);
  }
  Layout(const Layout&) = delete;
  Layout& operator=(const Layout&) = delete;

  void make(const CallTensor& t, const TransposedView& s, const std::string& step) {
    check(lt_,
          lt_.cublasLtMatrixLayoutCreate(&handle, data_type(t.dtype, step), uint64_t(s.rows), uint64_t(s.columns),
                                         s.stride),
          "cublasLtMatrixLayoutCreate", step);
    if (t.extents[0] > INT32_MAX)
      fail(ErrorCode::unsupported, step, ": cuBLASLt takes no ", t.extents[0], " products at once");
    set(CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, int32_t(t.extents[0]), step);
    set(CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, t.strides[0], step);
  }
  cublasLtMatrixLayout_t handle = nullptr;

 private:
  template <class T>
  void set(cublasLtMatrixLayoutAttribute_t which, T value, const std::string& step) {
    check(lt_, lt_.cublasLtMatrixLayoutSetAttribute(handle, which, &value, sizeof value),
          "cublasLtMatrixLayoutSetAttribute", step);
  }
  const Functions& lt_;
};

class Preference {
 public:
  Preference(const Functions& lt, const CallProblem& p) : lt_(lt), step_(p.step) {
    check(lt, lt.cublasLtMatmulPreferenceCreate(&handle), "cublasLtMatmulPreferenceCreate", step_);
    try {
      set(CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, uint64_t{p.call->workspace()});
      set(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, p.tensors[1].alignment());
      set(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES, p.tensors[0].alignment());
      set(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, (p.addend() ? *p.addend() : p.tensors[2]).alignment());
      set(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES, p.tensors[2].alignment());
    } catch (...) {
      lt_.cublasLtMatmulPreferenceDestroy(handle);
      throw;
    }
  }
  ~Preference() { lt_.cublasLtMatmulPreferenceDestroy(handle); }
  Preference(const Preference&) = delete;
  Preference& operator=(const Preference&) = delete;
  cublasLtMatmulPreference_t handle = nullptr;

 private:
  template <class T>
  void set(cublasLtMatmulPreferenceAttributes_t which, T value) {
    check(lt_, lt_.cublasLtMatmulPreferenceSetAttribute(handle, which, &value, sizeof value),
          "cublasLtMatmulPreferenceSetAttribute", step_);
  }
  const Functions& lt_;
  const std::string& step_;
};

class MatMulPlan final : public CallPlan {
 public:
  MatMulPlan(CublasLt& library, const CallProblem& p)
      : library_(library), scale_(p.call->scale()), bias_(p.call->bias()), addend_(p.call->addend()) {
    describe(p);
    layouts_[0].make(p.tensors[1], b_, p.step);
    layouts_[1].make(p.tensors[0], a_, p.step);
    layouts_[2].make(p.addend() ? *p.addend() : p.tensors[2], d_of(p.addend() ? *p.addend() : p.tensors[2], p.step),
                     p.step);
    layouts_[3].make(p.tensors[2], d_of(p.tensors[2], p.step), p.step);
    if (!take_stored(p)) take(propose(p, 1)[0]);
  }

  /// The heuristic's proposals, best first; at least one. Throws Failure.
  std::vector<cublasLtMatmulHeuristicResult_t> propose(const CallProblem& p, size_t most) const {
    const Preference preference(lt_, p);
    std::vector<cublasLtMatmulHeuristicResult_t> results(most);
    int count = 0;
    const cublasStatus_t status = lt_.cublasLtMatmulAlgoGetHeuristic(
        library_.handle, desc_.handle, layouts_[0].handle, layouts_[1].handle, layouts_[2].handle, layouts_[3].handle,
        preference.handle, int(most), results.data(), &count);
    check(lt_, status == CUBLAS_STATUS_SUCCESS && count == 0 ? cublasStatus_t{CUBLAS_STATUS_NOT_SUPPORTED} : status,
          "cublasLtMatmulAlgoGetHeuristic", p.step);
    check(lt_, results[0].state, "cublasLtMatmulAlgoGetHeuristic", p.step);
    results.resize(std::min(most, size_t(count)));
    return results;
  }

  CUgraph record(const std::vector<void*>& data, void* workspace, const std::string& step) override {
    if (bias_) set(CUBLASLT_MATMUL_DESC_BIAS_POINTER, static_cast<const void*>(data[3]), step);
    const float beta = addend_ ? 1 : 0;
    const void* addend = addend_ ? data.back() : data[2];
    return library_.capture.record(step, [&](CUstream stream) {
      check(lt_,
            lt_.cublasLtMatmul(library_.handle, desc_.handle, &scale_, data[1], layouts_[0].handle, data[0],
                               layouts_[1].handle, &beta, addend, layouts_[2].handle, data[2], layouts_[3].handle,
                               &algorithm_, workspace, workspace_bytes_, stream),
            "cublasLtMatmul", step);
    });
  }

 private:
  static TransposedView d_of(const CallTensor& t, const std::string& step) {
    const TransposedView s = transposed_view(t, step);
    if (!s.transposed) return s;
    if (s.columns > 1 && s.rows > 1) fail(ErrorCode::unsupported, step, ": cuBLASLt writes rows only");
    return {s.columns, s.rows, s.columns, false};
  }

  template <class T>
  void set(cublasLtMatmulDescAttributes_t which, T value, const std::string& step) {
    check(lt_, lt_.cublasLtMatmulDescSetAttribute(desc_.handle, which, &value, sizeof value),
          "cublasLtMatmulDescSetAttribute", step);
  }

  void describe(const CallProblem& p) {
    a_ = transposed_view(p.tensors[0], p.step);
    b_ = transposed_view(p.tensors[1], p.step);
    check(lt_, lt_.cublasLtMatmulDescCreate(&desc_.handle, compute_type(p), CUDA_R_32F), "cublasLtMatmulDescCreate",
          p.step);
    set(CUBLASLT_MATMUL_DESC_TRANSA, int32_t{b_.transposed ? CUBLAS_OP_T : CUBLAS_OP_N}, p.step);
    set(CUBLASLT_MATMUL_DESC_TRANSB, int32_t{a_.transposed ? CUBLAS_OP_T : CUBLAS_OP_N}, p.step);
    set(CUBLASLT_MATMUL_DESC_EPILOGUE, epilogue(*p.call), p.step);
    // The heuristic only uses the alignment of this address.
    if (p.bias())
      set(CUBLASLT_MATMUL_DESC_BIAS_POINTER, reinterpret_cast<const void*>(uintptr_t{p.bias()->alignment()}), p.step);
  }

  /// Uses the algorithm that was measured on this kind of GPU, if the library accepts it.
  bool take_stored(const CallProblem& p) {
    const std::span<const int64_t> transposed_view = p.algorithm(library_.device.sm(), lt_.cublasLtGetVersion());
    if (transposed_view.empty()) return false;
    cublasLtMatmulHeuristicResult_t known = {};
    std::memcpy(&known.algo, transposed_view.data(), sizeof known.algo);
    const cublasStatus_t status =
        lt_.cublasLtMatmulAlgoCheck(library_.handle, desc_.handle, layouts_[0].handle, layouts_[1].handle,
                                    layouts_[2].handle, layouts_[3].handle, &known.algo, &known);
    if (status != CUBLAS_STATUS_SUCCESS || known.workspaceSize > p.call->workspace()) return false;
    take(known);
    return true;
  }

  void take(const cublasLtMatmulHeuristicResult_t& choice) {
    algorithm_ = choice.algo;
    workspace_bytes_ = choice.workspaceSize;
  }

  CublasLt& library_;
  const Functions& lt_ = library_.lt;
  const float scale_;
  const bool bias_, addend_;
  TransposedView a_ = {}, b_ = {};
  Description desc_{lt_};
  Layout layouts_[4] = {Layout(lt_), Layout(lt_), Layout(lt_), Layout(lt_)};  // the library's A, B, C, D
  cublasLtMatmulAlgo_t algorithm_ = {};
  size_t workspace_bytes_ = 0;
};

std::unique_ptr<CallPlan> CublasLt::plan(const CallProblem& problem) {
  return std::make_unique<MatMulPlan>(*this, problem);
}

}  // namespace

std::vector<std::vector<int64_t>> cublaslt_algorithms(Library& library, const CallProblem& problem, size_t most) {
  std::vector<std::vector<int64_t>> all;
  for (const auto& proposed : MatMulPlan(static_cast<CublasLt&>(library), problem).propose(problem, most)) {
    if (proposed.state == CUBLAS_STATUS_SUCCESS)
      all.emplace_back(std::begin(proposed.algo.data), std::end(proposed.algo.data));
  }
  return all;
}

std::unique_ptr<Library> open_cublaslt(Device& device, std::string& reason) {
  SharedLibrary library({"libcublasLt.so.13", "libcublasLt.so.12"});
  Functions functions;
  if (!library.is_open() || !library.load(kSymbols, &functions)) {
    reason = library.reason();
    return nullptr;
  }
  return std::make_unique<CublasLt>(device, functions);
}

}  // namespace gart::cuda
