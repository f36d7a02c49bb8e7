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
  constexpr const char *kX86 = "x86_64-unknown-linux-gnu", *kArm = "aarch64-unknown-linux-gnu";
  const Machine& m = machine_of(target);
  CpuTarget cpu{.vector_bytes = m.vector_bytes, .vector_registers = m.vector_registers, .l2_bytes = m.l2_bytes};
  const auto name = [&](Isa isa, const char* triple, const char* llvm_name, const char* features) {
    cpu.isa = isa, cpu.triple = triple, cpu.cpu = llvm_name, cpu.features = features;
    return cpu;
  };
  if (target.name == "aarch64") return name(Isa::neon, kArm, "generic", "+neon");
  cpu.has_signed_dot = target.name == "aarch64-dotprod";
  if (cpu.has_signed_dot) return name(Isa::neon, kArm, "generic", "+neon,+v8.2a,+dotprod,+fullfp16");
  if (target.name == "x86-64-v3") return name(Isa::avx2, kX86, "x86-64-v3", "");
  if (target.name == "x86-64-v4") return name(Isa::avx512, kX86, "x86-64-v4", "+prfchw");
  cpu.has_vnni = true;
  if (target.name == "aarch64-i8mm")
    return name(Isa::neon, kArm, "generic", "+neon,+v8.2a,+dotprod,+fullfp16,+i8mm,+bf16");
  if (target.name == "x86-64-v4-vnni") return name(Isa::avx512, kX86, "x86-64-v4", "+prfchw,+avx512vnni");
  cpu.has_bf16 = true;
  if (target.name == "x86-64-v4-bf16") return name(Isa::avx512, kX86, "x86-64-v4", "+prfchw,+avx512vnni,+avx512bf16");
  cpu.has_amx = true;
  if (target.name == "x86-64-v4-amx")
    return name(Isa::avx512, kX86, "x86-64-v4", "+prfchw,+avx512vnni,+avx512bf16,+amx-tile,+amx-int8,+amx-bf16");
  GCG_CHECK(false, "the CPU code generator has no target '", target.name, "'");
  return {};
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
