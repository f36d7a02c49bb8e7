#include "compiler/plan/step_cost.h"

#include <algorithm>

#include "compiler/kernel/kernel_operations.h"
#include "compiler/kernel/kernel_parts.h"
#include "compiler/kernel/typical_extent.h"

namespace gcg {
namespace {

constexpr double kElementsPerContractionThread = 16;

template <class Extents>
double element_count(const Extents& shape) {
  double n = 1;
  for (const Dim& d : shape) n *= typical(d);
  return n;
}

/// The memory traffic of a kernel.
struct Traffic {
  double bytes = 0, written = 0;  // written: elements
};

Traffic traffic_of(const Kernel& kernel) {
  Traffic out;
  for (const Operand& o : kernel.operands) {
    const double elements = o.flat_of < 0 && !o.array ? element_count(o.shape) : 0;
    out.bytes += elements * static_cast<double>(size_of(o.dtype));
    if (o.written) out.written += elements;
  }
  return out;
}

struct Work {
  double flops = 0, threads = 0;
};

Work work_of(const LoopKernel&, double elements) { return {0, elements}; }

template <Contraction Body>
Work work_of(const Body& k, double elements) {
  return {2 * elements * products_per_element(k), elements / kElementsPerContractionThread};
}

Work work_of(const LibraryCall& call, double elements) {
  const auto extents = [&](size_t tensor, size_t first) {
    const std::vector<Dim>& all = call.tensors[tensor].extents;
    return element_count(std::vector<Dim>(all.begin() + static_cast<int64_t>(first), all.end()));
  };
  double per_element = 0;
  switch (call.operation) {
    case LibraryOperation::matmul:
      per_element = extents(0, 2);
      break;
    case LibraryOperation::convolution:
      per_element = extents(1, 1);
      break;
    case LibraryOperation::attention:
      per_element = extents(1, 2) / extents(1, 3) * (1 + extents(1, 3) / extents(2, 3));
      break;
  }
  return {2 * elements * per_element, elements / kElementsPerContractionThread};
}

Work work_of(const ProgramKernel& k, double) {
  constexpr double kThreads = 512;  // the number of threads that share a task
  double threads = 1;
  for (const Axis& a : k.outer) threads *= typical(a.extent);
  for (const Statement& s : k.body)
    if (is_launch(s))
      threads = std::max(threads, typical(s.axis.extent) * (s.kind == Statement::Kind::shared_launch ? kThreads : 1));
  return {0, threads};
}

}  // namespace

namespace {

/// `blocks`: the number of blocks of the launch; 0: not known yet.
StepCost cost_of(const Machine& gpu, double bytes, const Work& work, double blocks = 0) {
  const double shortest = gpu.nodes.shortest + blocks * gpu.nodes.block_start;
  return {std::max({shortest, 1e6 * bytes / gpu.bytes_per_second, 1e6 * work.flops / gpu.flops_per_second()}),
          std::clamp(work.threads / gpu.resident_threads(), 0.01, 1.0)};
}

StepCost cost_of(const Machine& gpu, const LibraryCall& call) {
  double bytes = 0;
  for (const LibraryTensor& t : call.tensors) bytes += element_count(t.extents) * static_cast<double>(size_of(t.dtype));
  return cost_of(gpu, bytes, work_of(call, element_count(call.tensors[call.result()].extents)));
}

}  // namespace

StepCost step_cost(const Plan& plan, const Step& step) {
  if (const auto* call = step.as<Call>()) return cost_of(*plan.machine, call->call);
  const auto* launch = step.as<Launch>();
  if (launch == nullptr) {
    double bytes = 0;
    for (const auto& list : {step.reads(), step.writes()})
      for (BufferId b : list) bytes += typical(plan.buffers[b].bytes);
    return {std::max(plan.machine->nodes.shortest, 1e6 * bytes / plan.machine->bytes_per_second), 1};
  }
  const Kernel& kernel = plan.kernels[launch->kernel];
  const Traffic traffic = traffic_of(kernel);
  const double blocks = plan.code.empty() ? 0 : typical(plan.code[launch->kernel].tasks);
  return cost_of(*plan.machine, traffic.bytes,
                 std::visit([&](const auto& body) { return work_of(body, traffic.written); }, kernel.body), blocks);
}

double core_microseconds(const Plan& plan, const Step& step) {
  constexpr double kStep = 0.05, kEfficiency = 0.6;  // kEfficiency: of contractions
  constexpr double kLoop = 0.12, kProgram = 0.02;    // efficiency of loops (their functions are slow) and of programs
  const Machine& core = *plan.machine;
  const auto moving = [&](double bytes) {
    return 1e6 * bytes / core.bytes_per_second / (bytes < static_cast<double>(core.l2_bytes) ? kCacheSpeed : 1);
  };
  const auto* launch = step.as<Launch>();
  if (launch == nullptr) {
    double bytes = 0;
    for (const auto& list : {step.reads(), step.writes()})
      for (BufferId b : list) bytes += typical(plan.buffers[b].bytes);
    return kStep + moving(bytes);
  }
  const Kernel& kernel = plan.kernels[launch->kernel];
  const bool loops = std::holds_alternative<LoopKernel>(kernel.body);
  const double rate = (loops                                                ? kLoop
                       : std::holds_alternative<ProgramKernel>(kernel.body) ? kProgram
                                                                            : kEfficiency) *
                      core.flops_per_second() / 1e6;
  const double operations = std::max(traffic_of(kernel).written, typical(kernel_operations(kernel)));
  return kStep + std::max(moving(traffic_of(kernel).bytes), operations / rate);
}

}  // namespace gcg
