#include "runtime/cuda/libraries/library_call.h"

#include <bit>

#include "artifact_schema/call_layout.h"
#include "gart/tensor.h"
#include "runtime/errors.h"
#include "runtime/step_errors.h"

namespace gart::cuda {
namespace {

constexpr uint64_t kBaseAlignment = 64;
constexpr int64_t kMostPad = 1 << 20, kMostExtent = int64_t{1} << 40;

size_t element_bytes(fb::DType dtype) { return size_of(static_cast<DType>(dtype)); }

CallTensor read_tensor(const fb::CallView& view, const int64_t*& numbers) {
  CallTensor tensor{view.dtype(), *numbers++, {}, {}};
  tensor.extents.assign(numbers, numbers + view.rank());
  numbers += view.rank();
  tensor.strides.assign(numbers, numbers + view.rank());
  numbers += view.rank();
  return tensor;
}

/// Checks that extents are from 1 to kMostExtent and that all elements are inside the buffer. Also false if the numbers
/// overflow.
bool lies_within(const CallTensor& t, int64_t bytes) {
  int64_t last = t.offset, reach = 0;
  if (t.offset < 0) return false;
  for (size_t d = 0; d < t.extents.size(); ++d) {
    if (t.extents[d] < 1 || t.extents[d] > kMostExtent || t.strides[d] < 0) return false;
    if (__builtin_mul_overflow(t.extents[d] - 1, t.strides[d], &reach) || __builtin_add_overflow(last, reach, &last))
      return false;
  }
  return last < bytes / int64_t(element_bytes(t.dtype));
}

void expect(const CallProblem& p, bool right, const char* what) {
  if (!right)
    fail(ErrorCode::invalid_artifact, p.step, " calls a library for tensors whose ", what, " do not fit together");
}

/// Checks every tensor after the result: a bias along `channels`, an addend with the extents `like`.
void check_extras(const CallProblem& p, int64_t channels, const std::vector<int64_t>& like) {
  if (p.bias() != nullptr) expect(p, p.bias()->extents[0] == channels, "biases");
  if (p.addend() != nullptr) expect(p, p.addend()->extents == like, "addends");
}

void check_matmul(const CallProblem& p) {
  const auto &a = p.tensors[0].extents, &b = p.tensors[1].extents, &d = p.tensors[2].extents;
  expect(p, a[0] == d[0] && b[0] == d[0], "batches");
  expect(p, a[1] == d[1] && a[2] == b[1] && b[2] == d[2], "rows and columns");
  check_extras(p, d[2], d);
}

void check_convolution(const CallProblem& p) {
  const auto &x = p.tensors[0].extents, &w = p.tensors[1].extents, &y = p.tensors[2].extents;
  const int64_t groups = p.call->groups();
  expect(p, x[0] == y[0], "batches");
  expect(p, x[1] % groups == 0 && w[1] == x[1] / groups && w[0] == y[1] && y[1] % groups == 0, "channels");
  for (uint32_t i = 0; i + 2 < x.size(); ++i) {
    const int64_t window = (w[i + 2] - 1) * p.call->dilations()->Get(i) + 1;
    const int64_t after =
        (y[i + 2] - 1) * p.call->strides()->Get(i) + window - int64_t{p.call->pads()->Get(i)} - x[i + 2];
    expect(p, after <= kMostPad, "windows");
  }
  check_extras(p, y[1], y);
}

void check_attention(const CallProblem& p) {
  const auto &q = p.tensors[0].extents, &k = p.tensors[1].extents, &v = p.tensors[2].extents, &o = p.tensors[3].extents;
  expect(p, q[0] == o[0] && k[0] == o[0] && v[0] == o[0], "batches");
  expect(p, q[1] == o[1] && k[1] == v[1] && q[1] % k[1] == 0, "heads");
  expect(p, q[2] == o[2] && q[3] == k[3] && k[2] == v[2] && v[3] == o[3], "rows and columns");
  check_extras(p, 0, {q[0], q[1], q[2], k[2]});
}

}  // namespace

uint32_t CallTensor::alignment() const {
  const uint64_t bytes = static_cast<uint64_t>(offset) * element_bytes(dtype) | kBaseAlignment;
  return uint32_t{1} << std::countr_zero(bytes);
}

size_t CallProblem::result() const { return call_result(*call); }

std::span<const int64_t> CallProblem::algorithm(int sm, uint64_t version) const {
  const fb::Algorithm* known = call->algorithm();
  if (known == nullptr || known->sm() != uint32_t(sm) || known->version() != version) return {};
  return span_of(known->config());
}

std::vector<int64_t> CallProblem::key() const {
  const auto number = [](float value) { return int64_t{std::bit_cast<int32_t>(value)}; };
  std::vector<int64_t> key = {call->library(),
                              int64_t(call->operation()),
                              call->bias(),
                              call->addend(),
                              int64_t(call->precision()),
                              int64_t(call->activation()),
                              number(call->scale()),
                              call->causal(),
                              call->groups(),
                              int64_t(call->workspace())};
  for (const auto& window : {span_of(call->strides()), span_of(call->dilations()), span_of(call->pads())}) {
    key.insert(key.end(), window.begin(), window.end());
  }
  for (const CallTensor& tensor : tensors) {
    key.insert(key.end(), {int64_t(tensor.dtype), int64_t{tensor.alignment()}});
    key.insert(key.end(), tensor.extents.begin(), tensor.extents.end());
    key.insert(key.end(), tensor.strides.begin(), tensor.strides.end());
  }
  return key;
}

CallProblem make_call_problem(const Plan& plan, const BoundPlan& bound, uint32_t index) {
  const PlanStep& step = plan.steps[index];
  CallProblem problem{step.manifest->call(), steps_text(plan, index, index + 1), {}};
  const int64_t* numbers = bound.step(index).params;
  for (uint32_t i = 0; i < step.operands; ++i) {
    problem.tensors.push_back(read_tensor(*problem.call->views()->Get(i), numbers));
    const int64_t bytes = bound.bytes(plan.operands[step.first_operand + i]);
    if (!lies_within(problem.tensors.back(), bytes)) {
      fail(ErrorCode::invalid_artifact, problem.step, " calls a library with operand ", i,
           ", which does not lie within its ", bytes, " bytes");
    }
  }
  switch (problem.call->operation()) {
    case fb::Operation::matmul:
      check_matmul(problem);
      break;
    case fb::Operation::convolution:
      check_convolution(problem);
      break;
    case fb::Operation::attention:
      check_attention(problem);
      break;
  }
  return problem;
}

}  // namespace gart::cuda
