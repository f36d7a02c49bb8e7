// Matrix products for cuBLASLt.
#include <algorithm>

#include "codegen/library/bindings.h"
#include "codegen/library/epilogue_match.h"

namespace gcg::library {
namespace {

/// Workspace in bytes that is recommended for cuBLASLt on GPUs since sm_90.
constexpr int64_t kWorkspace = 32 << 20;

/// True if one of the two directions is contiguous, because the library's matrices have a single stride.
bool is_matrix(const MatrixView& view, const Dim& rows, const Dim& columns) {
  return view.row_stride.is(1) || view.column_stride.is(1) || rows.is(1) || columns.is(1);
}

LibraryTensor matrix(const MatrixView& view, const Dim& batch, const Axis& rows, const Axis& columns) {
  const Dim batch_stride = view.batch_strides.empty() ? Dim(0) : view.batch_strides[0];
  return {view.operand,
          view.offset,
          {batch, rows.extent, columns.extent},
          {batch_stride, view.row_stride, view.column_stride}};
}

/// True if both factors have one type, and bias and addend have the result's type, which is f32 or the factors' type.
bool has_types_it_takes(const LibraryCall& call) {
  const auto is_one = [](DType t) { return t == DType::f32 || t == DType::f16 || t == DType::bf16; };
  const DType factors = call.tensors[0].dtype, result = call.tensors[2].dtype;
  if (!is_one(factors) || call.tensors[1].dtype != factors || (result != factors && result != DType::f32)) return false;
  return std::all_of(call.tensors.begin() + 2, call.tensors.end(),
                     [&](const LibraryTensor& t) { return t.dtype == result; });
}

}  // namespace

std::optional<LibraryCall> bind_matmul(const Kernel& kernel) {
  const auto* mm = std::get_if<MatMulKernel>(&kernel.body);
  if (mm == nullptr || mm->packed_columns != 0 || mm->batch.size() > 1) return std::nullopt;
  if (!is_matrix(mm->a, mm->m.extent, mm->k.extent) || !is_matrix(mm->b, mm->k.extent, mm->n.extent))
    return std::nullopt;
  const auto result = address_of(kernel.operands[static_cast<size_t>(mm->result)], mm->index);
  if (!result || !(stride_of(*result, mm->n).is(1) || mm->n.extent.is(1))) return std::nullopt;
  const auto match = match_epilogue(kernel, mm->epilogue, mm->n, *result);
  if (!match) return std::nullopt;

  const Dim batch = mm->batch.empty() ? Dim(1) : mm->batch[0].extent;
  const auto as_result = [&](int operand, const Affine& address) {
    const Dim batch_stride = mm->batch.empty() ? Dim(0) : stride_of(address, mm->batch[0]);
    return LibraryTensor{
        operand, address.base, {batch, mm->m.extent, mm->n.extent}, {batch_stride, stride_of(address, mm->m), Dim(1)}};
  };
  LibraryCall call{.library = "cublasLt", .oldest = 120000, .below = 140000, .operation = LibraryOperation::matmul};
  call.tensors = {matrix(mm->a, batch, mm->m, mm->k), matrix(mm->b, batch, mm->k, mm->n),
                  as_result(mm->result, *result)};
  if ((call.bias = match->bias.has_value()))
    call.tensors.push_back({match->bias->operand, match->bias->address.base, {mm->n.extent}, {Dim(1)}});
  if ((call.addend = match->addend.has_value()))
    call.tensors.push_back(as_result(match->addend->operand, match->addend->address));
  for (LibraryTensor& t : call.tensors) t.dtype = kernel.operands[static_cast<size_t>(t.operand)].dtype;
  if (!has_types_it_takes(call)) return std::nullopt;
  call.activation = match->activation;
  call.scale = match->scale;
  call.workspace = kWorkspace;
  return call;
}

}  // namespace gcg::library
