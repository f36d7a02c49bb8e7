#include "codegen/cpu/llvm/function_builder.h"

#include <llvm/IR/Intrinsics.h>
#include <llvm/IR/Verifier.h>

#include <algorithm>
#include <utility>

#include "artifact_schema/kernel_abi.h"
#include "compiler/support/error.h"

namespace gcg::cpu {
namespace {

enum ArgsField { kBuffers = 0, kParams = 1, kScratch = 2, kImports = 3 };  // pointers in gart_kernel_args

llvm::MDNode* loop_metadata(llvm::LLVMContext& context, LoopHint hint) {
  llvm::Metadata* unroll =
      hint.unroll <= 1
          ? llvm::MDNode::get(context, llvm::MDString::get(context, "llvm.loop.unroll.disable"))
          : llvm::MDNode::get(context, {llvm::MDString::get(context, "llvm.loop.unroll.count"),
                                        llvm::ConstantAsMetadata::get(llvm::ConstantInt::get(
                                            llvm::Type::getInt32Ty(context), static_cast<uint64_t>(hint.unroll)))});
  llvm::MDNode* id = llvm::MDNode::getDistinct(context, {nullptr, unroll});
  id->replaceOperandWith(0, id);
  return id;
}

}  // namespace

FunctionBuilder::FunctionBuilder(llvm::Module& module, const std::string& name, const CpuTarget& target,
                                 const Kernel& kernel, const std::vector<std::string>& imports)
    : module_(&module),
      target_(target),
      kernel_(kernel),
      imports_(imports),
      ir_(module.getContext()),
      entry_(module.getContext()) {
  llvm::Type* pointer = ir_.getPtrTy();
  auto* signature = llvm::FunctionType::get(ir_.getInt32Ty(), {pointer, ir_.getInt64Ty(), ir_.getInt64Ty()}, false);
  function_ = llvm::Function::Create(signature, llvm::Function::ExternalLinkage, name, module);
  function_->setDSOLocal(true);
  function_->addFnAttr(llvm::Attribute::NoUnwind);
  function_->addFnAttr("no-builtins");
  function_->addFnAttr("no-jump-tables", "true");
  function_->addFnAttr("target-cpu", target.cpu);
  function_->addFnAttr("target-features", target.features);
  if (target.has_avx512()) {
    function_->addFnAttr("prefer-vector-width", "512");
    function_->addFnAttr("min-legal-vector-width", "512");
  }
  function_->getArg(0)->setName("args");
  function_->getArg(1)->setName("task_begin");
  function_->getArg(2)->setName("task_end");
  function_->addParamAttr(0, llvm::Attribute::NoAlias);
  function_->addParamAttr(0, llvm::Attribute::ReadOnly);
  function_->addParamAttr(0, llvm::Attribute::getWithDereferenceableBytes(context(), sizeof(gart_kernel_args)));

  entry_.SetInsertPoint(llvm::BasicBlock::Create(context(), "entry", function_));
  body_ = new_block("body");
  ir_.SetInsertPoint(body_);
}

llvm::BasicBlock* FunctionBuilder::new_block(const std::string& name) {
  return llvm::BasicBlock::Create(context(), name, function_);
}

llvm::Value* FunctionBuilder::entry_load(int field, const std::string& name) {
  llvm::Value*& value = fields_[field];
  if (value == nullptr) {
    llvm::Value* address = entry_.CreateConstInBoundsGEP1_64(entry_.getPtrTy(), function_->getArg(0), field);
    value = entry_.CreateAlignedLoad(entry_.getPtrTy(), address, llvm::Align(8), name);
  }
  return value;
}

llvm::Value* FunctionBuilder::operand(int i) {
  llvm::Value*& value = operands_[i];
  if (value == nullptr) {
    GCG_CHECK(i >= 0 && i < static_cast<int>(kernel_.operands.size()), "operand ", i, " of ", kernel_.operands.size());
    if (kernel_.operands[static_cast<size_t>(i)].array) {
      llvm::Value* offset = dim(array_offset(kernel_, static_cast<size_t>(i)));
      return value = entry_.CreateInBoundsGEP(entry_.getInt8Ty(), scratch(), offset, concat("array", i));
    }
    llvm::Value* address = entry_.CreateConstInBoundsGEP1_64(entry_.getPtrTy(), entry_load(kBuffers, "buffers"), i);
    auto* loaded = entry_.CreateAlignedLoad(entry_.getPtrTy(), address, llvm::Align(8), concat("operand", i));
    loaded->setMetadata(llvm::LLVMContext::MD_align,
                        llvm::MDNode::get(context(), llvm::ConstantAsMetadata::get(ir_.getInt64(64))));
    value = loaded;
  }
  return value;
}

Slope FunctionBuilder::slope_of(int operand) const {
  const auto it = slopes_.find(operand);
  return it == slopes_.end() ? Slope::any : it->second;
}

int FunctionBuilder::add_array(DType dtype, const Dim& extent, Slope slope) {
  Operand array{dtype, {extent}, true};
  array.array = true;
  kernel_.operands.push_back(std::move(array));
  const auto operand = static_cast<int>(kernel_.operands.size()) - 1;
  slopes_[operand] = slope;
  return operand;
}

llvm::Value* FunctionBuilder::dim(const Dim& d) {
  if (d.is_constant()) return i64(d.constant());
  llvm::Value*& value = dims_[d];
  if (value == nullptr) {
    const auto slot = static_cast<uint64_t>(params_.size());
    llvm::Value* address = entry_.CreateConstInBoundsGEP1_64(entry_.getInt64Ty(), entry_load(kParams, "params"), slot);
    value = entry_.CreateAlignedLoad(entry_.getInt64Ty(), address, llvm::Align(8), d.str());
    params_.push_back(d);
  }
  return value;
}

llvm::Value* FunctionBuilder::scratch() { return entry_load(kScratch, "scratch"); }

llvm::Value* FunctionBuilder::import(const std::string& name) {
  llvm::Value*& value = import_values_[name];
  if (value == nullptr) {
    auto found = std::find(imports_.begin(), imports_.end(), name);
    GCG_CHECK(found != imports_.end(), "function ", name, " is not in the import table");
    llvm::Value* address = entry_.CreateConstInBoundsGEP1_64(entry_.getPtrTy(), entry_load(kImports, "imports"),
                                                             static_cast<uint64_t>(found - imports_.begin()));
    value = entry_.CreateAlignedLoad(entry_.getPtrTy(), address, llvm::Align(8), name);
  }
  return value;
}

void FunctionBuilder::for_loop(llvm::Value* begin, llvm::Value* end, llvm::Value* step,
                               const std::function<void(llvm::Value*)>& body, LoopHint hint) {
  for_loop(
      begin, end, step, {},
      [&](llvm::Value* i, const Values&) {
        body(i);
        return Values{};
      },
      hint);
}

FunctionBuilder::Values FunctionBuilder::for_loop(llvm::Value* begin, llvm::Value* end, llvm::Value* step,
                                                  const Values& initial,
                                                  const std::function<Values(llvm::Value*, const Values&)>& body,
                                                  LoopHint hint) {
  // A rotated loop: one test before and one at the bottom, so that the body of a vector loop is a single block.
  llvm::BasicBlock* before = ir_.GetInsertBlock();
  llvm::BasicBlock* loop = new_block("loop");
  llvm::BasicBlock* after = new_block("after");
  ir_.CreateCondBr(ir_.CreateICmpSLT(begin, end), loop, after);

  ir_.SetInsertPoint(loop);
  llvm::PHINode* i = ir_.CreatePHI(ir_.getInt64Ty(), 2, "i");
  i->addIncoming(begin, before);
  std::vector<llvm::PHINode*> phis;
  for (llvm::Value* v : initial) {
    phis.push_back(ir_.CreatePHI(v->getType(), 2));
    phis.back()->addIncoming(v, before);
  }
  const Values next = body(i, Values(phis.begin(), phis.end()));
  GCG_CHECK(next.size() == phis.size(), "a loop body returned ", next.size(), " values for ", phis.size());
  llvm::Value* next_i = ir_.CreateAdd(i, step, "next", false, true);
  llvm::BasicBlock* latch = ir_.GetInsertBlock();
  i->addIncoming(next_i, latch);
  for (size_t k = 0; k < phis.size(); ++k) phis[k]->addIncoming(next[k], latch);
  llvm::BranchInst* back = ir_.CreateCondBr(ir_.CreateICmpSLT(next_i, end), loop, after);
  back->setMetadata(llvm::LLVMContext::MD_loop, loop_metadata(context(), hint));

  ir_.SetInsertPoint(after);
  Values results;
  for (size_t k = 0; k < phis.size(); ++k) {
    llvm::PHINode* result = ir_.CreatePHI(phis[k]->getType(), 2);
    result->addIncoming(initial[k], before);
    result->addIncoming(next[k], latch);
    results.push_back(result);
  }
  return results;
}

void FunctionBuilder::while_loop(const std::function<llvm::Value*()>& condition, const std::function<void()>& body) {
  llvm::BasicBlock* test = new_block("while");
  llvm::BasicBlock* loop = new_block("loop");
  llvm::BasicBlock* after = new_block("after");
  ir_.CreateBr(test);
  ir_.SetInsertPoint(test);
  ir_.CreateCondBr(condition(), loop, after);
  ir_.SetInsertPoint(loop);
  body();
  ir_.CreateBr(test);
  ir_.SetInsertPoint(after);
}

void FunctionBuilder::if_then(llvm::Value* condition, const std::function<void()>& then) {
  if_else(
      condition,
      [&] {
        then();
        return Values{};
      },
      [] { return Values{}; });
}

FunctionBuilder::Values FunctionBuilder::if_else(llvm::Value* condition, const std::function<Values()>& then,
                                                 const std::function<Values()>& otherwise) {
  llvm::BasicBlock* then_block = new_block("then");
  llvm::BasicBlock* else_block = new_block("else");
  llvm::BasicBlock* after = new_block("endif");
  ir_.CreateCondBr(condition, then_block, else_block);
  ir_.SetInsertPoint(then_block);
  const Values a = then();
  llvm::BasicBlock* then_end = ir_.GetInsertBlock();
  ir_.CreateBr(after);
  ir_.SetInsertPoint(else_block);
  const Values b = otherwise();
  llvm::BasicBlock* else_end = ir_.GetInsertBlock();
  ir_.CreateBr(after);
  ir_.SetInsertPoint(after);
  GCG_CHECK(a.size() == b.size(), "the sides of a branch return ", a.size(), " and ", b.size(), " values");
  Values results;
  for (size_t k = 0; k < a.size(); ++k) {
    llvm::PHINode* phi = ir_.CreatePHI(a[k]->getType(), 2);
    phi->addIncoming(a[k], then_end);
    phi->addIncoming(b[k], else_end);
    results.push_back(phi);
  }
  return results;
}

void FunctionBuilder::flag_index_error(llvm::Value* condition) {
  if (error_slot_ == nullptr) {
    error_slot_ = entry_.CreateAlloca(entry_.getInt32Ty(), nullptr, "error");
    entry_.CreateStore(entry_.getInt32(GART_KERNEL_OK), error_slot_);
  }
  if (is_vector(condition)) condition = ir_.CreateOrReduce(condition);
  static_assert(GART_KERNEL_INDEX_OUT_OF_RANGE == 1, "the flag is the error code");
  llvm::Value* old = ir_.CreateLoad(ir_.getInt32Ty(), error_slot_);
  ir_.CreateStore(ir_.CreateOr(old, ir_.CreateZExt(condition, ir_.getInt32Ty())), error_slot_);
}

void FunctionBuilder::return_index_error_unless(llvm::Value* condition) {
  llvm::BasicBlock* wrong = new_block("wrong");
  llvm::BasicBlock* after = new_block("right");
  ir_.CreateCondBr(condition, after, wrong);
  ir_.SetInsertPoint(wrong);
  ir_.CreateRet(ir_.getInt32(GART_KERNEL_INDEX_OUT_OF_RANGE));
  ir_.SetInsertPoint(after);
}

llvm::AllocaInst* FunctionBuilder::variable(DType dtype) {
  llvm::AllocaInst* slot = entry_.CreateAlloca(scalar_type(dtype));
  entry_.CreateStore(llvm::Constant::getNullValue(scalar_type(dtype)), slot);
  return slot;
}

llvm::AllocaInst* FunctionBuilder::take_memory(int64_t bytes) {
  if (free_memory_.empty()) {
    free_memory_.push_back(entry_.CreateAlloca(entry_.getInt8Ty(), i64(0), "sums"));
    free_memory_.back()->setAlignment(llvm::Align(64));
  }
  llvm::AllocaInst* memory = free_memory_.back();
  free_memory_.pop_back();
  const int64_t held = llvm::cast<llvm::ConstantInt>(memory->getArraySize())->getSExtValue();
  if (bytes > held) memory->setOperand(0, i64(bytes));
  return memory;
}

llvm::Function* FunctionBuilder::shared_function(const std::string& name, const std::vector<llvm::Type*>& arguments,
                                                 const std::function<void(llvm::Function&)>& emit) {
  if (llvm::Function* known = module_->getFunction(name)) return known;
  auto* type = llvm::FunctionType::get(ir_.getVoidTy(), arguments, false);
  llvm::Function* created = llvm::Function::Create(type, llvm::Function::LinkOnceODRLinkage, name, *module_);
  created->setVisibility(llvm::GlobalValue::HiddenVisibility);
  created->setDSOLocal(true);
  created->addFnAttrs(llvm::AttrBuilder(context(), function_->getAttributes().getFnAttrs()));
  created->addFnAttr(llvm::Attribute::NoInline);
  const llvm::IRBuilder<>::InsertPointGuard back(ir_);
  llvm::Function* const kernel = std::exchange(function_, created);
  ir_.SetInsertPoint(new_block("entry"));
  emit(*created);
  function_ = kernel;
  std::string message;
  llvm::raw_string_ostream out(message);
  GCG_CHECK(!llvm::verifyFunction(*created, &out), "function ", name, ": LLVM rejects its IR: ", message);
  return created;
}

void FunctionBuilder::finish() {
  llvm::Value* result = error_slot_ == nullptr ? static_cast<llvm::Value*>(ir_.getInt32(GART_KERNEL_OK))
                                               : ir_.CreateLoad(ir_.getInt32Ty(), error_slot_);
  ir_.CreateRet(result);
  entry_.CreateBr(body_);
  std::string message;
  llvm::raw_string_ostream out(message);
  GCG_CHECK(!llvm::verifyFunction(*function_, &out), "kernel ", kernel_.name, ": LLVM rejects its IR: ", message);
}

}  // namespace gcg::cpu
