#include "tests/cuda/sim/libraries/cudnn_program.h"

#include <algorithm>
#include <cmath>

#include "tests/cuda/sim/libraries/element.h"

namespace gart_sim::cudnn {
namespace {

// The offset of element `index` (row-major in `extents`) with these strides.
int64_t offset_of(int64_t index, const std::vector<int64_t>& extents, const std::vector<int64_t>& strides) {
  int64_t offset = 0;
  for (size_t d = extents.size(); d-- > 0; index /= extents[d]) offset += index % extents[d] * strides[d];
  return offset;
}

Element element_of(const Descriptor& t) {
  if (t.element_type() == kF32) return Element::f32;
  return t.element_type() == kF16 ? Element::f16 : Element::bf16;
}

using Intermediates = std::map<int64_t, Values>;  // by uid

Values load(const Descriptor* t, const Memory& memory, const Intermediates& known) {
  if (!t) return {};
  if (t->is_virtual()) return known.at(t->uid());
  Values v{t->extents(), {}};
  const std::vector<int64_t> strides = t->strides();
  const void* data = memory.at(t->uid());
  v.data.resize(static_cast<size_t>(product(v.extents)));
  for (size_t i = 0; i < v.data.size(); ++i)
    v.data[i] = load_element(data, offset_of(static_cast<int64_t>(i), v.extents, strides), element_of(*t));
  return v;
}

void store(const Descriptor& t, Values v, const Memory& memory, Intermediates& known) {
  if (t.is_virtual()) {
    known[t.uid()] = std::move(v);
    return;
  }
  const std::vector<int64_t> strides = t.strides();
  for (size_t i = 0; i < v.data.size(); ++i)
    store_element(memory.at(t.uid()), offset_of(static_cast<int64_t>(i), v.extents, strides), element_of(t), v.data[i]);
}

float compute(int mode, float x, float b) {
  switch (mode) {
    case kRelu:
      return x > 0 ? x : 0;
    case kMul:
      return x * b;
    case kDiv:
      return x / b;
    case kSub:
      return x - b;
    case kExp:
      return std::exp(x);
    case kLog:
      return std::log(x);
    default:
      return x + b;
  }
}

Values pointwise(int mode, Values x, const Values& b) {
  std::vector<int64_t> strides(b.extents.size());  // 0 if b is broadcast
  int64_t stride = 1;
  for (size_t d = strides.size(); d-- > 0; stride *= b.extents[d]) strides[d] = b.extents[d] == 1 ? 0 : stride;
  for (size_t i = 0; i < x.data.size(); ++i) {
    const int64_t at = b.data.empty() ? 0 : offset_of(static_cast<int64_t>(i), x.extents, strides);
    x.data[i] = compute(mode, x.data[i], b.data.empty() ? 0 : b.data[static_cast<size_t>(at)]);
  }
  return x;
}

// A reduction along the last axis.
Values reduce(int mode, const Values& x) {
  Values y{x.extents, {}};
  y.extents.back() = 1;
  const int64_t row = x.extents.back();
  for (size_t i = 0; i < x.data.size(); i += static_cast<size_t>(row)) {
    float value = x.data[i];
    for (int64_t k = 1; k < row; ++k) {
      const float next = x.data[i + static_cast<size_t>(k)];
      value = mode == kMax ? std::max(value, next) : value + next;
    }
    y.data.push_back(value);
  }
  return y;
}

}  // namespace

int64_t product(const std::vector<int64_t>& values) {
  int64_t all = 1;
  for (const int64_t v : values) all *= v;
  return all;
}

Program::Program(const Descriptor& graph) {
  for (const Descriptor* o : graph.list<const Descriptor*>(801)) {
    Operation made{o->type, 0, {}, nullptr, nullptr};
    if (o->type == kConvolutionForward) {
      made.inputs = {o->at(704), o->at(703)};
      made.result = o->at(705);
      made.how = o->at(702);
    } else if (o->type == kAttentionForward) {
      made.inputs = {o->at(2800), o->at(2801), o->at(2802), o->at(2805)};
      made.result = o->at(2803);
    } else if (o->type == kMatmulOperation) {
      made.inputs = {o->at(1520), o->at(1521)};
      made.result = o->at(1522);
    } else if (o->type == kReductionOperation) {
      made.mode = o->at(1612)->one<int>(1600);
      made.inputs = {o->at(1610)};
      made.result = o->at(1611);
    } else {
      made.mode = o->at(750)->one<int>(0);
      made.inputs = {o->at(751), o->at(752)};
      made.result = o->at(753);
    }
    for (const Descriptor*& d : made.inputs) d = keep(d);
    made.result = keep(made.result);
    made.how = keep(made.how);
    operations.push_back(std::move(made));
  }
}

const Descriptor* Program::keep(const Descriptor* d) {
  if (!d) return nullptr;
  auto& copy = copies_[d];
  if (!copy) copy = std::make_shared<Descriptor>(*d);
  return copy.get();
}

void run(const Program& program, const Memory& memory) {
  Intermediates known;
  for (const Program::Operation& o : program.operations) {
    std::vector<Values> in;
    for (const Descriptor* d : o.inputs) in.push_back(load(d, memory, known));
    Values out;
    switch (o.type) {
      case kConvolutionForward:
        out = convolve(in[0], in[1], o.result->extents(), *o.how);
        break;
      case kAttentionForward:
        out = attend(in[0], in[1], in[2], in[3].data.empty() ? 1 : in[3].data[0]);
        break;
      case kMatmulOperation:
        out = multiply(in[0], in[1]);
        break;
      case kReductionOperation:
        out = reduce(o.mode, in[0]);
        break;
      default:
        out = pointwise(o.mode, std::move(in[0]), in[1]);
    }
    store(*o.result, std::move(out), memory, known);
  }
}

}  // namespace gart_sim::cudnn
