#include "codegen/cpu/compile_kernel.h"

#include "codegen/cpu/arithmetic.h"
#include "codegen/cpu/llvm/emit.h"
#include "codegen/cpu/llvm/function_builder.h"
#include "codegen/cpu/llvm/imports.h"
#include "codegen/cpu/llvm/optimize.h"
#include "codegen/cpu/llvm/shared_code.h"
#include "compiler/support/error.h"

namespace gcg::cpu {
namespace {

struct EmittedModule {
  std::unique_ptr<llvm::LLVMContext> context;
  std::unique_ptr<llvm::Module> module;
  std::unique_ptr<llvm::TargetMachine> machine;
  CompiledKernel info;
};

/// Rejects kernel types that only other devices have.
template <class Body>
KernelEmission emit_body(FunctionBuilder&, const Kernel& kernel, const Body&) {
  GCG_CHECK(false, "kernel '", kernel.name, "' has no form for CPUs");
  return {};
}

/// Chooses the emitter by the type of the kernel's body (emit.h).
KernelEmission emit(FunctionBuilder& f, const Kernel& kernel) {
  return std::visit([&](const auto& body) { return emit_body(f, kernel, body); }, kernel.body);
}

EmittedModule emit_module(const Kernel& kernel, const CpuTarget& target, const std::vector<std::string>& imports) {
  EmittedModule result;
  result.context = std::make_unique<llvm::LLVMContext>();
  result.context->setDiscardValueNames(true);
  result.module = std::make_unique<llvm::Module>("kernel", *result.context);
  result.machine = make_target_machine(target);
  result.module->setTargetTriple(target.triple);
  result.module->setDataLayout(result.machine->createDataLayout());
  result.module->setPICLevel(llvm::PICLevel::SmallPIC);
  FunctionBuilder f(*result.module, kEntryName, target, kernel, imports);
  KernelEmission emission = emit(f, kernel);
  f.finish();
  result.info.params = f.params();
  result.info.tasks = emission.tasks;
  result.info.scratch_bytes = emission.scratch_bytes;
  result.info.note = emission.note;
  result.info.types = arithmetic_of(kernel, target);
  return result;
}

std::vector<std::string> own_imports(const Kernel& kernel) {
  const auto names = needed_imports(kernel);
  return {names.begin(), names.end()};
}

}  // namespace

KernelObject compile_kernel(const Kernel& kernel, const CpuTarget& target, const std::vector<std::string>& imports,
                            SharedCodeTicket* ticket) {
  EmittedModule emitted = emit_module(kernel, target, imports);
  if (ticket != nullptr)
    ticket->claim_functions(*emitted.module);
  else
    keep_shared_functions(*emitted.module);
  return {compile_to_object(*emitted.module, *emitted.machine), std::move(emitted.info)};
}

std::string kernel_assembly(const Kernel& kernel, const CpuTarget& target) {
  EmittedModule emitted = emit_module(kernel, target, own_imports(kernel));
  keep_shared_functions(*emitted.module);
  const auto text = compile_to_assembly(*emitted.module, *emitted.machine);
  return {text.begin(), text.end()};
}

std::string kernel_ir(const Kernel& kernel, const CpuTarget& target) {
  EmittedModule emitted = emit_module(kernel, target, own_imports(kernel));
  std::string text;
  llvm::raw_string_ostream out(text);
  emitted.module->print(out, nullptr);
  return text;
}

}  // namespace gcg::cpu
