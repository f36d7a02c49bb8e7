// Kernels' texts to machine code.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "codegen/cuda/assembler/cubin_cache.h"
#include "codegen/cuda/assembler/nvrtc.h"
#include "codegen/cuda/text/kernel_text.h"

namespace gcg::cuda {

/// The headers that texts include, as they lie in device/.
const std::vector<Header>& device_headers();

/// What ptxas says about a program's function.
struct Usage {
  int registers = 0;               // per thread; 0 for PTX
  int spill_bytes = 0;             // stored and loaded, per thread
  int64_t shared_bytes = 0;        // static, per block
  std::vector<std::string> notes;  // lines with a C75xx number: wgmma made slow, registers not set
};
Usage usage_of(const std::string& log);

/// Assembles programs for one target; safe from several threads.
class Assembler {
 public:
  Assembler(const Target& target, const CubinCache& cache);
  /// A text that includes gart_register_pressure.cuh and spills is compiled again at higher levels of register
  /// pressure; what spills least is kept. One that gets fewer registers per thread than `least_registers` is compiled
  /// again with GART_EVEN_REGISTERS: it keeps what it got, where waiting for more than there are would never end.
  Assembled assemble(const std::string& source, int least_registers = 0) const;
  /// What the result depends on besides the text: compiler, options, headers.
  const std::string& version() const { return version_; }
  const Nvrtc& nvrtc() const { return nvrtc_; }

 private:
  std::vector<std::string> with(const std::string& option) const;
  void recompile_while_it_spills(const std::string& source, Assembled& program) const;

  const Target& target_;
  const CubinCache& cache_;
  const Nvrtc& nvrtc_;
  std::vector<std::string> options_;
  std::string version_;
};

}  // namespace gcg::cuda
