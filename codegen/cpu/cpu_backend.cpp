#include "codegen/cpu/cpu_backend.h"

#include <algorithm>
#include <atomic>
#include <exception>
#include <set>
#include <thread>

#include "codegen/cpu/compile_kernel.h"
#include "codegen/cpu/llvm/imports.h"
#include "codegen/cpu/llvm/link_blob.h"
#include "codegen/cpu/llvm/shared_code.h"
#include "compiler/kernel/kernel_progress.h"
#include "compiler/support/error.h"

namespace gcg::cpu {
namespace {

std::string source_name(const Kernel& kernel) {
  return kernel.sources.empty() ? concat("kernel '", kernel.name, "'")
                                : concat("node '", kernel.sources.front(), "' (kernel '", kernel.name, "')");
}

/// Compiles a kernel. If an error does not name the source node, adds its name.
KernelObject compile_named(const Kernel& kernel, const CpuTarget& target, const std::vector<std::string>& imports,
                           SharedCodeTicket& ticket) {
  try {
    return compile_kernel(kernel, target, imports, &ticket);
  } catch (const InternalError& error) {
    throw InternalError(concat(source_name(kernel), ": ", error.what()));
  } catch (const CompileError& error) {
    throw CompileError(concat(source_name(kernel), ": ", error.what()));
  }
}

/// Computes results[i] = compile_kernel(kernels[i]) on `threads` threads. If several kernels fail, reports the error of
/// the lowest index, whichever failed first.
std::vector<KernelObject> compile_all(const std::vector<const Kernel*>& kernels, const CpuTarget& target,
                                      const std::vector<std::string>& imports, int threads) {
  std::vector<KernelObject> results(kernels.size());
  std::vector<std::exception_ptr> errors(kernels.size());
  std::atomic<size_t> next{0};
  SharedCode shared;
  KernelProgress progress(kernels.size());
  auto work = [&] {
    for (size_t i = next++; i < kernels.size(); i = next++) {
      try {
        SharedCodeTicket ticket(shared, i);
        results[i] = compile_named(*kernels[i], target, imports, ticket);
        progress.finish_one();
      } catch (...) {
        errors[i] = std::current_exception();
      }
    }
  };
  std::vector<std::jthread> pool;
  for (size_t t = 1; t < std::min(kernels.size(), static_cast<size_t>(std::max(threads, 1))); ++t)
    pool.emplace_back(work);
  work();
  pool.clear();
  for (const std::exception_ptr& error : errors)
    if (error) std::rethrow_exception(error);
  return results;
}

class CpuBackend final : public Backend {
 public:
  DeviceClass device() const override { return DeviceClass::cpu; }

  CompiledBlob compile(const std::vector<const Kernel*>& kernels, const Target& target, int threads) const override {
    std::set<std::string> names;
    for (const Kernel* kernel : kernels) names.merge(needed_imports(*kernel));
    CompiledBlob blob;
    blob.imports.assign(names.begin(), names.end());
    std::vector<KernelObject> objects = compile_all(kernels, cpu_target(target), blob.imports, threads);
    std::vector<std::span<const char>> bytes;
    bytes.reserve(objects.size());
    for (const KernelObject& object : objects) bytes.emplace_back(object.object.data(), object.object.size());
    LinkedBlob linked = link_blob(bytes, kEntryName);
    blob.code = std::move(linked.bytes);
    for (size_t i = 0; i < objects.size(); ++i) {
      objects[i].info.offset = linked.functions[i].offset;
      objects[i].info.size = linked.functions[i].size;
      blob.kernels.push_back(std::move(objects[i].info));
    }
    return blob;
  }

  std::string source(const Kernel& kernel, const Target& target) const override {
    return kernel_ir(kernel, cpu_target(target));
  }
};

}  // namespace

std::unique_ptr<Backend> make_cpu_backend() { return std::make_unique<CpuBackend>(); }

}  // namespace gcg::cpu
