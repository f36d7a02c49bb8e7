#include "runtime/fleet_hosts/remote_space.h"

namespace gart::fleet {
namespace {

Writer transfer(Command command, const void* address, size_t bytes, int rank, int tag) {
  Writer out;
  out.put(command).put(number(address)).put(uint64_t{bytes}).put(int32_t{rank}).put(int32_t{tag});
  return out;
}

}  // namespace

const void* RemoteSpace::family() const {
  static const char kFamily = 0;
  return &kFamily;
}

/// The rank that has the value sends it to this space's rank.
void RemoteSpace::copy_in(void* to, const Space& other, const void* from, size_t bytes) {
  const int maker = static_cast<const RemoteSpace&>(other).rank_;
  const int tag = link_.new_tag(), answer_tag = link_.new_tag();
  std::vector<uint8_t> answer(4096);
  Transfer answered = link_.receive(rank_, answer_tag, answer);
  Writer receive = transfer(Command::receive, to, bytes, maker, tag);
  link_.post(rank_, kCommandTag, receive.put(int32_t{answer_tag}));
  const Result<void> sent =
      guarded([&] { link_.post(maker, kCommandTag, transfer(Command::send, from, bytes, rank_, tag)); });
  for (Pauses pauses; sent && !answered.is_done(); pauses.next())
    if (link_.is_lost(maker)) break;
  // Only the maker's rank is lost. So the error is that of the run: the reader's device can still run.
  if (!sent || link_.is_lost(maker))
    fail(ErrorCode::run_failed, "rank ", maker, " was lost before it had sent a value to rank ", rank_);
  Reader reader(answer);
  check_answer(reader);
}

void RemoteSpace::copy_to_host(void* to, const void* from, size_t bytes) {
  const int tag = link_.new_tag();
  Transfer arrives = link_.receive(rank_, tag, {static_cast<uint8_t*>(to), bytes});
  link_.post(rank_, kCommandTag, transfer(Command::send, from, bytes, 0, tag));
  arrives.wait();
}

void* RemoteSpace::allocate(size_t& bytes) {
  Writer command;
  command.put(Command::allocate).put(uint64_t{bytes});
  const std::vector<uint8_t> answer = link_.ask(rank_, kCommandTag, std::move(command));
  Reader reader(answer);
  check_answer(reader);
  void* const data = address(reader.get<uint64_t>());
  bytes = reader.get<uint64_t>();
  return data;
}

void RemoteSpace::release(void* data, size_t bytes) noexcept {
  // Errors do not matter: the memory of a lost rank is freed with its process.
  static_cast<void>(guarded([&] {
    Writer command;
    command.put(Command::release).put(number(data)).put(uint64_t{bytes});
    link_.post(rank_, kCommandTag, command);
  }));
}

}  // namespace gart::fleet
