// Places temporaries in three stages. It computes lifetimes in the total order of the steps, lets results reuse the
// storage of an operand whose lifetime ends, and places the blocks in an arena. With several streams, a run may execute
// the steps in another order. Two buffers then share storage only if every use of one is certain to finish before any
// use of the other.
#include "compiler/plan/plan_memory.h"

#include <algorithm>
#include <map>
#include <set>

#include "compiler/kernel/typical_extent.h"
#include "compiler/plan/lifetimes.h"
#include "compiler/plan/streams.h"
#include "compiler/support/error.h"

namespace gcg {
namespace {

/// For each buffer, the steps of the entry sequence that use it, themselves or in their subgraphs. Only the entry
/// sequence has several streams.
class Users {
 public:
  explicit Users(const Plan& plan) : plan_(plan), order_(plan.entry()), of_(plan.buffers.size()) {
    StepId first;  // the first launch of those that do one piece of work
    for (StepId i : plan.entry().steps.ids()) {
      if (!plan.entry().steps[i].continues()) first = i;
      note(plan.entry().steps[i], first);
    }
  }

  /// The step of the entry sequence that is this step, or contains it in a subgraph.
  StepId entry_of(const Step& step) const { return entry_of_.at(&step); }

  /// True if every use of `a` has finished when any use of `b` begins. Within one step of the entry sequence, their
  /// ranges decide.
  bool before(const std::set<StepId>& a, const std::set<StepId>& b) const {
    for (StepId u : a)
      for (StepId v : b)
        if (u != v && !order_.before(u, v)) return false;
    return true;
  }
  const std::set<StepId>& of(BufferId buffer) const { return of_[buffer]; }
  bool before(StepId step, StepId other) const { return order_.before(step, other); }

 private:
  void note(const Step& step, StepId entry_step) {
    entry_of_[&step] = entry_step;
    for (const auto& list : {step.reads(), step.writes()})
      for (BufferId b : list) of_[b].insert(entry_step);
    for (SequenceId body : step.bodies())
      for (const Step& inner : plan_.sequences[body].steps) note(inner, entry_step);
  }

  const Plan& plan_;
  StepOrder order_;
  IndexedVector<BufferId, std::set<StepId>> of_;
  std::map<const Step*, StepId> entry_of_;
};

class Planner {
 public:
  explicit Planner(Plan& plan) : p_(plan), life_(plan) {
    if (plan.streams > 1) users_.emplace(plan);
  }

  void run(std::optional<int64_t> limit) {
    make_blocks();
    MemoryPlan& plan = p_.memory;
    plan.is_static =
        std::all_of(plan.block_bytes.begin(), plan.block_bytes.end(), [](const Dim& d) { return d.is_constant(); });
    const bool all_static =
        std::all_of(p_.buffers.begin(), p_.buffers.end(), [](const Buffer& b) { return b.bytes.is_constant(); });
    plan.is_static = plan.is_static && all_static;
    for (size_t i = 0; i < plan.blocks.size(); ++i)
      plan.blocks[i].size = static_cast<int64_t>(typical(plan.block_bytes[i]));
    if (plan.is_static) {
      plan.layout = plan_arena(plan.blocks);
      if (limit && plan.layout.bytes > *limit) over_limit(*limit);
    } else {
      order_placement();
    }
  }

 private:
  void make_blocks() {
    MemoryPlan& plan = p_.memory;
    std::vector<LiveRange> ranges;
    for (BufferId i : p_.buffers.ids()) {
      Buffer& b = p_.buffers[i];
      if (b.kind != Buffer::Kind::temporary || life_.ranges[i].first < 0) continue;
      b.block = static_cast<int>(ranges.size());
      ranges.push_back(life_.ranges[i]);
      plan.block_bytes.push_back(b.bytes);
    }
    for (const Sequence& sequence : p_.sequences)
      for (const Step& step : sequence.steps) take_over(step, ranges);
    compact(ranges);
    plan.blocks.resize(ranges.size());
    std::vector<std::set<StepId>> users;
    if (users_) users = users_by_block(ranges.size());
    for (size_t i = 0; i < ranges.size(); ++i) {
      plan.blocks[i].first = ranges[i].first;
      plan.blocks[i].last = ranges[i].last;
      for (size_t j = 0; j < i; ++j)
        if (overlap(ranges, users, i, j)) {
          plan.blocks[i].conflicts.push_back(static_cast<int>(j));
          plan.blocks[j].conflicts.push_back(static_cast<int>(i));
        }
    }
  }

  bool overlap(const std::vector<LiveRange>& ranges, const std::vector<std::set<StepId>>& users, size_t i,
               size_t j) const {
    if (ranges[i].overlaps(ranges[j])) return true;
    if (!users_) return false;
    const bool i_first = ranges[i].last < ranges[j].first;
    return !users_->before(users[i_first ? i : j], users[i_first ? j : i]);
  }

  std::set<StepId> users_of(int block) const {
    std::set<StepId> steps;
    for (BufferId b : p_.buffers.ids())
      if (p_.buffers[b].block == block) steps.insert(users_->of(b).begin(), users_->of(b).end());
    return steps;
  }

  std::vector<std::set<StepId>> users_by_block(size_t blocks) const {
    std::vector<std::set<StepId>> users(blocks);
    for (BufferId b : p_.buffers.ids())
      if (const int block = p_.buffers[b].block; block >= 0)
        users[static_cast<size_t>(block)].insert(users_->of(b).begin(), users_->of(b).end());
    return users;
  }

  /// Places the result of a launch in the storage of an operand that is used here for the last time.
  void take_over(const Step& step, std::vector<LiveRange>& ranges) {
    const BufferId written = step.result();
    if (!written.valid() || step.continues()) return;
    const int now = life_.at.at(&step);
    Buffer& result = p_.buffers[written];
    if (result.kind != Buffer::Kind::temporary || life_.ranges[written].first != now) return;
    for (BufferId o : step.in_place()) {
      Buffer& operand = p_.buffers[o];
      if (operand.kind != Buffer::Kind::temporary || !(operand.bytes == result.bytes) || operand.block == result.block)
        continue;
      LiveRange &from = ranges[static_cast<size_t>(operand.block)], &to = ranges[static_cast<size_t>(result.block)];
      if (from.last != now || to.first != now) continue;
      if (users_ && !last_everywhere(operand.block, step)) continue;
      from.include(to.first, to.last);
      const int old = result.block;
      for (Buffer& b : p_.buffers)
        if (b.block == old) b.block = operand.block;
      to = LiveRange{};
      return;
    }
  }

  /// True if, on every stream, the block's other uses have finished when `step` begins. Within one step of the entry
  /// sequence, their ranges decide.
  bool last_everywhere(int block, const Step& step) const {
    const StepId self = users_->entry_of(step);
    const std::set<StepId> users = users_of(block);
    return std::all_of(users.begin(), users.end(), [&](StepId u) { return u == self || users_->before(u, self); });
  }

  /// Removes the blocks that have become part of another block.
  void compact(std::vector<LiveRange>& ranges) {
    std::vector<int> number(ranges.size(), -1);
    std::vector<LiveRange> kept;
    std::vector<Dim> bytes;
    for (size_t i = 0; i < ranges.size(); ++i) {
      if (ranges[i].first < 0) continue;
      number[i] = static_cast<int>(kept.size());
      kept.push_back(ranges[i]);
      bytes.push_back(p_.memory.block_bytes[i]);
    }
    for (Buffer& b : p_.buffers)
      if (b.block >= 0) b.block = number[static_cast<size_t>(b.block)];
    ranges = std::move(kept);
    p_.memory.block_bytes = std::move(bytes);
  }

  bool is_run_bound(const Dim& bytes) const {
    const std::set<std::string> symbols = bytes.symbols();
    return std::any_of(p_.run_bound_symbols.begin(), p_.run_bound_symbols.end(),
                       [&](const auto& s) { return symbols.count(s) != 0; });
  }

  void order_placement() {
    MemoryPlan& plan = p_.memory;
    for (size_t i = 0; i < plan.blocks.size(); ++i)
      if (!is_run_bound(plan.block_bytes[i])) plan.placement.push_back(static_cast<int>(i));
    std::stable_sort(plan.placement.begin(), plan.placement.end(), [&](int a, int b) {
      return plan.blocks[static_cast<size_t>(a)].size > plan.blocks[static_cast<size_t>(b)].size;
    });
  }

  [[noreturn]] void over_limit(int64_t limit) const {
    const auto& blocks = p_.memory.blocks;
    std::map<int, int64_t> live;  // by position: bytes of the blocks that are defined there
    for (const ArenaBlock& at : blocks) {
      int64_t sum = 0;
      for (size_t i = 0; i < blocks.size(); ++i)
        sum += blocks[i].first <= at.first && at.first <= blocks[i].last ? blocks[i].size : 0;
      live[at.first] = sum;
    }
    std::vector<std::pair<int64_t, int>> largest;
    for (const auto& [step, bytes] : live) largest.emplace_back(bytes, step);
    std::sort(largest.rbegin(), largest.rend());
    std::string text =
        concat("the arena needs ", p_.memory.layout.bytes, " bytes, the limit is ", limit, "; largest live sets:");
    for (size_t i = 0; i < largest.size() && i < 3; ++i) {
      text += concat("\n  ", largest[i].first, " bytes at step ", largest[i].second, ":");
      for (BufferId id : p_.buffers.ids()) {
        const Buffer& b = p_.buffers[id];
        if (b.block < 0) continue;
        if (life_.ranges[id].overlaps({largest[i].second, largest[i].second}))
          text += concat(" ", b.name, " (", b.bytes.str(), ")");
      }
    }
    throw CompileError(text);
  }

  Plan& p_;
  Lifetimes life_;
  std::optional<Users> users_;  // set if there are several streams
};

}  // namespace

void plan_memory(Plan& plan, std::optional<int64_t> memory_limit) { Planner(plan).run(memory_limit); }

}  // namespace gcg
