#include "tests/cuda/sim/libraries/cudnn_descriptor.h"

#include <mutex>
#include <set>
#include <string>

#include "tests/cuda/sim/libraries/cudnn_engine.h"
#include "tests/cuda/sim/libraries/cudnn_program.h"

namespace gart_sim::cudnn {
namespace {

std::mutex mutex;
std::set<const void*>& alive() {
  static auto* objects = new std::set<const void*>;
  return *objects;
}
std::string& last_error() {
  static thread_local std::string text;
  return text;
}

int finalize_tensor(const Descriptor& d) {
  if (!d.has({900, 901, 902, 903, 906}))
    return refuse(kBadParam, "a tensor without type, extents, strides, uid or alignment");
  const auto extents = d.extents(), strides = d.strides();
  if (extents.size() != strides.size() || extents.size() < 3) return refuse(kBadParam, "a tensor of a wrong rank");
  for (size_t i = 0; i < extents.size(); ++i) {
    if (extents[i] < 1 || strides[i] < 1) return refuse(kBadParam, "a tensor with an extent or stride below 1");
  }
  return kSuccess;
}

int finalize_graph(const Descriptor& d) {
  if (!is_alive(d.one<const void*>(800))) return refuse(kBadParam, "an operation graph without a handle");
  const auto operations = d.list<const Descriptor*>(801);
  if (operations.empty()) return refuse(kBadParam, "an operation graph without operations");
  for (const Descriptor* operation : operations) {
    if (!operation->is_final) return refuse(kBadParam, "an operation that is not final");
  }
  return kSuccess;
}

int finalize_plan(Descriptor& d) {
  const Descriptor* config = d.at(401);
  if (!is_final(config, kEngineConfig) || !is_alive(d.one<const void*>(400)))
    return refuse(kBadParam, "a plan without a final configuration, or without a handle");
  if (!is_final(config->graph, kOperationGraph)) return refuse(kBadParam, "a plan of a graph that is gone");
  d.engine = config->engine;
  d.knobs = config->knobs;
  d.program = std::make_shared<Program>(*config->graph);
  return kSuccess;
}

}  // namespace

bool Descriptor::has(std::initializer_list<int> names) const {
  for (const int name : names) {
    if (values.count(name) == 0) return false;
  }
  return true;
}

bool Descriptor::has_one(int name, AttributeType as) const {
  const auto it = values.find(name);
  return it != values.end() && it->second.type == as && it->second.bytes.size() == size_of(as);
}

size_t size_of(int attribute_type) {
  switch (attribute_type) {
    case kHandleType:
    case kInt64:
    case kPointer:
    case kDescriptor:
      return 8;
    case kBoolean:
      return 1;
    default:
      return 4;
  }
}

void now_alive(const void* object) {
  const std::lock_guard lock(mutex);
  alive().insert(object);
}
bool was_alive(const void* object) {
  const std::lock_guard lock(mutex);
  return alive().erase(object) != 0;
}
bool is_alive(const void* object) {
  const std::lock_guard lock(mutex);
  return alive().count(object) != 0;
}
bool is_final(const Descriptor* d, DescriptorType type) { return is_alive(d) && d->type == type && d->is_final; }
size_t count_alive() {
  const std::lock_guard lock(mutex);
  return alive().size();
}

int refuse(int status, const char* text) {
  last_error() = text;
  return status;
}
const char* take_last_error() {
  static thread_local std::string taken;
  taken.clear();
  taken.swap(last_error());
  return taken.c_str();
}

int check_graph(const Descriptor* graph) {
  if (!is_final(graph, kOperationGraph)) return refuse(kBadParam, "no operation graph, or one that is not final");
  const auto operations = graph->list<const Descriptor*>(801);
  if (operations[0]->type == kConvolutionForward) return check_convolution_graph(operations);
  if (operations[0]->type == kMatmulOperation) return check_attention_graph(operations);
  return operations.size() == 1 ? kSuccess : refuse(kNotSupported, "operations after an attention");
}

int finalize(Descriptor& d) {
  switch (d.type) {
    case kTensor:
      return finalize_tensor(d);
    case kConvolution:
      return d.has({100, 101, 102, 103, 104, 105, 106}) ? kSuccess : refuse(kBadParam, "an incomplete convolution");
    case kPointwise:
      return d.has({0, 1}) ? kSuccess : refuse(kBadParam, "an incomplete pointwise operation");
    case kConvolutionForward:
      return check_convolution(d);
    case kAttentionForward:
      return check_attention(d);
    case kMatmul:
      return d.has({1500}) ? kSuccess : refuse(kBadParam, "an incomplete product");
    case kMatmulOperation:
      return d.has({1520, 1521, 1522, 1523}) ? kSuccess : refuse(kBadParam, "a product without all its parts");
    case kReduction:
      return d.has({1600, 1601}) ? kSuccess : refuse(kBadParam, "an incomplete reduction");
    case kReductionOperation:
      return d.has({1610, 1611, 1612}) ? kSuccess : refuse(kBadParam, "a reduction without all its parts");
    case kPointwiseOperation:
      return d.has({750, 751, 753}) ? kSuccess : refuse(kBadParam, "a pointwise operation without all its parts");
    case kOperationGraph:
      return finalize_graph(d);
    case kHeuristic:
      return check_graph(d.at(201));
    case kEngine:
      return finalize_engine(d);
    case kKnobChoice:
      return finalize_knob_choice(d);
    case kEngineConfig:
      return finalize_config(d);
    case kPlan:
      return finalize_plan(d);
    case kVariantPack:
      return d.has({1000, 1001, 1003}) ? kSuccess : refuse(kBadParam, "an incomplete variant pack");
    default:
      return kSuccess;
  }
}

}  // namespace gart_sim::cudnn
