#include "compiler/artifact/emit_step.h"

#include "compiler/kernel/index_limits.h"
#include "compiler/kernel/kernel_operations.h"

namespace gcg {
namespace {

namespace fb = gart::fb;

uint32_t number(BufferId b) { return static_cast<uint32_t>(b.index); }

std::vector<uint32_t> numbers(const std::vector<BufferId>& buffers) {
  std::vector<uint32_t> out;
  for (BufferId b : buffers) out.push_back(number(b));
  return out;
}

std::unique_ptr<fb::AlgorithmT> algorithm_table(const LibraryAlgorithm& measured, const Target& target) {
  auto out = std::make_unique<fb::AlgorithmT>();
  out->sm = static_cast<uint32_t>(target.sm);
  out->version = measured.version;
  out->config = measured.config;
  return out;
}

fb::Swizzle swizzle_of(int bytes) {
  switch (bytes) {
    case 0:
      return fb::Swizzle::none;
    case 32:
      return fb::Swizzle::bytes32;
    case 64:
      return fb::Swizzle::bytes64;
    default:
      return fb::Swizzle::bytes128;
  }
}

class SequenceEmitter {
 public:
  SequenceEmitter(const Sequence& sequence, const StepContext& context) : sequence_(sequence), c_(context) {}

  std::unique_ptr<fb::SequenceT> run() {
    for (const Step& step : sequence_.steps) {
      std::visit([&](const auto& work) { emit(work, step); }, step.work);
      done_.push_back(static_cast<uint32_t>(out_->steps.size()) - 1);
    }
    return std::move(out_);
  }

 private:
  /// Appends a step with the fields that all kinds of steps have.
  fb::StepT& add(fb::StepKind kind, const Step& step) {
    auto out = std::make_unique<fb::StepT>();
    out->kind = kind;
    for (StepId w : step.waits) out->waits.push_back(done_[w]);
    out->stream = static_cast<uint32_t>(step.stream);
    out->source = step.source;
    out->tasks = slot(Dim(1));
    out_->steps.push_back(std::move(out));
    return *out_->steps.back();
  }

  uint32_t slot(const Dim& d) { return c_.program.slot(d); }

  void emit(const Launch& launch, const Step& step) {
    fb::StepT& out = add(fb::StepKind::launch, step);
    out.operands = numbers(launch.operands);
    out.writes.assign(launch.writes.begin(), launch.writes.end());
    out.kernel = static_cast<uint32_t>(launch.kernel.index);
    out.overlaps = launch.overlaps;
    const Kernel& kernel = c_.plan.kernels[launch.kernel];
    for (const std::string& range : index_limits(kernel)) out.message += (out.message.empty() ? "" : " or ") + range;
    for (const IndexCheck& check : index_checks(kernel)) out.indices.push_back(index_table(check));
    out.operations = static_cast<int32_t>(slot(kernel_operations(kernel)));
    emit_code(c_.plan.code[launch.kernel], out);
  }

  std::unique_ptr<fb::IndexCheckT> index_table(const IndexCheck& check) {
    auto out = std::make_unique<fb::IndexCheckT>();
    out->operand = static_cast<uint32_t>(check.operand);
    out->dtype = static_cast<fb::DType>(check.dtype);
    out->first = static_cast<uint64_t>(check.first);
    out->step = static_cast<uint64_t>(check.step);
    out->limit = slot(check.limit);
    out->from_end = check.from_end;
    return out;
  }

  void emit_code(const CompiledKernel& code, fb::StepT& out) {
    for (const Dim& p : code.params) out.params.push_back(slot(p));
    out.tasks = slot(code.tasks);
    for (const TensorMap& map : code.maps) {
      auto table = std::make_unique<fb::TensorMapT>();
      table->operand = static_cast<uint32_t>(map.operand);
      table->dtype = static_cast<fb::DType>(map.dtype);
      table->swizzle = swizzle_of(map.swizzle);
      table->box.assign(map.box.begin(), map.box.end());
      table->steps.assign(map.steps.begin(), map.steps.end());
      table->kind = map.kind == TensorMap::Kind::im2col ? fb::MapKind::im2col : fb::MapKind::tiled;
      table->lower.assign(map.lower.begin(), map.lower.end());
      table->upper.assign(map.upper.begin(), map.upper.end());
      table->pixels = static_cast<uint32_t>(map.pixels);
      out.maps.push_back(std::move(table));
      emit_view(map, out);
    }
  }

  /// The offset, extents and strides of a tensor in an operand.
  template <class View>
  void emit_view(const View& view, fb::StepT& out) {
    out.params.push_back(slot(view.offset));
    for (const Dim& d : view.extents) out.params.push_back(slot(d));
    for (const Dim& d : view.strides) out.params.push_back(slot(d));
  }

  void emit(const Call& call, const Step& step) {
    fb::StepT& out = add(fb::StepKind::call, step);
    out.operands = numbers(call.operands);
    out.writes = {static_cast<uint32_t>(call.call.result())};
    out.call = call_table(call.call, c_.library_number(call.call), c_.target);
    if (call.algorithm) out.call->algorithm = algorithm_table(*call.algorithm, c_.target);
    for (const LibraryTensor& t : call.call.tensors) emit_view(t, out);
    const auto number_of_call = static_cast<uint32_t>(out_->steps.size()) - 1;
    for (const Launch& launch : call.fallback) {
      emit(launch, step);
      fb::StepT& own = *out_->steps.back();
      own.fallback_for = static_cast<int32_t>(number_of_call);
      own.waits = {static_cast<uint32_t>(out_->steps.size()) - 2};
    }
  }

  void emit(const Copy& copy, const Step& step) {
    add(fb::StepKind::copy, step).operands = numbers({copy.to, copy.from});
  }

  void emit(const Branch& branch, const Step& step) {
    fb::StepT& out = add(fb::StepKind::branch, step);
    out.operands = numbers({branch.condition});
    for (SequenceId body : branch.bodies) out.bodies.push_back(static_cast<uint32_t>(body.index));
  }

  void emit(const Loop& loop, const Step& step) {
    fb::StepT& out = add(fb::StepKind::loop, step);
    out.bodies = {static_cast<uint32_t>(loop.body.index)};
    out.loop = std::make_unique<fb::LoopT>();
    out.loop->trip_count = loop.trip_count.index;
    out.loop->condition = loop.condition.index;
    out.loop->iteration = loop.iteration.index;
    for (const Loop::Carried& c : loop.carried) {
      out.loop->carried_from.push_back(number(c.from));
      out.loop->carried_to.push_back(number(c.to));
    }
  }

  void emit(const Bind& bind, const Step& step) {
    fb::StepT& out = add(fb::StepKind::bind, step);
    out.operands = numbers({bind.value});
    out.params = {slot(Dim::symbol(bind.symbol))};
  }

  void emit(const Fail& fail, const Step& step) {
    fb::StepT& out = add(fb::StepKind::fail, step);
    out.message = fail.message;
    for (const Dim& d : fail.differ) out.params.push_back(slot(d));
  }

  const Sequence& sequence_;
  const StepContext& c_;
  std::unique_ptr<fb::SequenceT> out_ = std::make_unique<fb::SequenceT>();
  IndexedVector<StepId, uint32_t> done_;  // by step of the plan: the last emitted step that belongs to it
};

}  // namespace

std::unique_ptr<fb::CallT> call_table(const LibraryCall& call, uint32_t library, const Target& target) {
  auto out = std::make_unique<fb::CallT>();
  out->library = library;
  out->operation = static_cast<fb::Operation>(call.operation);
  for (const LibraryTensor& t : call.tensors) {
    out->views.push_back(std::make_unique<fb::CallViewT>());
    out->views.back()->dtype = static_cast<fb::DType>(t.dtype);
    out->views.back()->rank = static_cast<uint8_t>(t.extents.size());
  }
  out->bias = call.bias;
  out->addend = call.addend;
  out->precision = static_cast<fb::Precision>(target.precision);
  out->activation = static_cast<fb::Activation>(call.activation);
  out->scale = static_cast<float>(call.scale);
  out->causal = call.causal;
  out->strides.assign(call.strides.begin(), call.strides.end());
  out->dilations.assign(call.dilations.begin(), call.dilations.end());
  out->pads.assign(call.pads.begin(), call.pads.end());
  out->groups = static_cast<uint32_t>(call.groups);
  out->workspace = static_cast<uint64_t>(call.workspace);
  out->oldest = call.oldest;
  return out;
}

std::unique_ptr<fb::SequenceT> emit_sequence(const Sequence& sequence, const StepContext& context) {
  return SequenceEmitter(sequence, context).run();
}

}  // namespace gcg
