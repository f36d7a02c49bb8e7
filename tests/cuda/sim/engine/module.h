// Loads a simulated cubin. The shared object's bytes go into an anonymous file, so that every load is a separate
// instance.
#ifndef GART_TESTS_CUDA_SIM_ENGINE_MODULE_H
#define GART_TESTS_CUDA_SIM_ENGINE_MODULE_H

#include <memory>
#include <string>
#include <string_view>

#include "tests/cuda/sim/shim/module_abi.h"

namespace gart_sim {

class LoadedModule {
 public:
  // The size of the shared object at `image`, from its section headers, which are at its end. 0: not a shared object.
  static size_t size_of(const void* image);
  // Returns null and a reason in `error` if loading fails.
  static std::unique_ptr<LoadedModule> load(std::string_view bytes, std::string& error);
  ~LoadedModule();
  LoadedModule(const LoadedModule&) = delete;
  LoadedModule& operator=(const LoadedModule&) = delete;

  [[nodiscard]] const Module& module() const { return *module_; }
  [[nodiscard]] const Kernel* find(std::string_view name) const;
  [[nodiscard]] unsigned static_shared_bytes() const { return static_shared_bytes_; }

 private:
  LoadedModule() = default;
  int file_ = -1;
  void* library_ = nullptr;
  const Module* module_ = nullptr;
  unsigned static_shared_bytes_ = 0;
};

}  // namespace gart_sim
#endif
