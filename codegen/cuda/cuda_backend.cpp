#include "codegen/cuda/cuda_backend.h"

#include <algorithm>
#include <atomic>
#include <exception>
#include <thread>

#include "codegen/cuda/assembler/assemble.h"
#include "codegen/cuda/conditional_kernel.h"
#include "codegen/cuda/kernel_arithmetic.h"
#include "compiler/kernel/access_analysis.h"
#include "compiler/kernel/kernel_progress.h"
#include "compiler/support/error.h"

namespace gcg::cuda {
namespace {

std::string source_name(const Kernel& kernel) {
  return kernel.sources.empty() ? concat("kernel '", kernel.name, "'")
                                : concat("node '", kernel.sources.front(), "' (kernel '", kernel.name, "')");
}

/// A text to assemble: the text of a kernel, or of a launch that follows a kernel.
struct AssemblyJob {
  const Kernel* kernel;
  KernelText text;
  AssembledProgram program;
  int then = -1;
};

/// Calls task(). If its error does not name the source node, adds the name.
template <class Task>
auto named(const Kernel& kernel, const Task& task) {
  try {
    return task();
  } catch (const InternalError& error) {
    throw InternalError(concat(source_name(kernel), ": ", error.what()));
  } catch (const CompileError& error) {
    throw CompileError(concat(source_name(kernel), ": ", error.what()));
  }
}

/// The given kernels' texts in order, then the launches that follow them.
std::vector<AssemblyJob> emit_all(const std::vector<const Kernel*>& kernels, const Target& target) {
  std::vector<AssemblyJob> all;
  for (const Kernel* kernel : kernels)
    all.push_back({kernel, named(*kernel, [&] { return emit_kernel(*kernel, target); }), {}, -1});
  for (size_t i = 0; i < all.size(); ++i) {
    if (all[i].text.then.empty()) continue;
    all[i].then = static_cast<int>(all.size());
    KernelText then = std::move(all[i].text.then.front());
    all.push_back({all[i].kernel, std::move(then), {}, -1});
  }
  return all;
}

/// Assembles on `threads` threads. If several jobs fail, reports the error of the lowest index, whichever failed first.
void assemble_all(std::vector<AssemblyJob>& all, const Assembler& assembler, int threads) {
  std::vector<std::exception_ptr> errors(all.size());
  std::atomic<size_t> next{0};
  KernelProgress progress(all.size());
  auto work = [&] {
    for (size_t i = next++; i < all.size(); i = next++) {
      try {
        all[i].program =
            named(*all[i].kernel, [&] { return assembler.assemble(all[i].text.source, all[i].text.least_registers); });
        progress.finish_one();
      } catch (...) {
        errors[i] = std::current_exception();
      }
    }
  };
  std::vector<std::jthread> pool;
  for (size_t t = 1; t < std::min(all.size(), static_cast<size_t>(std::max(threads, 1))); ++t) pool.emplace_back(work);
  work();
  pool.clear();
  for (const std::exception_ptr& error : errors)
    if (error) std::rethrow_exception(error);
}

CompiledKernel describe(const AssemblyJob& job, const Target& target) {
  const Usage usage = usage_of(job.program.log);
  CompiledKernel kernel;
  kernel.params = job.text.params;
  kernel.tasks = job.text.tasks;
  kernel.scratch_bytes = job.text.scratch_bytes;
  kernel.note = job.text.note;
  kernel.types = arithmetic_of(*job.kernel, target);
  kernel.symbol = job.text.symbol;
  kernel.threads = job.text.threads;
  kernel.shared_bytes = job.text.shared_bytes;
  kernel.may_fail = job.text.may_fail;
  kernel.maps = job.text.maps;
  kernel.cluster = job.text.cluster;
  GCG_CHECK(kernel.cluster == 0 || (kernel.cluster <= 8 && is_multiple(kernel.tasks, kernel.cluster)),
            "blocks are not a multiple of a cluster's");
  kernel.then = job.then;
  kernel.waits = job.text.waits;
  if (kernel.waits) kernel.ahead = job.text.ahead;
  kernel.ahead_bytes = job.text.ahead_bytes;
  kernel.registers = usage.registers;
  kernel.spill_bytes = usage.spill_bytes;
  if (usage.spill_bytes > 0) kernel.note += concat(", spills ", usage.spill_bytes, " bytes");
  for (const std::string& note : usage.notes) kernel.note += ", " + note;
  return kernel;
}

/// Appends the program's module to those in the blob.
void place(CompiledKernel& kernel, const AssembledProgram& program, CompiledBlob& blob) {
  blob.code.resize((blob.code.size() + 63) / 64 * 64);
  kernel.offset = blob.code.size();
  kernel.size = program.code.size();
  blob.code.insert(blob.code.end(), program.code.begin(), program.code.end());
}

class CudaBackend final : public Backend {
 public:
  explicit CudaBackend(std::filesystem::path cache) : cache_(std::move(cache)) {}

  DeviceClass device() const override { return DeviceClass::cuda; }

  CompiledBlob compile(const std::vector<const Kernel*>& kernels, const Target& target, int threads) const override {
    const Assembler assembler(target, cache_);
    std::vector<AssemblyJob> all = emit_all(kernels, target);
    assemble_all(all, assembler, threads);
    CompiledBlob blob;
    // A cubin loads on every driver of its NVRTC's major version; PTX needs the minor version too.
    const Nvrtc& nvrtc = assembler.nvrtc();
    blob.driver = std::max(target.driver, target.is_ptx() ? nvrtc.version() : nvrtc.major() * 1000);
    for (const AssemblyJob& job : all) {
      CompiledKernel kernel = describe(job, target);
      place(kernel, job.program, blob);
      blob.kernels.push_back(std::move(kernel));
    }
    return blob;
  }

  std::string source(const Kernel& kernel, const Target& target) const override {
    std::string text;
    for (const AssemblyJob& job : emit_all({&kernel}, target)) text += job.text.source;
    return text;
  }

  /// The kernel has a module of its own, so that drivers that cannot load it still load the others.
  void add_conditional_kernel(CompiledBlob& blob, const Target& target) const override {
    const AssembledProgram program = Assembler(target, cache_).assemble(kConditionalKernelText);
    blob.conditional_kernel.emplace();
    blob.conditional_kernel->symbol = kConditionalKernelSymbol;
    blob.conditional_kernel->threads = 1;
    place(*blob.conditional_kernel, program, blob);
  }

 private:
  CubinCache cache_;
};

}  // namespace

std::unique_ptr<Backend> make_cuda_backend(std::filesystem::path cache) {
  return std::make_unique<CudaBackend>(std::move(cache));
}

}  // namespace gcg::cuda
