// Convolutions as cuDNN's operations: a convolution, then separate additions and an activation.
#include <algorithm>

#include "runtime/cuda/libraries/cudnn_graph.h"
#include "runtime/errors.h"

namespace gart::cuda {
namespace {

class Convolution {
 public:
  explicit Convolution(CudnnGraph& graph) : graph_(graph), p_(graph.problem()) {}

  /// Uses the order that the library's engines for fused convolutions recognise: addend, bias, activation.
  void describe() {
    const bool relu = p_.call->activation() == fb::Activation::relu;
    if (p_.call->activation() == fb::Activation::gelu_tanh || p_.call->scale() != 1) {
      fail(ErrorCode::unsupported, p_.step, ": cuDNN's convolutions have neither a scale nor this activation");
    }
    int left = int(p_.call->addend()) + int(p_.call->bias()) + int(relu);
    const CudnnDescriptor& y = tensor(p_.result());
    const CudnnDescriptor* sum = left == 0 ? &y : &sums();
    convolution(*sum);
    const auto follow = [&](cudnnPointwiseMode_t mode, const CudnnDescriptor* b) {
      const CudnnDescriptor* next = --left == 0 ? &y : &sums();
      graph_.append_pointwise(mode, *sum, b, *next);
      sum = next;
    };
    if (p_.call->addend()) follow(CUDNN_POINTWISE_ADD, &tensor(p_.tensors.size() - 1));
    if (p_.call->bias()) follow(CUDNN_POINTWISE_ADD, &bias());
    if (relu) follow(CUDNN_POINTWISE_RELU_FWD, nullptr);
  }

 private:
  /// The tensor's own shape; 1-D convolutions become 2-D ones with one row.
  std::vector<int64_t> two_dimensional(std::vector<int64_t> values, int64_t inserted) const {
    if (p_.call->strides()->size() == 1) values.insert(values.end() - 1, inserted);
    return values;
  }

  const CudnnDescriptor& tensor(size_t index) {
    const CallTensor& t = p_.tensors[index];
    return graph_.tensor(index, {t.dtype, two_dimensional(t.extents, 1), two_dimensional(t.strides, 0), t.alignment()});
  }

  const CudnnDescriptor& bias() {
    const size_t index = p_.result() + 1, spatial = std::max<size_t>(p_.call->strides()->size(), 2);
    const CallTensor& t = p_.tensors[index];
    std::vector<int64_t> extents(2 + spatial, 1), strides(2 + spatial, 1);
    extents[1] = strides[0] = t.extents[0];
    return graph_.tensor(index, {t.dtype, std::move(extents), std::move(strides), t.alignment()});
  }

  /// An intermediate value with the result's shape.
  const CudnnDescriptor& sums() {
    return graph_.intermediate(fb::DType::f32, two_dimensional(p_.tensors[p_.result()].extents, 1));
  }

  /// The convolution's windows: strides, dilations and pads.
  const CudnnDescriptor& windows() {
    const fb::Call& call = *p_.call;
    std::vector<int64_t> strides, dilations, before, after;
    for (uint32_t i = 0; i < call.strides()->size(); ++i) {
      const int64_t input = p_.tensors[0].extents[i + 2],
                    window = (p_.tensors[1].extents[i + 2] - 1) * call.dilations()->Get(i) + 1;
      strides.push_back(call.strides()->Get(i));
      dilations.push_back(call.dilations()->Get(i));
      before.push_back(call.pads()->Get(i));
      const int64_t reach = (p_.tensors[2].extents[i + 2] - 1) * strides.back() + window;
      after.push_back(std::max<int64_t>(0, reach - before.back() - input));
    }
    CudnnDescriptor& d = graph_.add(CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR);
    const cudnnConvolutionMode_t mode = CUDNN_CROSS_CORRELATION;
    const int64_t spatial = int64_t(std::max<size_t>(strides.size(), 2));
    d.set(CUDNN_ATTR_CONVOLUTION_COMP_TYPE, CUDNN_TYPE_DATA_TYPE, &kCudnnSums);
    d.set(CUDNN_ATTR_CONVOLUTION_CONV_MODE, CUDNN_TYPE_CONVOLUTION_MODE, &mode);
    d.set(CUDNN_ATTR_CONVOLUTION_SPATIAL_DIMS, CUDNN_TYPE_INT64, &spatial);
    d.set_int64(CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES, two_dimensional(strides, 1));
    d.set_int64(CUDNN_ATTR_CONVOLUTION_DILATIONS, two_dimensional(dilations, 1));
    d.set_int64(CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS, two_dimensional(before, 0));
    d.set_int64(CUDNN_ATTR_CONVOLUTION_POST_PADDINGS, two_dimensional(after, 0));
    d.finalize();
    return d;
  }

  void convolution(const CudnnDescriptor& y) {
    const CudnnDescriptor &x = tensor(0), &w = tensor(1), &how = windows();
    CudnnDescriptor& operation = graph_.add(CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR);
    const float alpha = 1, beta = 0;
    operation.set(CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_X, x);
    operation.set(CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_W, w);
    operation.set(CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_Y, y);
    operation.set(CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_CONV_DESC, how);
    operation.set(CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_ALPHA, CUDNN_TYPE_FLOAT, &alpha);
    operation.set(CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_BETA, CUDNN_TYPE_FLOAT, &beta);
    graph_.append(operation);
  }

  CudnnGraph& graph_;
  const CallProblem& p_;
};

}  // namespace

void describe_convolution(CudnnGraph& graph) { Convolution(graph).describe(); }

}  // namespace gart::cuda
