#include "runtime/cpu/lane.h"

#include <cstring>

#include "runtime/cpu/team_work.h"

namespace gart::cpu {
namespace {

void make(const Transfer& transfer) {
  if (transfer.kind != Transfer::Kind::none)
    std::memcpy(transfer.to, transfer.from, static_cast<size_t>(transfer.bytes));
}

}  // namespace

std::unique_ptr<gart::Lane> Program::new_lane() { return std::make_unique<Lane>(*this); }

void Lane::prepare(const Run& run) { touch_pages(run.bases.arena, static_cast<size_t>(run.bound.arena_bytes())); }

void Lane::open(const Run& run, const Queue&) {
  run.inputs.use_in_place(kElementAlignment);
  run.outputs.use_in_place(kElementAlignment);
}

bool Lane::start(const Run& run) {
  shift_.emplace(program_.pool(), run.bound.entry().writes_program_states);
  return false;
}

void Lane::enqueue(const Run& run, const Segment& segment) {
  for (size_t i = 0; segment.inputs && i < run.inputs.count(); ++i) make(run.inputs.transfer(i));
  if (segment.begin < segment.end)
    TeamWork(run.bound, scratch_, shift_->team(), program_).run(segment.begin, segment.end);
  for (size_t i = 0; segment.outputs && i < run.outputs.count(); ++i) make(run.outputs.transfer(i));
}

void Lane::read(const Run& run, uint32_t buffer, void* to, size_t bytes) {
  std::memcpy(to, run.bound.address(buffer), bytes);
}

void Lane::fill(const Run&, void* to, uint32_t word) { std::memcpy(to, &word, sizeof word); }

void Lane::copy(const Run&, void* to, const void* from, size_t bytes) { std::memmove(to, from, bytes); }

}  // namespace gart::cpu
