// Looks up tables of 256 bytes by shuffles of their sixteen parts, because vectors have no gather of bytes.
#include <llvm/Analysis/VectorUtils.h>
#include <llvm/IR/IntrinsicsX86.h>

#include <vector>

#include "codegen/cpu/expressions/evaluation.h"
#include "codegen/cpu/llvm/function_builder.h"

namespace gcg::cpu {

using llvm::Value;

namespace {

constexpr int64_t kTable = 256;
constexpr int kPart = 16;  // entries among which a shuffle chooses

/// The byte that is the index of the load. In a table of 256 bytes, every byte has an entry.
Expr byte_of_entry(const Kernel& kernel, const ExprNode& e) {
  const Operand& table = kernel.operands[static_cast<size_t>(e.operand)];
  if (e.guarded || e.args.size() != 1 || size_of(e.dtype) != 1 || table.shape != Shape{kTable}) return nullptr;
  const Expr& i = e.args[0];
  return i->kind == ExprKind::cast && i->args[0]->dtype == DType::u8 ? i->args[0] : nullptr;
}

/// Bytes of the widest vector, at most `lanes`, whose 16-byte blocks one instruction shuffles separately; 0: there is
/// none.
int shuffled_bytes(const CpuTarget& target, int lanes) {
  int bytes = target.is_x86() ? target.vector_bytes : 0;
  while (bytes > lanes) bytes /= 2;
  return bytes >= kPart ? bytes : 0;
}

/// Emits table[x], where `x` has as many bytes as a register.
class LookUp {
 public:
  LookUp(FunctionBuilder& f, Value* table, int bytes) : f_(f), ir_(f.ir()), bytes_(bytes) {
    std::vector<int> each(static_cast<size_t>(bytes));
    for (int i = 0; i < bytes; ++i) each[static_cast<size_t>(i)] = i % kPart;
    for (int part = 0; part < kTable / kPart; ++part) {
      Value* entries = f.load(table, DType::u8, f.i64(part * kPart), kPart);
      parts_.push_back(ir_.CreateShuffleVector(entries, each));
    }
  }

  Value* operator()(Value* x) {
    Value* result = nullptr;
    for (size_t part = 0; part < parts_.size(); ++part) {
      // For a byte within this part, the low four bits stay and the highest bit is 0. Otherwise the highest bit is 1,
      // which makes the result 0.
      Value* begin =
          ir_.CreateVectorSplat(static_cast<unsigned>(bytes_), ir_.getInt8(static_cast<uint8_t>(part * kPart)));
      Value* place = ir_.CreateBinaryIntrinsic(llvm::Intrinsic::uadd_sat, ir_.CreateSub(x, begin), all(0x70));
      Value* here = ir_.CreateIntrinsic(shuffle(), {}, {parts_[part], place});
      result = result == nullptr ? here : ir_.CreateOr(result, here);
    }
    return result;
  }

 private:
  Value* all(uint8_t value) { return ir_.CreateVectorSplat(static_cast<unsigned>(bytes_), ir_.getInt8(value)); }
  llvm::Intrinsic::ID shuffle() const {
    return bytes_ == 64   ? llvm::Intrinsic::x86_avx512_pshuf_b_512
           : bytes_ == 32 ? llvm::Intrinsic::x86_avx2_pshuf_b
                          : llvm::Intrinsic::x86_ssse3_pshuf_b_128;
  }

  FunctionBuilder& f_;
  llvm::IRBuilder<>& ir_;
  const int bytes_;
  std::vector<Value*> parts_;
};

}  // namespace

/// Null if the load does not read such a table, or is not a vector.
Value* Evaluation::looked_up(const ExprNode& e) {
  const Expr byte = byte_of_entry(f_.kernel(), e);
  const int bytes = shuffled_bytes(f_.target(), point_.lanes);
  if (!byte || bytes == 0 || point_.lanes % bytes != 0) return nullptr;
  Value* x = lanes(value(byte));
  LookUp look_up(f_, f_.operand(e.operand), bytes);
  std::vector<Value*> found;
  for (int from = 0; from < point_.lanes; from += bytes) {
    std::vector<int> some(static_cast<size_t>(bytes));
    for (int i = 0; i < bytes; ++i) some[static_cast<size_t>(i)] = from + i;
    found.push_back(look_up(bytes == point_.lanes ? x : ir_.CreateShuffleVector(x, some)));
  }
  return llvm::concatenateVectors(ir_, found);
}

}  // namespace gcg::cpu
