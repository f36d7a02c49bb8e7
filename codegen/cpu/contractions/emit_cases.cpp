#include "codegen/cpu/contractions/emit_cases.h"

namespace gcg::cpu {

void emit_cases(FunctionBuilder& f, llvm::Value* value, const std::vector<int>& keys,
                const std::function<void(int)>& body) {
  if (keys.size() == 1) return body(keys.front());
  llvm::IRBuilder<>& ir = f.ir();
  auto new_block = [&] { return llvm::BasicBlock::Create(f.context(), "case", f.function()); };
  llvm::BasicBlock* after = new_block();
  std::vector<llvm::BasicBlock*> blocks;
  for (size_t i = 0; i < keys.size(); ++i) blocks.push_back(new_block());
  llvm::SwitchInst* choice = ir.CreateSwitch(value, blocks.back());  // the last key needs no test
  for (size_t i = 0; i < keys.size(); ++i) {
    if (i + 1 < keys.size()) choice->addCase(f.i64(keys[i]), blocks[i]);
    ir.SetInsertPoint(blocks[i]);
    body(keys[i]);
    ir.CreateBr(after);
  }
  ir.SetInsertPoint(after);
}

}  // namespace gcg::cpu
