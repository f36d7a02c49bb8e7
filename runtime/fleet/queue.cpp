// A queue of runs: workers take the oldest run, and a keeper thread ends runs that are past their deadline.
#include "gart/queue.hpp"

#include <algorithm>
#include <condition_variable>
#include <list>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <variant>
#include <vector>

#include "runtime/errors.h"
#include "runtime/origin.h"

namespace gart {
namespace {

using Clock = std::chrono::steady_clock;
using RunOutputs = std::span<const NamedTensor>;

constexpr int kMaxRuns = 1024;
constexpr std::chrono::seconds kMostWait(1);

Error stopped(ErrorCode why) {
  return {why, why == ErrorCode::timed_out ? "the run was not over at its deadline" : "the run was cancelled"};
}

struct QueuedRun {
  uint64_t number = 0;
  std::vector<std::string> names, devices, fetch;  // `names` and `devices` of the inputs; `fetch`: names of the values
                                                   // to compute
  std::vector<TensorView> inputs;
  std::string entry;
  Invocation* fixed_invocation = nullptr;  // the caller's invocation; null: the worker uses its own
  RunQueue::Done done;
  Clock::time_point deadline = Clock::time_point::max();
  std::optional<ErrorCode> stop;  // why the run must end early
  // The run in progress, which cancel() ends. At most one of the two is set.
  Invocation* invocation = nullptr;
  fleet::Request* request = nullptr;

  void tell(Result<RunOutputs> outputs) noexcept {
    try {
      done(std::move(outputs));
    } catch (...) {  // the caller's own
    }
  }
  void cancel() {
    if (invocation != nullptr) invocation->cancel();
    if (request != nullptr) request->cancel();
  }
  Result<void> run() { return invocation != nullptr ? invocation->run() : request->run(); }
  /// Clears a cancel() that came after the run's end, so that it does not end the next run.
  void forget_cancel() {
    if (invocation != nullptr) static_cast<void>(invocation->wait());
    if (request != nullptr) static_cast<void>(request->wait());
  }
};

using QueueSource = std::variant<Program, fleet::Program>;

void check(const Result<void>& done) {
  if (!done) throw Failure{done.error()};
}

/// The first input that the job does not have; null if the job has all inputs.
const TensorInfo* missing(std::span<const TensorInfo> inputs, const QueuedRun& job) {
  for (const TensorInfo& input : inputs)
    if (std::find(job.names.begin(), job.names.end(), input.name) == job.names.end()) return &input;
  return nullptr;
}

/// The memory of one worker's runs.
class RunMemory {
 public:
  explicit RunMemory(const QueueSource& source) : source_(source) {}

  /// Sets the job's inputs, and its invocation or request. Throws Failure.
  void prepare(QueuedRun& job) {
    outputs_.clear();
    if (job.fixed_invocation != nullptr) {
      job.invocation = job.fixed_invocation;
    } else if (const auto* program = std::get_if<Program>(&source_)) {
      set(*(job.invocation = &invocation(*program, job.entry)), job);
    } else {
      set(*(job.request = &request(*std::get_if<fleet::Program>(&source_), job)), job);
    }
  }

  RunOutputs outputs(const QueuedRun& job) {
    if (job.fixed_invocation != nullptr) return {};
    if (const auto* program = std::get_if<Program>(&source_)) {
      const std::span<const TensorInfo> infos = program->outputs(job.entry);
      for (size_t i = 0; i < infos.size(); ++i) outputs_.push_back({infos[i].name, job.invocation->output(i)});
    } else {
      const std::span<const TensorInfo> infos = std::get_if<fleet::Program>(&source_)->outputs();
      for (size_t i = 0; i < request_->outputs(); ++i)
        outputs_.push_back({job.fetch.empty() ? infos[i].name : job.fetch[i], request_->output(i)});
    }
    return outputs_;
  }

 private:
  Invocation& invocation(const Program& program, const std::string& entry) {
    for (auto& [name, known] : invocations_)
      if (name == entry) return known;
    return invocations_.emplace_back(entry, value_or_fail(program.new_invocation(entry))).second;
  }
  /// A request keeps the inputs of its last run. A run that fetches some values may leave inputs out; such a run gets a
  /// new request.
  fleet::Request& request(const fleet::Program& program, const QueuedRun& job) {
    if (missing(program.inputs(), job) != nullptr) request_.reset();
    if (!request_) request_.emplace(value_or_fail(program.new_request()));
    const std::vector<std::string_view> fetch(job.fetch.begin(), job.fetch.end());
    check(request_->fetch(fetch));
    return *request_;
  }
  template <class Target>
  static void set(Target& target, const QueuedRun& job) {
    for (size_t i = 0; i < job.inputs.size(); ++i) check(target.set_input(job.names[i], job.inputs[i]));
  }

  const QueueSource& source_;
  std::vector<std::pair<std::string, Invocation>> invocations_;  // by entry point
  std::optional<fleet::Request> request_;
  std::vector<NamedTensor> outputs_;
};

/// Each run must set all inputs of a program, because it would otherwise use inputs of the previous run.
void check_inputs(const QueueSource& source, const QueuedRun& job) {
  const auto* program = std::get_if<Program>(&source);
  if (program == nullptr || job.fixed_invocation != nullptr) return;
  if (const TensorInfo* input = missing(program->inputs(job.entry), job))
    fail(ErrorCode::invalid_argument, "input '", input->name, "' is missing");
}

}  // namespace

/// The queue's threads share the Core, because one of them may destroy the queue: `done` may hold the last reference to
/// the queue.
struct RunQueue::Core : std::enable_shared_from_this<RunQueue::Core> {
  explicit Core(QueueSource program) : source(std::move(program)) {}
  void start(size_t runs);
  uint64_t add(QueuedRun job, std::chrono::nanoseconds timeout);
  void cancel(uint64_t number);
  void work();
  void run(RunMemory& memory, std::list<QueuedRun>::iterator job);
  void keep_time();
  void end();
  void stop(std::list<QueuedRun>& ended, std::list<QueuedRun>::iterator job, ErrorCode why);
  static void tell_all(std::list<QueuedRun>& ended) {
    for (QueuedRun& job : ended) job.tell(stopped(*job.stop));
  }

  const Origin origin;
  const QueueSource source;
  size_t most = 0;   // runs that wait or are in progress
  std::mutex mutex;  // guards all members below
  std::condition_variable work_came, time_came;
  std::list<QueuedRun> waiting, running;
  uint64_t numbers = 0;
  bool is_ending = false;
  std::vector<std::thread> threads;
};

void RunQueue::Core::start(size_t runs) {
  try {
    for (size_t i = 0; i < runs; ++i) threads.emplace_back([self = shared_from_this()] { self->work(); });
    threads.emplace_back([self = shared_from_this()] { self->keep_time(); });
  } catch (...) {
    end();
    throw;
  }
}

uint64_t RunQueue::Core::add(QueuedRun job, std::chrono::nanoseconds timeout) {
  if (!origin.here())
    fail(ErrorCode::invalid_argument, "this process was forked after the queue was made: make another one here");
  if (!job.done) fail(ErrorCode::invalid_argument, "the run has no function to be called at its end");
  if (timeout.count() < 0) fail(ErrorCode::invalid_argument, "the timeout is ", timeout.count(), " ns, below 0");
  check_inputs(source, job);
  const Clock::time_point now = Clock::now();
  if (timeout.count() > 0 && timeout < Clock::time_point::max() - now) job.deadline = now + timeout;
  const std::lock_guard lock(mutex);
  if (waiting.size() + running.size() >= most)
    fail(ErrorCode::busy, "the queue is full: ", most, " runs wait or are in progress");
  job.number = ++numbers;
  waiting.push_back(std::move(job));
  work_came.notify_one();
  if (waiting.back().deadline != Clock::time_point::max()) time_came.notify_one();
  return numbers;
}

/// Called with the lock held. Moves a waiting job to `ended`; cancels a job in progress.
void RunQueue::Core::stop(std::list<QueuedRun>& ended, std::list<QueuedRun>::iterator job, ErrorCode why) {
  job->stop = why;
  if (std::any_of(running.begin(), running.end(), [&](const QueuedRun& other) { return &other == &*job; }))
    job->cancel();
  else
    ended.splice(ended.end(), waiting, job);
}

void RunQueue::Core::cancel(uint64_t number) {
  std::list<QueuedRun> ended;
  {
    const std::lock_guard lock(mutex);
    for (std::list<QueuedRun>* jobs : {&waiting, &running}) {
      const auto job = std::find_if(jobs->begin(), jobs->end(), [&](const QueuedRun& j) { return j.number == number; });
      if (job == jobs->end()) continue;
      if (!job->stop) stop(ended, job, ErrorCode::cancelled);
      break;
    }
  }
  tell_all(ended);
}

void RunQueue::Core::work() {
  RunMemory memory(source);
  std::unique_lock lock(mutex);
  for (;;) {
    work_came.wait(lock, [&] { return is_ending || !waiting.empty(); });
    if (is_ending) return;
    running.splice(running.end(), waiting, waiting.begin());
    const auto job = std::prev(running.end());
    lock.unlock();
    run(memory, job);
    lock.lock();
  }
}

/// Only the worker takes the job out of `running`. Other threads set `stop`, and may call cancel() while the job is in
/// progress.
void RunQueue::Core::run(RunMemory& memory, std::list<QueuedRun>::iterator job) {
  QueuedRun prepared;  // its invocation or request becomes visible to other threads under the lock
  Result<RunOutputs> outputs = guarded([&] {
    prepared.fixed_invocation = job->fixed_invocation;
    prepared.entry = job->entry;
    prepared.fetch = job->fetch;
    prepared.names = std::move(job->names);
    prepared.inputs = std::move(job->inputs);
    for (size_t i = 0; i < prepared.inputs.size(); ++i) prepared.inputs[i].device = job->devices[i].c_str();
    memory.prepare(prepared);
    {
      const std::lock_guard lock(mutex);
      if (job->stop) throw Failure{stopped(*job->stop)};
      job->invocation = prepared.invocation;
      job->request = prepared.request;
    }
    check(prepared.run());
    return memory.outputs(prepared);
  });
  std::list<QueuedRun> ended;
  {
    const std::lock_guard lock(mutex);
    job->invocation = nullptr;
    job->request = nullptr;
    ended.splice(ended.end(), running, job);
  }
  if (job->stop) prepared.forget_cancel();
  if (job->stop && !outputs && outputs.error().code == ErrorCode::cancelled) outputs = stopped(*job->stop);
  job->tell(std::move(outputs));
}

void RunQueue::Core::keep_time() {
  std::unique_lock lock(mutex);
  while (!is_ending) {
    const Clock::time_point now = Clock::now();
    Clock::time_point next = Clock::time_point::max();
    std::list<QueuedRun> ended;
    for (std::list<QueuedRun>* jobs : {&waiting, &running})
      for (auto job = jobs->begin(); job != jobs->end();) {
        const auto current = job++;
        if (current->stop) continue;
        if (current->deadline <= now)
          stop(ended, current, ErrorCode::timed_out);
        else
          next = std::min(next, current->deadline);
      }
    if (!ended.empty()) {
      lock.unlock();
      tell_all(ended);
      lock.lock();
    } else if (next == Clock::time_point::max()) {
      time_came.wait(lock);
    } else {
      // Uses the system's clock, because waits by a steady clock need glibc 2.30. The system's clock may jump
      // meanwhile.
      time_came.wait_until(lock, std::chrono::system_clock::now() + std::min<Clock::duration>(next - now, kMostWait));
    }
  }
}

void RunQueue::Core::end() {
  if (!origin.here()) {  // the threads belong to another process, so there is nothing to join
    new std::vector<std::thread>(std::move(threads));
    return;
  }
  std::list<QueuedRun> ended;
  {
    const std::lock_guard lock(mutex);
    is_ending = true;
    for (QueuedRun& job : waiting) job.stop = ErrorCode::cancelled;
    ended.swap(waiting);
  }
  work_came.notify_all();
  time_came.notify_all();
  tell_all(ended);
  for (std::thread& thread : threads) thread.get_id() == std::this_thread::get_id() ? thread.detach() : thread.join();
  threads.clear();
}

namespace {

/// The number of workers. Throws Failure.
size_t workers(const QueueOptions& options, size_t devices) {
  if (options.runs < 0 || options.runs > kMaxRuns)
    fail(ErrorCode::invalid_argument, "runs is ", options.runs, "; 0 to ", kMaxRuns, " are possible");
  return options.runs > 0 ? static_cast<size_t>(options.runs) : std::min<size_t>(2 * devices, kMaxRuns);
}

}  // namespace

RunQueue::RunQueue(std::shared_ptr<Core> state) : state_(std::move(state)) {}
RunQueue::RunQueue(RunQueue&&) noexcept = default;
RunQueue& RunQueue::operator=(RunQueue&& other) noexcept {
  std::swap(state_, other.state_);
  return *this;
}
RunQueue::~RunQueue() {
  if (state_ != nullptr) state_->end();
}

Result<RunQueue> RunQueue::of(const Program& program, const QueueOptions& options) {
  return guarded([&] { return open(std::make_shared<Core>(QueueSource(program)), workers(options, 1), options); });
}

Result<RunQueue> RunQueue::of(const fleet::Program& program, const QueueOptions& options) {
  return guarded([&] {
    return open(std::make_shared<Core>(QueueSource(program)), workers(options, program.devices().size()), options);
  });
}

RunQueue RunQueue::open(std::shared_ptr<Core> state, size_t runs, const QueueOptions& options) {
  state->most = runs + std::min(options.waiting, SIZE_MAX - runs);
  state->start(runs);
  return RunQueue(std::move(state));
}

Result<uint64_t> RunQueue::submit(std::span<const NamedTensor> inputs, Done done, const SubmitOptions& options) const {
  return guarded([&] {
    QueuedRun job;
    for (const NamedTensor& input : inputs) {
      job.names.emplace_back(input.name);
      job.devices.emplace_back(input.tensor.device == nullptr ? "" : input.tensor.device);
      job.inputs.push_back(input.tensor);
    }
    job.fetch.assign(options.fetch.begin(), options.fetch.end());
    job.entry = options.entry;
    job.done = std::move(done);
    const bool on_fleet = std::holds_alternative<fleet::Program>(state_->source);
    if (on_fleet && !job.entry.empty())
      fail(ErrorCode::invalid_argument, "a program on a fleet has no entry point '", job.entry, "'");
    if (!on_fleet && !job.fetch.empty())
      fail(ErrorCode::invalid_argument, "only a program on a fleet can fetch values such as '", job.fetch[0], "'");
    return state_->add(std::move(job), options.timeout);
  });
}

Result<uint64_t> RunQueue::submit(Invocation& invocation, Done done, std::chrono::nanoseconds timeout) const {
  return guarded([&] {
    QueuedRun job;
    job.fixed_invocation = &invocation;
    job.done = std::move(done);
    return state_->add(std::move(job), timeout);
  });
}

void RunQueue::cancel(uint64_t run) const { state_->cancel(run); }

size_t RunQueue::waiting() const {
  const std::lock_guard lock(state_->mutex);
  return state_->waiting.size();
}

}  // namespace gart
