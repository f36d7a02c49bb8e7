// Threads that run requests. A lane that is idle takes the first request that waits, together with others whose rows
// can be joined. So a request never waits for companions: requests are joined only if all lanes were busy.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <unordered_map>
#include <vector>

#include "tools/serve/job.h"

namespace gcg::serve {

struct LaneOptions {
  int lanes = 1;
  size_t queue = 1024;                              // limit of waiting requests
  size_t sequences = 1024;                          // limit of sequences at a time
  std::chrono::milliseconds sequence_idle{60'000};  // a sequence without requests for this long ends
};

class Lanes {
 public:
  explicit Lanes(const LaneOptions& options);
  ~Lanes();
  Lanes(const Lanes&) = delete;
  Lanes& operator=(const Lanes&) = delete;

  /// Queues a job. Answers at once with 429 if the queue is full, or with 503 after drain().
  void submit(std::unique_ptr<InferJob> job);
  /// Queues a step of work that was admitted. It waits for its turn among the requests.
  void submit_step(std::function<void()> step);
  /// True if a step should end soon, because other requests wait or the threads end.
  bool wants_turn() const;
  /// Throws Refusal if there is no room for another request beside `others` that wait elsewhere, or after drain().
  void admit(size_t others) const;
  /// Queues other work, such as loading a model; lanes run it before the waiting requests.
  void run_task(std::function<void()> task);
  void run_task_at(Clock::time_point time, std::function<void()> task);
  /// Ends the threads; requests that wait are not answered.
  void stop();
  /// Accepts no more requests. Returns true when all earlier ones are answered, false at `latest`.
  bool drain(Clock::time_point latest);
  /// Ends the sequences of a model, and refuses their requests that wait.
  void end_sequences(const Model& model);

  size_t waiting() const;
  size_t sequences() const;

 private:
  struct Sequence {
    std::shared_ptr<Model> model;
    std::optional<gart::Session> session;  // nullopt before the first request and after the last one
    Order current;                         // if busy: the request that runs or waits for a lane
    std::deque<Order> pending;             // requests that wait for the current one
    bool is_busy = false;
    bool is_gone = false;  // the sequence ends when its running request has ended
    Clock::time_point last_use;
    std::list<std::string>::iterator place;  // in idle_, unless busy
  };
  using Batch = std::vector<std::unique_ptr<InferJob>>;

  void work();
  void keep_time();
  /// Takes the job. If it throws Refusal, the job stays with the caller.
  void enqueue(std::unique_ptr<InferJob>& job);
  void check_room(size_t others) const;
  bool enter_sequence(InferJob& job);
  void make_ready(InferJob& job);
  std::unique_ptr<InferJob> extract(Order order);
  Batch take();
  void run(Batch batch);
  bool begin_sequence_step(InferJob& job, const gart::Session*& session);
  void end_sequence_step(const std::string& key, bool ends);
  void drop_sequence(const std::string& key, Batch& refused);
  Clock::time_point expire(Batch& expired);

  const LaneOptions options_;
  mutable std::mutex mutex_;
  std::condition_variable work_, time_, idle_lanes_;
  std::map<Order, std::unique_ptr<InferJob>> jobs_;  // all that wait
  std::set<Order> ready_;                            // waiting jobs that a lane may take
  std::unordered_map<std::string, std::set<Order>> groups_;
  std::set<std::pair<Clock::time_point, Order>> deadlines_;
  std::unordered_map<std::string, Sequence> sequences_;
  std::list<std::string> idle_;  // sequences that are not busy, the least recently used first
  std::deque<std::function<void()>> tasks_;
  std::multimap<Clock::time_point, std::function<void()>> later_tasks_;
  uint64_t next_ = 0;
  size_t running_ = 0;
  bool is_draining_ = false, is_stopping_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace gcg::serve
