#include "tests/cuda/codegen/assembly.h"

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <mutex>
#include <thread>

#include "codegen/cuda/assembler/nvrtc.h"
#include "codegen/cuda/text/text_hash.h"
#include "compiler/kernel/machine.h"
#include "compiler/support/error.h"
#include "tests/cuda/codegen/code_class.h"

namespace gcg::test {
namespace {

/// Starting the compiler and reading the headers takes longer than compiling most loop kernels. So up to this many loop
/// kernels share a program. ptxas handles each function separately: its messages about one function do not depend on
/// the others.
constexpr size_t kKernelsOfProgram = 30;
constexpr size_t kBytesOfProgram = 150'000;

/// True if the text includes only the prelude, as loop kernels do. Products take longer to compile, so each one has its
/// own program.
bool can_share_program(const std::string& source) {
  const size_t first = source.find("#include");
  return source.find("#include", first + 1) == std::string::npos;
}

// Spills with a known reason.

/// Divisions and some functions are calls inside the kernel (for floats, only their slow path). ptxas saves a few
/// registers around these calls. Registers are not scarce if the kernel uses few of them.
bool is_around_calls(const cuda::Usage& usage) { return usage.registers <= 64 && usage.spill_bytes <= 96; }

/// Kernels of loops and attention set no bound for blocks per multiprocessor. So that more blocks fit, ptxas may spill
/// values that a long loop does not use. ptxas does so in loops on sm_90 and newer (index arithmetic of convolutions
/// with open extents, f64 functions) and in attention (one or two values of a step over keys). Registers are not scarce
/// if at least half of the available ones stay unused.
bool is_for_occupancy(const std::string& symbol, int threads, const cuda::Usage& usage) {
  const int allowed = std::min(255, 65536 / threads);
  const int most = symbol.starts_with("loop_") ? 192 : symbol.starts_with("attention_") ? 16 : 0;
  return 2 * usage.registers <= allowed && usage.spill_bytes <= most;
}

/// Limit of shared memory per block, in bytes. PTX runs on every GPU from sm_80 on, and some of these have less shared
/// memory than sm_80.
int64_t shared_limit(const Target& target) {
  constexpr int64_t kEveryGpu = 99 << 10;
  return target.is_ptx() ? kEveryGpu : machine_of(target).shared_block_bytes;
}

CompiledKernel placeholder(const cuda::KernelText& text) {
  CompiledKernel kernel;
  kernel.params = text.params;
  kernel.tasks = text.tasks;
  kernel.scratch_bytes = text.scratch_bytes;
  kernel.symbol = text.symbol;
  kernel.threads = text.threads;
  kernel.shared_bytes = text.shared_bytes;
  kernel.may_fail = text.may_fail;
  return kernel;
}

}  // namespace

class Assembly::CollectingBackend final : public Backend {
 public:
  CollectingBackend(Assembly& to, std::ostream* print) : to_(to), print_(print) {}

  DeviceClass device() const override { return DeviceClass::cuda; }

  CompiledBlob compile(const std::vector<const Kernel*>& kernels, const Target& target, int) const override {
    CompiledBlob blob;
    std::vector<CompiledKernel> followers;
    for (const Kernel* kernel : kernels) {
      const cuda::KernelText text = cuda::emit_kernel(*kernel, target);
      collect(*kernel, text, target);
      blob.kernels.push_back(placeholder(text));
      CompiledKernel* last = &blob.kernels.back();
      std::vector<CompiledKernel> chain;
      for (const cuda::KernelText* next = &text; !next->then.empty();) {
        next = &next->then.front();
        collect(*kernel, *next, target);
        chain.push_back(placeholder(*next));
      }
      for (CompiledKernel& follower : chain) {
        last->then = static_cast<int>(kernels.size() + followers.size());
        followers.push_back(std::move(follower));
        last = &followers.back();
      }
    }
    blob.kernels.insert(blob.kernels.end(), followers.begin(), followers.end());
    for (CompiledKernel& kernel : blob.kernels) {
      kernel.offset = blob.code.size();
      kernel.size = 64;
      blob.code.resize(blob.code.size() + kernel.size);
    }
    return blob;
  }

 private:
  void collect(const Kernel& kernel, const cuda::KernelText& text, const Target& target) const {
    to_.add(target, text, kernel.name);
    if (print_ == nullptr) return;
    *print_ << "// " << kernel.name << ": " << text.tasks.str() << " blocks of " << text.threads << ", " << text.note
            << '\n'
            << text.source << '\n';
  }

  Assembly& to_;
  std::ostream* print_;
};

std::unique_ptr<Backend> Assembly::make_backend(std::ostream* print) {
  return std::make_unique<CollectingBackend>(*this, print);
}

void Assembly::add(const Target& target, const cuda::KernelText& text, const std::string& kernel) {
  const std::string hash = cuda::hash_text(text.source);
  if (!seen_.insert(target.name + hash).second) return;
  const Target& known = targets_.try_emplace(target.name, target).first->second;
  const auto [at, is_new] = waiting_at_.try_emplace(code_class(target) + hash, waiting_.size());
  if (!is_new) return waiting_[at->second].targets.push_back(&known);
  waiting_.push_back({{&known},
                      concat(owner_, owner_.empty() ? "" : " ", kernel),
                      text.symbol,
                      text.source,
                      text.note,
                      text.shared_bytes,
                      text.threads});
}

std::vector<Assembly::Program> Assembly::make_programs() const {
  std::vector<Program> programs;
  std::map<std::string, size_t> shared;  // the program of the class that still has room for kernels
  for (const Collected& kernel : waiting_) {
    if (!can_share_program(kernel.source)) {
      programs.push_back({{&kernel}, kernel.source.size()});
      continue;
    }
    const std::string of = code_class(*kernel.targets.front());
    const auto at = shared.find(of);
    if (at != shared.end()) {
      Program& program = programs[at->second];
      if (program.kernels.size() < kKernelsOfProgram && program.bytes + kernel.source.size() <= kBytesOfProgram) {
        program.kernels.push_back(&kernel);
        program.bytes += kernel.source.size();
        continue;
      }
    }
    shared[of] = programs.size();
    programs.push_back({{&kernel}, kernel.source.size()});
  }
  return programs;
}

std::vector<Assembly::Outcome> Assembly::assemble(const Program& program, const cuda::Assembler& assembler) const {
  std::vector<Outcome> outcomes(program.kernels.size());
  std::string source;
  std::vector<std::string> keys;
  bool all_known = true;
  for (size_t i = 0; i < program.kernels.size(); ++i) {
    const Collected& kernel = *program.kernels[i];
    keys.push_back(cuda::hash_text(assembler.version() + "what the assembler says\n" + kernel.source));
    const auto found = cache_.find(keys.back());
    all_known = all_known && found;
    if (found) outcomes[i] = {found->log, ""};
    if (!found) source += kernel.source;
  }
  if (all_known) return outcomes;
  try {
    const auto logs = split_log(assembler.assemble(source).log);
    for (size_t i = 0; i < outcomes.size(); ++i) {
      const Collected& kernel = *program.kernels[i];
      const auto log = logs.find(kernel.symbol);
      if (log != logs.end()) outcomes[i].log = log->second;
      if (log == logs.end() && !kernel.targets.front()->is_ptx() && outcomes[i].log.empty())
        outcomes[i].refusal = "the assembler says nothing about it";
      if (outcomes[i].refusal.empty()) cache_.put(keys[i], {{}, outcomes[i].log});
    }
  } catch (const CompileError& error) {
    if (program.kernels.size() == 1) return {{"", error.what()}};
    for (size_t i = 0; i < outcomes.size(); ++i) outcomes[i] = assemble({{program.kernels[i]}, 0}, assembler).front();
  }
  return outcomes;
}

void Assembly::judge(const Collected& kernel, const Target& target, const Outcome& outcome,
                     std::vector<std::string>& complaints) {
  const cuda::Usage usage = cuda::usage_of(outcome.log);
  TargetSummary& summary = summaries_[target.name];
  ++summary.kernels;
  if (usage.registers > summary.most_registers) {
    summary.most_registers = usage.registers;
    summary.most_registers_of = kernel.owner;
  }
  const int64_t shared = kernel.shared_bytes + usage.shared_bytes;
  if (shared > summary.most_shared_bytes) {
    summary.most_shared_bytes = shared;
    summary.most_shared_of = kernel.owner;
  }
  std::string complaint = outcome.refusal;
  if (shared > shared_limit(target)) complaint = concat(shared, " bytes of shared memory");
  const bool has_reason = is_around_calls(usage) || is_for_occupancy(kernel.symbol, kernel.threads, usage);
  const bool spills = usage.spill_bytes > 0 && !has_reason;
  if (spills) complaint = concat("spills ", usage.spill_bytes, " bytes at ", usage.registers, " registers");
  for (const std::string& note : usage.notes) complaint += concat(complaint.empty() ? "" : ", ", note);
  if (complaint.empty()) return;
  ++(spills ? summary.spilling : summary.refused);
  complaints.push_back(concat(target.name, ' ', kernel.owner, ' ', kernel.symbol, " (", kernel.note, "): ", complaint));
}

std::map<std::string, std::unique_ptr<cuda::Assembler>> Assembly::make_assemblers() const {
  static const cuda::CubinCache none{{}};
  std::map<std::string, std::unique_ptr<cuda::Assembler>> assemblers;
  for (const auto& [name, target] : targets_) assemblers[name] = std::make_unique<cuda::Assembler>(target, none);
  return assemblers;
}

std::vector<std::string> Assembly::compare_codes(size_t stride) const {
  const auto assemblers = make_assemblers();
  std::vector<std::string> complaints;
  size_t turn = 0;
  for (const Collected& kernel : waiting_) {
    if (kernel.targets.size() < 2 || turn++ % stride != 0) continue;
    const std::string& first = kernel.targets.front()->name;
    const auto expected = functions_of(assemblers.at(first)->assemble(kernel.source).code);
    for (size_t i = 1; i < kernel.targets.size(); ++i) {
      const std::string& name = kernel.targets[i]->name;
      if (functions_of(assemblers.at(name)->assemble(kernel.source).code) != expected)
        complaints.push_back(
            concat(first, " and ", name, " have different code of ", kernel.owner, ' ', kernel.symbol));
    }
  }
  return complaints;
}

std::vector<std::string> Assembly::assemble_collected(const std::function<void(size_t, size_t)>& progress) {
  const std::map<std::string, std::unique_ptr<cuda::Assembler>> assemblers = make_assemblers();
  const std::vector<Program> programs = make_programs();
  std::vector<std::vector<Outcome>> outcomes(programs.size());
  std::atomic<size_t> next{0}, done{0};
  std::mutex telling;
  auto work = [&] {
    for (size_t i = next++; i < programs.size(); i = next++) {
      outcomes[i] = assemble(programs[i], *assemblers.at(programs[i].kernels.front()->targets.front()->name));
      done += programs[i].kernels.size();
      if (const std::lock_guard lock(telling); progress) progress(done, waiting_.size());
    }
  };
  std::vector<std::jthread> pool;
  for (int t = 1; t < threads_; ++t) pool.emplace_back(work);
  work();
  pool.clear();
  std::vector<std::string> complaints;
  for (size_t i = 0; i < programs.size(); ++i)
    for (size_t k = 0; k < programs[i].kernels.size(); ++k)
      for (const Target* target : programs[i].kernels[k]->targets)
        judge(*programs[i].kernels[k], *target, outcomes[i][k], complaints);
  waiting_.clear();
  waiting_at_.clear();
  return complaints;
}

void Assembly::print_summary(std::ostream& out) const {
  out << "| target | kernels | spill | refused, C75xx | most registers | of | most shared bytes | of |\n"
         "|---|---|---|---|---|---|---|---|\n";
  for (const auto& [target, s] : summaries_)
    out << concat("| ", target, " | ", s.kernels, " | ", s.spilling, " | ", s.refused, " | ", s.most_registers, " | ",
                  s.most_registers_of, " | ", s.most_shared_bytes, " | ", s.most_shared_of, " |\n");
}

int Assembly::failed() const {
  int count = 0;
  for (const auto& [target, s] : summaries_) count += s.spilling + s.refused;
  return count;
}

int Assembly::passed() const {
  int count = 0;
  for (const auto& [target, s] : summaries_) count += s.kernels;
  return count - failed();
}

std::map<std::string, std::string> split_log(const std::string& log) {
  std::map<std::string, std::string> parts;
  const std::string head = "Compiling entry function '";
  for (size_t at = log.find(head); at != std::string::npos;) {
    const size_t name = at + head.size(), end = log.find(head, name);
    parts[log.substr(name, log.find('\'', name) - name)] = log.substr(at, end == std::string::npos ? end : end - at);
    at = end;
  }
  return parts;
}

std::string default_cache() {
  const char* named = std::getenv("GCC_GRAPH_TEST_CACHE");
  return named != nullptr ? named : GCC_GRAPH_BINARY_DIR "/cuda_cache";
}

bool has_nvrtc() { return cuda::Nvrtc::find_for_driver(0) != nullptr; }

std::vector<std::string> all_gpu_targets() {
  std::vector<std::string> names;
  for (const std::string& name : known_targets())
    if (const auto target = find_target(name); target && target->device == DeviceClass::cuda)
      if (cuda::Nvrtc::for_driver(0).supports(target->sm)) names.push_back(name);
  return names;
}

}  // namespace gcg::test
