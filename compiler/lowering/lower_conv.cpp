// Convolutions: blocked by channels for CPUs, plain for GPUs.
#include "compiler/kernel/flat_loops.h"
#include "compiler/kernel/winograd.h"
#include "compiler/lowering/group_lowering.h"
#include "compiler/ops/op_def.h"
#include "compiler/ops/sliding_window.h"

namespace gcg {

void GroupLowering::conv() {
  const Node& n = anchor();
  const std::vector<Axis> axes = values_.axes_for(*value(n.outputs[0]).shape);
  Expr e = epilogue(axes);
  std::vector<Expr> index = contraction_index(axes);
  take_operands();
  ConvKernel kernel;
  conv_geometry(kernel);
  kernel.input = add_operand({n.inputs[0], stored(n.inputs[0]), {}});
  kernel.weights = add_operand({n.inputs[1], stored(n.inputs[1]), {}});
  kernel.result = add_result(result_shape());
  const size_t rank = axes.size();
  kernel.n = axes[0];
  kernel.cb = axes[1];
  if (rank == 6) kernel.d = axes[2];
  kernel.h = axes[rank - 3];
  kernel.w = axes[rank - 2];
  kernel.lane = axes[rank - 1];
  FlatIndices flat(out_.kernel.operands);
  kernel.epilogue = flat.flatten(e);
  kernel.index = flat.flatten_store(kernel.result, index);
  out_.kernel.body = std::move(kernel);
}

void GroupLowering::conv_geometry(ConvKernel& k) const {
  const Node& n = anchor();
  const Shape& in = *value(n.inputs[0]).shape;
  k.winograd = n.int_attribute("tile", 0);
  const Shape kernel =
      k.winograd > 0 ? Shape{kWinogradKernel, kWinogradKernel} : to_shape(n.ints_attribute("kernel_shape"));
  const Window window = window_of(n, {in.begin(), in.begin() + 2 + static_cast<int64_t>(kernel.size())}, kernel);
  k.batch = in[0];
  k.in_channels = n.int_attribute("in_channels", 0);
  k.out_channels = n.int_attribute("out_channels", 0);
  k.groups = n.int_attribute("group", 1);
  k.input_plain = n.int_attribute("plain", 0) != 0;
  k.bytes = value(n.inputs[1]).dtype == DType::i8;
  k.narrow =
      k.packing().vnni_group() > 1 && value(n.inputs[1]).is_constant() && in_narrow_pairs(*value(n.inputs[1]).constant);
  const WindowDim &height = window[window.size() - 2], &width = window.back();
  k.in_height = height.input, k.out_height = height.output;
  k.kernel_h = height.kernel.constant(), k.stride_h = height.stride, k.dilation_h = height.dilation;
  k.pad_top = height.pad_begin.constant();
  k.in_width = width.input, k.out_width = width.output;
  k.kernel_w = width.kernel.constant(), k.stride_w = width.stride, k.dilation_w = width.dilation;
  k.pad_left = width.pad_begin.constant();
  if (window.size() == 2) return;
  const WindowDim& depth = window[0];
  k.in_depth = depth.input, k.out_depth = depth.output;
  k.kernel_d = depth.kernel.constant(), k.stride_d = depth.stride, k.dilation_d = depth.dilation;
  k.pad_front = depth.pad_begin.constant();
}

void GroupLowering::plain_conv() {
  const Node& n = anchor();
  std::vector<Axis> axes = values_.axes_for(*value(n.outputs[0]).shape);
  Expr sum = accumulator(DType::f32);
  if (n.inputs.size() > 2 && n.inputs[2].valid()) sum = sum + values_.element(n.inputs[2], {axis_ref(axes[1])});
  values_.bind(n.outputs[0], sum);
  Expr e = group_.epilogue.empty() ? sum : values_.computed(computed_value(), refs(axes));
  std::vector<Expr> index = contraction_index(axes);
  take_operands();
  PlainConvKernel kernel;
  plain_conv_geometry(kernel);
  kernel.input = add_operand({n.inputs[0], stored(n.inputs[0]), {}});
  kernel.weights = add_operand({n.inputs[1], stored(n.inputs[1]), {}});
  kernel.result = add_result(result_shape());
  kernel.input_channels_last = value(n.inputs[0]).channels_last;
  kernel.n = axes[0];
  kernel.channel = axes[1];
  FlatIndices flat(out_.kernel.operands);
  kernel.epilogue = flat.flatten(e);
  kernel.index = flat.flatten_store(kernel.result, index);
  kernel.position.assign(axes.begin() + 2, axes.end());
  std::vector<Expr*> all = {&kernel.epilogue};
  for (Expr& i : kernel.index) all.push_back(&i);
  merge_axes(kernel.position, all, next_axis_);
  out_.kernel.body = std::move(kernel);
}

void GroupLowering::plain_conv_geometry(PlainConvKernel& k) const {
  const Node& n = anchor();
  const Shape &x = *value(n.inputs[0]).shape, &w = *value(n.inputs[1]).shape;
  k.batch = x[0];
  k.groups = n.int_attribute("group", 1);
  k.in_channels = w.back().constant() * k.groups;
  k.out_channels = w[0].constant();
  for (const WindowDim& d : window_of(n, x, Shape(w.begin() + 1, w.end() - 1)))
    k.spatial.push_back({d.input, d.output, d.pad_begin, d.kernel.constant(), d.stride, d.dilation});
}

}  // namespace gcg
