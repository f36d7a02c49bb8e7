#include "compiler/plan/print_plan.h"

#include <algorithm>
#include <array>
#include <sstream>

#include "compiler/kernel/device_traits.h"
#include "compiler/kernel/print_kernel.h"
#include "compiler/plan/shape_sets.h"

namespace gcg {
namespace {

template <class Numbers>
std::string list(const char* title, const Numbers& numbers) {
  std::ostringstream out;
  for (const auto& n : numbers) out << ' ' << n;
  return out.str().empty() ? "" : title + out.str();
}

class StepPrinter {
 public:
  explicit StepPrinter(const Plan& plan) : plan_(plan) {}

  std::string run() {
    for (SequenceId q : plan_.sequences.ids()) {
      out_ << "sequence " << q.index << '\n';
      for (StepId i : plan_.sequences[q].steps.ids()) print(plan_.sequences[q].steps[i], i);
    }
    return out_.str();
  }

 private:
  std::string name(BufferId b) const {
    return b.valid() ? " %" + std::to_string(b.index) + "(" + plan_.buffers[b].name + ")" : " none";
  }

  void print(const Step& step, StepId i) {
    out_ << "  " << i.index << ": ";
    std::visit([&](const auto& work) { print(work); }, step.work);
    std::vector<int> waits;
    for (StepId w : step.waits) waits.push_back(w.index);
    out_ << list("; waits", waits);
    if (step.stream > 0) out_ << "; stream " << step.stream;
    if (!step.source.empty()) out_ << " // " << step.source;
    out_ << '\n';
    if (const auto* call = step.as<Call>())
      for (const Launch& l : call->fallback) {
        out_ << "     or ";
        print(l);
        out_ << '\n';
      }
  }

  void operands(const std::vector<BufferId>& all, const std::vector<int>& written, const std::vector<int>& in_place) {
    for (size_t i = 0; i < all.size(); ++i) {
      const bool writes = std::find(written.begin(), written.end(), static_cast<int>(i)) != written.end();
      out_ << (writes ? " >" + name(all[i]).substr(1) : name(all[i]));
    }
    out_ << list("; in place", in_place);
  }

  void print(const Launch& l) {
    out_ << "launch k" << l.kernel.index;
    operands(l.operands, l.writes, l.in_place);
    out_ << (l.continues ? "; continues" : "") << (l.overlaps ? "; overlaps" : "");
  }
  void print(const Call& c) {
    static constexpr std::array kOperations = {"matmul", "convolution", "attention"};
    out_ << "call " << c.call.library << ' ' << kOperations[static_cast<size_t>(c.call.operation)];
    operands(c.operands, {static_cast<int>(c.call.result())}, c.in_place);
  }
  void print(const Copy& c) { out_ << "copy" << name(c.from) << " >" << name(c.to).substr(1); }
  void print(const Branch& b) {
    out_ << "branch" << name(b.condition) << " bodies " << b.bodies[0].index << ' ' << b.bodies[1].index;
  }
  void print(const Loop& l) {
    out_ << "loop" << name(l.trip_count) << " while" << name(l.condition) << " iteration" << name(l.iteration)
         << " body " << l.body.index;
    for (const Loop::Carried& c : l.carried) out_ << "; carries" << name(c.from) << " >" << name(c.to).substr(1);
  }
  void print(const Bind& b) { out_ << "bind " << b.symbol << name(b.value); }
  void print(const Fail& f) {
    out_ << "fail";
    if (!f.differ.empty()) out_ << " unless " << f.differ[0].str() << " = " << f.differ[1].str();
  }

  const Plan& plan_;
  std::ostringstream out_;
};

/// "constant, 64 bytes", "temporary, 64 bytes, block 2 at 128".
std::string describe(const Plan& plan, const Buffer& b) {
  static constexpr std::array kKinds = {"input", "output", "constant", "temporary", "packed"};
  std::ostringstream out;
  out << kKinds[static_cast<size_t>(b.kind)];
  if (b.kind == Buffer::Kind::input || b.kind == Buffer::Kind::output) out << ' ' << b.index;
  out << ", " << b.bytes.str() << " bytes";
  if (b.kind == Buffer::Kind::packed) out << " at " << b.packed_at;
  if (b.block < 0) return out.str();
  out << ", block " << b.block;
  if (plan.memory.is_static) out << " at " << plan.memory.layout.offsets[static_cast<size_t>(b.block)];
  return out.str();
}

}  // namespace

std::string print_buffers(const Plan& plan) {
  std::ostringstream out;
  for (BufferId b : plan.buffers.ids())
    out << "buffer %" << b.index << "(" << plan.buffers[b].name << ") " << describe(plan, plan.buffers[b]) << '\n';
  return out.str();
}

std::string print_steps(const Plan& plan) { return StepPrinter(plan).run(); }

std::string print_plan(const Plan& plan) {
  std::ostringstream out;
  out << "plan for " << "a " << traits_of(plan.device).name << ", "
      << (plan.is_load_time_packing ? "load-time packing"
          : plan.fixed.empty()      ? "any shape"
                                    : describe(plan.fixed))
      << (plan.assumed.empty() ? "" : ", equal extents") << '\n';
  for (KernelId k : plan.kernels.ids()) {
    out << "kernel k" << k.index << " " << print_kernel(plan.kernels[k]);
    const std::string note = plan.code.empty() ? "" : plan.code[k].note;
    if (!note.empty()) out << "  code: " << note << '\n';
  }
  out << print_buffers(plan) << print_steps(plan);
  out << "streams " << plan.streams << ", arena " << plan.memory.layout.bytes << " bytes, lower bound "
      << plan.memory.layout.lower_bound << '\n';
  return out.str();
}

}  // namespace gcg
