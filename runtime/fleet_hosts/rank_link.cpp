#include "runtime/fleet_hosts/rank_link.h"

#include <sched.h>

#include <algorithm>
#include <chrono>
#include <thread>
#include <utility>

#include "runtime/fleet/lane.h"
#include "runtime/relax.h"

namespace gart::fleet {

Pauses::Pauses() : began_(now_ns()) {}

void Pauses::next() {
  constexpr int kSpins = 500;
  constexpr int64_t kYieldNs = 200'000, kMostNs = 1'000'000;
  if (++spins_ < kSpins) return relax();
  const int64_t waited = now_ns() - began_;
  if (waited < kYieldNs) {
    sched_yield();
  } else {
    std::this_thread::sleep_for(std::chrono::nanoseconds(std::min(waited / 20, kMostNs)));
  }
}

Transfer::Transfer(Transfer&& other) noexcept
    : link_(other.link_), peer_(other.peer_), message_(std::exchange(other.message_, nullptr)) {}

Transfer& Transfer::operator=(Transfer&& other) noexcept {
  std::swap(link_, other.link_);
  std::swap(peer_, other.peer_);
  std::swap(message_, other.message_);
  return *this;
}

Transfer::~Transfer() {
  if (message_ != nullptr) link_->drop(message_);
}

bool Transfer::is_done() {
  if (message_ == nullptr) return true;
  const int done = link_->test(message_);
  if (done != 0) message_ = nullptr;
  if (done < 0) link_->lose(peer_, text("a message failed: ", link_->transport_.reason(link_->transport_.self)));
  if (done <= 0 && link_->is_lost(peer_)) link_->fail_lost(peer_);
  return done > 0;
}

void Transfer::wait() {
  for (Pauses pauses; !is_done(); pauses.next()) {
  }
}

RankLink::RankLink(const gart_transport& transport)
    : transport_(transport), lost_(new std::atomic<bool>[size_t(transport.size)]), losses_(size_t(transport.size)) {
  for (int i = 0; i < size(); ++i) lost_[size_t(i)] = false;
}

RankLink::~RankLink() {
  // If a rank is lost, this process does not leave the job. When the process ends, the launcher then ends the other
  // ranks.
  for (int i = 0; i < size(); ++i)
    if (is_lost(i)) return;
  transport_.close(transport_.self);
}

int RankLink::test(gart_message* message) {
  const std::lock_guard lock(mutex_);
  return transport_.test(transport_.self, message);
}

void RankLink::drop(gart_message* message) noexcept {
  const std::lock_guard lock(mutex_);
  transport_.drop(transport_.self, message);
}

Transfer RankLink::send(int to, int tag, std::span<const uint8_t> bytes) {
  if (is_lost(to)) fail_lost(to);
  const std::lock_guard lock(mutex_);
  gart_message* const message = transport_.send(transport_.self, to, tag, bytes.data(), bytes.size());
  if (message == nullptr)
    fail(ErrorCode::device_lost, "cannot send to rank ", to, ": ", transport_.reason(transport_.self));
  return {*this, to, message};
}

Transfer RankLink::receive(int from, int tag, std::span<uint8_t> room) {
  if (is_lost(from)) fail_lost(from);
  const std::lock_guard lock(mutex_);
  gart_message* const message = transport_.receive(transport_.self, from, tag, room.data(), room.size());
  if (message == nullptr)
    fail(ErrorCode::device_lost, "cannot receive from rank ", from, ": ", transport_.reason(transport_.self));
  return {*this, from, message};
}

std::vector<uint8_t> RankLink::poll(int from, int tag) {
  std::vector<uint8_t> bytes;
  {
    const std::lock_guard lock(mutex_);
    size_t size = 0;
    const int found = transport_.probe(transport_.self, from, tag, &size);
    if (found < 0)
      fail(ErrorCode::device_lost, "cannot receive from rank ", from, ": ", transport_.reason(transport_.self));
    if (found == 0) return bytes;
    bytes.resize(size);
  }
  receive(from, tag, bytes).wait();
  return bytes;
}

int RankLink::new_tag() {
  constexpr uint32_t kCount = kLastTag - kFirstFreeTag + 1;
  return kFirstFreeTag + int(tags_.fetch_add(1, std::memory_order_relaxed) % kCount);
}

std::vector<uint8_t> RankLink::ask(int rank, int to, Writer command, size_t room) {
  const int tag = new_tag();
  command.put(int32_t{tag});
  std::vector<uint8_t> answer(room);
  Transfer arrives = receive(rank, tag, answer);
  post(rank, to, command);
  arrives.wait();
  return answer;
}

void RankLink::lose(int rank, const std::string& why) {
  const std::lock_guard lock(losing_);
  if (is_lost(rank)) return;
  losses_[size_t(rank)] = why;
  lost_[size_t(rank)].store(true, std::memory_order_release);
}

void RankLink::fail_lost(int rank) {
  const std::lock_guard lock(losing_);
  fail(ErrorCode::device_lost, "rank ", rank, " of the job is lost: ", losses_[size_t(rank)]);
}

}  // namespace gart::fleet
