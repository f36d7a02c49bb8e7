#include "compiler/schedule/step_cost.h"

#include <algorithm>

#include "compiler/kernel/typical_extent.h"

namespace gcg {
namespace {

constexpr double kShortest = kDependentLaunch + 0.5;  // microseconds: a kernel that does next to nothing
constexpr double kElementsPerContractionThread = 16;

double element_count(const Shape& shape) {
  double n = 1;
  for (const Dim& d : shape) n *= typical(d);
  return n;
}

struct Work {
  double flops = 0, threads = 0;
};

Work work_of(const LoopKernel&, double elements) { return {0, elements}; }

Work work_of(const MatMulKernel& k, double elements) {
  return {2 * elements * typical(k.k.extent), elements / kElementsPerContractionThread};
}

Work work_of(const ConvKernel& k, double elements) {
  const auto per_element = static_cast<double>(k.taps() * k.in_channels / k.groups);
  return {2 * elements * per_element, elements / kElementsPerContractionThread};
}

Work work_of(const PlainConvKernel& k, double elements) {
  auto per_element = static_cast<double>(k.in_channels / k.groups);
  for (const PlainConvKernel::Spatial& s : k.spatial) per_element *= static_cast<double>(s.kernel);
  return {2 * elements * per_element, elements / kElementsPerContractionThread};
}

Work work_of(const AttentionKernel& k, double elements) {
  const double per_query = 2 * typical(k.t.extent) * (typical(k.d.extent) + typical(k.n.extent));
  return {elements / std::max(1.0, typical(k.n.extent)) * per_query, elements / kElementsPerContractionThread};
}

Work work_of(const ProgramKernel& k, double) {
  double tasks = 1;
  for (const Axis& a : k.outer) tasks *= typical(a.extent);
  return {0, tasks};
}

}  // namespace

StepCost step_cost(const Schedule& schedule, const Step& step) {
  const Machine& gpu = typical_gpu();
  if (step.on_host) return {host_step_microseconds(schedule, step), 1};
  if (step.kind != Step::Kind::launch) {
    double bytes = 0;
    for (BufferId b : step.operands) bytes += typical(schedule.buffers[static_cast<size_t>(b.index)].bytes);
    return {std::max(kShortest, 1e6 * bytes / gpu.bytes_per_second), 1};
  }
  const Kernel& kernel = schedule.kernels[static_cast<size_t>(step.kernel.index)];
  double bytes = 0, written = 0;
  for (const Operand& o : kernel.operands) {
    const double elements = o.flat_of < 0 && !o.array ? element_count(o.shape) : 0;
    bytes += elements * static_cast<double>(size_of(o.dtype));
    if (o.written) written += elements;
  }
  const Work work = std::visit([&](const auto& body) { return work_of(body, written); }, kernel.body);
  return {std::max({kShortest, 1e6 * bytes / gpu.bytes_per_second, 1e6 * work.flops / gpu.flops_per_second()}),
          std::clamp(work.threads / gpu.resident_threads(), 0.01, 1.0)};
}

namespace {

/// Elements that a loop kernel computes, those of reductions within its expressions included.
double points_of(const LoopKernel& k) {
  double outer = 1, all = 0;
  for (const Axis& a : k.outer) outer *= typical(a.extent);
  for (const Stage& stage : k.stages) {
    double points = outer, reduced = 1;
    for (const Axis& a : stage.axes) points *= typical(a.extent);
    visit(stage.value, [&](const ExprNode& n) {
      double extent = 1;
      for (const Axis& a : n.reduce_axes) extent *= typical(a.extent);
      reduced = std::max(reduced, extent);
    });
    all += points * reduced;
  }
  return all;
}

}  // namespace

double host_step_microseconds(const Schedule& schedule, const Step& step) {
  constexpr double kLeast = 1, kBytes = 2e4, kFlops = 1e5, kPoints = 2e3;  // per microsecond
  const Kernel& kernel = schedule.host_kernels[static_cast<size_t>(step.kernel.index)];
  double bytes = 0, written = 0;
  for (const Operand& o : kernel.operands) {
    const double elements = o.flat_of < 0 && !o.array ? element_count(o.shape) : 0;
    bytes += elements * static_cast<double>(size_of(o.dtype));
    if (o.written) written += elements;
  }
  if (const auto* loops = std::get_if<LoopKernel>(&kernel.body))
    return std::max({kLeast, bytes / kBytes, points_of(*loops) / kPoints});
  const Work work = std::visit([&](const auto& body) { return work_of(body, written); }, kernel.body);
  return std::max({kLeast, bytes / kBytes, work.flops / kFlops});
}

void HostTransfer::add(const Buffer& buffer) {
  bytes += typical(buffer.bytes);
  ++copies;
}

}  // namespace gcg
