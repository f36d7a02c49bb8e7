#include "tests/cuda/sim/driver/queue.h"

#include <algorithm>

#include "tests/cuda/sim/engine/report.h"

namespace gart_sim {
namespace {

bool has(const std::vector<uint64_t>& bits, size_t i) { return i / 64 < bits.size() && (bits[i / 64] >> i % 64 & 1u); }

void set(std::vector<uint64_t>& bits, size_t i) {
  if (bits.size() <= i / 64) bits.resize(i / 64 + 1);
  bits[i / 64] |= uint64_t{1} << i % 64;
}

void unite(std::vector<uint64_t>& into, const std::vector<uint64_t>& bits) {
  if (into.size() < bits.size()) into.resize(bits.size());
  for (size_t i = 0; i < bits.size(); ++i) into[i] |= bits[i];
}

uint64_t mixed(uint64_t x) {
  x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9ULL;
  x = (x ^ x >> 27) * 0x94d049bb133111ebULL;
  return x ^ x >> 31;
}

}  // namespace

OperationQueue::Id OperationQueue::add(std::string label, const std::vector<Id>& after,
                                       std::function<int(Footprint&)> run, const std::vector<Id>& overlapped) {
  auto operation = std::make_unique<Operation>();
  operation->label = std::move(label);
  operation->run = std::move(run);
  operation->index = operations_.size();
  operation->ancestors = operation->known = known_done_;
  const auto note = [&](const std::vector<Id>& ids, std::vector<size_t>& indices) {
    for (const Id id : ids) {
      if (id < first_id_) continue;
      const size_t index = id - first_id_;
      indices.push_back(index);
      set(operation->ancestors, index);
      unite(operation->ancestors, operations_[index]->ancestors);
    }
  };
  note(after, operation->after);
  note(overlapped, operation->overlapped);
  operations_.push_back(std::move(operation));
  ++pending_;
  return first_id_ + operations_.size() - 1;
}

bool OperationQueue::is_done(Id id) const {
  if (id == kAll) return pending_ == 0;
  return id < first_id_ || operations_[id - first_id_]->is_done;
}

bool OperationQueue::is_after(Id later, Id earlier) const {
  if (is_done(earlier) || later == earlier) return true;
  return later >= first_id_ && has(operations_[later - first_id_]->ancestors, earlier - first_id_);
}

bool OperationQueue::is_ready(const Operation& operation) const {
  if (operation.is_done) return false;
  const auto is_done = [this](size_t index) { return operations_[index]->is_done; };
  return std::all_of(operation.after.begin(), operation.after.end(), is_done) &&
         std::all_of(operation.overlapped.begin(), operation.overlapped.end(), is_done);
}

std::vector<bool> OperationQueue::needed_for(Id id) const {
  std::vector<bool> needed(operations_.size(), id == kAll);
  if (id < first_id_ || id == kAll) return needed;
  const Operation& wanted = *operations_[id - first_id_];
  needed[wanted.index] = true;
  for (size_t i = 0; i < operations_.size(); ++i) {
    if (has(wanted.ancestors, i)) needed[i] = true;
  }
  return needed;
}

Operation* OperationQueue::choose(const std::vector<bool>& needed, const Order& order, size_t victim,
                                  bool only_needed) {
  Operation* best = nullptr;
  uint64_t best_key = 0;
  for (const auto& operation : operations_) {
    const size_t i = operation->index;
    if ((only_needed && !needed[i]) || !is_ready(*operation)) continue;
    uint64_t key = i;
    if (order.kind == Order::Kind::last_in) key = operations_.size() - i;
    if (order.kind == Order::Kind::random) key = mixed(order.seed * 1000003 + waits_ * 7919 + i);
    if (order.kind == Order::Kind::delay && i == victim) key = ~uint64_t{0};
    if (!best || key < best_key) {
      best = operation.get();
      best_key = key;
    }
  }
  return best;
}

int OperationQueue::wait(Id id, const Order& given) {
  Order order = given;
  ++waits_;
  if (order.kind == Order::Kind::mixed) {
    constexpr Order::Kind kinds[] = {Order::Kind::first_in, Order::Kind::last_in, Order::Kind::random,
                                     Order::Kind::delay};
    order.kind = kinds[(waits_ + order.seed) % 4];
  }
  std::vector<bool> needed = needed_for(id);
  const size_t victim = operations_.empty() ? 0 : (order.seed + waits_ / 4) % operations_.size();
  size_t left = 0;
  for (size_t i = 0; i < operations_.size(); ++i) left += needed[i] && !operations_[i]->is_done;
  int error = 0;
  while (left > 0 && !error) {
    Operation* next = choose(needed, order, victim, order.kind == Order::Kind::first_in);
    left -= needed[next->index];
    error = execute(*next);
  }
  if (error) return error;
  if (id == kAll) {
    for (const auto& operation : operations_) host_waited_for(*operation);
  } else if (id >= first_id_) {
    host_waited_for(*operations_[id - first_id_]);
  }
  forget_done();
  return 0;
}

int OperationQueue::advance(size_t count, const Order& order) {
  int error = 0;
  const std::vector<bool> needed(operations_.size(), true);
  for (; count > 0 && pending_ > 0 && !error; --count) error = execute(*choose(needed, order, 0, false));
  return error;
}

// Collects the operations that are ordered before this one.
void OperationQueue::find_order(Operation& operation) const {
  const auto add = [this](const std::vector<size_t>& indices, std::vector<uint64_t>& bits) {
    for (const size_t index : indices) {
      set(bits, index);
      unite(bits, operations_[index]->before_end);
    }
  };
  operation.before_start = operation.known;
  add(operation.after, operation.before_start);
  operation.before_rest = operation.before_start;
  add(operation.overlapped, operation.before_rest);
}

int OperationQueue::execute(Operation& operation) {
  find_order(operation);
  operation.error = operation.run ? operation.run(operation.footprint) : 0;
  operation.before_end = operation.footprint.has_waited ? operation.before_rest : operation.before_start;
  operation.is_done = true;
  --pending_;
  if (!operation.error && (races(operation) || reads_undefined(operation))) operation.error = 719;
  return operation.error;
}

bool OperationQueue::races(const Operation& operation) const {
  const Footprint& mine = operation.footprint;
  for (const auto& other : operations_) {
    if (!other->is_done || other.get() == &operation || has(operation.before_start, other->index)) continue;
    // A launch that this operation overlaps can race only with accesses before this operation's threads wait.
    const bool is_overlapped = has(operation.before_rest, other->index);
    const std::vector<Range>& reads = is_overlapped ? mine.early_reads : mine.reads;
    const std::vector<Range>& writes = is_overlapped ? mine.early_writes : mine.writes;
    const char* how = "writes";
    uint64_t address = first_overlap(writes, other->footprint.writes);
    if (!address) address = first_overlap(writes, other->footprint.reads);
    if (!address) {
      how = "reads";
      address = first_overlap(reads, other->footprint.writes);
    }
    if (!address) continue;
    report(Finding::graph_race, "nothing orders '" + operation.label + "' and '" + other->label + "': the first " +
                                    how + " a byte that the other one touches" +
                                    (is_overlapped ? ", before it waits for what it overlaps, " : ", ") +
                                    DeviceMemory::get().describe(address));
    return true;
  }
  return false;
}

bool OperationQueue::reads_undefined(const Operation& operation) {
  const uint64_t address = DeviceMemory::get().note(operation.footprint);
  if (!address) return false;
  report(Finding::uninitialised,
         "'" + operation.label + "' reads what nothing has written, " + DeviceMemory::get().describe(address));
  return true;
}

void OperationQueue::host_waited_for(const Operation& operation) {
  set(known_done_, operation.index);
  unite(known_done_, operation.ancestors);
}

// Once the host has waited for all operations, nothing that is enqueued later can race with them.
void OperationQueue::forget_done() {
  if (pending_ > 0) return;
  for (size_t i = 0; i < operations_.size(); ++i) {
    if (!has(known_done_, i)) return;
  }
  first_id_ += operations_.size();
  operations_.clear();
  known_done_.clear();
}

void OperationQueue::abandon() {
  first_id_ += operations_.size();
  operations_.clear();
  known_done_.clear();
  pending_ = 0;
}

Footprint OperationQueue::touched() const {
  Footprint all;
  for (const auto& operation : operations_) {
    merge(all.reads, operation->footprint.reads);
    merge(all.writes, operation->footprint.writes);
  }
  return all;
}

}  // namespace gart_sim
