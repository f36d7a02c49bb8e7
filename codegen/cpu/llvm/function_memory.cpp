// Types, vectors and memory accesses of a FunctionBuilder.
#include <llvm/IR/Intrinsics.h>
#include <llvm/IR/IntrinsicsX86.h>

#include <algorithm>
#include <functional>

#include "codegen/cpu/llvm/function_builder.h"
#include "compiler/support/error.h"

namespace gcg::cpu {

llvm::Type* FunctionBuilder::scalar_type(DType dtype) {
  switch (dtype) {
    case DType::f32:
      return ir_.getFloatTy();
    case DType::f64:
      return ir_.getDoubleTy();
    case DType::boolean:
      return ir_.getInt1Ty();
    case DType::i8:
    case DType::u8:
      return ir_.getInt8Ty();
    case DType::f16:
    case DType::bf16:
    case DType::i16:
    case DType::u16:
      return ir_.getInt16Ty();
    case DType::i32:
    case DType::u32:
      return ir_.getInt32Ty();
    case DType::i64:
    case DType::u64:
      return ir_.getInt64Ty();
    default:
      break;
  }
  GCG_CHECK(false, "a kernel value of type ", name_of(dtype));
  return nullptr;
}

llvm::Type* FunctionBuilder::memory_type(DType dtype) {
  return dtype == DType::boolean ? ir_.getInt8Ty() : scalar_type(dtype);
}

llvm::Type* FunctionBuilder::type(DType dtype, int lanes) {
  llvm::Type* scalar = scalar_type(dtype);
  return lanes == 1 ? scalar : llvm::FixedVectorType::get(scalar, static_cast<unsigned>(lanes));
}

int FunctionBuilder::lanes_of(llvm::Value* v) {
  auto* vector = llvm::dyn_cast<llvm::FixedVectorType>(v->getType());
  return vector == nullptr ? 1 : static_cast<int>(vector->getNumElements());
}

llvm::Value* FunctionBuilder::splat(llvm::Value* scalar, int lanes) {
  if (lanes == 1 || is_vector(scalar)) return scalar;
  return ir_.CreateVectorSplat(static_cast<unsigned>(lanes), scalar);
}

llvm::Value* FunctionBuilder::iota(int lanes) {
  std::vector<uint64_t> values;
  values.reserve(static_cast<size_t>(lanes));
  for (int j = 0; j < lanes; ++j) values.push_back(static_cast<uint64_t>(j));
  return llvm::ConstantDataVector::get(context(), values);
}

llvm::Value* FunctionBuilder::first_lanes(llvm::Value* count, int lanes) {
  if (lanes == 1) return ir_.CreateICmpSGT(count, i64(0));
  // Lanes of 32 bits need half the registers of i64. A `count` beyond `lanes` is clamped. IRBuilder does not fold
  // intrinsics, so a known count is folded here.
  const auto* known = llvm::dyn_cast<llvm::ConstantInt>(count);
  llvm::Value* clamped = known != nullptr ? i64(std::min<int64_t>(known->getSExtValue(), lanes))
                                          : ir_.CreateBinaryIntrinsic(llvm::Intrinsic::smin, count, i64(lanes));
  std::vector<uint32_t> values;
  values.reserve(static_cast<size_t>(lanes));
  for (int j = 0; j < lanes; ++j) values.push_back(static_cast<uint32_t>(j));
  llvm::Value* narrow = ir_.CreateTrunc(clamped, ir_.getInt32Ty());
  return ir_.CreateICmpSLT(llvm::ConstantDataVector::get(context(), values), splat(narrow, lanes));
}

llvm::Value* FunctionBuilder::element_address(llvm::Value* base, DType dtype, llvm::Value* offset) {
  return ir_.CreateInBoundsGEP(memory_type(dtype), base, offset);
}

llvm::Value* FunctionBuilder::load(llvm::Value* base, DType dtype, llvm::Value* offset, int lanes, llvm::Value* mask) {
  const bool wide = lanes * size_of(dtype) > target_.vector_bytes;
  if (wide && mask != nullptr && is_vector(mask) && target_.isa == Isa::avx2) {
    // LLVM 19.1 loses the mask of such a load if everything about it is known except one condition for all lanes.
    return gather(base, dtype, ir_.CreateAdd(splat(offset, lanes), iota(lanes)), mask);
  }
  const llvm::Align align(static_cast<uint64_t>(size_of(dtype)));
  llvm::Type* element = memory_type(dtype);
  llvm::Value* address = element_address(base, dtype, offset);
  llvm::Value* value = nullptr;
  if (lanes == 1) {
    if (mask != nullptr) address = ir_.CreateSelect(mask, address, safe_address());
    value = ir_.CreateAlignedLoad(element, address, align);
    if (mask != nullptr) value = ir_.CreateSelect(mask, value, llvm::Constant::getNullValue(element));
  } else {
    auto* vector = llvm::FixedVectorType::get(element, static_cast<unsigned>(lanes));
    if (mask == nullptr)
      value = ir_.CreateAlignedLoad(vector, address, align);
    else
      value = ir_.CreateMaskedLoad(vector, address, align, splat(mask, lanes), llvm::Constant::getNullValue(vector));
  }
  if (dtype != DType::boolean) return value;
  return ir_.CreateICmpNE(value, llvm::Constant::getNullValue(value->getType()));
}

namespace {

/// Mask of the lanes of a register, which begins at `start`, that hold elements of active lanes of `mask`. `steps` must
/// rise.
llvm::Value* mask_of_elements(llvm::IRBuilder<>& ir, llvm::Value* mask, const std::vector<int64_t>& steps,
                              int64_t start) {
  const auto lanes = static_cast<int64_t>(steps.size());
  std::vector<int> from(steps.size(), static_cast<int>(lanes));  // of no element
  for (size_t j = 0; j < steps.size(); ++j)
    if (const int64_t place = steps[j] - start; place >= 0 && place < lanes)
      from[static_cast<size_t>(place)] = static_cast<int>(j);
  return ir.CreateShuffleVector(mask, llvm::Constant::getNullValue(mask->getType()), from);
}

}  // namespace

llvm::Value* FunctionBuilder::load_pattern(llvm::Value* base, DType dtype, llvm::Value* offset,
                                           const std::vector<int64_t>& steps, llvm::Value* mask) {
  constexpr int64_t kMostRegisters = 4;
  const auto lanes = static_cast<int>(steps.size());
  const auto [least, most] = std::minmax_element(steps.begin(), steps.end());
  const int64_t low = *least, span = *most - low + 1, registers = (span + lanes - 1) / lanes;
  const bool maskable = target_.has_avx512() || (target_.isa == Isa::avx2 && size_of(dtype) >= 4);
  const bool rises = std::adjacent_find(steps.begin(), steps.end(), std::greater_equal<>()) == steps.end();
  if (registers > kMostRegisters || ((mask != nullptr || span < lanes) && !maskable) || (mask != nullptr && !rises)) {
    std::vector<uint64_t> values(steps.begin(), steps.end());
    llvm::Value* offsets = ir_.CreateAdd(splat(offset, lanes), llvm::ConstantDataVector::get(context(), values));
    return gather(base, dtype, offsets, mask);
  }
  if (mask != nullptr) mask = splat(mask, lanes);
  llvm::Value* result = nullptr;
  for (int64_t part = 0; part < registers; ++part) {
    // The last register ends at the last element, so no memory after it is read.
    const int64_t start = low + std::min(part * lanes, std::max<int64_t>(span - lanes, 0));
    llvm::Value* read = mask != nullptr ? mask_of_elements(ir_, mask, steps, start)
                        : span < lanes  ? first_lanes(i64(span), lanes)
                                        : nullptr;
    llvm::Value* elements = load(base, dtype, ir_.CreateAdd(offset, i64(start)), lanes, read);
    std::vector<int> places;
    for (int j = 0; j < lanes; ++j) {
      const int64_t place = steps[static_cast<size_t>(j)] - start;
      const bool here = place >= 0 && place < lanes;
      places.push_back(static_cast<int>(part == 0 ? (here ? place : 0) : here ? lanes + place : j));
    }
    result = ir_.CreateShuffleVector(result == nullptr ? elements : result, elements, places);
  }
  return result;
}

void FunctionBuilder::store(llvm::Value* value, llvm::Value* base, DType dtype, llvm::Value* offset,
                            llvm::Value* mask) {
  const llvm::Align align(static_cast<uint64_t>(size_of(dtype)));
  const int lanes = lanes_of(value);
  if (dtype == DType::boolean) value = ir_.CreateZExt(value, value->getType()->getWithNewType(ir_.getInt8Ty()));
  llvm::Value* address = element_address(base, dtype, offset);
  if (mask == nullptr) {
    ir_.CreateAlignedStore(value, address, align);
  } else if (lanes == 1) {
    if_then(mask, [&] { ir_.CreateAlignedStore(value, address, align); });
  } else {
    ir_.CreateMaskedStore(value, address, align, splat(mask, lanes));
  }
}

llvm::Value* FunctionBuilder::gather(llvm::Value* base, DType dtype, llvm::Value* offsets, llvm::Value* mask) {
  const int lanes = lanes_of(offsets);
  const int64_t bytes = size_of(dtype);
  if (target_.has_avx512() && bytes >= 4) {
    auto* vector = llvm::FixedVectorType::get(memory_type(dtype), static_cast<unsigned>(lanes));
    llvm::Value* addresses = ir_.CreateInBoundsGEP(memory_type(dtype), base, offsets);
    llvm::Value* all = mask != nullptr ? splat(mask, lanes) : splat(ir_.getTrue(), lanes);
    return ir_.CreateMaskedGather(vector, addresses, llvm::Align(static_cast<uint64_t>(bytes)), all,
                                  llvm::Constant::getNullValue(vector));
  }
  llvm::Value* result = llvm::Constant::getNullValue(type(dtype, lanes));
  for (int j = 0; j < lanes; ++j) {
    llvm::Value* lane_mask = mask == nullptr ? nullptr : is_vector(mask) ? ir_.CreateExtractElement(mask, j) : mask;
    llvm::Value* element = load(base, dtype, ir_.CreateExtractElement(offsets, j), 1, lane_mask);
    result = ir_.CreateInsertElement(result, element, static_cast<uint64_t>(j));
  }
  return result;
}

llvm::Value* FunctionBuilder::permute(llvm::Value* vector, llvm::Value* places) {
  const bool wide = lanes_of(vector) == 16, floats = vector->getType()->isFPOrFPVectorTy();
  const auto one = floats ? llvm::Intrinsic::x86_avx2_permps : llvm::Intrinsic::x86_avx2_permd;
  const auto two = floats ? llvm::Intrinsic::x86_avx512_permvar_sf_512 : llvm::Intrinsic::x86_avx512_permvar_si_512;
  return ir_.CreateIntrinsic(wide ? two : one, {}, {vector, places});
}

void FunctionBuilder::scatter(llvm::Value* value, llvm::Value* base, DType dtype, llvm::Value* offsets,
                              llvm::Value* mask) {
  const int lanes = lanes_of(offsets);
  const int64_t bytes = size_of(dtype);
  value = splat(value, lanes);
  if (target_.has_avx512() && bytes >= 4) {
    llvm::Value* addresses = ir_.CreateInBoundsGEP(memory_type(dtype), base, offsets);
    ir_.CreateMaskedScatter(value, addresses, llvm::Align(static_cast<uint64_t>(bytes)),
                            mask == nullptr ? nullptr : splat(mask, lanes));
    return;
  }
  for (int j = 0; j < lanes; ++j) {
    llvm::Value* lane_mask = mask == nullptr ? nullptr : is_vector(mask) ? ir_.CreateExtractElement(mask, j) : mask;
    store(ir_.CreateExtractElement(value, j), base, dtype, ir_.CreateExtractElement(offsets, j), lane_mask);
  }
}

void FunctionBuilder::prefetch(llvm::Value* address, int locality, bool write) {
  ir_.CreateIntrinsic(
      llvm::Intrinsic::prefetch, {address->getType()},
      {address, ir_.getInt32(write ? 1 : 0), ir_.getInt32(static_cast<uint32_t>(locality)), ir_.getInt32(1)});
}

}  // namespace gcg::cpu
