#include "compiler/artifact/emit_plan.h"

#include <map>
#include <set>

#include "artifact_schema/kernel_note.h"
#include "compiler/artifact/shape_program_builder.h"

namespace gcg {
namespace {

namespace fb = gart::fb;

class PlanEmitter {
 public:
  PlanEmitter(const Plan& plan, const Target& target, const std::vector<std::string>& symbols,
              const WeightsSection& weights, const LibraryNumber& library_number)
      : plan_(plan),
        target_(target),
        symbols_(symbols),
        program_(symbols),
        weights_(weights),
        library_number_(library_number) {}

  std::unique_ptr<fb::PlanT> run() {
    auto out = std::make_unique<fb::PlanT>();
    out->target = static_cast<uint32_t>(plan_.target);
    for (const std::string& s : symbols_) {
      auto it = plan_.fixed.find(s);
      out->fixed.push_back(it == plan_.fixed.end() ? -1 : it->second);
    }
    for (KernelId k : plan_.kernels.ids()) out->kernels.push_back(kernel(plan_.kernels[k], plan_.code[k]));
    for (BufferId b : plan_.buffers.ids()) out->buffers.push_back(buffer(b));
    placement(*out);
    for (const Sequence& sequence : plan_.sequences)
      out->sequences.push_back(emit_sequence(sequence, {plan_, target_, program_, library_number_}));
    if (plan_.memory.is_static) {
      out->arena_bytes = static_cast<uint64_t>(plan_.memory.layout.bytes);
      out->arena_lower_bound = static_cast<uint64_t>(plan_.memory.layout.lower_bound);
    }
    out->streams = static_cast<uint32_t>(plan_.streams);
    for (const ParallelMode& m : plan_.modes) out->modes.push_back(mode(m));
    out->packed_bytes = plan_.packed_bytes;
    out->program = program_.instructions();
    return out;
  }

 private:
  static std::unique_ptr<fb::ModeT> mode(const ParallelMode& m) {
    auto out = std::make_unique<fb::ModeT>();
    out->threads = static_cast<uint32_t>(m.threads);
    out->intra = static_cast<uint32_t>(m.intra);
    out->inter = static_cast<uint32_t>(m.inter);
    out->replicas = static_cast<uint32_t>(m.replicas);
    if (m.stream_threads.size() > 1) out->stream_threads = m.stream_threads;
    out->microseconds = static_cast<float>(m.microseconds);
    out->microseconds_intra = static_cast<float>(m.microseconds_intra);
    out->microseconds_alone = static_cast<float>(m.microseconds_alone);
    out->reason = m.reason;
    return out;
  }

  std::unique_ptr<fb::KernelT> kernel(const Kernel& k, const CompiledKernel& c) {
    auto out = std::make_unique<fb::KernelT>();
    out->name = k.name;
    out->offset = c.offset;
    out->size = c.size;
    out->operands = static_cast<uint32_t>(step_operands(k));
    out->params = static_cast<uint32_t>(c.params.size());
    out->scratch = program_.slot(c.scratch_bytes);
    out->note = gart::note_text({c.types, c.note});
    out->symbol = c.symbol;
    out->threads = static_cast<uint32_t>(c.threads);
    out->shared = static_cast<uint32_t>(c.shared_bytes);
    out->may_fail = c.may_fail;
    out->maps = static_cast<uint32_t>(c.maps.size());
    out->cluster = static_cast<uint32_t>(c.cluster);
    out->registers = static_cast<uint32_t>(c.registers);
    out->spill_bytes = static_cast<uint32_t>(c.spill_bytes);
    out->waits = c.waits;
    out->ahead.assign(c.ahead.begin(), c.ahead.end());
    return out;
  }

  std::unique_ptr<fb::BufferT> buffer(BufferId id) {
    const Buffer& b = plan_.buffers[id];
    auto out = std::make_unique<fb::BufferT>();
    out->kind = static_cast<fb::BufferKind>(b.kind);
    out->index = static_cast<uint32_t>(b.index);
    out->size = program_.slot(b.bytes);
    if (b.kind == Buffer::Kind::constant) out->offset = weights_.place_of(*b.constant);
    if (b.kind == Buffer::Kind::packed) out->offset = b.packed_at;
    if (b.block >= 0) lay_out(id, *out);
    return out;
  }

  /// Emits each temporary of a block, except the first, as a view of the block's first temporary.
  void lay_out(BufferId id, fb::BufferT& out) {
    const int block = plan_.buffers[id].block;
    if (plan_.memory.is_static)
      out.offset = static_cast<uint64_t>(plan_.memory.layout.offsets[static_cast<size_t>(block)]);
    const auto [it, fresh] = first_of_block_.try_emplace(block, static_cast<uint32_t>(id.index));
    if (fresh) return;
    out.alias_of = static_cast<int32_t>(it->second);
    out.alias_offset = program_.slot(Dim(0));
  }

  /// Lists the buffers that the runtime places in a symbolic plan. Gives for each the earlier ones that it must not
  /// overlap.
  void placement(fb::PlanT& out) const {
    std::set<int> placed;
    for (int block : plan_.memory.placement) {
      const uint32_t number = first_of_block_.at(block);
      out.placement.push_back(number);
      for (int c : plan_.memory.blocks[static_cast<size_t>(block)].conflicts)
        if (placed.count(c)) out.buffers[number]->conflicts.push_back(first_of_block_.at(c));
      placed.insert(block);
    }
  }

  const Plan& plan_;
  const Target& target_;
  const std::vector<std::string>& symbols_;
  ShapeProgramBuilder program_;
  const WeightsSection& weights_;
  const LibraryNumber& library_number_;
  std::map<int, uint32_t> first_of_block_;
};

}  // namespace

std::unique_ptr<fb::PlanT> emit_plan(const Plan& plan, const Target& target, const std::vector<std::string>& symbols,
                                     const WeightsSection& weights, const LibraryNumber& library_number) {
  return PlanEmitter(plan, target, symbols, weights, library_number).run();
}

}  // namespace gcg
