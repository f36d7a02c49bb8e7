#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <csignal>
#include <iostream>
#include <optional>

#include "gcc_graph/values.h"
#include "tools/gcc-graph/commands/commands.h"
#include "tools/gcc-graph/fleet/job.h"
#include "tools/gcc-graph/fleet/rank_messages.h"
#include "tools/gcc-graph/io/artifact_identity.h"
#include "tools/gcc-graph/io/assembly_section.h"
#include "tools/gcc-graph/io/first_values.h"
#include "tools/gcc-graph/io/literal_tensor.h"
#include "tools/gcc-graph/io/model_inputs.h"
#include "tools/gcc-graph/io/write_file.h"
#include "tools/gcc-graph/options/artifact_option.h"
#include "tools/gcc-graph/support/fail.h"
#include "tools/gcc-graph/train/checkpoint.h"
#include "tools/gcc-graph/train/loss_scaling.h"
#include "tools/gcc-graph/train/replica_server.h"
#include "tools/gcc-graph/train/replicas.h"
#include "tools/gcc-graph/train/training_data.h"
#include "tools/gcc-graph/train/training_log.h"
#include "tools/gcc-graph/train/training_steps.h"

namespace gcg::tools {
namespace {

constexpr int64_t kBatch = 32;
constexpr int kInterrupted = 130;  // the exit code that shells give a command ended by SIGINT

/// If a process dies, a launcher sends SIGTERM to the others, and a second later SIGKILL. Rank 0 must save before that.
constexpr int kHurriedSilenceMs = 250;

volatile std::sig_atomic_t interrupted = 0;
const gart::fleet::Hosts* volatile interrupted_job = nullptr;

/// The first Ctrl-C ends the training after its step; the second one ends the process. So does SIGTERM, by which a
/// launcher ends the processes of a job. `job`: may be null.
class InterruptGuard {
 public:
  explicit InterruptGuard(const gart::fleet::Hosts* job) {
    interrupted_job = job;
    struct sigaction action = {};
    action.sa_handler = [](int signal) {
      interrupted = 1;
      const gart::fleet::Hosts* const own = interrupted_job;
      if (signal == SIGTERM && own != nullptr) own->limit_silence(kHurriedSilenceMs);
    };
    action.sa_flags = static_cast<int>(SA_RESETHAND);
    for (size_t i = 0; i < kSignals.size(); ++i) sigaction(kSignals[i], &action, &before_[i]);
  }
  ~InterruptGuard() {
    for (size_t i = 0; i < kSignals.size(); ++i) sigaction(kSignals[i], &before_[i], nullptr);
    interrupted_job = nullptr;
  }
  InterruptGuard(const InterruptGuard&) = delete;
  InterruptGuard& operator=(const InterruptGuard&) = delete;

 private:
  static constexpr std::array<int, 2> kSignals = {SIGINT, SIGTERM};
  std::array<struct sigaction, kSignals.size()> before_ = {};
};

struct Arguments {
  std::string artifact, data, output, metrics, checkpoint;
  ArtifactOption source;
  std::vector<std::string> numbers;  // --input NAME=NUMBER
  int64_t epochs = 1, checkpoint_steps = 0;
  std::optional<int64_t> batch, seed, replicas, staleness;
  bool no_shuffle = false, resume = false, quiet = false;
  InputOptions load;

  /// Also takes the signature of the store.
  std::string path() {
    load.trust.use_stored(source.signature(load.trust.needs_signature()));
    return source.path();
  }
};

class Training {
 public:
  /// `hosts`: of the job whose ranks share the replicas; may be null.
  Training(const Arguments& a, const gart::fleet::Hosts* hosts)
      : a_(a),
        hosts_(hosts),
        program_(load_program(a.artifact, a.load)),
        infos_(inputs_of(program_, a.load)),
        data_(a.data, infos_),
        checkpoint_(a.checkpoint) {
    if (program_.program_states().empty()) fail(a.artifact, ": the model keeps no states that training could change");
    facts_.model = artifact_identity(MappedArtifact(a.artifact).view());
    facts_.entry = a.load.entry;
    facts_.samples = data_.samples();
    choose_order();
    read_numbers();
  }

  /// Returns false if it was interrupted.
  bool run() {
    const InterruptGuard guard(hosts_);
    if (a_.resume)
      place_ = checkpoint_.load(program_, facts_);
    else if (a_.seed)
      seed_random_numbers();
    checkpoint_.prepare();
    const std::unique_ptr<TrainingSteps> steps = make_steps();
    TrainingLog log(a_.metrics, place_.steps, a_.epochs, a_.epochs * steps_per_epoch(), a_.quiet);
    bool is_finished = false;
    std::string loss;  // of a rank; the states are those of the last step
    try {
      is_finished = run_steps(*steps, log);
    } catch (const LostRank& error) {
      loss = error.what();
    }
    log.clear();
    if (!a_.quiet) summarize(*steps);
    checkpoint_.save(program_, facts_, place_);
    if (!a_.output.empty()) write_with_states(a_.artifact, a_.load.trust, program_, a_.output);
    if (!loss.empty()) fail(loss, "; everything up to step ", place_.steps, " is saved");
    return is_finished;
  }

  int64_t steps() const { return place_.steps; }

 private:
  /// A resumed run continues with the batch size, the seed and the order of the first run. If the user gives others,
  /// load() refuses them.
  void choose_order() {
    std::optional<TrainingFacts> saved;
    if (a_.resume) saved = checkpoint_.facts();
    const int64_t fixed = data_.fixed_batch();
    facts_.batch = a_.batch ? *a_.batch : saved ? saved->batch : fixed > 0 ? fixed : std::min(kBatch, data_.samples());
    facts_.seed = a_.seed ? static_cast<uint64_t>(*a_.seed) : saved ? saved->seed : 0;
    facts_.shuffle = !a_.no_shuffle;
    facts_.replicas = a_.replicas ? *a_.replicas : saved ? saved->replicas : hosts_ != nullptr ? hosts_->size() : 1;
    if (fixed > 0 && facts_.batch != fixed)
      fail("--batch ", facts_.batch, ": a step of this model takes ", fixed, " samples");
    if (fixed > data_.samples())
      fail("--data: a step of this model takes ", fixed, " samples; there are ", data_.samples());
    if (const int64_t rest = fixed > 0 ? data_.samples() % fixed : 0; rest > 0 && !a_.quiet)
      std::cerr << "gcc-graph: a step takes " << fixed << " samples: each epoch leaves " << rest << " of "
                << data_.samples() << " out\n";
  }

  void read_numbers() {
    for (const std::string& text : a_.numbers) {
      const size_t equals = text.find('=');
      if (equals == std::string::npos || equals == 0) fail("--input ", text, ": expected NAME=NUMBER");
      const std::string name = text.substr(0, equals);
      const auto info = std::find_if(infos_.begin(), infos_.end(), [&](const auto& i) { return i.name == name; });
      if (info == infos_.end()) fail("--input ", text, ": the entry point has no input '", name, "'");
      if (data_.has(name)) fail("--input ", text, ": --data has the input, too");
      std::vector<int64_t> shape;
      for (const std::string& extent : info->dims) shape.push_back(gcc_graph::extent_value(extent, {}));
      numbers_[name] = literal_tensor(*info, shape, text.substr(equals + 1));
    }
    for (const gart::TensorInfo& info : infos_)
      if (!data_.has(info.name) && numbers_.count(info.name) == 0)
        fail("input '", info.name, "' is missing; give its samples in --data, or --input ", info.name, "=NUMBER");
  }

  /// Dropout and other random operators draw from a state of the program, {seed, finished steps}.
  void seed_random_numbers() {
    const auto states = program_.program_states();
    if (std::none_of(states.begin(), states.end(), [](const auto& state) { return state.name == kRandomState; }))
      return;
    const std::array<int64_t, 2> value = {*a_.seed, 0};
    value_or_throw(program_.set_state(kRandomState, {value.data(), gart::DType::i64, {2}}));
  }

  std::unique_ptr<TrainingSteps> make_steps() const {
    if (a_.staleness && hosts_ != nullptr)
      fail("--staleness: asynchronous replicas run in one process, but the job has ", hosts_->size());
    if (a_.staleness) return asynchronous_steps(program_, facts_.replicas, *a_.staleness, data_, numbers_);
    if (a_.replicas || facts_.replicas > 1 || hosts_ != nullptr)
      return replica_steps(program_, facts_.replicas, data_, numbers_, {hosts_, a_.artifact});
    return single_steps(program_, a_.load.entry, data_, numbers_);
  }

  int64_t steps_per_epoch() const {
    const int64_t whole = data_.samples() / facts_.batch;
    return whole + (data_.fixed_batch() == 0 && data_.samples() % facts_.batch > 0 ? 1 : 0);
  }

  void summarize(const TrainingSteps& steps) const {
    if (const std::string summary = steps.summary(); !summary.empty()) std::cout << summary << '\n';
    if (scaling_)
      std::cout << "loss scale " << scaling_->scale << "; " << scaling_->skipped
                << (scaling_->skipped == 1 ? " update" : " updates") << " skipped\n";
  }

  /// Returns false if it was interrupted.
  bool run_steps(TrainingSteps& steps, TrainingLog& log) {
    Batches batches(data_, facts_, a_.epochs, place_);
    while (interrupted == 0) {
      const std::vector<Batch> group = batches.take(steps.wanted());
      if (group.empty()) return true;
      const std::vector<double> losses = steps.run(group);
      scaling_ = loss_scaling(program_);
      const int64_t before = place_.steps;
      for (size_t i = 0; i < group.size(); ++i) {
        const Batch& batch = group[i];
        place_ = batch.after;
        log.step({place_.steps, batch.epoch + 1, losses[i], static_cast<int64_t>(batch.samples.size()), scaling_});
        if (batch.ends_epoch) log.end_epoch(batch.epoch + 1);
      }
      if (a_.checkpoint_steps > 0 && place_.steps / a_.checkpoint_steps > before / a_.checkpoint_steps)
        checkpoint_.save(program_, facts_, place_);
    }
    return batches.take(1).empty();
  }

  const Arguments& a_;
  const gart::fleet::Hosts* const hosts_;
  gart::Program program_;
  std::span<const gart::TensorInfo> infos_;
  TrainingData data_;
  StepNumbers numbers_;
  Checkpoint checkpoint_;
  TrainingFacts facts_;
  TrainingPlace place_;
  std::optional<LossScaling> scaling_;
};

void train(const Arguments& a, const gart::fleet::Hosts* hosts) {
  if (a.output.empty() && a.checkpoint.empty()) fail("train: give -o or --checkpoint, or nothing is kept");
  if (a.checkpoint.empty() && (a.resume || a.checkpoint_steps > 0))
    fail(a.resume ? "--resume" : "--checkpoint-steps", " needs --checkpoint DIR");
  if (!a.output.empty()) check_writable(a.output);
  Training training(a, hosts);
  if (training.run()) return;
  std::cerr << "gcc-graph: interrupted after step " << training.steps() << "; everything so far is saved\n";
  throw CLI::RuntimeError(kInterrupted);
}

}  // namespace

void add_train_command(CLI::App& app) {
  auto a = std::make_shared<Arguments>();
  a->load.entry = "train";
  CLI::App* c = app.add_subcommand("train", "Train a model: run its entry point `train` over samples");
  a->source.add_to(*c);
  c->add_option("--data", a->data, "D.npz: an array per input, by name; the first axis counts samples")->required();
  c->add_option("--input", a->numbers, "NAME=NUMBER: an input that is the same in each step (a learning rate)");
  c->add_option("--epochs", a->epochs, "How often each sample is used")
      ->check(CLI::Range(int64_t{1}, int64_t{1} << 32))
      ->capture_default_str();
  c->add_option("--batch", a->batch, "Samples per step (default: the number that the model fixes, otherwise 32)")
      ->check(CLI::Range(int64_t{1}, int64_t{1} << 32));
  c->add_option("--seed", a->seed, "Seed of the samples' order, and of random operators (default: 0)")
      ->check(CLI::Range(int64_t{0}, std::numeric_limits<int64_t>::max()));
  c->add_option("--replicas", a->replicas,
                "Batches whose gradients are computed at the same time; the optimizer runs with their mean. Needs a "
                "model that was compiled with replicas=on")
      ->check(CLI::Range(int64_t{1}, int64_t{1024}));
  c->add_option("--staleness", a->staleness,
                "Asynchronous replicas: each one updates on its own, at most this many updates after it has read the "
                "states")
      ->check(CLI::Range(int64_t{0}, int64_t{1} << 20));
  c->add_flag("--no-shuffle", a->no_shuffle, "Take the samples in the order of the file");
  c->add_option(
      "--metrics", a->metrics,
      "M.jsonl: a line per step with step, epoch, loss, samples_per_s, and for precision=f16 with loss_scale and "
      "skipped, the number of skipped updates");
  c->add_option("--checkpoint", a->checkpoint,
                "DIR: save the states and the position in the samples there at the end, and after Ctrl-C; also see "
                "--checkpoint-steps");
  c->add_option("--checkpoint-steps", a->checkpoint_steps, "Save the checkpoint after every N steps, too")
      ->check(CLI::Range(int64_t{1}, int64_t{1} << 32));
  c->add_flag("--resume", a->resume,
              "Continue from the checkpoint; the result is the same as without the interruption");
  c->add_option("-o,--output", a->output, "The trained .gart file: its states begin with the trained values");
  c->add_option("--entry", a->load.entry, "The entry point of a step")->capture_default_str();
  c->add_option("--threads", a->load.threads, "Threads that share a step; 0: one per CPU")->check(CLI::Range(0, 1024));
  c->add_option("--device", a->load.device, "cpu, cpu:0-3, cuda or cuda:1; default: the best the file has code for");
  a->load.trust.add_to(*c);
  c->add_flag("--quiet", a->quiet, "Print no progress");
  c->callback([a] {
    in_job(
        [&](const gart::fleet::Hosts* hosts) {
          a->artifact = a->path();
          train(*a, hosts);
        },
        [&](const gart::fleet::Hosts& hosts) { serve_replicas(hosts, [&] { return a->path(); }, a->load); });
  });
}

}  // namespace gcg::tools
