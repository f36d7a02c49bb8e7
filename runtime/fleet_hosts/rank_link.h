// A process's connection to the other ranks: one thread at a time uses the transport.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "gart/transport.h"
#include "runtime/fleet_hosts/wire.h"

namespace gart::fleet {

class RankLink;

/// A message that is on its way. Dropping it releases the memory it is sent from or received into, but a send to a rank
/// that is lost may still read that memory.
class Transfer {
 public:
  Transfer() = default;
  Transfer(RankLink& link, int peer, gart_message* message) : link_(&link), peer_(peer), message_(message) {}
  Transfer(Transfer&& other) noexcept;
  Transfer& operator=(Transfer&& other) noexcept;
  ~Transfer();

  /// True once the message is complete. Throws Failure if it failed or if its peer is lost.
  bool is_done();
  /// Waits until the message is complete.
  void wait();

 private:
  RankLink* link_ = nullptr;
  int peer_ = 0;
  gart_message* message_ = nullptr;  // null: complete
};

class RankLink {
 public:
  explicit RankLink(const gart_transport& transport);
  ~RankLink();
  RankLink(const RankLink&) = delete;
  RankLink& operator=(const RankLink&) = delete;

  int rank() const { return transport_.rank; }
  int size() const { return transport_.size; }
  const char* host() const { return transport_.host; }

  // All throw Failure.
  Transfer send(int to, int tag, std::span<const uint8_t> bytes);
  Transfer receive(int from, int tag, std::span<uint8_t> room);
  /// Sends a message and waits until its bytes may change.
  void post(int to, int tag, const Writer& message) { send(to, tag, message.bytes()).wait(); }
  /// A message that `from` has sent with this tag; empty if there is none.
  std::vector<uint8_t> poll(int from, int tag);
  /// A tag that no other message in progress has, as long as fewer than 32,000 are in progress.
  int new_tag();

  /// Sends a command with tag `to`, and waits for its answer, of at most `room` bytes.
  std::vector<uint8_t> ask(int rank, int to, Writer command, size_t room = 4096);

  /// Marks a rank as lost: whatever waits for it fails.
  void lose(int rank, const std::string& why);
  bool is_lost(int rank) const { return lost_[size_t(rank)].load(std::memory_order_acquire); }
  [[noreturn]] void fail_lost(int rank);

 private:
  friend class Transfer;
  int test(gart_message* message);
  void drop(gart_message* message) noexcept;

  const gart_transport& transport_;
  std::mutex mutex_;  // held during each call of the transport
  std::unique_ptr<std::atomic<bool>[]> lost_;
  std::vector<std::string> losses_;
  std::mutex losing_;
  std::atomic<uint32_t> tags_{0};
};

/// The pauses of a thread that waits for a message: at first it spins, then it sleeps for a twentieth of the time
/// that it has waited, at most a millisecond.
class Pauses {
 public:
  Pauses();
  void next();

 private:
  int64_t began_;
  int spins_ = 0;
};

}  // namespace gart::fleet
