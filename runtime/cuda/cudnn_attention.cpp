// Attention as one operation of cuDNN.
#include "runtime/cuda/cudnn_graph.h"
#include "runtime/errors.h"

namespace gart::cuda {
namespace {

/// Elements of 16 bits that the library's engines read at once: lines begin there, and heads are as many of them long.
constexpr int64_t kMultiple = 8, kMostHead = 128;

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

}  // namespace

void describe_attention(CudnnGraph& graph) {
  const CallProblem& p = graph.problem();
  if (p.call->addend() || p.call->causal()) fail(ErrorCode::unsupported, p.step, ": cuDNN's attention takes no mask");
  CudnnDescriptor& operation = graph.add(CUDNN_BACKEND_OPERATION_SDPA_FWD_DESCRIPTOR);
  constexpr cudnnBackendAttributeName_t kTensors[] = {
      CUDNN_ATTR_OPERATION_SDPA_FWD_QDESC, CUDNN_ATTR_OPERATION_SDPA_FWD_KDESC, CUDNN_ATTR_OPERATION_SDPA_FWD_VDESC,
      CUDNN_ATTR_OPERATION_SDPA_FWD_ODESC};
  for (size_t i = 0; i < p.tensors.size(); ++i) {
    const CallTensor& t = p.tensors[i];
    check(p, t);
    operation.set(kTensors[i], graph.tensor(i, {t.dtype, t.extents, t.strides, t.alignment()}));
  }
  operation.set(CUDNN_ATTR_OPERATION_SDPA_FWD_SCALEDESC, graph.scalar(p.call->scale()));
  graph.append(operation);
}

}  // namespace gart::cuda
