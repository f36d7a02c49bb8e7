// Functions that the kernels of a target share (FunctionBuilder::shared_function): register tiles, transforms. Each is
// compiled once, with the first kernel that calls it, because LLVM needs more time for a module than for a function.
#pragma once

#include <llvm/IR/Module.h>

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <string>

namespace gcg::cpu {

/// The shared functions of one target, for all threads that compile its kernels.
class SharedCode {
  friend class SharedCodeTicket;

  /// True if the caller is the first to claim the function.
  bool claim(const std::string& name, uint64_t hash);

  std::mutex mutex_;
  std::condition_variable ticket_served_;
  size_t tickets_served_ = 0;
  std::map<std::string, uint64_t> claimed_;  // by name: hash of the code
};

/// A kernel's ticket to claim its shared functions. Tickets are served in the order of the kernels, however many
/// threads emit them, so that the code does not depend on timing. If a kernel cannot be emitted, its ticket is served
/// without a claim.
class SharedCodeTicket {
 public:
  SharedCodeTicket(SharedCode& shared, size_t kernel) : shared_(shared), kernel_(kernel) {}
  SharedCodeTicket(const SharedCodeTicket&) = delete;
  SharedCodeTicket& operator=(const SharedCodeTicket&) = delete;
  ~SharedCodeTicket();

  /// Waits until the earlier tickets are served. Keeps in the module those shared functions that no earlier kernel
  /// claimed, callable by all, and declarations of the others. Throws InternalError if functions of one name differ.
  void claim_functions(llvm::Module& module);

 private:
  /// Waits until the earlier tickets are served.
  std::unique_lock<std::mutex> begin();
  void end();

  SharedCode& shared_;
  const size_t kernel_;
  bool is_over_ = false;
};

/// Makes the shared functions private to the module.
void keep_shared_functions(llvm::Module& module);

}  // namespace gcg::cpu
