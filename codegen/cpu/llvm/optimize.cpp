#include "codegen/cpu/llvm/optimize.h"

#include <llvm/IR/LegacyPassManager.h>
#include <llvm/Passes/PassBuilder.h>
#include <llvm/Support/raw_ostream.h>
#include <llvm/Transforms/InstCombine/InstCombine.h>
#include <llvm/Transforms/Scalar/DCE.h>
#include <llvm/Transforms/Scalar/EarlyCSE.h>
#include <llvm/Transforms/Scalar/GVN.h>
#include <llvm/Transforms/Scalar/LICM.h>
#include <llvm/Transforms/Scalar/LoopPassManager.h>
#include <llvm/Transforms/Scalar/LoopUnrollPass.h>
#include <llvm/Transforms/Scalar/SROA.h>
#include <llvm/Transforms/Scalar/SimplifyCFG.h>
#include <llvm/Transforms/Utils/LCSSA.h>
#include <llvm/Transforms/Utils/LoopSimplify.h>

#include "codegen/cpu/llvm/widen_half.h"
#include "compiler/support/error.h"

namespace gcg::cpu {
namespace {

llvm::FunctionPassManager function_passes() {
  llvm::FunctionPassManager passes;
  passes.addPass(llvm::SROAPass(llvm::SROAOptions::ModifyCFG));
  passes.addPass(llvm::EarlyCSEPass(/*UseMemorySSA=*/true));
  passes.addPass(llvm::InstCombinePass());
  passes.addPass(llvm::SimplifyCFGPass());
  passes.addPass(llvm::createFunctionToLoopPassAdaptor(llvm::LICMPass(llvm::LICMOptions()), /*UseMemorySSA=*/true));
  passes.addPass(llvm::LoopUnrollPass(llvm::LoopUnrollOptions(/*OptLevel=*/2, /*OnlyWhenForced=*/true)));
  passes.addPass(llvm::GVNPass());
  passes.addPass(llvm::InstCombinePass());
  passes.addPass(llvm::createFunctionToLoopPassAdaptor(llvm::LICMPass(llvm::LICMOptions()), /*UseMemorySSA=*/true));
  passes.addPass(llvm::SimplifyCFGPass());
  passes.addPass(llvm::DCEPass());
  return passes;
}

std::vector<char> generate(llvm::Module& module, llvm::TargetMachine& machine, llvm::CodeGenFileType kind) {
  optimize(module, machine);
  llvm::SmallVector<char, 0> bytes;
  llvm::raw_svector_ostream out(bytes);
  llvm::legacy::PassManager passes;
  GCG_CHECK(!machine.addPassesToEmitFile(passes, out, nullptr, kind), "LLVM cannot emit code for ",
            module.getTargetTriple());
  passes.run(module);
  return {bytes.begin(), bytes.end()};
}

}  // namespace

void optimize(llvm::Module& module, llvm::TargetMachine& machine) {
  llvm::LoopAnalysisManager loops;
  llvm::FunctionAnalysisManager functions;
  llvm::CGSCCAnalysisManager graph;
  llvm::ModuleAnalysisManager modules;
  llvm::PassBuilder builder(&machine);
  builder.registerModuleAnalyses(modules);
  builder.registerCGSCCAnalyses(graph);
  builder.registerFunctionAnalyses(functions);
  builder.registerLoopAnalyses(loops);
  builder.crossRegisterProxies(loops, functions, graph, modules);
  llvm::ModulePassManager passes;
  passes.addPass(llvm::createModuleToFunctionPassAdaptor(function_passes()));
  passes.run(module, modules);
  lower_widen_half(module);
}

std::vector<char> compile_to_object(llvm::Module& module, llvm::TargetMachine& machine) {
  return generate(module, machine, llvm::CodeGenFileType::ObjectFile);
}

std::vector<char> compile_to_assembly(llvm::Module& module, llvm::TargetMachine& machine) {
  return generate(module, machine, llvm::CodeGenFileType::AssemblyFile);
}

}  // namespace gcg::cpu
