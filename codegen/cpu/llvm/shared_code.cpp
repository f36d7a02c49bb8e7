#include "codegen/cpu/llvm/shared_code.h"

#include <llvm/IR/Instruction.h>
#include <llvm/IR/StructuralHash.h>

#include <vector>

#include "compiler/support/error.h"

namespace gcg::cpu {
namespace {

std::vector<llvm::Function*> shared_functions(llvm::Module& module) {
  std::vector<llvm::Function*> found;
  for (llvm::Function& function : module)
    if (function.hasLinkOnceODRLinkage()) found.push_back(&function);
  return found;
}

void drop_unused_data(llvm::Module& module) {
  std::vector<llvm::GlobalVariable*> unused;
  for (llvm::GlobalVariable& data : module.globals())
    if (data.use_empty()) unused.push_back(&data);
  for (llvm::GlobalVariable* data : unused) data->eraseFromParent();
}

}  // namespace

bool SharedCode::claim(const std::string& name, uint64_t hash) {
  const auto [known, first] = claimed_.try_emplace(name, hash);
  GCG_CHECK(known->second == hash, "two functions that kernels share are called '", name, "'");
  return first;
}

std::unique_lock<std::mutex> SharedCodeTicket::begin() {
  std::unique_lock lock(shared_.mutex_);
  shared_.ticket_served_.wait(lock, [&] { return shared_.tickets_served_ == kernel_; });
  return lock;
}

void SharedCodeTicket::end() {
  is_over_ = true;
  ++shared_.tickets_served_;
  shared_.ticket_served_.notify_all();
}

void SharedCodeTicket::claim_functions(llvm::Module& module) {
  const std::vector<llvm::Function*> functions = shared_functions(module);
  std::vector<uint64_t> hashes;
  hashes.reserve(functions.size());
  for (const llvm::Function* function : functions)
    hashes.push_back(llvm::StructuralHash(*function, /*DetailedHash=*/true));
  {
    const std::unique_lock lock = begin();
    for (size_t i = 0; i < functions.size(); ++i)
      if (shared_.claim(functions[i]->getName().str(), hashes[i]))
        functions[i]->setLinkage(llvm::GlobalValue::ExternalLinkage);
      else
        functions[i]->deleteBody();
    end();
  }
  drop_unused_data(module);
}

SharedCodeTicket::~SharedCodeTicket() {
  if (is_over_) return;
  const std::unique_lock lock = begin();
  end();
}

void keep_shared_functions(llvm::Module& module) {
  for (llvm::Function* function : shared_functions(module)) {
    function->setVisibility(llvm::GlobalValue::DefaultVisibility);
    function->setLinkage(llvm::GlobalValue::InternalLinkage);
  }
}

}  // namespace gcg::cpu
