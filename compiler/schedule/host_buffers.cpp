#include "compiler/schedule/host_buffers.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "compiler/schedule/waits.h"

namespace gcg {
namespace {

class HostBuffers {
 public:
  explicit HostBuffers(Schedule& schedule) : s_(schedule), uses_(schedule.buffers.size()) {}

  void run() {
    for (size_t q = 0; q < s_.sequences.size(); ++q)
      for (const Step& step : s_.sequences[q].steps) note_uses(step, q);
    for (size_t b = 0; b < uses_.size(); ++b) place(b);
    for (size_t q = 0; q < s_.sequences.size(); ++q) cross_borders(q);
    for (Sequence& sequence : s_.sequences) link_waits(s_, sequence);
  }

 private:
  struct Uses {
    bool by_host = false, by_device = false;
    std::set<size_t> sequences;
  };
  /// Where the newest contents of a buffer with a twin are.
  struct Newest {
    bool on_host = false, on_device = true;
  };

  void note_uses(const Step& step, size_t sequence) {
    const auto note = [&](BufferId b) {
      if (!b.valid()) return;
      Uses& u = uses_[static_cast<size_t>(b.index)];
      u.sequences.insert(sequence);
      (step.on_host ? u.by_host : u.by_device) = true;
    };
    for (const auto* list : {&step.operands, &step.carried_from, &step.carried_to})
      for (BufferId b : *list) note(b);
    for (BufferId b : {step.trip_count, step.condition, step.iteration}) note(b);
  }

  void place(size_t b) {
    if (!uses_[b].by_host) return;
    const Buffer::Kind kind = s_.buffers[b].kind;
    const bool movable = kind == Buffer::Kind::temporary || kind == Buffer::Kind::constant;
    if (movable && !uses_[b].by_device) {
      s_.buffers[b].on_host = true;
      return;
    }
    Buffer twin = s_.buffers[b];
    if (kind != Buffer::Kind::constant) twin.kind = Buffer::Kind::temporary;
    twin.index = 0;
    twin.on_host = true;
    twins_[BufferId(static_cast<int64_t>(b))] = BufferId(static_cast<int64_t>(s_.buffers.size()));
    s_.buffers.push_back(std::move(twin));
  }

  void copy(BufferId to, BufferId from, const std::string& source) {
    Step step;
    step.kind = Step::Kind::copy;
    step.operands = {to, from};
    step.writes = {0};
    step.source = source;
    out_.steps.push_back(std::move(step));
  }

  void cross_borders(size_t sequence) {
    newest_.clear();
    out_ = {};
    for (Step& step : s_.sequences[sequence].steps) {
      if (step.on_host)
        move_operands(step);
      else
        fetch_operands(step);
      out_.steps.push_back(std::move(step));
    }
    for (const auto& [b, newest] : newest_)
      if (!newest.on_device && is_used_outside(b, sequence))
        copy(b, twins_.at(b), s_.buffers[static_cast<size_t>(b.index)].name);
    s_.sequences[sequence] = std::move(out_);
  }

  bool is_used_outside(BufferId b, size_t sequence) const {
    const std::set<size_t>& all = uses_[static_cast<size_t>(b.index)].sequences;
    return s_.buffers[static_cast<size_t>(b.index)].kind == Buffer::Kind::output || all.size() > 1 ||
           all.count(sequence) == 0;
  }

  /// A step of the host works on twins.
  void move_operands(Step& step) {
    for (size_t i = 0; i < step.operands.size(); ++i) {
      const auto twin = twins_.find(step.operands[i]);
      if (twin == twins_.end()) continue;
      const BufferId b = std::exchange(step.operands[i], twin->second);
      if (s_.buffers[static_cast<size_t>(b.index)].kind == Buffer::Kind::constant) continue;
      Newest& newest = newest_[b];
      if (std::find(step.writes.begin(), step.writes.end(), static_cast<int>(i)) != step.writes.end()) {
        newest = {true, false};
      } else if (!newest.on_host) {
        copy(twin->second, b, step.source);
        newest.on_host = true;
      }
    }
  }

  /// A step of the device, or one that steers, finds everything on the device.
  void fetch_operands(const Step& step) {
    std::set<BufferId> reads, writes;
    touched_buffers(s_, step, reads, writes);
    for (BufferId b : reads) {
      const auto it = newest_.find(b);
      if (it == newest_.end() || it->second.on_device) continue;
      copy(b, twins_.at(b), step.source);
      it->second.on_device = true;
    }
    for (BufferId b : writes)
      if (const auto it = newest_.find(b); it != newest_.end()) it->second = {};
  }

  Schedule& s_;
  std::vector<Uses> uses_;  // of the buffers as they were
  std::map<BufferId, BufferId> twins_;
  std::map<BufferId, Newest> newest_;
  Sequence out_;
};

}  // namespace

void place_host_buffers(Schedule& schedule) {
  if (!schedule.host_kernels.empty()) HostBuffers(schedule).run();
}

}  // namespace gcg
