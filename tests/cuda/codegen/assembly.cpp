#include "tests/cuda/codegen/assembly.h"

#include <algorithm>
#include <chrono>
#include <cstdlib>

#include "codegen/cuda/cuda_backend.h"
#include "codegen/cuda/kernel_text.h"
#include "codegen/cuda/nvrtc.h"
#include "compiler/support/error.h"

namespace gcg::test {
namespace {

/// Divisions and some functions are calls inside the kernel (their slow path, for floats), around which ptxas saves a
/// few registers: that is no shortage where it uses few of them.
bool is_around_calls(const CompiledKernel& k) { return k.registers <= 64 && k.spill_bytes <= 96; }

class WatchedBackend final : public Backend {
 public:
  WatchedBackend(AssemblyReport& report, const std::string& cache, std::ostream* print)
      : report_(report), backend_(cuda::make_cuda_backend(cache)), print_(print) {}

  DeviceClass device() const override { return DeviceClass::cuda; }

  CompiledBlob compile(const std::vector<const Kernel*>& kernels, const Target& target, int threads) const override {
    if (print_ != nullptr)
      for (const Kernel* kernel : kernels) print(*kernel, target);
    const auto begin = std::chrono::steady_clock::now();
    CompiledBlob blob = backend_->compile(kernels, target, threads);
    report_.seconds += std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    for (size_t i = 0; i < blob.kernels.size(); ++i) {
      const CompiledKernel& k = blob.kernels[i];
      ++report_.kernels;
      report_.most_registers = std::max(report_.most_registers, k.registers);
      if ((k.spill_bytes > 0 && !is_around_calls(k)) || k.note.find("C75") != std::string::npos)
        report_.complaints.push_back(concat(target.name, ' ', i < kernels.size() ? kernels[i]->name : "(second launch)",
                                            ' ', k.symbol, ", ", k.registers, " registers: ", k.note));
    }
    if (print_ != nullptr)
      for (const CompiledKernel& k : blob.kernels)
        *print_ << "// " << k.symbol << ": " << k.registers << " registers, " << k.size << " bytes, " << k.note << '\n';
    return blob;
  }

 private:
  void print(const Kernel& kernel, const Target& target) const {
    const cuda::KernelText text = cuda::emit_kernel(kernel, target);
    *print_ << "// " << kernel.name << ": " << text.tasks.str() << " blocks of " << text.threads << ", " << text.note
            << '\n'
            << text.source << '\n';
    for (const cuda::KernelText& then : text.then) *print_ << "// then\n" << then.source << '\n';
  }

  AssemblyReport& report_;
  std::unique_ptr<Backend> backend_;
  std::ostream* print_;
};

}  // namespace

std::string default_cache() {
  const char* named = std::getenv("GCC_GRAPH_TEST_CACHE");
  return named != nullptr ? named : GCC_GRAPH_BINARY_DIR "/cuda_cache";
}

bool has_nvrtc() { return cuda::Nvrtc::find_for_driver(0) != nullptr; }

std::unique_ptr<Backend> make_watched_backend(AssemblyReport& report, const std::string& cache, std::ostream* print) {
  return std::make_unique<WatchedBackend>(report, cache, print);
}

}  // namespace gcg::test
