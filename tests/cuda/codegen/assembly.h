// Assembles the kernels of many compilations for many GPUs: each distinct text once per class of GPUs (code_class.h),
// small texts together.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <ostream>
#include <set>
#include <string>
#include <vector>

#include "codegen/cuda/assembler/assemble.h"
#include "codegen/cuda/text/kernel_text.h"
#include "compiler/kernel/backend.h"

namespace gcg::test {

/// True if NVRTC is on this machine. If not, tests of assembly are skipped.
bool has_nvrtc();
inline constexpr const char* kInstallLine = "pip install nvidia-cuda-nvrtc installs it";
/// The folder in which tests keep earlier results: $GCC_GRAPH_TEST_CACHE, or a folder of the build.
std::string default_cache();
/// The compiler's GPU targets for which NVRTC makes code.
std::vector<std::string> all_gpu_targets();

/// Summary of the assembler's messages for one target's kernels.
struct TargetSummary {
  int kernels = 0, spilling = 0, refused = 0;     // refused, or with warnings about wgmma, setmaxnreg or memory
  int most_registers = 0;                         // per thread
  int64_t most_shared_bytes = 0;                  // per block, static and dynamic
  std::string most_registers_of, most_shared_of;  // the kernel's owner
};

class Assembly {
 public:
  /// The folder `cache` ("": none) keeps the messages of earlier runs, but no code.
  Assembly(const std::string& cache, int threads) : cache_(cache), threads_(threads) {}

  /// A backend that collects the kernels' texts instead of assembling them. If `print` is set, the backend also writes
  /// the texts to it.
  std::unique_ptr<Backend> make_backend(std::ostream* print = nullptr);
  /// Names the owner of the kernels that are collected next.
  void set_owner(const std::string& owner) { owner_ = owner; }

  /// Assembles the texts collected since the last call. Returns a sentence for each kernel that is refused, that spills
  /// registers, or for which ptxas reports a problem with wgmma or setmaxnreg. `progress` (may be empty) receives the
  /// number of finished kernels and their total.
  std::vector<std::string> assemble_collected(const std::function<void(size_t, size_t)>& progress = {});

  /// Considers the texts that were collected since the last call and that several targets of a class share. Assembles
  /// every `stride`-th one for each of these targets. Returns a sentence for each target whose code differs from that
  /// of the first target.
  std::vector<std::string> compare_codes(size_t stride) const;

  /// A table by target.
  void print_summary(std::ostream& out) const;
  /// Numbers of kernels without and with a complaint.
  int passed() const;
  int failed() const;

 private:
  class CollectingBackend;
  struct Collected {
    std::vector<const Target*> targets;  // of one class
    std::string owner, symbol, source, note;
    int64_t shared_bytes;  // dynamic
    int threads;           // of a block
  };
  /// Kernels of one class that are assembled together.
  struct Program {
    std::vector<const Collected*> kernels;
    size_t bytes = 0;  // of their sources
  };
  struct Outcome {
    std::string log;
    std::string refusal;  // empty if the text was assembled
  };

  void add(const Target& target, const cuda::KernelText& text, const std::string& kernel);
  std::map<std::string, std::unique_ptr<cuda::Assembler>> make_assemblers() const;  // by target
  std::vector<Program> make_programs() const;
  std::vector<Outcome> assemble(const Program& program, const cuda::Assembler& assembler) const;
  void judge(const Collected& kernel, const Target& target, const Outcome& outcome,
             std::vector<std::string>& complaints);

  cuda::CubinCache cache_;
  int threads_;
  std::string owner_;
  std::map<std::string, Target> targets_;
  std::set<std::string> seen_;                // targets' names with hashes of texts
  std::map<std::string, size_t> waiting_at_;  // hash of class and text -> index in waiting_
  std::vector<Collected> waiting_;
  std::map<std::string, TargetSummary> summaries_;
};

/// The part of a program's log for each function, by name.
std::map<std::string, std::string> split_log(const std::string& log);

}  // namespace gcg::test
