#include "tools/api/print_code.h"

#include <memory>
#include <ostream>
#include <string>
#include <utility>

#include "codegen/cpu/compile_kernel.h"

namespace gcc_graph::detail {
namespace {

using gcg::CompiledBlob;
using gcg::Kernel;
using gcg::Target;

using Code = std::string (*)(const Kernel&, const Target&);

std::string assembly(const Kernel& kernel, const Target& target) {
  return gcg::cpu::kernel_assembly(kernel, gcg::cpu::cpu_target(target));
}

/// Prints code(kernel, target); without `code`, the backend's own source.
class PrintingBackend final : public gcg::Backend {
 public:
  PrintingBackend(std::unique_ptr<gcg::Backend> backend, Code code, std::ostream& out)
      : backend_(std::move(backend)), code_(code), out_(out) {}

  gcg::DeviceClass device() const override { return backend_->device(); }

  CompiledBlob compile(const std::vector<const Kernel*>& kernels, const Target& target, int threads) const override {
    for (size_t k = 0; k < kernels.size(); ++k) {
      out_ << "code " << target.name << " k" << k << " '" << kernels[k]->name << "'";
      for (const std::string& source : kernels[k]->sources) out_ << ' ' << source;
      out_ << '\n' << (code_ != nullptr ? code_(*kernels[k], target) : source(*kernels[k], target)) << '\n';
    }
    return backend_->compile(kernels, target, threads);
  }

  std::string source(const Kernel& kernel, const Target& target) const override {
    return backend_->source(kernel, target);
  }

  void add_conditional_kernel(CompiledBlob& blob, const Target& target) const override {
    backend_->add_conditional_kernel(blob, target);
  }

 private:
  const std::unique_ptr<gcg::Backend> backend_;
  const Code code_;
  std::ostream& out_;
};

}  // namespace

std::unique_ptr<gcg::Backend> printing_assembly(std::unique_ptr<gcg::Backend> cpu_backend, std::ostream& out) {
  return std::make_unique<PrintingBackend>(std::move(cpu_backend), assembly, out);
}

std::unique_ptr<gcg::Backend> printing_cuda(std::unique_ptr<gcg::Backend> cuda_backend, std::ostream& out) {
  return std::make_unique<PrintingBackend>(std::move(cuda_backend), nullptr, out);
}

}  // namespace gcc_graph::detail
