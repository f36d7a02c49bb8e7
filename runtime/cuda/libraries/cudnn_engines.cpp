#include "runtime/cuda/libraries/cudnn_engines.h"

#include <algorithm>

namespace gart::cuda {
namespace {

/// More knobs than an engine can have. The library does not tell the number of an engine's knobs in advance, but it
/// knows fewer kinds of knobs than this.
constexpr int64_t kMostKnobs = 64;

/// True if an engine with these notes is accurate enough for the call.
bool is_accurate(const std::vector<int>& notes, const CallProblem& p) {
  const fb::Precision precision = p.call->precision();
  const bool f32 = p.tensors[0].dtype == fb::DType::f32;
  return std::none_of(notes.begin(), notes.end(), [&](int note) {
    switch (note) {
      case CUDNN_NUMERICAL_NOTE_TENSOR_CORE:
        return f32 && precision == fb::Precision::fp32;
      case CUDNN_NUMERICAL_NOTE_DOWN_CONVERT_INPUTS:
        return f32 && (precision == fb::Precision::fp32 || precision == fb::Precision::tf32);
      case CUDNN_NUMERICAL_NOTE_REDUCED_PRECISION_REDUCTION:
      case CUDNN_NUMERICAL_NOTE_NONDETERMINISTIC:
      case CUDNN_NUMERICAL_NOTE_WINOGRAD_TILE_13x13:
        return true;
      default:
        return false;
    }
  });
}

std::vector<int> notes_of(const CudnnDescriptor& engine, cudnnBackendAttributeName_t name,
                          cudnnBackendAttributeType_t type) {
  std::vector<int> notes(static_cast<size_t>(engine.count(name, type)));
  if (!notes.empty())
    notes.resize(size_t(std::min<int64_t>(engine.get(name, type, notes.data(), notes.size()), int64_t(notes.size()))));
  return notes;
}

/// Appends empty descriptors of one type. Returns their handles.
std::vector<cudnnBackendDescriptor_t> add(std::vector<CudnnDescriptor>& to, const CudnnFunctions& dnn,
                                          cudnnBackendDescriptorType_t type, int64_t count, const std::string& step) {
  std::vector<cudnnBackendDescriptor_t> handles;
  for (int64_t i = 0; i < count; ++i) {
    to.emplace_back(dnn, type, step);
    handles.push_back(to.back().handle());
  }
  return handles;
}

/// Up to `most` descriptors of an attribute, filled by the library.
std::vector<CudnnDescriptor> get_all(const CudnnDescriptor& from, cudnnBackendAttributeName_t name,
                                     const CudnnFunctions& dnn, cudnnBackendDescriptorType_t type, int64_t most,
                                     const std::string& step) {
  std::vector<CudnnDescriptor> all;
  std::vector<cudnnBackendDescriptor_t> handles = add(all, dnn, type, most, step);
  const int64_t got = most == 0 ? 0 : from.get(name, CUDNN_TYPE_BACKEND_DESCRIPTOR, handles.data(), handles.size());
  while (int64_t(all.size()) > got) all.pop_back();
  return all;
}

CudnnDescriptor engine_of(const CudnnFunctions& dnn, const CudnnDescriptor& config, const std::string& step) {
  CudnnDescriptor engine(dnn, CUDNN_BACKEND_ENGINE_DESCRIPTOR, step);
  cudnnBackendDescriptor_t handle = engine.handle();
  config.get(CUDNN_ATTR_ENGINECFG_ENGINE, CUDNN_TYPE_BACKEND_DESCRIPTOR, &handle, 1);
  return engine;
}

}  // namespace

std::vector<CudnnDescriptor> propose_engines(const CudnnFunctions& dnn, const CudnnGraph& graph,
                                             cudnnBackendHeurMode_t mode, cudnnStatus_t& refusal) {
  const std::string& step = graph.problem().step;
  CudnnDescriptor heuristic(dnn, CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR, step);
  heuristic.set(CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH, graph.operations());
  heuristic.set(CUDNN_ATTR_ENGINEHEUR_MODE, CUDNN_TYPE_HEUR_MODE, &mode);
  if (const cudnnStatus_t status = heuristic.try_finalize(); status != CUDNN_STATUS_SUCCESS) {
    refusal = status;
    return {};
  }
  const int64_t count = heuristic.count(CUDNN_ATTR_ENGINEHEUR_RESULTS, CUDNN_TYPE_BACKEND_DESCRIPTOR);
  return get_all(heuristic, CUDNN_ATTR_ENGINEHEUR_RESULTS, dnn, CUDNN_BACKEND_ENGINECFG_DESCRIPTOR, count, step);
}

std::vector<CudnnDescriptor> stored_engine(const CudnnFunctions& dnn, const CudnnGraph& graph,
                                           std::span<const int64_t> numbers, const CudnnDescriptor* device) {
  const std::string& step = graph.problem().step;
  std::vector<CudnnDescriptor> parts;
  const int64_t knobs = int64_t(numbers.size() / 2);
  const auto handles = add(parts, dnn, CUDNN_BACKEND_KNOB_CHOICE_DESCRIPTOR, knobs, step);
  for (CudnnDescriptor& knob : parts) {
    const int64_t* number = &numbers[1 + 2 * size_t(&knob - parts.data())];
    const auto type = int(number[0]);
    knob.set(CUDNN_ATTR_KNOB_CHOICE_KNOB_TYPE, CUDNN_TYPE_KNOB_TYPE, &type);
    knob.set(CUDNN_ATTR_KNOB_CHOICE_KNOB_VALUE, CUDNN_TYPE_INT64, &number[1]);
    knob.finalize();
  }
  CudnnDescriptor& engine = parts.emplace_back(dnn, CUDNN_BACKEND_ENGINE_DESCRIPTOR, step);
  engine.set(CUDNN_ATTR_ENGINE_OPERATION_GRAPH, graph.operations());
  engine.set(CUDNN_ATTR_ENGINE_GLOBAL_INDEX, CUDNN_TYPE_INT64, &numbers[0]);
  if (device != nullptr) engine.set(CUDNN_ATTR_ENGINE_DEVICEPROP, *device);
  engine.finalize();
  CudnnDescriptor& config = parts.emplace_back(dnn, CUDNN_BACKEND_ENGINECFG_DESCRIPTOR, step);
  config.set(CUDNN_ATTR_ENGINECFG_ENGINE, parts[size_t(knobs)]);
  if (knobs > 0)
    config.set(CUDNN_ATTR_ENGINECFG_KNOB_CHOICES, CUDNN_TYPE_BACKEND_DESCRIPTOR, handles.data(), handles.size());
  config.finalize();
  return parts;
}

std::vector<int64_t> numbers_of_engine(const CudnnFunctions& dnn, const CudnnDescriptor& config,
                                       const std::string& step) {
  std::vector<int64_t> numbers(1);
  engine_of(dnn, config, step).get(CUDNN_ATTR_ENGINE_GLOBAL_INDEX, CUDNN_TYPE_INT64, numbers.data(), 1);
  for (const CudnnDescriptor& knob : get_all(config, CUDNN_ATTR_ENGINECFG_KNOB_CHOICES, dnn,
                                             CUDNN_BACKEND_KNOB_CHOICE_DESCRIPTOR, kMostKnobs, step)) {
    int type = 0;
    int64_t value = 0;
    knob.get(CUDNN_ATTR_KNOB_CHOICE_KNOB_TYPE, CUDNN_TYPE_KNOB_TYPE, &type, 1);
    knob.get(CUDNN_ATTR_KNOB_CHOICE_KNOB_VALUE, CUDNN_TYPE_INT64, &value, 1);
    numbers.insert(numbers.end(), {type, value});
  }
  return numbers;
}

EngineNotes notes_of_engine(const CudnnFunctions& dnn, const CudnnDescriptor& config, const CallProblem& p) {
  const CudnnDescriptor engine = engine_of(dnn, config, p.step);
  const std::vector<int> behavior = notes_of(engine, CUDNN_ATTR_ENGINE_BEHAVIOR_NOTE, CUDNN_TYPE_BEHAVIOR_NOTE);
  return {is_accurate(notes_of(engine, CUDNN_ATTR_ENGINE_NUMERICAL_NOTE, CUDNN_TYPE_NUMERICAL_NOTE), p),
          std::find(behavior.begin(), behavior.end(), CUDNN_BEHAVIOR_NOTE_SUPPORTS_CUDA_GRAPH_NATIVE_API) !=
              behavior.end()};
}

}  // namespace gart::cuda
