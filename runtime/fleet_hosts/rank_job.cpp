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
  int64_t heard = now_ns();

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
        heard = now_ns();
      }
    });
    if (!done) return link.lose(rank, done.error().message);
    if (now_ns() - heard > silence_ns) link.lose(rank, text("it has not answered for ", silence_ns / kNsPerMs, " ms"));
  }
};

}  // namespace

RankJob::RankJob(const gart_transport& transport, const HostOptions& given) : link(transport), host_options(given) {
  if (host_options.silence_ms < 100)
    fail(ErrorCode::invalid_argument, "silence_ms is ", host_options.silence_ms, ", but must be at least 100");
  if (link.rank() != 0) return;
  greet();
  watcher_ = std::thread(&RankJob::watch, this);
}

RankJob::~RankJob() {
  for (int rank = 1; rank < link.size() && link.rank() == 0 && watcher_.joinable(); ++rank)
    static_cast<void>(guarded([&] { link.post(rank, kCommandTag, Writer().put(Command::end)); }));
  stop_ = true;
  if (watcher_.joinable()) watcher_.join();
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
    for (int rank = 1; rank < link.size(); ++rank)
      pulses[size_t(rank)].beat(link, rank, host_options.silence_ms * kNsPerMs);
}

}  // namespace gart::fleet
