#include "codegen/cpu/loops/program_call.h"

#include <algorithm>

namespace gcg::cpu {
namespace {

using llvm::Value;

class CallEmitter {
 public:
  CallEmitter(FunctionBuilder& f, const std::function<Value*(const Expr&)>& evaluate)
      : f_(f), ir_(f.ir()), evaluate_(evaluate) {}

  void emit(const Statement& s) {
    llvm::Type *pointer = ir_.getPtrTy(), *i32 = ir_.getInt32Ty();
    llvm::StructType* type =
        llvm::StructType::get(f_.context(), {pointer, pointer, pointer, pointer, ir_.getInt64Ty(), i32, i32});
    Value* call = slot(type);
    const auto set = [&](unsigned field, Value* value) {
      ir_.CreateStore(value, ir_.CreateStructGEP(type, call, field));
    };
    set(0, tensors(s.inputs));
    set(1, tensors(s.outputs));
    set(2, ir_.CreateGlobalString(s.attributes));
    set(3, s.workspace < 0 ? none() : f_.operand(s.workspace));
    set(4, evaluate_(s.workspace_bytes));
    set(5, ir_.getInt32(static_cast<uint32_t>(s.inputs.size())));
    set(6, ir_.getInt32(static_cast<uint32_t>(s.outputs.size())));
    // gart_custom_op: name, function, user.
    Value* op = f_.import(s.function);
    Value* function = ir_.CreateLoad(pointer, ir_.CreateConstInBoundsGEP1_64(pointer, op, 1));
    Value* user = ir_.CreateLoad(pointer, ir_.CreateConstInBoundsGEP1_64(pointer, op, 2));
    return_unless_zero(ir_.CreateCall(llvm::FunctionType::get(i32, {pointer, pointer}, false), function, {user, call}));
  }

 private:
  Value* none() { return llvm::ConstantPointerNull::get(ir_.getPtrTy()); }

  /// A slot of the stack frame. It is allocated in the entry block, so that loops do not grow the frame.
  Value* slot(llvm::Type* type) {
    llvm::BasicBlock& entry = f_.function()->getEntryBlock();
    return llvm::IRBuilder<>(&entry, entry.getFirstInsertionPt()).CreateAlloca(type);
  }

  /// An array of gart_op_tensor: data, dims, rank, dtype.
  Value* tensors(const std::vector<CallArgument>& arguments) {
    llvm::StructType* type =
        llvm::StructType::get(f_.context(), {ir_.getPtrTy(), ir_.getPtrTy(), ir_.getInt32Ty(), ir_.getInt32Ty()});
    llvm::Type* array = llvm::ArrayType::get(type, std::max<size_t>(arguments.size(), 1));
    Value* all = slot(array);
    for (size_t i = 0; i < arguments.size(); ++i) {
      const CallArgument& a = arguments[i];
      const auto set = [&](unsigned field, Value* value) {
        ir_.CreateStore(value, ir_.CreateStructGEP(type, ir_.CreateConstInBoundsGEP2_64(array, all, 0, i), field));
      };
      set(0, a.operand < 0 ? none() : f_.operand(a.operand));
      set(1, dims(a.extents));
      set(2, ir_.getInt32(static_cast<uint32_t>(a.extents.size())));
      set(3, ir_.getInt32(static_cast<uint32_t>(a.dtype)));
    }
    return all;
  }

  Value* dims(const std::vector<Expr>& extents) {
    llvm::Type* array = llvm::ArrayType::get(ir_.getInt64Ty(), std::max<size_t>(extents.size(), 1));
    Value* all = slot(array);
    for (size_t i = 0; i < extents.size(); ++i)
      ir_.CreateStore(evaluate_(extents[i]), ir_.CreateConstInBoundsGEP2_64(array, all, 0, i));
    return all;
  }

  /// Unless `code` is 0, returns it from the kernel, as an error code of gart_kernel.
  void return_unless_zero(Value* code) {
    llvm::BasicBlock* failed = llvm::BasicBlock::Create(f_.context(), "failed", f_.function());
    llvm::BasicBlock* after = llvm::BasicBlock::Create(f_.context(), "done", f_.function());
    ir_.CreateCondBr(ir_.CreateICmpEQ(code, ir_.getInt32(0)), after, failed);
    ir_.SetInsertPoint(failed);
    Value* least = ir_.getInt32(static_cast<uint32_t>(-INT32_MAX));
    Value* bounded = ir_.CreateSelect(ir_.CreateICmpSLT(code, least), least, code);
    Value* negative = ir_.CreateSub(ir_.getInt32(1), bounded);
    ir_.CreateRet(ir_.CreateSelect(ir_.CreateICmpSGT(code, ir_.getInt32(0)), ir_.CreateNeg(code), negative));
    ir_.SetInsertPoint(after);
  }

  FunctionBuilder& f_;
  llvm::IRBuilder<>& ir_;
  const std::function<Value*(const Expr&)>& evaluate_;
};

}  // namespace

void emit_call(FunctionBuilder& f, const Statement& call, const std::function<Value*(const Expr&)>& evaluate) {
  CallEmitter(f, evaluate).emit(call);
}

}  // namespace gcg::cpu
