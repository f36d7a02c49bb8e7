#include "codegen/cpu/expressions/packed_bytes.h"

#include <llvm/IR/IntrinsicsX86.h>

#include <vector>

namespace gcg::cpu {

using llvm::Value;

namespace {

namespace x86 = llvm::Intrinsic;
constexpr int kParts = 4;  // registers of floats, or of i32, that become one register of bytes

Value* part_of(FunctionBuilder& f, Value* x, int part, int lanes) {
  std::vector<int> some(static_cast<size_t>(lanes));
  for (int i = 0; i < lanes; ++i) some[static_cast<size_t>(i)] = part * lanes + i;
  return f.ir().CreateShuffleVector(x, some);
}

/// Restores the order of elements. Packing works within 16 bytes, so element j of block b came from block b of part j.
Value* in_order(FunctionBuilder& f, Value* packed, int bytes) {
  const int blocks = bytes / 16;
  llvm::IRBuilder<>& ir = f.ir();
  llvm::Type* quads = llvm::FixedVectorType::get(ir.getInt32Ty(), static_cast<unsigned>(bytes / 4));
  std::vector<int> from;
  for (int part = 0; part < kParts; ++part)
    for (int block = 0; block < blocks; ++block) from.push_back(block * kParts + part);
  return ir.CreateBitCast(ir.CreateShuffleVector(ir.CreateBitCast(packed, quads), from), packed->getType());
}

}  // namespace

Value* emit_nearest(FunctionBuilder& f, Value* x) {
  llvm::IRBuilder<>& ir = f.ir();
  if (!f.target().has_avx512()) return ir.CreateIntrinsic(x86::x86_avx_cvt_ps2dq_256, {}, {x});
  constexpr uint32_t kRoundingOfTheThread = 4;
  Value* none = llvm::Constant::getNullValue(x->getType()->getWithNewType(ir.getInt32Ty()));
  return ir.CreateIntrinsic(x86::x86_avx512_mask_cvtps2dq_512, {},
                            {x, none, ir.getInt16(0xffff), ir.getInt32(kRoundingOfTheThread)});
}

bool packs_bytes(const CpuTarget& target, int lanes) { return target.is_x86() && lanes == target.vector_bytes; }

Value* emit_packed_bytes(FunctionBuilder& f, Value* x, Value* zero, DType dtype) {
  llvm::IRBuilder<>& ir = f.ir();
  const int bytes = f.target().vector_bytes;
  const bool wide = f.target().has_avx512(), is_signed = dtype == DType::i8;
  const x86::ID to_words = wide ? x86::x86_avx512_packssdw_512 : x86::x86_avx2_packssdw;
  const x86::ID to_bytes = is_signed ? (wide ? x86::x86_avx512_packsswb_512 : x86::x86_avx2_packsswb)
                                     : (wide ? x86::x86_avx512_packuswb_512 : x86::x86_avx2_packuswb);
  const auto integers = [&](int part) { return emit_nearest(f, part_of(f, x, part, bytes / kParts)); };
  const auto words = [&](int part) {
    Value* both = ir.CreateIntrinsic(to_words, {}, {integers(part), integers(part + 1)});
    return ir.CreateBinaryIntrinsic(x86::sadd_sat, both, f.splat(zero, bytes / 2));
  };
  Value* low = words(0);
  return in_order(f, ir.CreateIntrinsic(to_bytes, {}, {low, words(2)}), bytes);
}

}  // namespace gcg::cpu
