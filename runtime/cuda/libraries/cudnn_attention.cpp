// Attention as cuDNN's attention operation. If the scores have an addend, attention is built from single operations
// instead.
#include "runtime/cuda/libraries/cudnn_graph.h"
#include "runtime/errors.h"

namespace gart::cuda {
namespace {

/// The number of 16-bit elements that the library's engines read at once. Lines must begin at multiples of it, and head
/// sizes must be multiples of it.
constexpr int64_t kMultiple = 8, kMostHead = 128;
constexpr size_t kResult = 3;

void check(const CallProblem& p, const CallTensor& t) {
  const bool half = t.dtype == fb::DType::f16 || t.dtype == fb::DType::bf16;
  bool aligned = t.offset % kMultiple == 0 && t.strides[3] == 1;
  for (size_t d = 0; d < 3; ++d) aligned = aligned && t.strides[d] % kMultiple == 0;
  const int64_t head = t.extents[3];
  if (half && t.dtype == p.tensors[0].dtype && aligned && head % kMultiple == 0 && head <= kMostHead) return;
  fail(ErrorCode::unsupported, p.step, ": cuDNN's attention takes 16-bit numbers of one type, heads of ", kMultiple,
       " to ", kMostHead, " of them in steps of ", kMultiple, ", and lines that begin at multiples of ", 2 * kMultiple,
       " bytes");
}

const CudnnDescriptor& tensor(CudnnGraph& graph, size_t index) {
  const CallTensor& t = graph.problem().tensors[index];
  return graph.tensor(index, {t.dtype, t.extents, t.strides, t.alignment()});
}

void one_operation(CudnnGraph& graph) {
  CudnnDescriptor& operation = graph.add(CUDNN_BACKEND_OPERATION_SDPA_FWD_DESCRIPTOR);
  constexpr cudnnBackendAttributeName_t kTensors[] = {
      CUDNN_ATTR_OPERATION_SDPA_FWD_QDESC, CUDNN_ATTR_OPERATION_SDPA_FWD_KDESC, CUDNN_ATTR_OPERATION_SDPA_FWD_VDESC,
      CUDNN_ATTR_OPERATION_SDPA_FWD_ODESC};
  for (size_t i = 0; i <= kResult; ++i) operation.set(kTensors[i], tensor(graph, i));
  operation.set(CUDNN_ATTR_OPERATION_SDPA_FWD_SCALEDESC, graph.scalar(graph.problem().call->scale()));
  graph.append(operation);
}

/// Describes the operations in the order in which the library's engines recognise an attention.
class Parts {
 public:
  explicit Parts(CudnnGraph& graph)
      : graph_(graph), p_(graph.problem()), scores_(p_.tensors[0].extents), rows_(scores_) {
    scores_[3] = p_.tensors[1].extents[2];
    rows_[3] = 1;
  }

  void describe() {
    const CudnnDescriptor* x = &graph_.intermediate(fb::DType::f32, scores_);
    multiply(tensor(graph_, 0), transposed_keys(), *x);
    x = &pointwise(CUDNN_POINTWISE_MUL, *x, &graph_.scalar(p_.call->scale()), scores_);
    x = &pointwise(CUDNN_POINTWISE_ADD, *x, &addend(), scores_);
    const CudnnDescriptor& largest = reduce(CUDNN_REDUCE_TENSOR_MAX, *x);
    x = &pointwise(CUDNN_POINTWISE_SUB, *x, &largest, scores_);
    x = &pointwise(CUDNN_POINTWISE_EXP, *x, nullptr, scores_);
    const CudnnDescriptor& sum = reduce(CUDNN_REDUCE_TENSOR_ADD, *x);
    // The log-sum-exp of each row. It is not stored and only training would read it, but no engine recognises a pattern
    // without it.
    pointwise(CUDNN_POINTWISE_ADD, largest, &pointwise(CUDNN_POINTWISE_LOG, sum, nullptr, rows_), rows_);
    const CudnnDescriptor& probabilities = graph_.intermediate(p_.tensors[0].dtype, scores_);
    graph_.append_pointwise(CUDNN_POINTWISE_DIV, *x, &sum, probabilities);
    multiply(probabilities, tensor(graph_, 2), tensor(graph_, kResult));
  }

 private:
  const CudnnDescriptor& transposed_keys() {
    const CallTensor& k = p_.tensors[1];
    return graph_.tensor(1, {k.dtype,
                             {k.extents[0], k.extents[1], k.extents[3], k.extents[2]},
                             {k.strides[0], k.strides[1], k.strides[3], k.strides[2]},
                             k.alignment()});
  }

  /// The addend, with extent 1 along the axes on which it is constant.
  const CudnnDescriptor& addend() {
    const CallTensor& t = *p_.addend();
    std::vector<int64_t> extents = t.extents;
    for (size_t d = 0; d < extents.size(); ++d) {
      if (t.strides[d] == 0) extents[d] = 1;
    }
    return graph_.tensor(p_.tensors.size() - 1, {t.dtype, std::move(extents), t.strides, t.alignment()});
  }

  const CudnnDescriptor& pointwise(cudnnPointwiseMode_t mode, const CudnnDescriptor& x, const CudnnDescriptor* b,
                                   const std::vector<int64_t>& extents) {
    const CudnnDescriptor& y = graph_.intermediate(fb::DType::f32, extents);
    graph_.append_pointwise(mode, x, b, y);
    return y;
  }

  const CudnnDescriptor& reduce(cudnnReduceTensorOp_t how, const CudnnDescriptor& x) {
    CudnnDescriptor& d = graph_.add(CUDNN_BACKEND_REDUCTION_DESCRIPTOR);
    d.set(CUDNN_ATTR_REDUCTION_OPERATOR, CUDNN_TYPE_REDUCTION_OPERATOR_TYPE, &how);
    d.set(CUDNN_ATTR_REDUCTION_COMP_TYPE, CUDNN_TYPE_DATA_TYPE, &kCudnnSums);
    d.finalize();
    const CudnnDescriptor& y = graph_.intermediate(fb::DType::f32, rows_);
    CudnnDescriptor& operation = graph_.add(CUDNN_BACKEND_OPERATION_REDUCTION_DESCRIPTOR);
    operation.set(CUDNN_ATTR_OPERATION_REDUCTION_XDESC, x);
    operation.set(CUDNN_ATTR_OPERATION_REDUCTION_YDESC, y);
    operation.set(CUDNN_ATTR_OPERATION_REDUCTION_DESC, d);
    graph_.append(operation);
    return y;
  }

  void multiply(const CudnnDescriptor& a, const CudnnDescriptor& b, const CudnnDescriptor& c) {
    CudnnDescriptor& d = graph_.add(CUDNN_BACKEND_MATMUL_DESCRIPTOR);
    d.set(CUDNN_ATTR_MATMUL_COMP_TYPE, CUDNN_TYPE_DATA_TYPE, &kCudnnSums);
    d.finalize();
    CudnnDescriptor& operation = graph_.add(CUDNN_BACKEND_OPERATION_MATMUL_DESCRIPTOR);
    operation.set(CUDNN_ATTR_OPERATION_MATMUL_ADESC, a);
    operation.set(CUDNN_ATTR_OPERATION_MATMUL_BDESC, b);
    operation.set(CUDNN_ATTR_OPERATION_MATMUL_CDESC, c);
    operation.set(CUDNN_ATTR_OPERATION_MATMUL_DESC, d);
    graph_.append(operation);
  }

  CudnnGraph& graph_;
  const CallProblem& p_;
  std::vector<int64_t> scores_, rows_;  // extents: [batch, heads, queries, keys], and the same with one key
};

}  // namespace

void describe_attention(CudnnGraph& graph) {
  const CallProblem& p = graph.problem();
  for (size_t i = 0; i <= kResult; ++i) check(p, p.tensors[i]);
  if (p.call->causal()) fail(ErrorCode::unsupported, p.step, ": this runtime asks cuDNN for no causal attention");
  if (p.call->addend()) {
    Parts(graph).describe();
  } else {
    one_operation(graph);
  }
}

}  // namespace gart::cuda
