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
// Threads: a Program may be used by any number of threads at once, and apart from its states it is immutable. An
// Invocation belongs to one thread at a time; concurrent callers take one each. All programs on the same cores with the
// same options share worker threads. A run that begins while others are in progress runs on its caller's thread alone,
// with the same results.
//
// A Program, Invocation or Tensor that was moved from may only be destroyed or assigned to.
//
// Devices: a program runs on the CPU ("cpu"), on a pool of some of its cores ("cpu:0-3"), or on one CUDA GPU
// ("cuda:0"), chosen at load. Several programs may exist on the same or on different devices. A tensor's device names
// the memory that holds it: "cpu" is the host's, for all pools. On a GPU, inputs and outputs may be in host memory
// (they are copied) or in the GPU's memory (they are used in place). Only the CUDA driver is needed, and only if the
// model has code for GPUs. Invocations run concurrently, each on a stream of its own or on the caller's.
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

/// The version of the library: "0.1.0".
GART_API const char* version();

/// How threads share the work on a CPU. 0: the file's choice for the number of threads. Results do not depend on it.
struct Parallel {
  int intra = 0;     ///< threads that share a step's tasks; 1: one
  int inter = 0;     ///< threads that run independent steps concurrently; 1: steps run one after the other
  int replicas = 0;  ///< concurrent runs with workers of their own; 0: one run, while no other run is in progress
};

struct LoadOptions {
  /// Verify the file by its digests. The manifest's indices, offsets and sizes are checked in any case. Without the
  /// digests, damaged weights or code remain undetected, but loading takes about 10 ms per 100 MB less.
  bool verify = true;
  /// "": the first GPU that the model has code for, otherwise the CPU. Other values: "cpu", "cuda" (the first such
  /// GPU), "cuda:1", or "cpu:0-3,8": these cores. The program's threads stay on these cores, and so does a caller
  /// during its run.
  std::string device = {};
  /// Threads that share the work of one run, including the caller's. 0: one per core of the device that this thread may
  /// use, or as many as its control group has time for. At most 1024.
  int threads = 0;
  /// Each of `replicas` has threads / replicas threads. If both intra and inter are given, it has as many as the larger
  /// of them.
  Parallel parallel = {};
  /// Whether a CPU's waiting threads keep their cores for up to 2 ms before they sleep. They wait for each other or for
  /// the next run. If false, each wait is a sleep: runs of several threads take longer, but waiting costs no processor
  /// time. Programs share threads if they have the same cores, counts and value of `spin`.
  bool spin = true;
  /// Limit of runs of this program at a time, of all callers: a further run waits for its turn, in the order of
  /// arrival. So Program::run() allocates at most as many arenas. 0: no limit. Runs of run_async() do not count. A
  /// custom operator must not run its own program if there is a limit.
  int runs = 0;
  bool refuse_runs = false;  ///< a run beyond the limit fails with ErrorCode::busy instead
  /// Use the code for this target ("x86-64-v3", "sm_90a") instead of the device's best supported one.
  std::string target = {};
  /// On a GPU: enqueue step by step and wait for each, so that an error names the exact step. Slow; use it to
  /// investigate an error like "one of the 90 steps".
  bool blocking = false;
  /// The functions of the model's custom operators; others are ignored. They are copied, except for the data that
  /// `user` points to.
  std::span<const gart_custom_op> custom_ops = {};
  /// Load only these entry points, in ascending order. They may include parts of a model, which are otherwise hidden
  /// from callers (fleet.hpp). Empty: all except parts.
  std::span<const std::string_view> entry_points = {};
  /// Refuse an artifact that none of these keys has signed (`gcc-graph sign`): the texts of PEM files with public keys
  /// of Ed25519. The signature covers all bytes: code, weights and manifest. They are first copied to memory that no
  /// other process can change, so loading takes longer (about 1 s per GB and key), and the file's pages are not shared.
  /// Needs OpenSSL's libcrypto.so.3 or .1.1. Empty: signatures are not checked.
  std::span<const std::string_view> trusted_keys = {};
  /// The 64 bytes of the signature that `trusted_keys` needs. Empty: those in the file `path`.sig.
  std::span<const uint8_t> signature = {};
};

/// An input or output of an entry point.
struct TensorInfo {
  std::string name;
  DType dtype = DType::undefined;
  /// One per axis: a number ("224"), a symbol ("batch"), or an expression of symbols ("seq + 1").
  std::vector<std::string> dims;
  /// Of an input of strings: the strings that the model tells apart, in ascending order. All others are one to it.
  std::vector<std::string> strings = {};

  GART_API std::string text() const;  ///< "input f32[batch,3,224,224]"
};

struct MemoryInfo {
  int64_t arena_bytes = 0;              ///< bytes of intermediate results, per invocation, on the program's device
  int64_t arena_lower_bound_bytes = 0;  ///< most bytes that are live at one time; no plan can need less. 0: not known
  int64_t weight_bytes = 0;             ///< shared by all invocations
  int64_t code_bytes = 0;
};

/// The time when a thread worked on a step of a run.
struct StepTime {
  uint32_t step = 0;                 ///< number of the step in its plan: the steps of all sequences in the file's order
  uint32_t thread = 0;               ///< number in the team, 0: the caller; on a GPU 0
  int64_t begin_ns = 0, end_ns = 0;  ///< of a steady clock. On a GPU the begin is the host's time when the step was
                                     ///< enqueued, and the length is the GPU's, between two events
};

class Invocation;
class Session;
namespace detail {
struct ProgramState;
struct InvocationState;
struct SessionState;
}  // namespace detail

/// A loaded model. Copies are cheap and share everything.
class GART_API Program {
 public:
  /// In the file's order; most models have one. For functions with a parameter `entry`, "" means the first.
  std::vector<std::string> entry_points() const;
  /// Empty for an unknown entry point.
  std::span<const TensorInfo> inputs(std::string_view entry = {}) const;
  std::span<const TensorInfo> outputs(std::string_view entry = {}) const;
  /// Name `number` that the model has for an output. For i64 elements it is the meaning of the value (the label of a
  /// class), for other types the name of a column (a class's probabilities). Null past the last name, and if there are
  /// none. Lives as long as the program.
  const char* label(size_t output, size_t number, std::string_view entry = {}) const;
  /// The model's metadata, as names and values in turn: text 2i is a name, 2i + 1 its value, in ascending order of
  /// names. Null past the end. Lives as long as the program.
  const char* metadata(size_t index) const;
  /// The values that last from one run of a session to the next, with the extents that the model gives them.
  std::span<const TensorInfo> states() const;
  /// The values that the program keeps for all of its callers: trained weights. Runs that write one of them come one
  /// after the other, and no other run that uses such values is under way meanwhile: a run waits for its turn. A run
  /// that fails or is cancelled leaves them as they were. A custom operator must not run an entry point that uses them.
  std::span<const TensorInfo> program_states() const;
  /// A copy of a state of the program in host memory.
  Result<Tensor> state(std::string_view name) const;
  /// Copies the value, which is in host memory, to a state of the program.
  Result<void> set_state(std::string_view name, const TensorView& value) const;
  /// Writes all states of the program, as they are between two runs, to a safetensors file, which replaces `path` only
  /// when it is complete.
  Result<void> save_states(const std::string& path) const;
  /// Replaces all states of the program by those of a safetensors file. A state that the file lacks gets its first
  /// value. A failure changes nothing.
  Result<void> load_states(const std::string& path) const;
  const std::string& target() const;  ///< the target whose code it runs: "x86-64-v4"
  const std::string& device() const;  ///< "cpu", "cpu:0-3", "cuda:0"
  int threads() const;

  /// Runs once. inputs[i] is input i. The outputs come in order, in host memory, owned by the caller. For the lowest
  /// latency hold an Invocation: this function borrows one from the program and allocates the outputs.
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

  /// Memory for one caller. With static shapes everything is allocated and touched here. With symbolic shapes the first
  /// run with new shapes allocates.
  Result<Invocation> new_invocation(std::string_view entry = {}) const;

  /// A session for entry points with states. Its states have no value yet.
  Result<Session> new_session() const;

  explicit Program(std::shared_ptr<detail::ProgramState> state);

 private:
  std::shared_ptr<detail::ProgramState> state_;
};

/// One caller's memory for running one entry point. Keeps its program alive. A warm run (shapes seen before) allocates
/// nothing, and takes no lock unless it uses states of the program. It makes no system call while the workers are
/// awake; they sleep after about 2 ms without work. On a GPU a warm run of a model without If and Loop is one graph
/// launch. Addresses that moved since the last run are updated in the graph before it.
class GART_API Invocation {
 public:
  Invocation(Invocation&&) noexcept;
  Invocation& operator=(Invocation&&) noexcept;
  ~Invocation();

  /// The data must be complete when run() is called. A run works on a stream of its own, which waits for no other
  /// stream. Therefore first wait for kernels or copies that still write the data in a GPU's memory. run_async() on the
  /// same stream needs no such wait. The data must stay valid and unchanged until run() returns; each run() reads it
  /// again. Checked here: index or name, dtype, rank, device, null. Checked by run(): extents, and that all inputs are
  /// set.
  Result<void> set_input(size_t index, const TensorView& tensor);
  Result<void> set_input(std::string_view name, const TensorView& tensor);
  /// Sets the memory where run() writes output `index`. Without this, or after set_output(index, {}), it is the
  /// invocation's own host memory; after set_output(index, {.device = "cuda:0"}) its own memory on the program's GPU.
  /// Outputs must not overlap each other: run() fails then. An output that overlaps an input is written through a copy,
  /// after the run has read the input.
  Result<void> set_output(size_t index, const OutputBuffer& buffer);
  Result<void> set_output(std::string_view name, const OutputBuffer& buffer);

  /// Runs once. Errors found before the first step (a missing input, extents that disagree, an output buffer that is
  /// too small) leave the outputs untouched. After a failure during the run their contents are undefined.
  Result<void> run();

  /// Enqueues a run on a CUDA stream of the program's GPU and returns. `stream` is a CUstream or cudaStream_t; null:
  /// the default stream. The run comes after the stream's work and after this invocation's earlier runs. Inputs in host
  /// memory are copied before it returns. Inputs in the GPU's memory must stay valid and unchanged until the run is
  /// over. Outputs in the GPU's memory are ready for later work on the stream. Outputs in host memory, and errors found
  /// during the run, are available only after wait().
  ///
  /// It waits itself in three cases: where the model's If and Loop or the sizes of its results depend on computed
  /// values; for all earlier work before each step that was compiled to run on the CPU (the caller's thread and the
  /// program's workers run such steps before it returns); and, with inputs or outputs in host memory, for this
  /// invocation's previous run. Fails on the CPU.
  Result<void> run_async(void* stream);
  /// Waits for the last run_async(). Fails as that run did, and also reports errors of earlier runs that were not
  /// waited for.
  Result<void> wait();

  /// May be called by any thread, while the invocation lives. The current run fails with ErrorCode::cancelled before
  /// its next step, or iteration of a loop; work that was passed to a GPU runs to its end. Without a current run the
  /// next one fails, unless wait() comes before it: a call just before a run is not lost.
  void cancel();

  /// Output `index` of the last run() that succeeded, with its actual shape; valid until the next run() or
  /// set_output().
  TensorView output(size_t index) const;
  TensorView output(std::string_view name) const;

  /// From now on each run() records in `times` when each thread worked on each step, from the first entry on; steps in
  /// loops come once per iteration. {} ends the recording, and costs nothing. On a GPU only a program loaded with
  /// `blocking` records. `times` must outlive the runs.
  void record_steps(std::span<StepTime> times);
  /// The number of entries of the last run(); those past the end of `times` are lost.
  size_t recorded_steps() const;

  /// For the shapes of the last run(); for static shapes also before.
  MemoryInfo memory() const;

  explicit Invocation(std::unique_ptr<detail::InvocationState> state);

 private:
  std::unique_ptr<detail::InvocationState> state_;
};

/// The states of one caller (a conversation's caches), and runs that read and replace them. Keeps its program alive.
/// Copies are cheap and share the states; fork() copies these. Uses of one session come one after the other: a call
/// that begins during another fails. Sessions do not share states, so any number of them may run at once.
///
/// A run that fails or is cancelled leaves all states as they were, except those that it updates in place (gcc-graph
/// inspect shows them): these cannot be read before they are set or reset. A state without a value begins with zeros,
/// or without rows if it grows.
class GART_API Session {
 public:
  /// As the functions of Program, with this session's states.
  Result<std::vector<Tensor>> run(std::span<const TensorView> inputs, std::string_view entry = {}) const;
  Result<std::vector<Tensor>> run(const std::vector<Tensor>& inputs, std::string_view entry = {}) const;
  Result<std::vector<Tensor>> run(std::span<const NamedTensor> inputs, std::string_view entry = {}) const;
  Result<std::vector<Tensor>> run(std::initializer_list<TensorView> inputs, std::string_view entry = {}) const {
    return run(std::span<const TensorView>(inputs.begin(), inputs.size()), entry);
  }
  Result<std::vector<Tensor>> run(std::initializer_list<NamedTensor> inputs, std::string_view entry = {}) const {
    return run(std::span<const NamedTensor>(inputs.begin(), inputs.size()), entry);
  }
  Result<Invocation> new_invocation(std::string_view entry = {}) const;

  /// A copy of the state in host memory. Fails if it has no value yet.
  Result<Tensor> state(std::string_view name) const;
  /// Copies the value, which is in host memory.
  Result<void> set_state(std::string_view name, const TensorView& value) const;
  /// Takes all values away, as in a new session.
  Result<void> reset() const;
  /// Keeps the first rows of all states, which is the session that has read fewer tokens. Fails, and changes nothing,
  /// if a state has fewer rows, or does not only grow by appended rows.
  Result<void> shorten(int64_t rows) const;
  /// A new session with copies of all values.
  Result<Session> fork() const;
  /// Writes the states that have a value to a safetensors file, which replaces `path` only when it is complete.
  Result<void> save(const std::string& path) const;
  /// Replaces all states by those of a safetensors file. A state that the file lacks has no value afterwards. A failure
  /// changes nothing.
  Result<void> load(const std::string& path) const;

  explicit Session(std::shared_ptr<detail::SessionState> state);

 private:
  std::shared_ptr<detail::SessionState> state_;
};

/// Maps the file and verifies it. The file must not be changed while the program lives (replacing it is fine).
GART_API Result<Program> load(const std::string& path, const LoadOptions& options = {});

/// Loads from memory, which must stay valid and unchanged while the program lives. It is used in place if it is 64-byte
/// aligned, otherwise copied; code is always copied.
GART_API Result<Program> load(std::span<const uint8_t> artifact, const LoadOptions& options = {});

}  // namespace gart
