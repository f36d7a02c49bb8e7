#include <algorithm>

#include "compiler/schedule/schedule.h"
#include "compiler/support/error.h"

namespace gcg {
namespace {

class Verifier {
 public:
  explicit Verifier(const Schedule& s) : s_(s), written_(s.buffers.size(), false) {
    for (size_t i = 0; i < s.buffers.size(); ++i)
      written_[i] = s.buffers[i].kind == Buffer::Kind::input || s.buffers[i].kind == Buffer::Kind::constant ||
                    s.buffers[i].bytes.is(0);
  }

  void run() {
    GCG_CHECK(!s_.sequences.empty(), "a schedule has an entry sequence");
    sequence(static_cast<int>(s_.sequences.size()) - 1);
    for (const Buffer& b : s_.buffers)
      if (b.kind == Buffer::Kind::output)
        GCG_CHECK(written_[static_cast<size_t>(&b - s_.buffers.data())], "output ", b.index, " ('", b.name,
                  "') is never written");
  }

 private:
  void read(BufferId b, const Step& step) const {
    GCG_CHECK(b.valid() && b.index < static_cast<int>(s_.buffers.size()), "buffer number of step '", step.source, "'");
    GCG_CHECK(written_[static_cast<size_t>(b.index)], "step '", step.source, "' reads '",
              s_.buffers[static_cast<size_t>(b.index)].name, "', which no earlier step wrote");
  }
  /// Steps of the host find their operands in its memory, the others on the device; a copy may go from one to the
  /// other.
  void place(const Step& step) const {
    std::vector<BufferId> all = step.operands;
    for (const auto* list : {&step.carried_from, &step.carried_to}) all.insert(all.end(), list->begin(), list->end());
    int on_host = 0;
    for (BufferId b : all) on_host += s_.buffers[static_cast<size_t>(b.index)].on_host;
    const bool fits =
        step.kind == Step::Kind::copy ? on_host < 2 : on_host == (step.on_host ? static_cast<int>(all.size()) : 0);
    GCG_CHECK(fits, "step '", step.source, "' has operands in the wrong memory");
  }
  void write(BufferId b, const Step& step) {
    const Buffer& buffer = s_.buffers[static_cast<size_t>(b.index)];
    GCG_CHECK(buffer.kind == Buffer::Kind::output || buffer.kind == Buffer::Kind::temporary, "step '", step.source,
              "' writes '", buffer.name, "', which is not its to write");
    written_[static_cast<size_t>(b.index)] = true;
  }

  void sequence(int number) {
    GCG_CHECK(number >= 0 && number < static_cast<int>(s_.sequences.size()), "sequence number ", number);
    for (const Step& step : s_.sequences[static_cast<size_t>(number)].steps) {
      for (size_t i = 0; i < step.operands.size(); ++i)
        if (std::find(step.writes.begin(), step.writes.end(), static_cast<int>(i)) == step.writes.end())
          read(step.operands[i], step);
      for (BufferId b : {step.trip_count, step.condition})
        if (b.valid()) read(b, step);
      place(step);
      if (step.iteration.valid()) write(step.iteration, step);
      for (BufferId b : step.carried_to) read(b, step);
      for (int body : step.bodies) sequence(body);
      for (BufferId b : step.carried_from) read(b, step);
      for (int w : step.writes) write(step.operands[static_cast<size_t>(w)], step);
    }
  }

  const Schedule& s_;
  std::vector<bool> written_;
};

}  // namespace

void verify_schedule(const Schedule& schedule) {
  Verifier(schedule).run();
  if (schedule.memory.is_static) verify_arenas(schedule.memory);
}

}  // namespace gcg
