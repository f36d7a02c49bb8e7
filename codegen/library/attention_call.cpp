// Attention for cuDNN: softmax(scale * q * transposed k + addend) * v, for 16-bit numbers.
#include <algorithm>

#include "codegen/library/bindings.h"
#include "codegen/library/epilogue_match.h"
#include "compiler/kernel/access_analysis.h"

namespace gcg::library {
namespace {

/// The oldest version of cuDNN that is accepted for this operation.
constexpr uint32_t kOldest = 91301;
constexpr int kLeastSm = 80;
constexpr int64_t kWorkspace = 64 << 20;
constexpr int64_t kHeadMultiple = 8, kMostHead = 128;  // the library's engines read 16 bytes at a time

bool is_head(const Dim& extent) {
  return extent.is_constant() && extent.constant() % kHeadMultiple == 0 && extent.constant() <= kMostHead;
}

/// The batch axes as [batch, heads]; a missing axis has one element.
struct BatchAxes {
  const Axis* axes[2] = {};

  explicit BatchAxes(const std::vector<Axis>& batch) {
    for (size_t i = 0; i < batch.size(); ++i) axes[2 - batch.size() + i] = &batch[i];
  }
  Dim extent(size_t i) const { return axes[i] == nullptr ? Dim(1) : axes[i]->extent; }
};

/// A tensor [batch, heads, rows, columns] with the given strides of element (row, column). Keys and values that all
/// heads share have one head.
LibraryTensor tensor(const MatrixView& view, const BatchAxes& batch, const Axis& rows, const Dim& row_stride,
                     const Axis& columns) {
  LibraryTensor t{view.operand, view.offset, {batch.extent(0), batch.extent(1), rows.extent, columns.extent}, {}};
  const size_t missing = 2 - view.batch_strides.size();
  for (size_t i = 0; i < 2; ++i) t.strides.push_back(i < missing ? Dim(0) : view.batch_strides[i - missing]);
  if (t.strides[1].is(0)) t.extents[1] = Dim(1);
  t.strides.insert(t.strides.end(), {row_stride, Dim(1)});
  return t;
}

LibraryTensor result(const AttentionKernel& k, const Affine& address, const BatchAxes& batch) {
  LibraryTensor t{k.result, address.base, {batch.extent(0), batch.extent(1), k.m.extent, k.n.extent}, {}};
  for (size_t i = 0; i < 2; ++i)
    t.strides.push_back(batch.axes[i] == nullptr ? Dim(0) : stride_of(address, *batch.axes[i]));
  t.strides.insert(t.strides.end(), {stride_of(address, k.m), Dim(1)});
  return t;
}

/// True if every line begins at a multiple of 16 bytes, and only axes of one element have stride 0.
bool is_aligned(const LibraryTensor& t) {
  bool aligned = is_multiple(t.offset, kHeadMultiple);
  for (size_t d = 0; d + 1 < t.strides.size(); ++d)
    aligned = aligned && is_multiple(t.strides[d], kHeadMultiple) && (t.extents[d].is(1) || !t.strides[d].is(0));
  return aligned;
}

struct Scores {
  double scale = 1;
  std::optional<Access> addend;
};

/// Matches the scores with scale * accumulator + addend.
std::optional<Scores> match_scores(const Kernel& kernel, const Expr& scores) {
  if (const auto scale = accumulator_scale(scores)) return Scores{*scale, {}};
  if (scores->kind != ExprKind::binary || scores->binary != BinaryOp::add) return std::nullopt;
  for (size_t i = 0; i < 2; ++i) {
    const auto scale = accumulator_scale(scores->args[i]);
    const auto addend = scale ? access_of(kernel, scores->args[1 - i]) : std::nullopt;
    if (addend) return Scores{*scale, addend};
  }
  return std::nullopt;
}

/// The addend as [batch, heads, queries, keys], with stride 0 along axes where it does not change.
LibraryTensor addend_tensor(const Kernel& kernel, const AttentionKernel& k, const Access& access,
                            const BatchAxes& batch) {
  LibraryTensor t{access.operand, access.address.base, {batch.extent(0), batch.extent(1), k.m.extent, k.t.extent}, {}};
  for (const Axis* axis : {batch.axes[0], batch.axes[1], &k.m, &k.t})
    t.strides.push_back(axis == nullptr ? Dim(0) : stride_of(access.address, *axis));
  t.dtype = kernel.operands[static_cast<size_t>(access.operand)].dtype;
  return t;
}

/// Sets the types. False unless q, k, v and the result have one 16-bit type and lines that can be read 16 bytes at a
/// time.
bool set_types(const Kernel& kernel, LibraryCall& call) {
  for (LibraryTensor& t : call.tensors) {
    t.dtype = kernel.operands[static_cast<size_t>(t.operand)].dtype;
    const bool is_half = t.dtype == DType::f16 || t.dtype == DType::bf16;
    if (!is_half || t.dtype != call.tensors[0].dtype || !is_aligned(t)) return false;
  }
  return true;
}

}  // namespace

std::optional<LibraryCall> bind_attention(const Kernel& kernel) {
  const auto* k = std::get_if<AttentionKernel>(&kernel.body);
  if (k == nullptr || k->batch.size() > 2 || !is_head(k->d.extent) || !is_head(k->n.extent)) return std::nullopt;
  if (k->row_mask || k->is_nan_zero || k->epilogue->kind != ExprKind::accumulator) return std::nullopt;
  const auto scores = match_scores(kernel, k->scores);
  const auto written = address_of(kernel.operands[static_cast<size_t>(k->result)], k->index);
  if (!scores || !written || !stride_of(*written, k->n).is(1)) return std::nullopt;
  if (!k->q.column_stride.is(1) || !k->k.row_stride.is(1) || !k->v.column_stride.is(1)) return std::nullopt;

  LibraryCall call{.library = "cudnn",
                   .oldest = kOldest,
                   .below = 100000,
                   .least_sm = kLeastSm,
                   .operation = LibraryOperation::attention};
  const BatchAxes batch(k->batch);
  call.tensors = {tensor(k->q, batch, k->m, k->q.row_stride, k->d), tensor(k->k, batch, k->t, k->k.column_stride, k->d),
                  tensor(k->v, batch, k->t, k->v.row_stride, k->n), result(*k, *written, batch)};
  if (call.tensors[0].extents[1] != batch.extent(1) || call.tensors[1].extents[1] != call.tensors[2].extents[1])
    return std::nullopt;
  if (!set_types(kernel, call)) return std::nullopt;
  if ((call.addend = scores->addend.has_value()))
    call.tensors.push_back(addend_tensor(kernel, *k, *scores->addend, batch));
  call.scale = scores->scale;
  call.workspace = kWorkspace;
  return call;
}

}  // namespace gcg::library
