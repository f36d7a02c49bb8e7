#include "compiler/plan/host_buffers.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "compiler/plan/waits.h"

namespace gcg {
namespace {

class HostBuffers {
 public:
  explicit HostBuffers(Plan& plan) : plan_(plan), uses_(plan.buffers.size()) {}

  void run() {
    for (SequenceId q : plan_.sequences.ids())
      for (const Step& step : plan_.sequences[q].steps) note_uses(step, q);
    for (BufferId b : uses_.ids()) place(b);
    for (SequenceId q : plan_.sequences.ids()) cross_borders(q);
    for (Sequence& sequence : plan_.sequences) link_waits(plan_, sequence);
  }

 private:
  struct Uses {
    bool by_host = false, by_device = false;
    std::set<SequenceId> sequences;
  };
  /// Where the newest contents of a buffer with a staging copy are.
  struct Newest {
    bool on_host = false, on_device = true;
  };

  void note_uses(const Step& step, SequenceId sequence) {
    for (const auto& list : {step.reads(), step.writes()})
      for (BufferId b : list) {
        uses_[b].sequences.insert(sequence);
        (step.on_host() ? uses_[b].by_host : uses_[b].by_device) = true;
      }
  }

  void place(BufferId b) {
    if (!uses_[b].by_host) return;
    const Buffer::Kind kind = plan_.buffers[b].kind;
    const bool movable = kind == Buffer::Kind::temporary || kind == Buffer::Kind::constant;
    if (movable && !uses_[b].by_device) {
      plan_.buffers[b].space = MemorySpace::host;
      return;
    }
    Buffer staging = plan_.buffers[b];
    if (kind != Buffer::Kind::constant) staging.kind = Buffer::Kind::temporary;
    staging.index = 0;
    staging.space = MemorySpace::host;
    staging_[b] = plan_.buffers.push_back(std::move(staging));
  }

  void copy(BufferId to, BufferId from, const std::string& source) { out_.steps.push_back({Copy{to, from}, source}); }

  void cross_borders(SequenceId sequence) {
    newest_.clear();
    out_ = {};
    for (Step& step : plan_.sequences[sequence].steps) {
      if (step.on_host())
        move_operands(*step.as<Launch>(), step.source);
      else
        fetch_operands(step);
      out_.steps.push_back(std::move(step));
    }
    for (const auto& [b, newest] : newest_)
      if (!newest.on_device && is_used_outside(b, sequence)) copy(b, staging_.at(b), plan_.buffers[b].name);
    plan_.sequences[sequence] = std::move(out_);
  }

  bool is_used_outside(BufferId b, SequenceId sequence) const {
    const std::set<SequenceId>& all = uses_[b].sequences;
    return plan_.buffers[b].kind == Buffer::Kind::output || all.size() > 1 || all.count(sequence) == 0;
  }

  /// A step of the host works on staging copies.
  void move_operands(Launch& launch, const std::string& source) {
    for (size_t i = 0; i < launch.operands.size(); ++i) {
      const auto staging = staging_.find(launch.operands[i]);
      if (staging == staging_.end()) continue;
      const BufferId b = std::exchange(launch.operands[i], staging->second);
      if (plan_.buffers[b].kind == Buffer::Kind::constant) continue;
      Newest& newest = newest_[b];
      if (std::find(launch.writes.begin(), launch.writes.end(), static_cast<int>(i)) != launch.writes.end()) {
        newest = {true, false};
      } else if (!newest.on_host) {
        copy(staging->second, b, source);
        newest.on_host = true;
      }
    }
  }

  /// A step of the device, or one that decides what runs, finds everything on the device.
  void fetch_operands(const Step& step) {
    std::set<BufferId> reads, writes;
    touched_buffers(plan_, step, reads, writes);
    for (BufferId b : reads) {
      const auto it = newest_.find(b);
      if (it == newest_.end() || it->second.on_device) continue;
      copy(b, staging_.at(b), step.source);
      it->second.on_device = true;
    }
    for (BufferId b : writes)
      if (const auto it = newest_.find(b); it != newest_.end()) it->second = {};
  }

  Plan& plan_;
  IndexedVector<BufferId, Uses> uses_;  // of the buffers as they were
  std::map<BufferId, BufferId> staging_;
  std::map<BufferId, Newest> newest_;
  Sequence out_;
};

}  // namespace

void place_host_buffers(Plan& plan) {
  if (!plan.host_kernels.empty()) HostBuffers(plan).run();
}

}  // namespace gcg
