// Convolutions for cuDNN.
#include "codegen/library/bindings.h"
#include "codegen/library/epilogue_match.h"

namespace gcg::library {
namespace {

constexpr int64_t kWorkspace = 64 << 20;
constexpr size_t kMostSpatialAxes = 2;
constexpr size_t kBias = 3;  // the operand after input, weights and result

/// Dense strides of [n, c, spatial...], with the channels before or after the positions in memory.
std::vector<Dim> dense_strides(const std::vector<Dim>& extents, bool channels_last) {
  std::vector<Dim> strides(extents.size());
  Dim stride(1);
  const auto place = [&](size_t d) {
    strides[d] = stride;
    stride = stride * extents[d];
  };
  if (channels_last) place(1);
  for (size_t d = extents.size(); d-- > 2;) place(d);
  if (!channels_last) place(1);
  place(0);
  return strides;
}

/// A tensor with the strides of `address`: [n, co, spatial...], its positions evenly spaced.
LibraryTensor as_result(int operand, const Affine& address, const PlainConvKernel& conv) {
  LibraryTensor t{operand, address.base, {conv.batch, Dim(conv.out_channels)}, {}};
  for (const auto& s : conv.spatial) t.extents.push_back(s.output);
  t.strides = dense_strides(t.extents, false);
  t.strides[0] = stride_of(address, conv.n);
  t.strides[1] = stride_of(address, conv.channel);
  if (!conv.position.empty())
    for (size_t d = 2; d < t.strides.size(); ++d) t.strides[d] = t.strides[d] * stride_of(address, conv.position[0]);
  return t;
}

/// True if all tensors have the same order: channels before the positions, or after them.
bool is_of_one_order(const PlainConvKernel& conv, const Affine& result) {
  if (conv.position.empty()) return !conv.input_channels_last;
  return conv.position.size() == 1 &&
         stride_of(result, conv.input_channels_last ? conv.channel : conv.position[0]).is(1);
}

LibraryTensor input(const PlainConvKernel& conv) {
  LibraryTensor t{conv.input, Dim(0), {conv.batch, Dim(conv.in_channels)}, {}};
  for (const auto& s : conv.spatial) t.extents.push_back(s.input);
  t.strides = dense_strides(t.extents, conv.input_channels_last);
  return t;
}

/// The kernel's weights are [co, taps..., ci], but cuDNN requires all tensors in the order of the activations.
LibraryTensor weights(const PlainConvKernel& conv) {
  LibraryTensor t{conv.weights, Dim(0), {Dim(conv.out_channels), Dim(conv.in_channels / conv.groups)}, {}};
  for (const auto& s : conv.spatial) {
    t.extents.emplace_back(s.kernel);
    t.untransposed = t.untransposed || s.kernel != 1;
  }
  if (conv.in_channels == conv.groups || conv.input_channels_last) t.untransposed = false;
  t.strides = dense_strides(t.extents, conv.input_channels_last);
  return t;
}

/// Sets the types of the tensors. All have one type; a bias is rounded to it. False if the library has no such
/// convolution.
bool set_types(const Kernel& kernel, LibraryCall& call) {
  const DType type = kernel.operands[static_cast<size_t>(call.tensors[0].operand)].dtype;
  if (type != DType::f32 && type != DType::f16 && type != DType::bf16) return false;
  for (size_t i = 0; i < call.tensors.size(); ++i) {
    LibraryTensor& t = call.tensors[i];
    t.dtype = type;
    const DType stored = kernel.operands[static_cast<size_t>(t.operand)].dtype;
    t.rounded = call.bias && i == kBias && stored != type;
    if (stored != type && !(t.rounded && stored == DType::f32)) return false;
  }
  call.least_sm = type == DType::bf16 ? 80 : 0;
  return true;
}

}  // namespace

std::optional<LibraryCall> bind_convolution(const Kernel& kernel) {
  const auto* conv = std::get_if<PlainConvKernel>(&kernel.body);
  if (conv == nullptr || conv->spatial.size() > kMostSpatialAxes) return std::nullopt;
  const auto result = address_of(kernel.operands[static_cast<size_t>(conv->result)], conv->index);
  if (!result || !is_of_one_order(*conv, *result)) return std::nullopt;
  const auto match = match_epilogue(kernel, conv->epilogue, conv->channel, *result);
  if (!match || match->scale != 1 || match->activation == LibraryActivation::gelu_tanh) return std::nullopt;
  // If channels come before positions, the library's engines support an epilogue only with a bias.
  if (!match->bias && (match->addend || match->activation != LibraryActivation::none)) return std::nullopt;

  LibraryCall call{.library = "cudnn", .oldest = 90000, .below = 100000, .operation = LibraryOperation::convolution};
  for (const auto& s : conv->spatial) {
    if (!s.pad.is_constant()) return std::nullopt;
    call.strides.push_back(s.stride);
    call.dilations.push_back(s.dilation);
    call.pads.push_back(s.pad.constant());
  }
  call.groups = conv->groups;
  call.tensors = {input(*conv), weights(*conv), as_result(conv->result, *result, *conv)};
  if ((call.bias = match->bias.has_value()))
    call.tensors.push_back({match->bias->operand, match->bias->address.base, {Dim(conv->out_channels)}, {Dim(1)}});
  if ((call.addend = match->addend.has_value()))
    call.tensors.push_back(as_result(match->addend->operand, match->addend->address, *conv));
  if (!set_types(kernel, call)) return std::nullopt;
  call.activation = match->activation;
  call.workspace = kWorkspace;
  return call;
}

}  // namespace gcg::library
