// Functions that the kernels of a target have in common (FunctionBuilder::shared_function): register tiles, transforms.
// Each is compiled once, with the first kernel that calls it: a module costs LLVM more than a function.
#pragma once

#include <llvm/IR/Module.h>

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <string>

namespace gcg::cpu {

/// Of a target, among all threads that compile its kernels.
class SharedCode {
  friend class SharedCodeTurn;

  /// Is the caller the first to have it?
  bool claim(const std::string& name, uint64_t hash);

  std::mutex mutex_;
  std::condition_variable turn_over_;
  size_t turns_over_ = 0;
  std::map<std::string, uint64_t> claimed_;  // hash of the code
};

/// A kernel's turn to say which functions it has. Turns are taken in the order of the kernels, however many threads
/// emit them, so that the code does not depend on time. Ends unused where the kernel cannot be emitted.
class SharedCodeTurn {
 public:
  SharedCodeTurn(SharedCode& shared, size_t kernel) : shared_(shared), kernel_(kernel) {}
  SharedCodeTurn(const SharedCodeTurn&) = delete;
  SharedCodeTurn& operator=(const SharedCodeTurn&) = delete;
  ~SharedCodeTurn();

  /// Waits for the turns before. Leaves in the module the shared functions that no kernel before had, for all to call,
  /// and declarations of the others. Throws InternalError where functions of one name differ.
  void claim_functions(llvm::Module& module);

 private:
  /// Waits for the turns before.
  std::unique_lock<std::mutex> begin();
  void end();

  SharedCode& shared_;
  const size_t kernel_;
  bool is_over_ = false;
};

/// Makes shared functions the module's own.
void keep_shared_functions(llvm::Module& module);

}  // namespace gcg::cpu
