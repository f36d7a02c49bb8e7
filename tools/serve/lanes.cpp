#include "tools/serve/lanes.h"

#include "tools/serve/refusal.h"

namespace gcg::serve {
namespace {

// The rank of the protocol's default priority, 0. Smaller priorities come before it, larger ones after it.
constexpr uint64_t kDefaultPriority = uint64_t{1} << 32;

}  // namespace

Lanes::Lanes(const LaneOptions& options) : options_(options) {
  for (int i = 0; i < options.lanes; ++i) threads_.emplace_back([this] { work(); });
  threads_.emplace_back([this] { keep_time(); });
}

Lanes::~Lanes() { stop(); }

void Lanes::stop() {
  {
    const std::lock_guard lock(mutex_);
    is_stopping_ = true;
  }
  work_.notify_all();
  time_.notify_all();
  for (std::thread& thread : threads_) thread.join();
  threads_.clear();
}

void Lanes::submit(std::unique_ptr<InferJob> job) {
  job->times.arrived = Clock::now();
  job->times.taken = job->times.ready = job->times.ran = job->times.arrived;
  if (job->request.timeout_us) job->deadline = job->times.arrived + std::chrono::microseconds(*job->request.timeout_us);
  if (job->sequence.empty()) find_group(*job);
  try {
    enqueue(job);
  } catch (const Refusal& refusal) {
    refuse_job(*job, refusal.status(), refusal.what());
  }
}

void Lanes::check_room(size_t others) const {
  if (is_draining_) refuse(503, "the server is shutting down");
  if (jobs_.size() + others >= options_.queue)
    refuse(429, "the queue is full: ", options_.queue, " requests wait; try again later");
}

void Lanes::admit(size_t others) const {
  const std::lock_guard lock(mutex_);
  check_room(others);
}

bool Lanes::wants_turn() const {
  const std::lock_guard lock(mutex_);
  return is_stopping_ || !jobs_.empty() || !tasks_.empty();
}

void Lanes::submit_step(std::function<void()> step) {
  auto job = std::make_unique<InferJob>();
  job->step = std::move(step);
  const std::lock_guard lock(mutex_);
  job->order = {kDefaultPriority, next_++};
  InferJob& placed = *job;
  jobs_.emplace(placed.order, std::move(job));
  make_ready(placed);
}

void Lanes::enqueue(std::unique_ptr<InferJob>& job) {
  const std::lock_guard lock(mutex_);
  check_room(0);
  job->order = {job->request.priority == 0 ? kDefaultPriority : job->request.priority, next_++};
  const bool waits = !job->sequence.empty() && enter_sequence(*job);
  if (job->deadline != Clock::time_point::max()) {
    const bool is_first = deadlines_.empty() || job->deadline < deadlines_.begin()->first;
    deadlines_.emplace(job->deadline, job->order);
    if (is_first) time_.notify_one();
  }
  InferJob& placed = *job;
  jobs_.emplace(placed.order, std::move(job));
  if (!waits) make_ready(placed);
}

/// Returns true if the job must wait for an earlier one of its sequence.
bool Lanes::enter_sequence(InferJob& job) {
  const auto found = sequences_.find(job.sequence);
  if (found == sequences_.end() || found->second.is_gone) {
    if (!job.request.sequence.starts)
      refuse(400, "the sequence has not started, or it ended: its first request needs sequence_start");
    if (found != sequences_.end()) refuse(429, "the sequence is ending; try again later");
    if (sequences_.size() >= options_.sequences)
      refuse(429, "all ", options_.sequences, " sequences are in use; try again later");
    Sequence& sequence = sequences_[job.sequence];
    sequence.model = job.model;
    sequence.is_busy = true;
    sequence.current = job.order;
    return false;
  }
  Sequence& sequence = found->second;
  if (sequence.is_busy) {
    sequence.pending.push_back(job.order);
    return true;
  }
  idle_.erase(sequence.place);
  sequence.is_busy = true;
  sequence.current = job.order;
  return false;
}

void Lanes::make_ready(InferJob& job) {
  ready_.insert(job.order);
  if (!job.group.empty()) groups_[job.group].insert(job.order);
  work_.notify_one();
}

/// Removes the job from all lists except its sequence's. Null if the job does not wait.
std::unique_ptr<InferJob> Lanes::extract(Order order) {
  const auto found = jobs_.find(order);
  if (found == jobs_.end()) return nullptr;
  std::unique_ptr<InferJob> job = std::move(found->second);
  jobs_.erase(found);
  ready_.erase(order);
  if (job->deadline != Clock::time_point::max()) deadlines_.erase({job->deadline, order});
  if (const auto group = groups_.find(job->group); group != groups_.end()) {
    group->second.erase(order);
    if (group->second.empty()) groups_.erase(group);
  }
  return job;
}

/// The first job, and those that can be joined with it.
Lanes::Batch Lanes::take() {
  Batch batch;
  batch.push_back(extract(*ready_.begin()));
  const InferJob& first = *batch[0];
  if (first.group.empty()) return batch;
  int64_t rows = first.rows;
  const auto group = groups_.find(first.group);
  if (group == groups_.end()) return batch;
  std::vector<Order> others;
  for (const Order& order : group->second) {
    const int64_t more = jobs_.at(order)->rows;
    if (rows + more > first.model->stored().rows) break;
    rows += more;
    others.push_back(order);
  }
  for (const Order& order : others) batch.push_back(extract(order));
  return batch;
}

void Lanes::work() {
  for (;;) {
    Batch batch;
    std::function<void()> task;
    {
      std::unique_lock lock(mutex_);
      work_.wait(lock, [&] { return is_stopping_ || !tasks_.empty() || !ready_.empty(); });
      if (is_stopping_) return;
      if (!tasks_.empty()) {
        task = std::move(tasks_.front());
        tasks_.pop_front();
      } else {
        batch = take();
      }
      ++running_;
    }
    try {
      if (task)
        task();
      else
        run(std::move(batch));
    } catch (const std::exception&) {
      // No memory is left for an error's sentence; the connection will reply that the request got no answer.
    }
    const std::lock_guard lock(mutex_);
    if (--running_ == 0 && jobs_.empty()) idle_lanes_.notify_all();
  }
}

void Lanes::run(Batch batch) {
  if (batch[0]->step) return batch[0]->step();
  const std::string key = batch[0]->sequence;
  if (key.empty()) return run_jobs(batch, nullptr);
  const bool ends = batch[0]->request.sequence.ends;
  const gart::Session* session = nullptr;
  if (begin_sequence_step(*batch[0], session)) run_jobs(batch, session);
  end_sequence_step(key, ends);
}

/// Finds or makes the session. Needs no lock for it, because only the lane that runs a sequence's request uses its
/// session. Returns false if the request was refused.
bool Lanes::begin_sequence_step(InferJob& job, const gart::Session*& session) {
  Sequence* sequence = nullptr;
  {
    const std::lock_guard lock(mutex_);
    sequence = &sequences_.at(job.sequence);
  }
  try {
    if (job.request.sequence.starts) sequence->session = job.model->new_session();
  } catch (const Refusal& refusal) {
    refuse_job(job, refusal.status(), refusal.what());
    return false;
  }
  if (!sequence->session) {
    refuse_job(job, 400, "the sequence has ended: its first request needs sequence_start");
    return false;
  }
  session = &*sequence->session;
  return true;
}

void Lanes::end_sequence_step(const std::string& key, bool ends) {
  std::optional<gart::Session> freed;  // destroyed after the lock is released
  const std::lock_guard lock(mutex_);
  const auto found = sequences_.find(key);
  Sequence& sequence = found->second;
  if (ends || sequence.is_gone) freed.swap(sequence.session);
  while (!sequence.is_gone && !sequence.pending.empty()) {
    const Order next = sequence.pending.front();
    sequence.pending.pop_front();
    sequence.current = next;
    if (const auto job = jobs_.find(next); job != jobs_.end()) return make_ready(*job->second);
  }
  if (!sequence.session) {
    sequences_.erase(found);
    return;
  }
  sequence.is_busy = false;
  sequence.last_use = Clock::now();
  sequence.place = idle_.insert(idle_.end(), key);
  if (idle_.size() == 1) time_.notify_one();
}

/// Ends a sequence. Its waiting requests go to `refused`. If a request of it runs, the sequence ends after that
/// request.
void Lanes::drop_sequence(const std::string& key, Batch& refused) {
  const auto found = sequences_.find(key);
  if (found == sequences_.end()) return;
  Sequence& sequence = found->second;
  for (const Order& order : sequence.pending)
    if (auto job = extract(order)) refused.push_back(std::move(job));
  sequence.pending.clear();
  if (sequence.is_busy) {
    auto current = extract(sequence.current);
    sequence.is_gone = current == nullptr;
    if (sequence.is_gone) return;
    refused.push_back(std::move(current));
  } else {
    idle_.erase(sequence.place);
  }
  sequences_.erase(found);
}

}  // namespace gcg::serve
