#include "compiler/emit_step_tables.h"

#include "compiler/kernel/library_algorithm.h"

namespace gcg {

namespace fb = gart::fb;

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
  if (auto measured = measured_algorithm(call, target)) {
    out->algorithm = std::make_unique<fb::AlgorithmT>();
    out->algorithm->sm = static_cast<uint32_t>(target.sm);
    out->algorithm->version = measured->version;
    out->algorithm->config = std::move(measured->config);
  }
  return out;
}

void add_maps(fb::StepT& step, const CompiledKernel& kernel, ShapeProgram& program) {
  step.maps.clear();
  for (const TensorMap& map : kernel.maps) {
    auto out = std::make_unique<fb::TensorMapT>();
    out->operand = static_cast<uint32_t>(map.operand);
    out->dtype = static_cast<fb::DType>(map.dtype);
    out->swizzle = fb::Swizzle::bytes128;
    out->box.assign(map.box.begin(), map.box.end());
    step.maps.push_back(std::move(out));
    step.params.push_back(program.slot(map.offset));
    for (const Dim& d : map.extents) step.params.push_back(program.slot(d));
    for (const Dim& d : map.strides) step.params.push_back(program.slot(d));
  }
}

}  // namespace gcg
