// Functions that the kernels of a target have in common (FunctionBuilder::shared_function): register tiles, transforms.
// Each is compiled once, by the first kernel that calls it, into an object of its own.
#pragma once

#include <llvm/IR/Module.h>
#include <llvm/Target/TargetMachine.h>

#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <vector>

namespace gcg::cpu {

class SharedCode {
 public:
  using Objects = std::map<std::string, std::vector<char>>;  // ELF, by the name of the function that each defines

  /// Leaves declarations of the module's shared functions in it, and has compiled them. Callable from several threads.
  /// Throws InternalError where functions of one name differ.
  void take_out(llvm::Module& module, llvm::TargetMachine& machine);

  /// Complete when all modules have been given.
  const Objects& objects() const { return objects_; }

 private:
  /// Is the caller the first to have it?
  bool claim(const llvm::Function& function);

  std::mutex mutex_;
  std::map<std::string, uint64_t> claimed_;  // hash of the code
  Objects objects_;
};

/// Makes shared functions the module's own.
void keep_shared_functions(llvm::Module& module);

}  // namespace gcg::cpu
