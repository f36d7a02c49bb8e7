#include "codegen/cpu/contractions/dot_product.h"

#include <llvm/IR/InlineAsm.h>
#include <llvm/IR/IntrinsicsAArch64.h>
#include <llvm/IR/IntrinsicsX86.h>
#include <llvm/IR/Module.h>
#include <llvm/TargetParser/Triple.h>

#include "compiler/support/error.h"

namespace gcg::cpu {
namespace {

bool is_x86(llvm::IRBuilder<>& ir) { return llvm::Triple(ir.GetInsertBlock()->getModule()->getTargetTriple()).isX86(); }

/// The same words, hidden from LLVM's optimisations. LLVM would move a mask after a broadcast to before it, and so keep
/// the broadcast from being a load.
llvm::Value* opaque(llvm::IRBuilder<>& ir, llvm::Value* words) {
  auto* type = llvm::FunctionType::get(words->getType(), {words->getType()}, false);
  return ir.CreateCall(llvm::InlineAsm::get(type, "", is_x86(ir) ? "=v,0" : "=w,0", /*hasSideEffects=*/false), words);
}

unsigned lanes_of(llvm::Value* v) { return llvm::cast<llvm::FixedVectorType>(v->getType())->getNumElements(); }

}  // namespace

Multiply multiply_of(const CpuTarget& target, DType left, bool narrow) {
  if (left == DType::f32) return Multiply::floats;
  if (left == DType::f64) return Multiply::doubles;
  GCG_CHECK(left == DType::u8, "a contraction of ", name_of(left));
  if (target.has_vnni) return Multiply::bytes;
  if (target.has_signed_dot) return Multiply::signed_bytes;
  return narrow && target.is_x86() ? Multiply::narrow_bytes : Multiply::widened_bytes;
}

llvm::Value* DotProduct::left(llvm::Value* words, int part) {
  if (multiply_ != Multiply::widened_bytes) return words;
  llvm::Type* type = words->getType();
  if (part == 0) return ir_.CreateAnd(opaque(ir_, words), llvm::ConstantInt::get(type, 0x00ff00ff));
  auto* halves = llvm::FixedVectorType::get(ir_.getInt16Ty(), lanes_of(words) * 2);
  return ir_.CreateBitCast(ir_.CreateLShr(ir_.CreateBitCast(words, halves), 8), type);
}

llvm::Value* DotProduct::right(llvm::Value* words, int part) {
  if (multiply_ != Multiply::widened_bytes) return words;
  auto* halves = llvm::FixedVectorType::get(ir_.getInt16Ty(), lanes_of(words) * 2);
  llvm::Value* pairs = ir_.CreateBitCast(words, halves);
  if (part == 0) pairs = ir_.CreateShl(pairs, 8);
  return ir_.CreateBitCast(ir_.CreateAShr(pairs, 8), words->getType());
}

llvm::Value* DotProduct::add(llvm::Value* left, llvm::Value* right, llvm::Value* sum) {
  switch (multiply_) {
    case Multiply::floats:
    case Multiply::doubles:
      return ir_.CreateIntrinsic(llvm::Intrinsic::fma, {sum->getType()}, {left, right, sum});
    case Multiply::halves: {
      auto* pairs = llvm::FixedVectorType::get(ir_.getBFloatTy(), lanes_of(sum) * 2);
      return ir_.CreateIntrinsic(llvm::Intrinsic::x86_avx512bf16_dpbf16ps_512, {},
                                 {sum, ir_.CreateBitCast(left, pairs), ir_.CreateBitCast(right, pairs)});
    }
    case Multiply::bytes:
    case Multiply::signed_bytes:
      return add_bytes(left, right, sum);
    case Multiply::narrow_bytes: {
      const bool wide = lanes_of(sum) == 16;
      auto* bytes = llvm::FixedVectorType::get(ir_.getInt8Ty(), lanes_of(sum) * 4);
      const auto pairs = wide ? llvm::Intrinsic::x86_avx512_pmaddubs_w_512 : llvm::Intrinsic::x86_avx2_pmadd_ub_sw;
      llvm::Value* products =
          ir_.CreateIntrinsic(pairs, {}, {ir_.CreateBitCast(left, bytes), ir_.CreateBitCast(right, bytes)});
      return add_pairs(products, llvm::ConstantInt::get(products->getType(), 1), sum);
    }
    case Multiply::widened_bytes:
    case Multiply::pairs:
      break;
  }
  return add_pairs(left, right, sum);
}

llvm::Value* DotProduct::add_bytes(llvm::Value* left, llvm::Value* right, llvm::Value* sum) {
  if (is_x86(ir_)) {
    const auto dot =
        lanes_of(sum) == 16 ? llvm::Intrinsic::x86_avx512_vpdpbusd_512 : llvm::Intrinsic::x86_avx512_vpdpbusd_256;
    return ir_.CreateIntrinsic(dot, {}, {sum, left, right});
  }
  auto* bytes = llvm::FixedVectorType::get(ir_.getInt8Ty(), lanes_of(sum) * 4);
  const auto dot = [&](llvm::Intrinsic::ID id, llvm::Value* to, llvm::Value* a, llvm::Value* b) {
    return ir_.CreateIntrinsic(id, {sum->getType(), bytes},
                               {to, ir_.CreateBitCast(a, bytes), ir_.CreateBitCast(b, bytes)});
  };
  if (multiply_ == Multiply::bytes) return dot(llvm::Intrinsic::aarch64_neon_usdot, sum, left, right);
  // The products with 64 depend on the weights alone, so the rows of a tile share them.
  constexpr auto kSdot = llvm::Intrinsic::aarch64_neon_sdot;
  auto* zero = llvm::Constant::getNullValue(sum->getType());
  llvm::Value* half = dot(kSdot, zero, llvm::ConstantInt::get(bytes, 64), right);
  llvm::Value* lowered = ir_.CreateXor(ir_.CreateBitCast(left, bytes), llvm::ConstantInt::get(bytes, 0x80));
  return dot(kSdot, ir_.CreateAdd(sum, ir_.CreateShl(half, 1)), lowered, right);
}

llvm::Value* DotProduct::add_pairs(llvm::Value* left, llvm::Value* right, llvm::Value* sum) {
  const unsigned lanes = lanes_of(sum);
  if (is_x86(ir_)) {
    auto* halves = llvm::FixedVectorType::get(ir_.getInt16Ty(), lanes * 2);
    const auto multiply = lanes == 16 ? llvm::Intrinsic::x86_avx512_pmaddw_d_512 : llvm::Intrinsic::x86_avx2_pmadd_wd;
    llvm::Value* products =
        ir_.CreateIntrinsic(multiply, {}, {ir_.CreateBitCast(left, halves), ir_.CreateBitCast(right, halves)});
    return ir_.CreateAdd(sum, products);
  }
  const auto low = [&](llvm::Value* v) { return ir_.CreateAShr(ir_.CreateShl(v, 16), 16); };
  const auto high = [&](llvm::Value* v) { return ir_.CreateAShr(v, 16); };
  sum = ir_.CreateAdd(sum, ir_.CreateMul(low(left), low(right)));
  return ir_.CreateAdd(sum, ir_.CreateMul(high(left), high(right)));
}

llvm::Value* DotProduct::add_sums(llvm::Value* a, llvm::Value* b) {
  return sums_floats(multiply_) ? ir_.CreateFAdd(a, b) : ir_.CreateAdd(a, b);
}

llvm::Value* narrowed_pairs(llvm::IRBuilder<>& ir, llvm::Value* first, llvm::Value* second) {
  llvm::Value* halves = ir.CreateIntrinsic(llvm::Intrinsic::x86_avx512bf16_cvtne2ps2bf16_512, {}, {second, first});
  return ir.CreateBitCast(halves, first->getType());
}

llvm::Value* narrowed(llvm::IRBuilder<>& ir, llvm::Value* floats) {
  llvm::Value* halves = ir.CreateIntrinsic(llvm::Intrinsic::x86_avx512bf16_cvtneps2bf16_512, {}, {floats});
  return ir.CreateBitCast(halves, llvm::FixedVectorType::get(ir.getFloatTy(), lanes_of(floats) / 2));
}

llvm::Value* interleaved_pairs(llvm::IRBuilder<>& ir, llvm::Value* row, llvm::Value* next_row) {
  const int lanes = static_cast<int>(lanes_of(row));
  std::vector<int> beside;
  for (int lane = 0; lane < lanes; ++lane) beside.insert(beside.end(), {lane, lanes + lane});
  auto* words = llvm::FixedVectorType::get(ir.getFloatTy(), static_cast<unsigned>(lanes));
  return ir.CreateBitCast(ir.CreateShuffleVector(row, next_row, beside), words);
}

void fence(llvm::IRBuilder<>& ir, std::vector<llvm::Value*>& sums) {
  std::vector<llvm::Type*> types;
  std::string constraints;
  for (llvm::Value* sum : sums) {
    types.push_back(sum->getType());
    constraints += is_x86(ir) ? "=v," : "=w,";
  }
  for (size_t i = 0; i < sums.size(); ++i) constraints += concat(i, ",");
  auto* type = llvm::FunctionType::get(llvm::StructType::get(ir.getContext(), types), types, false);
  auto* code = llvm::InlineAsm::get(type, "", constraints + "~{memory}", /*hasSideEffects=*/true);
  llvm::Value* fenced = ir.CreateCall(code, sums);
  for (size_t i = 0; i < sums.size(); ++i) sums[i] = ir.CreateExtractValue(fenced, static_cast<unsigned>(i));
}

}  // namespace gcg::cpu
