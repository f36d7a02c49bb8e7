#include "codegen/cpu/llvm/shared_code.h"

#include <llvm/IR/Instruction.h>
#include <llvm/IR/StructuralHash.h>
#include <llvm/Transforms/Utils/Cloning.h>

#include <algorithm>
#include <memory>
#include <utility>

#include "codegen/cpu/llvm/optimize.h"
#include "compiler/support/error.h"

namespace gcg::cpu {
namespace {

std::vector<llvm::Function*> shared_functions(llvm::Module& module) {
  std::vector<llvm::Function*> found;
  for (llvm::Function& function : module)
    if (function.hasLinkOnceODRLinkage()) found.push_back(&function);
  return found;
}

bool is_read_by(const llvm::GlobalVariable& data, const llvm::Function& function) {
  return std::any_of(data.user_begin(), data.user_end(), [&](const llvm::User* user) {
    const auto* instruction = llvm::dyn_cast<llvm::Instruction>(user);
    return instruction != nullptr && instruction->getFunction() == &function;
  });
}

/// The function, and the constants that it reads, in a module of its own.
std::unique_ptr<llvm::Module> alone(const llvm::Function& function) {
  llvm::ValueToValueMapTy map;
  auto module = llvm::CloneModule(*function.getParent(), map, [&](const llvm::GlobalValue* value) {
    const auto* data = llvm::dyn_cast<llvm::GlobalVariable>(value);
    return value == &function || (data != nullptr && is_read_by(*data, function));
  });
  llvm::cast<llvm::Function>(map[&function])->setLinkage(llvm::GlobalValue::ExternalLinkage);
  return module;
}

void drop_unused_data(llvm::Module& module) {
  std::vector<llvm::GlobalVariable*> unused;
  for (llvm::GlobalVariable& data : module.globals())
    if (data.use_empty()) unused.push_back(&data);
  for (llvm::GlobalVariable* data : unused) data->eraseFromParent();
}

}  // namespace

bool SharedCode::claim(const llvm::Function& function) {
  const uint64_t hash = llvm::StructuralHash(function, /*DetailedHash=*/true);
  const std::lock_guard lock(mutex_);
  const auto [known, first] = claimed_.try_emplace(function.getName().str(), hash);
  GCG_CHECK(known->second == hash, "two functions that kernels share are called '", known->first, "'");
  return first;
}

void SharedCode::take_out(llvm::Module& module, llvm::TargetMachine& machine) {
  for (llvm::Function* function : shared_functions(module)) {
    if (claim(*function)) {
      std::vector<char> object = compile_to_object(*alone(*function), machine);
      const std::lock_guard lock(mutex_);
      objects_.emplace(function->getName().str(), std::move(object));
    }
    function->deleteBody();
  }
  drop_unused_data(module);
}

void keep_shared_functions(llvm::Module& module) {
  for (llvm::Function* function : shared_functions(module)) {
    function->setVisibility(llvm::GlobalValue::DefaultVisibility);
    function->setLinkage(llvm::GlobalValue::InternalLinkage);
  }
}

}  // namespace gcg::cpu
