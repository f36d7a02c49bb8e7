#include "codegen/cpu/llvm/cpu_target.h"

#include <llvm/MC/TargetRegistry.h>
#include <llvm/Support/TargetSelect.h>
#include <llvm/Target/TargetMachine.h>
#include <llvm/Target/TargetOptions.h>

#include <mutex>

#include "compiler/kernel/machine.h"
#include "compiler/support/error.h"

extern "C" {
void LLVMInitializeX86TargetInfo();
void LLVMInitializeX86Target();
void LLVMInitializeX86TargetMC();
void LLVMInitializeX86AsmPrinter();
void LLVMInitializeAArch64TargetInfo();
void LLVMInitializeAArch64Target();
void LLVMInitializeAArch64TargetMC();
void LLVMInitializeAArch64AsmPrinter();
}

namespace gcg::cpu {
namespace {

void initialize_targets_once() {
  static std::once_flag once;
  std::call_once(once, [] {
    LLVMInitializeX86TargetInfo();
    LLVMInitializeX86Target();
    LLVMInitializeX86TargetMC();
    LLVMInitializeX86AsmPrinter();
    LLVMInitializeAArch64TargetInfo();
    LLVMInitializeAArch64Target();
    LLVMInitializeAArch64TargetMC();
    LLVMInitializeAArch64AsmPrinter();
  });
}

}  // namespace

CpuTarget cpu_target(const Target& target) {
  const CpuLevel& level = cpu_level(target.name);
  const Machine& m = machine_of(target);
  return {.isa = level.isa,
          .triple = level.isa == Isa::neon ? "aarch64-unknown-linux-gnu" : "x86_64-unknown-linux-gnu",
          .cpu = level.llvm_cpu,
          .features = level.llvm_features,
          .vector_bytes = m.vector_bytes,
          .vector_registers = m.vector_registers,
          .l2_bytes = m.l2_bytes,
          .has_vnni = level.multiplies_bytes,
          .has_signed_dot = level.multiplies_signed_bytes,
          .has_bf16 = level.multiplies_bf16_pairs,
          .has_amx = level.has_tiles};
}

std::unique_ptr<llvm::TargetMachine> make_target_machine(const CpuTarget& target) {
  initialize_targets_once();
  std::string error;
  const llvm::Target* found = llvm::TargetRegistry::lookupTarget(target.triple, error);
  GCG_CHECK(found != nullptr, "LLVM has no target ", target.triple, ": ", error);
  llvm::TargetOptions options;
  options.AllowFPOpFusion = llvm::FPOpFusion::Strict;
  options.FunctionSections = true;  // link_blob aligns each
  options.EmitAddrsig = false;
  std::unique_ptr<llvm::TargetMachine> machine(
      found->createTargetMachine(target.triple, target.cpu, target.features, options, llvm::Reloc::PIC_,
                                 llvm::CodeModel::Small, llvm::CodeGenOptLevel::Default));
  GCG_CHECK(machine != nullptr, "LLVM cannot make a target machine for ", target.triple);
  return machine;
}

}  // namespace gcg::cpu
