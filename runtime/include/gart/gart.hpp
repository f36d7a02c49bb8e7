// gart runs .gart files: a compiled model is loaded once and run any number of times.
//
//   auto model = gart::load("model.gart");
//   if (!model) return say(model.error().message);
//   auto out = model->run(inputs);  // std::vector<gart::Tensor>, std::vector<gart::TensorView>, or by name
//   if (!out) return say(out.error().message);
//   std::span<const float> logits = out->at(0).elements<float>();
//
// Every call reports failure through Result (result.h); none throws.
//
// Threads: a Program is immutable and may be used by any number of threads at once. An Invocation belongs to one thread
// at a time; concurrent callers take one each. All programs on the same cores with the same options share worker
// threads: a run that begins while others are under way runs on its caller's thread alone, with the same results.
//
// A Program, Invocation or Tensor that was moved from may be destroyed or assigned to, and nothing else.
//
// Devices: a program runs on the CPU ("cpu"), on a pool of some of its cores ("cpu:0-3"), or on one CUDA GPU
// ("cuda:0"), chosen at load; several programs on different devices, or on the same, live beside each other. A tensor's
// device names the memory that it lies in: "cpu" is the host's, for all pools. On a GPU inputs and outputs may be in
// the host's memory (they are copied there and back) or in the GPU's (they are used in place). Only the CUDA driver is
// needed, and only looked for if the model has code for GPUs. Invocations run beside each other, each on a stream of
// its own or on the caller's.
#pragma once

#include <initializer_list>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "gart/custom_op.h"
#include "gart/result.h"
#include "gart/tensor.h"

namespace gart {

/// Of the library, "0.1.0".
GART_API const char* version();

/// How threads share the work on a CPU. 0: as the file says it is best for so many threads. Results do not depend on
/// it.
struct Parallel {
  int intra = 0;     ///< threads that share a step's tasks; 1: one
  int inter = 0;     ///< threads that independent steps run on beside each other; 1: steps follow each other
  int replicas = 0;  ///< runs beside each other that have workers of their own. 0: one, while no other run is under way
};

struct LoadOptions {
  /// Prove the file whole by its digests. The manifest's indices, offsets and sizes are checked in any case; without
  /// the digests, damaged weights or code go unnoticed. Saves about 10 ms per 100 MB.
  bool verify = true;
  /// "": the first GPU that the model has code for, otherwise the CPU. "cpu", "cuda" (the first such GPU), "cuda:1";
  /// "cpu:0-3,8": these cores, which the program's threads stay on, and a caller for as long as he runs something.
  std::string device = {};
  /// Threads that share the work of one run, the caller's included; 0: one per core of the device that this thread may
  /// use, or as many as its control group has time for. At most 1024.
  int threads = 0;
  /// Each of `replicas` has threads / replicas threads, or as many as the larger of intra and inter where both are
  /// given.
  Parallel parallel = {};
  /// May a CPU's threads that wait, for each other or for the next run, keep their cores for up to 2 ms before they
  /// sleep? Without, each wait is a sleep: runs of several threads take longer, and cost no processor time while they
  /// wait. Programs on the same cores, with the same counts and the same answer share threads.
  bool spin = true;
  /// Use the code for this target ("x86-64-v3", "sm_90a") instead of the best one that the device supports.
  std::string target = {};
  /// On a GPU: enqueue step by step and wait for each, so that an error names the very step. Slow; to find out what an
  /// error like "one of the 90 steps" is about.
  bool blocking = false;
  /// The functions of the model's custom operators; others are ignored. Copied but for what `user` points to.
  std::span<const gart_custom_op> custom_ops = {};
  /// Only these entry points, in ascending order; a model's parts, too, which callers do not see otherwise (fleet.hpp).
  /// Empty: all that are no parts.
  std::span<const std::string_view> entry_points = {};
};

/// What an entry point takes or gives.
struct TensorInfo {
  std::string name;
  DType dtype = DType::undefined;
  /// One per axis: a number ("224"), a symbol ("batch"), or an expression of symbols ("seq + 1").
  std::vector<std::string> dims;

  GART_API std::string text() const;  ///< "input f32[batch,3,224,224]"
};

struct MemoryInfo {
  int64_t arena_bytes = 0;              ///< of intermediate results, per invocation, on the program's device
  int64_t arena_lower_bound_bytes = 0;  ///< the most that is live at one time; no plan can need less. 0: not known
  int64_t weight_bytes = 0;             ///< shared by all invocations
  int64_t code_bytes = 0;
};

/// When a thread worked on a step of a run.
struct StepTime {
  uint32_t step = 0;                 ///< number of the step in its plan: the steps of all sequences in the file's order
  uint32_t thread = 0;               ///< of the team, 0: the caller; on a GPU 0
  int64_t begin_ns = 0, end_ns = 0;  ///< of a steady clock. On a GPU the begin is the host's when the step was
                                     ///< enqueued, and the length is the GPU's, between two events
};

class Invocation;
namespace detail {
struct ProgramState;
struct InvocationState;
}  // namespace detail

/// A loaded model. Copies are cheap and share everything.
class GART_API Program {
 public:
  /// In the file's order; most models have one. Where a function takes `entry`, "" means the first.
  std::vector<std::string> entry_points() const;
  /// Empty for an unknown entry point.
  std::span<const TensorInfo> inputs(std::string_view entry = {}) const;
  std::span<const TensorInfo> outputs(std::string_view entry = {}) const;
  /// Name `number` that the model has for an output: what an i64 element of this value stands for (the label of a
  /// class), of other types what the column is called (a class's probabilities). Null from the end of the names on, and
  /// where there are none; lives as long as the program.
  const char* label(size_t output, size_t number, std::string_view entry = {}) const;
  /// What the model's author wrote about it, as names and values in turn: text 2i is a name, 2i + 1 its value, in
  /// ascending order of names. Null from the end on; lives as long as the program.
  const char* metadata(size_t index) const;
  const std::string& target() const;  ///< whose code runs: "x86-64-v4"
  const std::string& device() const;  ///< "cpu", "cpu:0-3", "cuda:0"
  int threads() const;

  /// Runs once. By order: inputs[i] is input i. The outputs come in order, in host memory, owned by the caller.
  /// For the lowest latency hold an Invocation: this borrows one from the program and allocates the outputs.
  Result<std::vector<Tensor>> run(std::span<const TensorView> inputs) const;
  Result<std::vector<Tensor>> run(const std::vector<Tensor>& inputs) const;
  Result<std::vector<Tensor>> run(std::span<const NamedTensor> inputs, std::string_view entry = {}) const;
  /// run({x, y}), run({{"x", x}, {"y", y}}).
  Result<std::vector<Tensor>> run(std::initializer_list<TensorView> inputs) const {
    return run(std::span<const TensorView>(inputs.begin(), inputs.size()));
  }
  Result<std::vector<Tensor>> run(std::initializer_list<NamedTensor> inputs) const {
    return run(std::span<const NamedTensor>(inputs.begin(), inputs.size()));
  }

  /// Memory for one caller. With static shapes everything is allocated and touched here; with symbolic shapes the first
  /// run with new shapes allocates.
  Result<Invocation> new_invocation(std::string_view entry = {}) const;

  explicit Program(std::shared_ptr<detail::ProgramState> state);

 private:
  std::shared_ptr<detail::ProgramState> state_;
};

/// One caller's memory for running one entry point. Keeps its program alive. A warm run (shapes seen before) allocates
/// nothing, takes no lock, and makes no system call while the workers are awake (they sleep after about 2 ms without
/// work). On a GPU a warm run of a model without If and Loop is one graph launch; addresses that moved since the last
/// run are told to the graph before it.
class GART_API Invocation {
 public:
  Invocation(Invocation&&) noexcept;
  Invocation& operator=(Invocation&&) noexcept;
  ~Invocation();

  /// The data must be complete when run() is called: a run works on a stream of its own, which waits for no other, so
  /// what a kernel or copy of the caller's still writes to a GPU's memory is to be waited for before; run_async() on
  /// that stream comes after it by itself. The data must stay valid and unchanged until run() returns, and is looked at
  /// anew by each run().
  /// Checked here: index or name, dtype, rank, device, null. Checked by run(): extents, and that all inputs are set.
  Result<void> set_input(size_t index, const TensorView& tensor);
  Result<void> set_input(std::string_view name, const TensorView& tensor);
  /// Where run() shall write output `index`; without this, or after set_output(index, {}), the invocation's own memory,
  /// which is host memory, or after set_output(index, {.device = "cuda:0"}) on the program's GPU.
  /// What is written must not overlap another output: run() fails then. What overlaps an input is written when the run
  /// has read it, by way of a copy.
  Result<void> set_output(size_t index, const OutputBuffer& buffer);
  Result<void> set_output(std::string_view name, const OutputBuffer& buffer);

  /// Errors found before the first step (a missing input, extents that disagree, an output buffer that is too small)
  /// leave the outputs untouched. After a failure during the run they hold anything.
  Result<void> run();

  /// Enqueues a run on a CUDA stream (CUstream or cudaStream_t; null: the default stream) of the program's GPU, after
  /// what is there and after this invocation's earlier runs, and returns. Inputs in host memory are copied before it
  /// returns; inputs in the GPU's memory must stay valid and unchanged until the run is over. Outputs in the GPU's
  /// memory are ready for whatever follows on the stream; those in host memory, and errors that the run found on the
  /// way, only after wait(). Waits itself where the model's If and Loop or the sizes of its results depend on computed
  /// values, for everything before each step that was compiled to run on the CPU (such steps run on the caller's thread
  /// and the program's workers before it returns), and, with inputs or outputs in host memory, for this invocation's
  /// run before. Fails on the CPU.
  Result<void> run_async(void* stream);
  /// Waits for the last run_async(). Fails as it did; errors of runs that nobody waited for come up here, too.
  Result<void> wait();

  /// For any thread, while the invocation lives: the run under way fails with ErrorCode::cancelled before its next
  /// step, or turn of a loop; what a GPU was given runs to its end. Without a run nothing happens: the next one is
  /// another's.
  void cancel();

  /// Output `index` of the last run() that succeeded, with its actual shape; valid until the next run() or
  /// set_output().
  TensorView output(size_t index) const;
  TensorView output(std::string_view name) const;

  /// From now on each run() notes in `times` what each thread did of each step, from the first place on; steps in loops
  /// come once per turn. {} ends that, and costs nothing. On a GPU only a program loaded with `blocking` notes
  /// anything. `times` must outlive the runs.
  void record_steps(std::span<StepTime> times);
  /// How many there were in the last run(); those past the end of `times` are lost.
  size_t recorded_steps() const;

  /// For the shapes of the last run(); for static shapes also before.
  MemoryInfo memory() const;

  explicit Invocation(std::unique_ptr<detail::InvocationState> state);

 private:
  std::unique_ptr<detail::InvocationState> state_;
};

/// Maps the file and proves it sound. The file must not be changed while the program lives (replacing it is fine).
GART_API Result<Program> load(const std::string& path, const LoadOptions& options = {});

/// From memory, which must stay valid and unchanged while the program lives. Used in place when 64-byte aligned,
/// otherwise copied; code is always copied.
GART_API Result<Program> load(std::span<const uint8_t> artifact, const LoadOptions& options = {});

}  // namespace gart
