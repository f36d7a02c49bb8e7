#include "compiler/emit_artifact.h"

#include <algorithm>
#include <map>
#include <set>

#include "artifact_schema/cpu_features.h"
#include "artifact_schema/writer.h"
#include "compiler/shape_program.h"
#include "compiler/support/error.h"
#include "compiler/weights_section.h"

namespace gcg {
namespace {

namespace fb = gart::fb;

fb::DType to_fb(DType t) { return static_cast<fb::DType>(t); }

uint64_t features_of(const Target& target) {
  if (target.name == "x86-64-v3") return gart::kFeaturesX86_64v3;
  if (target.name == "x86-64-v4") return gart::kFeaturesX86_64v4;
  if (target.name == "aarch64") return gart::kFeaturesAarch64;
  GCG_CHECK(false, "no CPU features are known for target ", target.name);
}

std::unique_ptr<fb::TargetT> emit_target(const TargetCode& code) {
  const Target& target = code.target;
  auto out = std::make_unique<fb::TargetT>();
  out->name = target.name;
  out->imports = code.blob.imports;
  if (target.device == DeviceClass::cpu) {
    out->kind = fb::TargetKind::cpu;
    out->features = features_of(target);
    return out;
  }
  out->kind = target.is_ptx() ? fb::TargetKind::cuda_ptx : fb::TargetKind::cuda_sm;
  out->sm = static_cast<uint32_t>(target.sm);
  out->driver = static_cast<uint32_t>(code.blob.driver);
  if (const auto& steering = code.blob.steering) {
    out->steering = std::make_unique<fb::KernelT>();
    out->steering->name = out->steering->symbol = steering->symbol;
    out->steering->offset = steering->offset;
    out->steering->size = steering->size;
    out->steering->threads = static_cast<uint32_t>(steering->threads);
  }
  return out;
}

/// Symbols that inputs carry, then those that are bound during the run.
std::vector<std::string> all_symbols(const Graph& graph, const std::vector<ShapePlan>& plans) {
  std::vector<std::string> names;
  for (ValueId in : graph.inputs)
    for (const Dim& d : *graph.value(in).shape)
      if (auto s = d.symbol_name(); s && std::find(names.begin(), names.end(), *s) == names.end()) names.push_back(*s);
  for (const ShapePlan& plan : plans)
    for (const std::string& s : plan.schedule.late_symbols)
      if (std::find(names.begin(), names.end(), s) == names.end()) names.push_back(s);
  return names;
}

class PlanEmitter {
 public:
  PlanEmitter(const ShapePlan& plan, std::vector<std::string> symbols, const PreparedWeights& prepared,
              WeightsSection& weights)
      : plan_(plan), s_(plan.schedule), symbols_(std::move(symbols)), program_(symbols_), prepared_(prepared), weights_(weights) {}

  std::unique_ptr<fb::PlanT> run(size_t target_index, const TargetCode& code, const std::vector<size_t>& kernel_of) {
    auto out = std::make_unique<fb::PlanT>();
    out->target = static_cast<uint32_t>(target_index);
    for (const std::string& s : symbols_) {
      auto it = plan_.fixed.find(s);
      out->fixed.push_back(it == plan_.fixed.end() ? -1 : it->second);
    }
    for (const Kernel& k : s_.kernels) {
      const auto i = static_cast<size_t>(&k - s_.kernels.data());
      out->kernels.push_back(kernel(k, code.blob.kernels[kernel_of[i]]));
    }
    followers(*out, code, kernel_of);
    buffers(*out);
    for (const Sequence& sequence : s_.sequences) {
      auto q = std::make_unique<fb::SequenceT>();
      std::vector<uint32_t> last;  // of the steps emitted so far for the schedule's: the one to wait for
      for (const Step& step : sequence.steps) {
        q->steps.push_back(emit_step(step, code, kernel_of, last));
        emit_followers(*q, step, code, kernel_of);
        last.push_back(static_cast<uint32_t>(q->steps.size()) - 1);
      }
      out->sequences.push_back(std::move(q));
    }
    if (s_.memory.is_static) {
      out->arena_bytes = static_cast<uint64_t>(s_.memory.layout.bytes);
      out->arena_lower_bound = static_cast<uint64_t>(s_.memory.layout.lower_bound);
    }
    out->streams = static_cast<uint32_t>(s_.streams);
    if (plan_.device == DeviceClass::cuda) out->prepared_bytes = prepared_.bytes;
    out->program = program_.instructions();
    return out;
  }

 private:
  std::unique_ptr<fb::KernelT> kernel(const Kernel& k, const CompiledKernel& c) {
    auto out = std::make_unique<fb::KernelT>();
    out->name = k.name;
    out->offset = c.offset;
    out->size = c.size;
    out->operands = static_cast<uint32_t>(k.operands.size());
    out->params = static_cast<uint32_t>(c.params.size());
    out->scratch = program_.slot(c.scratch_bytes);
    out->note = c.note;
    out->symbol = c.symbol;
    out->threads = static_cast<uint32_t>(c.threads);
    out->shared = static_cast<uint32_t>(c.shared_bytes);
    out->may_fail = c.may_fail;
    out->registers = static_cast<uint32_t>(c.registers);
    out->spill_bytes = static_cast<uint32_t>(c.spill_bytes);
    return out;
  }

  /// Kernels of the blob that `then` names get plan kernels behind those of the schedule.
  void followers(fb::PlanT& out, const TargetCode& code, const std::vector<size_t>& kernel_of) {
    for (size_t k = 0; k < kernel_of.size(); ++k)
      for (int next = code.blob.kernels[kernel_of[k]].then; next >= 0; next = code.blob.kernels[size_t(next)].then) {
        if (!follower_.try_emplace({k, next}, static_cast<uint32_t>(out.kernels.size())).second) continue;
        out.kernels.push_back(kernel(s_.kernels[k], code.blob.kernels[size_t(next)]));
      }
  }

  void emit_followers(fb::SequenceT& q, const Step& step, const TargetCode& code, const std::vector<size_t>& kernel_of) {
    if (step.kind != Step::Kind::launch) return;
    const auto k = static_cast<size_t>(step.kernel.index);
    for (int next = code.blob.kernels[kernel_of[k]].then; next >= 0; next = code.blob.kernels[size_t(next)].then) {
      auto out = std::make_unique<fb::StepT>(*q.steps.back());
      out->kernel = follower_.at({k, next});
      out->waits = {static_cast<uint32_t>(q.steps.size()) - 1};
      launch_numbers(*out, code.blob.kernels[size_t(next)]);
      q.steps.push_back(std::move(out));
    }
  }

  void launch_numbers(fb::StepT& out, const CompiledKernel& c) {
    out.params.clear();
    for (const Dim& p : c.params) out.params.push_back(program_.slot(p));
    out.tasks = program_.slot(c.tasks);
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
      if (const auto place = prepared_place(b)) {
        f->kind = fb::BufferKind::prepared;
        f->index = 0;
        f->offset = *place;
      } else if (b.constant) {
        f->offset = weights_.place(b.constant);
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
    if (plan_.device == DeviceClass::cpu) return std::nullopt;
    if (plan_.at_load && b.kind == Buffer::Kind::output) return prepared_.outputs[static_cast<size_t>(b.index)];
    const auto it = plan_.at_load ? prepared_.places.end() : prepared_.places.find(b.constant.get());
    return it == prepared_.places.end() ? std::nullopt : std::optional(it->second);
  }

  uint32_t number(BufferId b) const { return numbers_[static_cast<size_t>(b.index)]; }
  int32_t optional(BufferId b) const { return b.valid() ? static_cast<int32_t>(number(b)) : -1; }

  /// last[i]: the emitted step after which the schedule's step i is done.
  std::unique_ptr<fb::StepT> emit_step(const Step& step, const TargetCode& code, const std::vector<size_t>& kernel_of,
                                       const std::vector<uint32_t>& last) {
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
        out->kernel = static_cast<uint32_t>(step.kernel.index);
        launch_numbers(*out, code.blob.kernels[kernel_of[static_cast<size_t>(step.kernel.index)]]);
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

  const ShapePlan& plan_;
  const Schedule& s_;
  std::vector<std::string> symbols_;
  ShapeProgram program_;
  const PreparedWeights& prepared_;
  WeightsSection& weights_;
  std::vector<uint32_t> numbers_;
  std::map<std::pair<size_t, int>, uint32_t> follower_;  // (schedule kernel, blob kernel) -> plan kernel
};

std::unique_ptr<fb::TensorInfoT> tensor_info(const Value& v, ShapeProgram& program) {
  auto out = std::make_unique<fb::TensorInfoT>();
  out->name = v.name;
  out->dtype = to_fb(v.dtype);
  for (const Dim& d : *v.shape) out->dims.push_back(program.slot(d));
  return out;
}

std::unique_ptr<fb::SymbolT> symbol(const Graph& graph, const std::string& name) {
  auto out = std::make_unique<fb::SymbolT>();
  out->name = name;
  for (size_t i = 0; i < graph.inputs.size(); ++i) {
    const Shape& shape = *graph.value(graph.inputs[i]).shape;
    for (size_t d = 0; d < shape.size(); ++d)
      if (shape[d].symbol_name() == name) {
        out->input = static_cast<int32_t>(i);
        out->axis = static_cast<int32_t>(d);
        return out;
      }
  }
  return out;  // bound during the run
}

bool is_early(const fb::EntryPointT& entry, const Dim& d) {
  const std::set<std::string> names = d.symbols();
  return std::none_of(entry.symbols.begin(), entry.symbols.end(),
                      [&](const auto& s) { return s->input < 0 && names.count(s->name) != 0; });
}

std::unique_ptr<fb::EntryPointT> entry_point(const Graph& graph, const std::vector<std::string>& symbols) {
  auto out = std::make_unique<fb::EntryPointT>();
  out->name = graph.name.empty() ? "main" : graph.name;
  ShapeProgram program(symbols);
  for (const std::string& s : symbols) out->symbols.push_back(symbol(graph, s));
  for (ValueId v : graph.inputs) out->inputs.push_back(tensor_info(graph.value(v), program));
  for (ValueId v : graph.outputs) out->outputs.push_back(tensor_info(graph.value(v), program));
  for (const DimConstraint& c : graph.constraints) {
    if (!is_early(*out, c.a) || !is_early(*out, c.b)) continue;  // checked during the run
    auto f = std::make_unique<fb::ConstraintT>();
    f->a = program.slot(c.a);
    f->b = program.slot(c.b);
    f->reason = c.reason;
    out->constraints.push_back(std::move(f));
  }
  out->program = program.instructions();
  return out;
}

}  // namespace

EmittedArtifact emit_artifact(const Graph& graph, const std::vector<ShapePlan>& plans, const PreparedWeights& prepared,
                                   const std::vector<TargetCode>& targets, const Provenance& provenance) {
  gart::ArtifactContent content;
  const std::vector<std::string> symbols = all_symbols(graph, plans);
  auto entry = entry_point(graph, symbols);
  WeightsSection weights;
  auto at_load = std::make_unique<fb::EntryPointT>();
  at_load->name = "at_load";
  for (size_t t = 0; t < targets.size(); ++t) {
    for (size_t p = 0; p < plans.size(); ++p) {
      if (plans[p].device != targets[t].target.device) continue;
      fb::EntryPointT& home = plans[p].at_load ? *at_load : *entry;
      PlanEmitter emitter(plans[p], plans[p].at_load ? std::vector<std::string>() : symbols, prepared, weights);
      home.plans.push_back(emitter.run(t, targets[t], targets[t].kernel_of[p]));
    }
    content.manifest.targets.push_back(emit_target(targets[t]));
    content.code.push_back(targets[t].blob.code);
  }
  content.manifest.entry_points.push_back(std::move(entry));
  if (!at_load->plans.empty()) content.manifest.at_load = std::move(at_load);
  content.manifest.provenance = std::make_unique<fb::ProvenanceT>();
  content.manifest.provenance->compiler = provenance.compiler;
  content.manifest.provenance->source_hash = provenance.source_hash;
  content.manifest.provenance->options = provenance.options;
  content.manifest.provenance->model = provenance.model;
  content.weights = weights.take();
  const auto weight_bytes = static_cast<int64_t>(content.weights.size());
  return {gart::write_artifact(std::move(content)), weight_bytes};
}

}  // namespace gcg
