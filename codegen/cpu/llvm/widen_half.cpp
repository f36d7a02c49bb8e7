#include "codegen/cpu/llvm/widen_half.h"

#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/Instructions.h>

#include <string>
#include <vector>

namespace gcg::cpu {
namespace {

constexpr const char* kPrefix = "widen_half_";

/// Declares the pure function that hidden conversions call. It takes `bits` (i16, or a vector of i16) and returns f32
/// of the same width.
llvm::FunctionCallee declare_widen_half(llvm::Module& module, llvm::Type* bits) {
  auto* vector = llvm::dyn_cast<llvm::FixedVectorType>(bits);
  const std::string name = kPrefix + std::to_string(vector == nullptr ? 1 : vector->getNumElements());
  llvm::Type* result = bits->getWithNewType(llvm::Type::getFloatTy(module.getContext()));
  llvm::FunctionCallee callee = module.getOrInsertFunction(name, llvm::FunctionType::get(result, {bits}, false));
  auto* function = llvm::cast<llvm::Function>(callee.getCallee());
  function->setDoesNotAccessMemory();
  function->setDoesNotThrow();
  function->setWillReturn();
  function->setSpeculatable();
  return callee;
}

}  // namespace

llvm::Value* widen_half(llvm::IRBuilder<>& ir, DType from, llvm::Value* bits) {
  if (from == DType::f16)
    return ir.CreateCall(declare_widen_half(*ir.GetInsertBlock()->getModule(), bits->getType()), {bits});
  llvm::Value* wide = ir.CreateShl(ir.CreateZExt(bits, bits->getType()->getWithNewType(ir.getInt32Ty())), 16);
  return ir.CreateBitCast(wide, bits->getType()->getWithNewType(ir.getFloatTy()));
}

void lower_widen_half(llvm::Module& module) {
  std::vector<llvm::Function*> helpers;
  for (llvm::Function& function : module)
    if (function.getName().starts_with(kPrefix)) helpers.push_back(&function);
  for (llvm::Function* helper : helpers) {
    while (!helper->use_empty()) {
      auto* call = llvm::cast<llvm::CallInst>(helper->user_back());
      llvm::IRBuilder<> ir(call);
      llvm::Value* bits = call->getArgOperand(0);
      llvm::Value* half = ir.CreateBitCast(bits, bits->getType()->getWithNewType(ir.getHalfTy()));
      call->replaceAllUsesWith(ir.CreateFPExt(half, call->getType()));
      call->eraseFromParent();
    }
    helper->eraseFromParent();
  }
}

}  // namespace gcg::cpu
