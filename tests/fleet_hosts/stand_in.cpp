#include "tests/fleet_hosts/stand_in.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>

struct gart_message {
  int from = 0, to = 0, tag = 0;
  const uint8_t* source = nullptr;
  uint8_t* target = nullptr;
  size_t bytes = 0;
  std::vector<uint8_t> copy;  // the bytes of an eager send
  bool is_send = false, is_done = false, is_dropped = false;
};

namespace gart::fleet::test {

struct StandInCalls {
  static StandIn::Rank& of(void* self) { return *static_cast<StandIn::Rank*>(self); }

  static bool agree(const gart_message& a, const gart_message& b) {
    return a.from == b.from && a.to == b.to && a.tag == b.tag;
  }

  /// Delivers the oldest send that this receive matches.
  static void match(StandIn& job, gart_message& receive) {
    const auto found = std::find_if(job.sends_.begin(), job.sends_.end(),
                                    [&](const gart_message* send) { return agree(*send, receive); });
    if (found == job.sends_.end()) return;
    gart_message* const send = *found;
    if (send->bytes > receive.bytes) {
      std::fprintf(stderr, "stand-in: %zu bytes for a receive of %zu\n", send->bytes, receive.bytes);
      std::abort();
    }
    if (send->bytes > 0) std::memcpy(receive.target, send->source, send->bytes);
    receive.is_done = true;
    job.sends_.erase(found);
    send->is_done = true;
    if (send->is_dropped) delete send;
  }

  static void match_all(StandIn& job) {
    for (auto it = job.receives_.begin(); it != job.receives_.end();) {
      match(job, **it);
      it = (*it)->is_done ? job.receives_.erase(it) : std::next(it);
    }
  }

  static gart_message* send(void* self, int to, int tag, const void* data, size_t bytes) {
    StandIn::Rank& rank = of(self);
    StandIn& job = *rank.job;
    const std::lock_guard lock(job.mutex_);
    ++rank.sent;
    auto* message =
        new gart_message{rank.table.rank, to, tag, static_cast<const uint8_t*>(data), nullptr, bytes, {}, true};
    rank.bytes[size_t(to)] += int64_t(bytes);
    if (bytes <= job.eager_) {
      auto* eager = new gart_message(*message);
      eager->copy.assign(message->source, message->source + bytes);
      eager->source = eager->copy.data();
      eager->is_dropped = true;
      message->is_done = true;
      if (rank.is_silent())
        delete eager;
      else
        job.sends_.push_back(eager);
    } else if (!rank.is_silent()) {
      job.sends_.push_back(message);
    }
    match_all(job);
    return message;
  }

  static gart_message* receive(void* self, int from, int tag, void* data, size_t bytes) {
    StandIn::Rank& rank = of(self);
    const std::lock_guard lock(rank.job->mutex_);
    auto* message = new gart_message{from, rank.table.rank, tag, nullptr, static_cast<uint8_t*>(data), bytes};
    if (!rank.is_silent()) rank.job->receives_.push_back(message);
    match_all(*rank.job);
    return message;
  }

  static int test(void* self, gart_message* message) {
    const std::lock_guard lock(of(self).job->mutex_);
    if (!message->is_done) return 0;
    delete message;
    return 1;
  }

  static void drop(void* self, gart_message* message) {
    StandIn& job = *of(self).job;
    const std::lock_guard lock(job.mutex_);
    job.receives_.remove(message);
    const bool waits = std::find(job.sends_.begin(), job.sends_.end(), message) != job.sends_.end();
    message->is_dropped = true;
    if (!waits) delete message;
  }

  static int probe(void* self, int from, int tag, size_t* bytes) {
    StandIn::Rank& rank = of(self);
    const std::lock_guard lock(rank.job->mutex_);
    if (rank.is_silent()) return 0;
    for (const gart_message* send : rank.job->sends_) {
      if (send->from != from || send->to != rank.table.rank || send->tag != tag) continue;
      *bytes = send->bytes;
      return 1;
    }
    return 0;
  }

  static const char* reason(void*) { return "the stand-in failed"; }
  static void close(void*) {}
};

StandIn::StandIn(int ranks, size_t eager) : eager_(eager) {
  for (int i = 0; i < ranks; ++i) {
    ranks_.push_back(std::make_unique<Rank>());
    Rank& rank = *ranks_.back();
    rank.job = this;
    rank.host = "machine" + std::to_string(i);
    rank.bytes.resize(size_t(ranks));
    using Calls = StandInCalls;
    rank.table = {&rank,       i,           ranks,        rank.host.c_str(), Calls::send, Calls::receive,
                  Calls::test, Calls::drop, Calls::probe, Calls::reason,     Calls::close};
  }
}

StandIn::~StandIn() {
  for (const gart_message* send : sends_)
    if (send->is_dropped) delete send;
}

void StandIn::silence(int rank, int64_t count) {
  const std::lock_guard lock(mutex_);
  ranks_[size_t(rank)]->silent_from = count;
}

int64_t StandIn::sent(int rank) const {
  const std::lock_guard lock(mutex_);
  return ranks_[size_t(rank)]->sent;
}

int64_t StandIn::bytes(int from, int to) const {
  const std::lock_guard lock(mutex_);
  return ranks_[size_t(from)]->bytes[size_t(to)];
}

StandInJob::StandInJob(int ranks, size_t eager, int silence_ms)
    : network_(ranks, eager), ends_(size_t(ranks - 1), Error{ErrorCode::run_failed, "did not serve"}) {
  for (int rank = 1; rank < ranks; ++rank)
    threads_.emplace_back([this, rank, silence_ms] {
      ends_[size_t(rank - 1)] = Hosts::over(network_.transport(rank), {silence_ms})->serve();
    });
  hosts_ = std::make_unique<Hosts>(Hosts::over(network_.transport(0), {silence_ms}).value());
}

std::vector<Result<void>> StandInJob::end() {
  hosts_ = nullptr;
  for (std::thread& thread : threads_) thread.join();
  threads_.clear();
  return ends_;
}

StandInJob::~StandInJob() { end(); }

}  // namespace gart::fleet::test
