#include "compiler/plan/streams.h"

#include <algorithm>
#include <map>

#include "compiler/plan/step_cost.h"

namespace gcg {
namespace {

constexpr int kMaxStreams = 8;

StepId id(size_t position) { return StepId(static_cast<int64_t>(position)); }

struct Chain {
  std::vector<size_t> steps;
  double microseconds = 0, idle = 0;  // idle: the unused part of the device, summed over the time of the steps
};

/// Cuts the steps between two barriers into chains and assigns streams to them.
class StreamAssigner {
 public:
  StreamAssigner(const Plan& plan, Sequence& sequence, const StepOrder& data, size_t begin, size_t end)
      : sequence_(sequence), data_(data), fork_(plan.machine->nodes.fork) {
    chain_of_.resize(end - begin);
    for (size_t i = begin; i < end; ++i)  // the cost of a piece of work includes all its launches
      add(i, begin, sequence.steps[id(i)].continues() ? StepCost() : step_cost(plan, sequence.steps[id(i)]));
  }

  /// Returns the number of streams used.
  int assign() {
    if (chains_.empty()) return 1;
    std::vector<size_t> order(chains_.size());
    for (size_t i = 0; i < order.size(); ++i) order[i] = i;
    std::stable_sort(order.begin(), order.end(),
                     [&](size_t a, size_t b) { return chains_[a].microseconds > chains_[b].microseconds; });
    const size_t main = order[0];  // the longest one
    std::vector<size_t> forked;
    for (size_t c : order)
      if (c != main && gain(chains_[c]) > fork_) forked.push_back(c);
    std::sort(forked.begin(), forked.end());  // chains in the order of their first steps
    return place(forked);
  }

 private:
  void add(size_t i, size_t begin, const StepCost& cost) {
    size_t best = chains_.size();
    for (StepId w : sequence_.steps[id(i)].waits) {
      const auto p = static_cast<size_t>(w.index);
      if (p < begin) continue;
      const size_t c = chain_of_[p - begin];
      if (chains_[c].steps.back() != p) continue;  // another chain already continues after p
      if (best == chains_.size() || chains_[c].microseconds > chains_[best].microseconds) best = c;
    }
    if (best == chains_.size()) chains_.emplace_back();
    Chain& chain = chains_[best];
    chain.steps.push_back(i);
    chain.microseconds += cost.microseconds;
    chain.idle += cost.microseconds * (1 - cost.fill);
    chain_of_[i - begin] = best;
    idle_.push_back(cost.microseconds * (1 - cost.fill));
    if (idle_.size() == 1) begin_ = begin;
  }

  /// Time saved by running the chain in parallel with steps that are independent of it. The saving is limited by the
  /// parts of the device that each of the two leaves unused.
  double gain(const Chain& chain) const {
    double others = 0;
    for (size_t s = begin_; s < begin_ + idle_.size(); ++s) {
      const bool related = std::any_of(chain.steps.begin(), chain.steps.end(), [&](size_t c) {
        return c == s || data_.before(id(c), id(s)) || data_.before(id(s), id(c));
      });
      if (!related) others += idle_[s - begin_];
    }
    return std::min(others, chain.idle);
  }

  /// Reuses a stream if the chain must follow all steps on it anyway.
  int place(const std::vector<size_t>& forked) {
    std::vector<size_t> last(1, 0);  // by stream, starting with stream 1
    for (size_t c : forked) {
      const Chain& chain = chains_[c];
      size_t stream = 1;
      while (stream < last.size() && !data_.before(id(last[stream]), id(chain.steps.front()))) ++stream;
      if (stream == kMaxStreams) continue;
      if (stream == last.size()) last.emplace_back();
      last[stream] = chain.steps.back();
      for (size_t s : chain.steps) sequence_.steps[id(s)].stream = static_cast<int>(stream);
    }
    return static_cast<int>(last.size());
  }

  Sequence& sequence_;
  const StepOrder& data_;
  const double fork_;
  std::vector<Chain> chains_;
  std::vector<size_t> chain_of_;
  std::vector<double> idle_;
  size_t begin_ = 0;
};

/// The sequence with a stream for every step, so that only data dependences order the steps.
Sequence untied(const Sequence& sequence) {
  Sequence out = sequence;
  for (StepId i : out.steps.ids()) out.steps[i].stream = i.index;
  return out;
}

}  // namespace

StepOrder::StepOrder(const Sequence& sequence)
    : after_(sequence.steps.size(), std::vector<bool>(sequence.steps.size(), false)) {
  const auto stand_after = [&](StepId i, StepId j) {
    after_[i][static_cast<size_t>(j.index)] = true;
    for (size_t k = 0; k < static_cast<size_t>(j.index); ++k)
      if (after_[j][k]) after_[i][k] = true;
  };
  std::map<int, StepId> last_on;  // by stream
  StepId barrier;
  for (StepId i : sequence.steps.ids()) {
    const Step& step = sequence.steps[i];
    if (step.is_barrier()) {
      std::fill_n(after_[i].begin(), i.index, true);
      barrier = i;
      last_on.clear();
      continue;
    }
    if (barrier.valid()) stand_after(i, barrier);
    if (const auto it = last_on.find(step.stream); it != last_on.end()) stand_after(i, it->second);
    for (StepId w : step.waits)
      if (!before(w, i)) stand_after(i, w);
    last_on[step.stream] = i;
  }
}

void assign_streams(Plan& plan) {
  Sequence& entry = plan.entry();
  const StepOrder data(untied(entry));
  for (size_t begin = 0; begin < entry.steps.size();) {
    size_t end = begin;
    while (end < entry.steps.size() && !entry.steps[id(end)].is_barrier()) ++end;
    plan.streams = std::max(plan.streams, StreamAssigner(plan, entry, data, begin, end).assign());
    begin = end + 1;
  }
}

}  // namespace gcg
