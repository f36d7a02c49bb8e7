// Assembles the texts of kernels into machine code.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "codegen/cuda/assembler/cubin_cache.h"
#include "codegen/cuda/assembler/nvrtc.h"
#include "codegen/cuda/text/kernel_text.h"

namespace gcg::cuda {

/// The headers in device/ that kernel texts may include.
const std::vector<Header>& device_headers();

/// The resource use that ptxas reports for a program's function.
struct Usage {
  int registers = 0;               // registers per thread; 0 for PTX
  int spill_bytes = 0;             // bytes stored and loaded by spills, per thread
  int64_t shared_bytes = 0;        // static, per block
  std::vector<std::string> notes;  // log lines with a C75xx number: ptxas serialised wgmma or did not set registers
};
Usage usage_of(const std::string& log);

/// Assembles programs for one target; safe from several threads.
class Assembler {
 public:
  Assembler(const Target& target, const CubinCache& cache);
  /// If a text includes gart_register_pressure.cuh and spills, it is compiled again at higher levels of register
  /// pressure, and the result that spills least is kept. If a text gets fewer than `least_registers` registers per
  /// thread, it is compiled again with GART_EVEN_REGISTERS. Each thread then keeps its registers, because a wait for
  /// more registers than exist would never end.
  AssembledProgram assemble(const std::string& source, int least_registers = 0) const;
  /// Everything that the result depends on, except the text: compiler, options, headers.
  const std::string& version() const { return version_; }
  const Nvrtc& nvrtc() const { return nvrtc_; }

 private:
  std::vector<std::string> with(const std::string& option) const;
  void recompile_while_it_spills(const std::string& source, AssembledProgram& program) const;

  const Target& target_;
  const CubinCache& cache_;
  const Nvrtc& nvrtc_;
  std::vector<std::string> options_;
  std::string version_;
};

}  // namespace gcg::cuda
