// From the schedule to an arena: lifetimes in the total order of the steps, results that take over the storage of an
// operand that dies with them, then placement. On several streams that order is one of many: two buffers share storage
// only where every use of one has surely finished before any use of the other.
#include <algorithm>
#include <map>

#include "compiler/schedule/lifetimes.h"
#include "compiler/schedule/schedule.h"
#include "compiler/schedule/streams.h"
#include "compiler/support/error.h"

namespace gcg {
namespace {

/// Buffers by the steps of the entry sequence that use them, themselves or in their bodies. Only the entry sequence has
/// several streams.
class Users {
 public:
  explicit Users(const Schedule& s) : s_(s), order_(s.sequences.back()), of_(s.buffers.size()) {
    const auto& steps = s.sequences.back().steps;
    for (size_t i = 0; i < steps.size(); ++i) note(steps[i], i);
  }

  /// Every use of `a` has finished when any use of `b` begins; within one step of the entry their ranges decide.
  bool before(const std::set<size_t>& a, const std::set<size_t>& b) const {
    for (size_t u : a)
      for (size_t v : b)
        if (u != v && !order_.before(u, v)) return false;
    return true;
  }
  const std::set<size_t>& of(size_t buffer) const { return of_[buffer]; }
  bool before(size_t step, size_t other) const { return order_.before(step, other); }

 private:
  void note(const Step& step, size_t entry_step) {
    const auto use = [&](BufferId b) {
      if (b.valid()) of_[static_cast<size_t>(b.index)].insert(entry_step);
    };
    for (BufferId b : step.operands) use(b);
    for (BufferId b : {step.trip_count, step.condition, step.iteration}) use(b);
    for (BufferId b : step.carried_from) use(b);
    for (BufferId b : step.carried_to) use(b);
    for (int body : step.bodies)
      for (const Step& inner : s_.sequences[static_cast<size_t>(body)].steps) note(inner, entry_step);
  }

  const Schedule& s_;
  StepOrder order_;
  std::vector<std::set<size_t>> of_;
};

class Planner {
 public:
  explicit Planner(Schedule& s) : s_(s), life_(s) {
    if (s.streams > 1) users_.emplace(s);
  }

  void run(std::optional<int64_t> limit) {
    make_blocks();
    MemoryPlan& plan = s_.memory;
    plan.is_static =
        std::all_of(plan.block_bytes.begin(), plan.block_bytes.end(), [](const Dim& d) { return d.is_constant(); });
    const bool all_static =
        std::all_of(s_.buffers.begin(), s_.buffers.end(), [](const Buffer& b) { return b.bytes.is_constant(); });
    plan.is_static = plan.is_static && all_static;
    for (size_t i = 0; i < plan.blocks.size(); ++i)
      plan.blocks[i].size = plan.block_bytes[i].evaluate(guess(plan.block_bytes[i]));
    if (plan.is_static) {
      plan_arenas(plan);
      if (limit && plan.layout.bytes > *limit) over_limit(*limit);
    } else {
      order_placement();
    }
  }

 private:
  static SymbolValues guess(const Dim& d) {
    SymbolValues values;
    for (const std::string& s : d.symbols()) values[s] = 64;
    return values;
  }

  bool temporary(BufferId b) const { return s_.buffers[static_cast<size_t>(b.index)].kind == Buffer::Kind::temporary; }

  void make_blocks() {
    MemoryPlan& plan = s_.memory;
    std::vector<LiveRange> ranges;
    for (size_t i = 0; i < s_.buffers.size(); ++i) {
      Buffer& b = s_.buffers[i];
      if (b.kind != Buffer::Kind::temporary || life_.ranges[i].first < 0) continue;
      b.block = static_cast<int>(ranges.size());
      ranges.push_back(life_.ranges[i]);
      plan.block_bytes.push_back(b.bytes);
    }
    for (const Sequence& sequence : s_.sequences)
      for (const Step& step : sequence.steps) take_over(step, ranges);
    compact(ranges);
    plan.blocks.resize(ranges.size());
    plan.on_host.resize(ranges.size());
    for (const Buffer& b : s_.buffers)
      if (b.block >= 0) plan.on_host[static_cast<size_t>(b.block)] = b.on_host;
    std::vector<std::set<size_t>> users(users_ ? ranges.size() : 0);
    for (size_t i = 0; i < users.size(); ++i) users[i] = users_of(i);
    for (size_t i = 0; i < ranges.size(); ++i) {
      plan.blocks[i].first = ranges[i].first;
      plan.blocks[i].last = ranges[i].last;
      for (size_t j = 0; j < i; ++j)
        if (plan.on_host[i] == plan.on_host[j] && overlap(ranges, users, i, j)) {
          plan.blocks[i].conflicts.push_back(static_cast<int>(j));
          plan.blocks[j].conflicts.push_back(static_cast<int>(i));
        }
    }
  }

  bool overlap(const std::vector<LiveRange>& ranges, const std::vector<std::set<size_t>>& users, size_t i,
               size_t j) const {
    if (ranges[i].first <= ranges[j].last && ranges[j].first <= ranges[i].last) return true;
    if (!users_) return false;
    const bool i_first = ranges[i].last < ranges[j].first;
    return !users_->before(users[i_first ? i : j], users[i_first ? j : i]);
  }

  std::set<size_t> users_of(size_t block) const {
    std::set<size_t> steps;
    for (size_t b = 0; b < s_.buffers.size(); ++b)
      if (s_.buffers[b].block == static_cast<int>(block)) steps.insert(users_->of(b).begin(), users_->of(b).end());
    return steps;
  }

  /// The result of a launch moves into the storage of an operand whose last use this is.
  void take_over(const Step& step, std::vector<LiveRange>& ranges) {
    if (step.kind != Step::Kind::launch || step.writes.size() != 1) return;
    const int now = life_.at.at(&step);
    Buffer& result = s_.buffers[static_cast<size_t>(step.operands[static_cast<size_t>(step.writes[0])].index)];
    if (result.kind != Buffer::Kind::temporary ||
        life_.ranges[static_cast<size_t>(&result - s_.buffers.data())].first != now)
      return;
    for (int o : step.in_place) {
      Buffer& operand = s_.buffers[static_cast<size_t>(step.operands[static_cast<size_t>(o)].index)];
      if (operand.kind != Buffer::Kind::temporary || !(operand.bytes == result.bytes) || operand.block == result.block)
        continue;
      LiveRange &from = ranges[static_cast<size_t>(operand.block)], &to = ranges[static_cast<size_t>(result.block)];
      if (from.last != now || to.first != now) continue;
      if (users_ && !last_everywhere(static_cast<size_t>(operand.block), &step)) continue;
      from.include(to.first, to.last);
      const int old = result.block;
      for (Buffer& b : s_.buffers)
        if (b.block == old) b.block = operand.block;
      to = LiveRange{};
      return;
    }
  }

  /// On every stream the block's other uses have finished when `step`, of the entry sequence, begins.
  bool last_everywhere(size_t block, const Step* step) const {
    const auto& steps = s_.sequences.back().steps;
    if (step < steps.data() || step >= steps.data() + steps.size()) return false;
    const auto self = static_cast<size_t>(step - steps.data());
    const std::set<size_t> users = users_of(block);
    return std::all_of(users.begin(), users.end(), [&](size_t u) { return u == self || users_->before(u, self); });
  }

  /// Drops the blocks that were taken over.
  void compact(std::vector<LiveRange>& ranges) {
    std::vector<int> number(ranges.size(), -1);
    std::vector<LiveRange> kept;
    std::vector<Dim> bytes;
    for (size_t i = 0; i < ranges.size(); ++i) {
      if (ranges[i].first < 0) continue;
      number[i] = static_cast<int>(kept.size());
      kept.push_back(ranges[i]);
      bytes.push_back(s_.memory.block_bytes[i]);
    }
    for (Buffer& b : s_.buffers)
      if (b.block >= 0) b.block = number[static_cast<size_t>(b.block)];
    ranges = std::move(kept);
    s_.memory.block_bytes = std::move(bytes);
  }

  bool is_late(const Dim& bytes) const {
    const std::set<std::string> symbols = bytes.symbols();
    return std::any_of(s_.late_symbols.begin(), s_.late_symbols.end(),
                       [&](const auto& s) { return symbols.count(s) != 0; });
  }

  void order_placement() {
    MemoryPlan& plan = s_.memory;
    for (size_t i = 0; i < plan.blocks.size(); ++i)
      if (!is_late(plan.block_bytes[i])) plan.placement.push_back(static_cast<int>(i));
    std::stable_sort(plan.placement.begin(), plan.placement.end(), [&](int a, int b) {
      return plan.blocks[static_cast<size_t>(a)].size > plan.blocks[static_cast<size_t>(b)].size;
    });
  }

  [[noreturn]] void over_limit(int64_t limit) const {
    const auto& blocks = s_.memory.blocks;
    std::map<int, int64_t> live;  // by position of each block's definition
    for (const ArenaBlock& at : blocks) {
      int64_t sum = 0;
      for (size_t i = 0; i < blocks.size(); ++i)
        sum += !s_.memory.on_host[i] && blocks[i].first <= at.first && at.first <= blocks[i].last ? blocks[i].size : 0;
      live[at.first] = sum;
    }
    std::vector<std::pair<int64_t, int>> largest;
    for (const auto& [step, bytes] : live) largest.emplace_back(bytes, step);
    std::sort(largest.rbegin(), largest.rend());
    std::string text =
        concat("the arena needs ", s_.memory.layout.bytes, " bytes, the limit is ", limit, "; largest live sets:");
    for (size_t i = 0; i < largest.size() && i < 3; ++i) {
      text += concat("\n  ", largest[i].first, " bytes at step ", largest[i].second, ":");
      for (const Buffer& b : s_.buffers) {
        if (b.block < 0 || b.on_host) continue;
        const LiveRange& r = life_.ranges[static_cast<size_t>(&b - s_.buffers.data())];
        if (r.first <= largest[i].second && largest[i].second <= r.last)
          text += concat(" ", b.name, " (", b.bytes.str(), ")");
      }
    }
    throw CompileError(text);
  }

  Schedule& s_;
  Lifetimes life_;
  std::optional<Users> users_;  // with several streams
};

}  // namespace

void plan_memory(Schedule& schedule, std::optional<int64_t> memory_limit) { Planner(schedule).run(memory_limit); }

}  // namespace gcg
