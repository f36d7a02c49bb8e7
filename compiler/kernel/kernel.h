// Kernels: a kernel is one step's work. It is independent of the target; its values and types are fixed.
//
//   LoopKernel     a fused group of pointwise, movement and reduction work
//   MatMulKernel   a (batched) matrix product with a fused epilogue
//   ConvKernel     a 2-D or 3-D convolution on channel-blocked activations with a fused epilogue
//   AttentionKernel  softmax of products of queries and keys, times values, with a fused epilogue
//   PlainConvKernel  a convolution on activations [N, C, spatial...] with a fused epilogue
//   ProgramKernel  statements in order (compiler/kernel/program.h)
//
// All operands are dense row-major tensors of the given shape, 64-byte aligned at element 0. A kernel's work is cut
// into `tasks` that are independent and equal in kind; the runtime splits [0, tasks) over its threads in contiguous
// ranges.
#pragma once

#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "compiler/kernel/expr.h"
#include "compiler/kernel/packing.h"
#include "compiler/kernel/program.h"
#include "compiler/support/ids.h"

namespace gcg {

struct Operand {
  DType dtype;
  Shape shape;
  bool written = false;   // the kernel writes it (and may read it back within the same task); otherwise read-only
  int flat_of = -1;       // the operand whose storage this one views as a vector; -1: none
  bool constant = false;  // GPUs: it is a constant in every step that runs the kernel
  bool array = false;     // scratch memory of a program's task; arrays come after all operands of the step
};

/// One stage of a loop kernel: a loop nest over `axes` (outermost first, may be empty), run inside the outer axes.
/// `store` writes operand[index] = value for every point. `reduce` folds value over *all* of `axes` into scalar `local`
/// (axes are then the reduction axes; the last one is the vector axis). A store's value may still contain Reduce nodes:
/// those are evaluated in place for each (vector of) point(s), for example a pooling window over a channel vector.
/// Within one task, a load of a written operand sees the stores of earlier stages.
struct Stage {
  enum class Kind : uint8_t { store, reduce } kind = Kind::store;
  std::vector<Axis> axes;
  Expr value;
  int operand = -1;         // store
  std::vector<Expr> index;  // store: one i64 per dimension of the operand
  int local = -1;           // reduce
  ReduceOp reduce{};        // reduce
};

struct LoopKernel {         // affine addresses are flat, and axes are merged as far as that allows (flat_loops.h)
  std::vector<Axis> outer;  // parallel; empty for a single store, whose own axes are all parallel
  std::vector<Stage> stages;
};

/// Position of element (batch..., row, column) of a matrix operand: offset + sum of index * stride, in elements.
struct MatrixView {
  int operand = -1;
  Dim offset;
  std::vector<Dim> batch_strides;  // one per batch axis; 0 broadcasts
  Dim row_stride;                  // A: along m; B: along k
  Dim column_stride;               // A: along k; B: along n
};

/// C[batch..., m, n] = epilogue(sum over k of A[batch..., m, k] * B[batch..., k, n]), in f32, in f64 for f64 A and B,
/// or in i32 for u8 A and i8 B in VNNI groups (kVnniGroup).
struct MatMulKernel {
  std::vector<Axis> batch;
  Axis m, n, k;
  MatrixView a;
  /// With `packed_columns` = 0, B is this strided view. Otherwise B is a constant in panels [ceil(N/packed)][K][packed]
  /// (last panel zero-padded), and only `b.operand` counts. In VNNI groups its layout is
  /// [ceil(N/packed)][K/4][packed][4]; K % 4 = 0, and A's columns are contiguous.
  MatrixView b;
  int64_t packed_columns = 0;
  /// B is packed words of integers. Its f32 scales and offsets are separate operands (-1: no offsets).
  std::optional<BlockPacking> blocks;
  int scales = -1, offsets = -1;
  /// In VNNI groups: True if |w0| + |w1| <= 128 for the first two weights of each group and for the last two, so that
  /// sums of two products fit into 16 bits.
  bool narrow = false;
  bool near = false;        // B is a constant that stays in a cache from run to run
  Expr epilogue;            // an expression over the batch, m and n axes and `accumulator`
  int result = -1;          // operand written
  std::vector<Expr> index;  // the index to store at: one i64 per dimension of the operand
};

/// out[n, co, oh, ow] = epilogue(sum of x[n, g*CI + ci, oh*sh - ph + kh*dh, ow*sw - pw + kw*dw] * w[co, ci, kh, kw]),
/// f32. With three dimensions, a depth comes before the height. Group g = co / (out_channels / groups), CI =
/// in_channels / groups. Activations are channel-blocked: [N, ceil(C/16), (D,) H, W, 16]. Lanes past C may hold
/// anything and are never read. `input_plain`: the input is [N, C, (D,) H, W] instead, and groups = 1 (the first
/// layer). `bytes`: sums in i32 of u8 x and i8 w; the input is not plain.
struct ConvKernel {
  Dim batch;
  int64_t in_channels = 0, out_channels = 0, groups = 1;
  Dim in_depth = 1, in_height, in_width, out_depth = 1, out_height, out_width;
  int64_t kernel_d = 1, kernel_h = 1, kernel_w = 1, stride_d = 1, stride_h = 1, stride_w = 1;
  int64_t dilation_d = 1, dilation_h = 1, dilation_w = 1;
  int64_t pad_front = 0, pad_top = 0, pad_left = 0;
  bool input_plain = false;
  bool bytes = false;
  bool narrow = false;  // see MatMulKernel
  // Outputs per side of a tile of Winograd's algorithm (winograd.h), for 3x3 and stride 1; 0: direct sum.
  int64_t winograd = 0;
  int input = -1;
  int weights = -1;  // an operand in the layout of `packing`; with Winograd, a tile's products take the place of taps
  // The epilogue's axes: batch n, channel block cb (of 16), plane (in two dimensions no axis: id -1), row, column,
  // lane. Logical channel = cb*16 + lane.
  Axis n, cb, d{-1, 1}, h, w, lane;
  Expr epilogue;  // an expression over these axes and `accumulator`; bias is part of it
  int result = -1;
  std::vector<Expr> index;  // one entry per axis if the result is blocked

  ConvPacking packing() const { return {in_channels / groups, out_channels, groups, input_plain, bytes}; }
  bool depthwise() const { return groups > 1 && groups == in_channels && groups == out_channels; }
  int64_t taps() const { return kernel_d * kernel_h * kernel_w; }
  std::vector<Axis> axes() const {
    return d.id < 0 ? std::vector<Axis>{n, cb, h, w, lane} : std::vector<Axis>{n, cb, d, h, w, lane};
  }
};

/// out[n, co, o...] = epilogue(sum over tap..., ci of x[n, g*CI + ci, o*stride - pad + tap*dilation] * w[co, tap...,
/// ci]), f32. Group g = co / (out_channels / groups), CI = in_channels / groups; elements outside the input count as
/// zero.
struct PlainConvKernel {
  struct Spatial {
    Dim input, output, pad;  // pad: before
    int64_t kernel = 1, stride = 1, dilation = 1;
  };
  Dim batch;
  int64_t in_channels = 0, out_channels = 0, groups = 1;
  std::vector<Spatial> spatial;  // 1 to 3, outermost first
  int input = -1, weights = -1;
  bool input_channels_last = false;  // x is [N, spatial..., CI] in memory
  // The epilogue's axes. The axes `position` run through all output positions of a channel in row-major order. They are
  // the spatial dimensions, without extents of 1; neighbours are merged if the epilogue's accesses allow it.
  Axis n, channel;
  std::vector<Axis> position;
  Expr epilogue;  // an expression over these axes and `accumulator`; bias is part of it
  int result = -1;
  std::vector<Expr> index;
};

/// out[batch..., m, n] = epilogue(sum over t of P[batch..., m, t] * V[batch..., t, n]), f32, where P[batch..., m, :] is
/// the softmax of scores(sum over d of Q[batch..., m, d] * K[batch..., d, t]) along t.
struct AttentionKernel {
  std::vector<Axis> batch;
  Axis m, n, t, d;     // the extents of n and d are known
  MatrixView q, k, v;  // rows and columns: (m, d), (d, t), (t, n)
  Expr scores;         // an expression over the batch, m and t axes and `accumulator`
  // Boolean, over the batch and m axes: P is zero in rows where it is false; null: it is always true.
  Expr row_mask;
  bool is_nan_zero = false;  // NaNs in P count as zero
  Expr epilogue;             // an expression over the batch, m and n axes and `accumulator`
  int result = -1;           // operand written
  std::vector<Expr> index;   // the index to store at: one i64 per dimension of the operand
};

struct Kernel {
  std::string name;                  // for reports: "conv_add_relu", "softmax", ...
  std::vector<std::string> sources;  // ONNX node names, root first
  std::vector<Operand> operands;
  std::variant<LoopKernel, MatMulKernel, ConvKernel, PlainConvKernel, AttentionKernel, ProgramKernel> body;
};

/// The number of operands of a step that runs the kernel: all but the arrays of programs.
size_t step_operands(const Kernel& kernel);
/// Offset of an array in the scratch memory of a program's task, in bytes, a multiple of 64. For operands.size(): the
/// size of that memory.
Dim array_offset(const Kernel& kernel, size_t operand);

/// A canonical text. Two kernels have the same text exactly if they may share machine code; it contains no names and
/// sources.
std::string key(const Kernel& kernel);

/// Checks axis binding, operand ranks and dtypes; throws InternalError.
void verify_kernel(const Kernel& kernel);

}  // namespace gcg
