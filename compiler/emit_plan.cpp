#include "compiler/emit_plan.h"

#include <map>
#include <optional>
#include <set>

#include "compiler/bind_libraries.h"
#include "compiler/emit_step_tables.h"
#include "compiler/kernel/kernel_operations.h"
#include "compiler/overlap_launches.h"
#include "compiler/shape_program.h"

namespace gcg {
namespace {

namespace fb = gart::fb;

class PlanEmitter {
 public:
  PlanEmitter(const PlanCode& code, std::vector<std::string> symbols, const PreparedWeights& prepared, WeightsSection& weights)
      : code_(code), plan_(code.plan), s_(plan_.schedule), symbols_(std::move(symbols)), program_(symbols_), prepared_(prepared),
        weights_(weights) {}

  std::unique_ptr<fb::PlanT> run() {
    auto out = std::make_unique<fb::PlanT>();
    out->target = static_cast<uint32_t>(code_.target);
    for (const std::string& s : symbols_) {
      auto it = plan_.fixed.find(s);
      out->fixed.push_back(it == plan_.fixed.end() ? -1 : it->second);
    }
    for (size_t k = 0; k < s_.kernels.size(); ++k) {
      if (!plan_.has_code(k)) continue;
      number_.emplace(k, static_cast<uint32_t>(out->kernels.size()));
      out->kernels.push_back(kernel(s_.kernels[k], compiled(k)));
    }
    followers(*out);
    for (const HostPlanCode& host : code_.hosts) out->host_code.push_back(host_code(host));
    buffers(*out);
    std::vector<EmittedSteps> emitted;
    for (const Sequence& sequence : s_.sequences) {
      auto q = std::make_unique<fb::SequenceT>();
      EmittedSteps& steps = emitted.emplace_back();
      std::vector<uint32_t> last;  // of the steps emitted so far for the schedule's: the one to wait for
      for (const Step& step : sequence.steps) {
        const LibraryCall* call = call_of(plan_, code_.code.target, step);
        if (call) q->steps.push_back(emit_call(step, *call, last));
        if (!call || plan_.stand_ins) emit_work(*q, step, last, call != nullptr);
        last.push_back(static_cast<uint32_t>(q->steps.size()) - 1);
        note(steps, *q, last.size() - 1);
      }
      out->sequences.push_back(std::move(q));
    }
    // At load there is nothing to gain.
    if (plan_.device == DeviceClass::cuda && !plan_.at_load) overlap_launches(*out, s_, emitted);
    if (s_.memory.is_static) {
      out->arena_bytes = static_cast<uint64_t>(s_.memory.layout.bytes);
      out->arena_lower_bound = static_cast<uint64_t>(s_.memory.layout.lower_bound);
      out->host_arena_bytes = static_cast<uint64_t>(s_.memory.host_bytes);
    }
    out->streams = static_cast<uint32_t>(s_.streams);
    if (plan_.device == DeviceClass::cuda) out->prepared_bytes = prepared_.bytes;
    out->program = program_.instructions();
    return out;
  }

 private:
  const CompiledKernel& blob(int number) const { return code_.code.blob.kernels[static_cast<size_t>(number)]; }
  /// What kernel `k` of the schedule became.
  const CompiledKernel& compiled(size_t k) const { return code_.code.blob.kernels[code_.kernel_of[k]]; }

  std::unique_ptr<fb::KernelT> kernel(const Kernel& k, const CompiledKernel& c) {
    auto out = std::make_unique<fb::KernelT>();
    out->name = k.name;
    out->offset = c.offset;
    out->size = c.size;
    out->operands = static_cast<uint32_t>(step_operands(k));
    out->params = static_cast<uint32_t>(c.params.size());
    out->scratch = program_.slot(c.scratch_bytes);
    out->note = c.note;
    out->symbol = c.symbol;
    out->threads = static_cast<uint32_t>(c.threads);
    out->shared = static_cast<uint32_t>(c.shared_bytes);
    out->may_fail = c.may_fail;
    out->maps = static_cast<uint32_t>(c.maps.size());
    out->registers = static_cast<uint32_t>(c.registers);
    out->spill_bytes = static_cast<uint32_t>(c.spill_bytes);
    out->waits = c.waits;
    out->ahead.assign(c.ahead.begin(), c.ahead.end());
    ahead_bytes_.push_back(c.ahead_bytes);
    return out;
  }

  std::unique_ptr<fb::HostCodeT> host_code(const HostPlanCode& host) {
    auto out = std::make_unique<fb::HostCodeT>();
    out->target = static_cast<uint32_t>(host.target);
    for (size_t k = 0; k < s_.host_kernels.size(); ++k) {
      const CompiledKernel& c = host.code.blob.kernels[host.kernel_of[k]];
      auto launched = std::make_unique<fb::HostKernelT>();
      launched->kernel = kernel(s_.host_kernels[k], c);
      for (const Dim& p : c.params) launched->params.push_back(program_.slot(p));
      launched->tasks = program_.slot(c.tasks);
      out->kernels.push_back(std::move(launched));
    }
    return out;
  }

  /// Kernels of the blob that `then` names get plan kernels behind those of the schedule.
  void followers(fb::PlanT& out) {
    for (const auto& [k, own] : number_)
      for (int next = compiled(k).then; next >= 0; next = blob(next).then) {
        if (!follower_.try_emplace({k, next}, static_cast<uint32_t>(out.kernels.size())).second) continue;
        out.kernels.push_back(kernel(s_.kernels[k], blob(next)));
      }
  }

  /// The step, and what its kernel wants done behind it. `stands_in`: for the call just emitted, which has waited.
  void emit_work(fb::SequenceT& q, const Step& step, const std::vector<uint32_t>& last, bool stands_in) {
    auto out = emit_step(step, last);
    if (stands_in) {
      out->stands_in = static_cast<int32_t>(q.steps.size()) - 1;
      out->waits = {static_cast<uint32_t>(q.steps.size()) - 1};
    }
    q.steps.push_back(std::move(out));
    emit_followers(q, step);
  }

  void emit_followers(fb::SequenceT& q, const Step& step) {
    if (step.kind != Step::Kind::launch || step.on_host) return;
    const auto k = static_cast<size_t>(step.kernel.index);
    for (int next = compiled(k).then; next >= 0; next = blob(next).then) {
      auto out = std::make_unique<fb::StepT>(*q.steps.back());
      out->kernel = follower_.at({k, next});
      out->waits = {static_cast<uint32_t>(q.steps.size()) - 1};
      launch_numbers(*out, blob(next));
      q.steps.push_back(std::move(out));
    }
  }

  /// The steps that the sequence has got since were made of step `origin` of the schedule's.
  void note(EmittedSteps& emitted, const fb::SequenceT& q, size_t origin) const {
    for (size_t i = emitted.origin.size(); i < q.steps.size(); ++i) {
      const bool is_kernel = q.steps[i]->kind == fb::StepKind::launch && q.steps[i]->device == 0;
      emitted.origin.push_back(origin);
      emitted.ahead_bytes.push_back(is_kernel ? ahead_bytes_[q.steps[i]->kernel] : 0);
    }
  }

  void launch_numbers(fb::StepT& out, const CompiledKernel& c) {
    out.params.clear();
    for (const Dim& p : c.params) out.params.push_back(program_.slot(p));
    out.tasks = program_.slot(c.tasks);
    add_maps(out, c, program_);
  }

  void buffers(fb::PlanT& out) {
    std::map<int, uint32_t> first_of_block;
    numbers_.assign(s_.buffers.size(), 0);
    for (size_t i = 0; i < s_.buffers.size(); ++i) {
      const Buffer& b = s_.buffers[i];
      if (b.kind == Buffer::Kind::temporary && b.block < 0) continue;  // never used
      const auto number = static_cast<uint32_t>(out.buffers.size());
      numbers_[i] = number;
      auto f = std::make_unique<fb::BufferT>();
      f->kind = static_cast<fb::BufferKind>(b.kind);
      f->index = static_cast<uint32_t>(b.index);
      f->size = program_.slot(b.bytes);
      f->place = b.on_host ? fb::Place::host : fb::Place::device;
      if (const auto place = prepared_place(b)) {
        f->kind = fb::BufferKind::prepared;
        f->index = 0;
        f->offset = *place;
      } else if (b.constant) {
        f->offset = weights_.place(b.constant, b.name);
      }
      if (b.kind == Buffer::Kind::temporary) {
        auto [it, fresh] = first_of_block.try_emplace(b.block, number);
        if (!fresh) {
          f->alias_of = static_cast<int32_t>(it->second);
          f->alias_offset = program_.slot(Dim(0));
        }
        if (s_.memory.is_static) f->offset = static_cast<uint64_t>(s_.memory.layout.offsets[static_cast<size_t>(b.block)]);
      }
      out.buffers.push_back(std::move(f));
    }
    if (s_.memory.is_static) return;
    std::set<int> placed;
    for (int block : s_.memory.placement) {
      const uint32_t number = first_of_block.at(block);
      out.placement.push_back(number);
      for (int c : s_.memory.blocks[static_cast<size_t>(block)].conflicts)
        if (placed.count(c)) out.buffers[number]->conflicts.push_back(first_of_block.at(c));
      placed.insert(block);
    }
  }

  /// In the prepared region, if that is where the buffer lies.
  std::optional<uint64_t> prepared_place(const Buffer& b) const {
    if (plan_.device == DeviceClass::cpu || b.on_host) return std::nullopt;
    if (plan_.at_load && b.kind == Buffer::Kind::output) return prepared_.outputs[static_cast<size_t>(b.index)];
    const auto it = plan_.at_load ? prepared_.places.end() : prepared_.places.find(b.constant.get());
    return it == prepared_.places.end() ? std::nullopt : std::optional(it->second);
  }

  uint32_t number(BufferId b) const { return numbers_[static_cast<size_t>(b.index)]; }
  int32_t optional(BufferId b) const { return b.valid() ? static_cast<int32_t>(number(b)) : -1; }

  std::unique_ptr<fb::StepT> emit_call(const Step& step, const LibraryCall& call, const std::vector<uint32_t>& last) {
    auto out = std::make_unique<fb::StepT>();
    out->kind = fb::StepKind::call;
    out->call = call_table(call, code_.library_number(call), code_.code.target);
    for (const LibraryTensor& t : call.tensors) {
      BufferId b = step.operands[static_cast<size_t>(t.operand)];
      if (t.is_other_form()) b = plan_.other_forms.at(b.index);
      out->operands.push_back(number(b));
      out->params.push_back(program_.slot(t.offset));
      for (const Dim& d : t.extents) out->params.push_back(program_.slot(d));
      for (const Dim& d : t.strides) out->params.push_back(program_.slot(d));
    }
    out->writes = {static_cast<uint32_t>(call.result())};
    for (StepId w : step.waits) out->waits.push_back(last.at(static_cast<size_t>(w.index)));
    out->stream = static_cast<uint32_t>(step.stream);
    out->source = step.source;
    out->tasks = program_.slot(Dim(1));
    return out;
  }

  /// last[i]: the emitted step after which the schedule's step i is done.
  std::unique_ptr<fb::StepT> emit_step(const Step& step, const std::vector<uint32_t>& last) {
    auto out = std::make_unique<fb::StepT>();
    for (BufferId b : step.operands) out->operands.push_back(number(b));
    for (int w : step.writes) out->writes.push_back(static_cast<uint32_t>(w));
    for (StepId w : step.waits) out->waits.push_back(last.at(static_cast<size_t>(w.index)));
    for (int body : step.bodies) out->bodies.push_back(static_cast<uint32_t>(body));
    out->stream = static_cast<uint32_t>(step.stream);
    out->source = step.source;
    out->message = step.message;
    out->tasks = program_.slot(Dim(1));
    switch (step.kind) {
      case Step::Kind::launch: {
        out->kind = fb::StepKind::launch;
        const std::vector<Kernel>& kernels = step.on_host ? s_.host_kernels : s_.kernels;
        out->operations = static_cast<int32_t>(program_.slot(kernel_operations(kernels[static_cast<size_t>(step.kernel.index)])));
        if (step.on_host) {
          out->device = 1;
          out->kernel = static_cast<uint32_t>(step.kernel.index);
          break;
        }
        out->kernel = number_.at(static_cast<size_t>(step.kernel.index));
        launch_numbers(*out, compiled(static_cast<size_t>(step.kernel.index)));
        break;
      }
      case Step::Kind::copy: out->kind = fb::StepKind::copy; break;
      case Step::Kind::branch: out->kind = fb::StepKind::branch; break;
      case Step::Kind::bind:
        out->kind = fb::StepKind::bind;
        out->params = {program_.slot(Dim::symbol(step.symbol))};
        break;
      case Step::Kind::fail:
        out->kind = fb::StepKind::fail;
        for (const Dim& d : step.differ) out->params.push_back(program_.slot(d));
        break;
      case Step::Kind::loop: {
        out->kind = fb::StepKind::loop;
        out->loop = std::make_unique<fb::LoopT>();
        out->loop->trip_count = optional(step.trip_count);
        out->loop->condition = optional(step.condition);
        out->loop->iteration = optional(step.iteration);
        for (BufferId b : step.carried_from) out->loop->carried_from.push_back(number(b));
        for (BufferId b : step.carried_to) out->loop->carried_to.push_back(number(b));
        break;
      }
    }
    if (step.kind != Step::Kind::launch) out->writes.clear();
    return out;
  }

  const PlanCode code_;
  const ShapePlan& plan_;
  const Schedule& s_;
  std::vector<std::string> symbols_;
  ShapeProgram program_;
  const PreparedWeights& prepared_;
  WeightsSection& weights_;
  std::vector<uint32_t> numbers_;
  std::vector<int64_t> ahead_bytes_;                         // by plan kernel
  std::map<size_t, uint32_t> number_;                        // schedule kernel -> plan kernel
  std::map<std::pair<size_t, int>, uint32_t> follower_;  // (schedule kernel, blob kernel) -> plan kernel
};

}  // namespace

std::unique_ptr<fb::PlanT> emit_plan(const PlanCode& code, const std::vector<std::string>& symbols,
                                     const PreparedWeights& prepared, WeightsSection& weights) {
  return PlanEmitter(code, symbols, prepared, weights).run();
}

}  // namespace gcg
