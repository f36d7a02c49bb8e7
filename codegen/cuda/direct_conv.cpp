// Convolutions on plain activations, one thread per output element: correct for every shape.
#include "codegen/cuda/expr_text.h"
#include "codegen/cuda/operator_text.h"

namespace gcg::cuda {
namespace {

constexpr int kThreads = 128;

class DirectConvText {
 public:
  DirectConvText(const Kernel& kernel, const PlainConvKernel& conv) : f_(kernel), conv_(conv) {}

  KernelText emit() {
    std::vector<Axis> axes = {conv_.n, conv_.channel};
    axes.insert(axes.end(), conv_.position.begin(), conv_.position.end());
    Dim items(1), positions(1);
    for (const Axis& a : axes) items = items * a.extent;
    for (const Axis& a : conv_.position) positions = positions * a.extent;
    f_.line("const long long item = (long long)blockIdx.x * ", kThreads, " + threadIdx.x;");
    f_.line("if (item >= ", wide(items), ") return;");
    const std::vector<std::string> names = f_.coordinates(axes, {"item", true});
    for (size_t k = 0; k < axes.size(); ++k) place_.axes[axes[k].id] = names[k];
    f_.line("long long position = gart_index_mod(item, ", wide(positions), ");");
    emit_origin();
    emit_sum(names[0], names[1]);
    place_.accumulator = "sum";
    ExprText exprs(f_, place_);
    const std::string value = exprs.value(conv_.epilogue);
    exprs.store(conv_.result, conv_.index, value);
    KernelText text = f_.finish("conv", kThreads);
    text.tasks = ceil_div(items, Dim(kThreads));
    text.note = "one thread per element";
    return text;
  }

 private:
  std::string wide(const Dim& dim) { return f_.dim(dim).as_wide(); }

  /// The input position of the first tap, per spatial dimension.
  void emit_origin() {
    for (size_t d = conv_.spatial.size(); d-- > 0;) {
      const auto& s = conv_.spatial[d];
      f_.line("const long long from", d, " = gart_index_mod(position, ", wide(s.output), ") * ", s.stride, " - ",
              wide(s.pad), ";");
      f_.line("position = gart_index_div(position, ", wide(s.output), ");");
    }
  }

  void emit_sum(const std::string& n, const std::string& channel) {
    const int64_t depth = conv_.in_channels / conv_.groups, outputs = conv_.out_channels / conv_.groups;
    Dim area(1);
    std::string offset, row = channel, inside;
    for (const auto& s : conv_.spatial) area = area * s.input;
    f_.line("float sum = 0.0f;");
    for (size_t d = 0; d < conv_.spatial.size(); ++d) {
      const auto& s = conv_.spatial[d];
      f_.open("for (int tap", d, " = 0; tap", d, " < ", s.kernel, "; ++tap", d, ")");
      f_.line("const long long at", d, " = from", d, " + tap", d, " * ", s.dilation, ";");
      f_.line("if (at", d, " < 0 || at", d, " >= ", wide(s.input), ") continue;");
      offset = d == 0 ? "at0" : concat("(", offset, ") * ", wide(s.input), " + at", d);
      row = concat("(", row, " * ", s.kernel, " + tap", d, ")");
    }
    f_.line("const float* x = ", f_.pointer(conv_.input), " + ((long long)", n, " * ", conv_.in_channels, " + ", channel,
            " / ", outputs, " * ", depth, ") * ", wide(area), " + ", offset, ";");
    f_.line("const float* w = ", f_.pointer(conv_.weights), " + (long long)", row, " * ", depth, ";");
    f_.line("for (int c = 0; c < ", depth, "; ++c) sum = fmaf(x[c * ", wide(area), "], w[c], sum);");
    for (size_t d = 0; d < conv_.spatial.size(); ++d) f_.close();
  }

  FunctionText f_;
  const PlainConvKernel& conv_;
  Place place_;
};

}  // namespace

KernelText emit_plain_conv(const Kernel& kernel, const Target&) {
  return DirectConvText(kernel, std::get<PlainConvKernel>(kernel.body)).emit();
}

}  // namespace gcg::cuda
