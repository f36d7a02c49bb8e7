#include "runtime/fleet_hosts/rank_job.h"

#include <algorithm>
#include <chrono>

#include "runtime/fleet/lane.h"

namespace gart::fleet {
namespace {

constexpr int64_t kNsPerMs = 1'000'000;

/// Whether one rank still answers.
struct Pulse {
  Transfer ping, pong;
  uint8_t answer = 0;
  bool is_out = false;  // a ping was sent and not answered yet
  Silence silence;

  void beat(RankLink& link, int rank, int64_t silence_ns) {
    static const Writer kPing = Writer().put(Command::ping);
    if (link.is_lost(rank)) return;
    const Result<void> done = guarded([&] {
      if (!is_out) {
        pong = link.receive(rank, kPongTag, {&answer, 1});
        ping = link.send(rank, kCommandTag, kPing.bytes());
        is_out = true;
      }
      if (ping.is_done() && pong.is_done()) {
        is_out = false;
        silence.end();
        if (answer == kGone) link.lose(rank, "it has left the job");
      }
    });
    if (!done) return link.lose(rank, done.error().message);
    if (silence.ns() > silence_ns) link.lose(rank, text("it has not answered for ", silence_ns / kNsPerMs, " ms"));
  }
};

/// Must stay valid until the process ends, because a lost rank may read it later.
const Writer& farewell(bool is_complete) {
  static const Writer kGood = Writer().put(Command::end).text("");
  static const Writer kLost = Writer().put(Command::end).text("it has ended the job, because it lost a rank");
  return is_complete ? kGood : kLost;
}

}  // namespace

int64_t Silence::ns() {
  constexpr int64_t kMostNs = 100 * kNsPerMs;  // a process that runs calls more often
  const int64_t now = now_ns();
  if (counted_ != 0) silent_ns_ += std::min(now - counted_, kMostNs);
  counted_ = now;
  return silent_ns_;
}

RankJob::RankJob(const gart_transport& transport, const HostOptions& given)
    : link(transport), host_options(given), silence_ms(given.silence_ms) {
  if (host_options.silence_ms < 100)
    fail(ErrorCode::invalid_argument, "silence_ms is ", host_options.silence_ms, ", but must be at least 100");
  if (link.rank() != 0) return;
  greet();
  watcher_ = std::thread(&RankJob::watch, this);
}

RankJob::~RankJob() {
  for (int rank = 1; rank < link.size() && watcher_.joinable(); ++rank)
    link.part(rank, kCommandTag, farewell(link.is_complete()));
  stop_ = true;
  if (watcher_.joinable()) watcher_.join();
}

void RankJob::wait(Transfer message) {
  for (Pauses pauses; !message.is_done(); pauses.next())
    if (is_over_.load(std::memory_order_acquire)) fail(ErrorCode::device_lost, "rank 0 has ended the job");
}

int RankJob::checked(int rank) const {
  if (rank < 0 || rank >= link.size() || rank == link.rank())
    fail(ErrorCode::invalid_argument, "rank ", rank, " is not another rank: this is rank ", link.rank(), " of ",
         link.size());
  return rank;
}

/// Receives the name of each rank's machine.
void RankJob::greet() {
  machines.assign(size_t(link.size()), link.host());
  spaces.resize(size_t(link.size()));
  const int64_t until = now_ns() + kStartNs;
  for (int rank = 1; rank < link.size(); ++rank) {
    std::vector<uint8_t> hello;
    for (Pauses pauses; (hello = link.poll(rank, kHelloTag)).empty(); pauses.next())
      if (now_ns() > until)
        fail(ErrorCode::device_lost, "rank ", rank, " of the job has not begun to serve for a minute");
    machines[size_t(rank)] = Reader(hello).text();
    spaces[size_t(rank)] = std::make_unique<RemoteSpace>(link, rank);
  }
}

void RankJob::watch() {
  std::vector<Pulse> pulses(size_t(link.size()));
  const std::chrono::milliseconds pause(std::clamp(host_options.silence_ms / 30, 1, 20));
  for (; !stop_; std::this_thread::sleep_for(pause))
    for (int rank = 1; rank < link.size(); ++rank) pulses[size_t(rank)].beat(link, rank, silence_ms * kNsPerMs);
}

}  // namespace gart::fleet
