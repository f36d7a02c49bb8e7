#include "compiler/plan/verify_plan.h"

#include "compiler/plan/verify_memory.h"
#include "compiler/support/error.h"

namespace gcg {
namespace {

class Verifier {
 public:
  explicit Verifier(const Plan& plan) : plan_(plan) {
    for (const Buffer& b : plan.buffers) written_.push_back(!plan.is_writable(b) || b.bytes.is(0));
  }

  void run() {
    GCG_CHECK(!plan_.sequences.empty(), "a plan has an entry sequence");
    sequence(SequenceId(static_cast<int64_t>(plan_.sequences.size()) - 1));
    for (BufferId b : plan_.buffers.ids())
      if (plan_.buffers[b].kind != Buffer::Kind::temporary)
        GCG_CHECK(written_[b], "output ", plan_.buffers[b].index, " ('", plan_.buffers[b].name, "') is never written");
  }

 private:
  void read(BufferId b, const Step& step) const {
    GCG_CHECK(plan_.buffers.contains(b), "buffer number of step '", step.source, "'");
    GCG_CHECK(written_[b], "step '", step.source, "' reads '", plan_.buffers[b].name, "', which no earlier step wrote");
  }

  void write(BufferId b, const Step& step) {
    GCG_CHECK(plan_.buffers.contains(b), "buffer number of step '", step.source, "'");
    const Buffer& buffer = plan_.buffers[b];
    GCG_CHECK(plan_.is_writable(buffer), "step '", step.source, "' writes '", buffer.name,
              "', which steps must not write");
    written_[b] = true;
  }

  void check_kernel(const Step& step) const {
    const auto* launch = step.as<Launch>();
    if (launch == nullptr) return;
    GCG_CHECK(plan_.kernels.contains(launch->kernel), "kernel number of step '", step.source, "'");
    const Kernel& kernel = plan_.kernels[launch->kernel];
    GCG_CHECK(launch->operands.size() == step_operands(kernel), "step '", step.source, "' has ",
              launch->operands.size(), " operands, its kernel ", step_operands(kernel));
  }

  void sequence(SequenceId number) {
    GCG_CHECK(plan_.sequences.contains(number), "sequence number ", number.index);
    const auto& steps = plan_.sequences[number].steps;
    for (StepId id : steps.ids()) {
      const Step& step = steps[id];
      for (StepId w : step.waits) GCG_CHECK(w.valid() && w < id, "step '", step.source, "' waits for step ", w.index);
      check_kernel(step);
      if (const auto* l = step.as<Loop>())
        loop(step, *l);
      else
        plain(step);
    }
  }

  void plain(const Step& step) {
    for (BufferId b : step.reads()) read(b, step);
    for (SequenceId body : step.bodies()) sequence(body);
    for (BufferId b : step.writes()) write(b, step);
  }

  void loop(const Step& step, const Loop& l) {
    for (BufferId b : {l.trip_count, l.condition})
      if (b.valid()) read(b, step);
    if (l.iteration.valid()) write(l.iteration, step);
    for (const Loop::Carried& c : l.carried) read(c.to, step);
    sequence(l.body);
    for (const Loop::Carried& c : l.carried) read(c.from, step);
  }

  const Plan& plan_;
  IndexedVector<BufferId, bool> written_;
};

}  // namespace

void verify_plan(const Plan& plan) {
  Verifier(plan).run();
  if (plan.memory.is_static) verify_arena(plan.memory.blocks, plan.memory.layout);
  verify_memory(plan);
}

}  // namespace gcg
