// Attention in the simulated cuDNN: the accepted graphs, and their values.
#include <algorithm>
#include <cmath>

#include "tests/cuda/sim/libraries/cudnn_program.h"

namespace gart_sim::cudnn {
namespace {

constexpr int kQ = 2800, kK = 2801, kV = 2802, kO = 2803, kScale = 2805;

bool has_16_byte_lines(const Descriptor& t) {
  const auto strides = t.strides();
  if (strides[3] != 1 || t.one<int64_t>(900) % 16 != 0) return false;
  return std::all_of(strides.begin(), strides.begin() + 3, [](int64_t stride) { return stride % 8 == 0; });
}

}  // namespace

int check_attention(const Descriptor& d) {
  if (!d.has({kQ, kK, kV, kO})) return refuse(kBadParam, "an attention without all its tensors");
  const auto q = d.at(kQ)->extents(), k = d.at(kK)->extents(), v = d.at(kV)->extents(), o = d.at(kO)->extents();
  for (const int name : {kQ, kK, kV, kO}) {
    const Descriptor& t = *d.at(name);
    if (t.extents().size() != 4) return refuse(kBadParam, "a tensor of an attention that has not four dimensions");
    if (t.element_type() == kF32 || t.element_type() != d.at(kQ)->element_type())
      return refuse(kNotSupported, "an attention of other numbers than 16-bit ones of one type");
    if (t.extents()[3] % 8 != 0 || t.extents()[3] > 256 || !has_16_byte_lines(t))
      return refuse(kNotSupported, "heads of an attention that cannot be read by 16 bytes");
  }
  if (q[0] != k[0] || q[0] != v[0] || q[0] != o[0] || q[1] != o[1] || q[1] % k[1] != 0 || q[1] % v[1] != 0)
    return refuse(kBadParam, "batches or heads of an attention");
  if (q[2] != o[2] || k[2] != v[2] || q[3] != k[3] || v[3] != o[3]) return refuse(kBadParam, "extents of an attention");
  const Descriptor* scale = d.at(kScale);
  if (scale && (product(scale->extents()) != 1 || scale->element_type() != kF32))
    return refuse(kBadParam, "the scale of an attention");
  return kSuccess;
}

// The pattern that cuDNN 9.19 recognizes as attention. It has two products, and between them an optional scale, an
// optional added tensor, and a softmax along the keys. The softmax may also return the logarithms of its rows, for
// training.
int check_attention_graph(const std::vector<const Descriptor*>& operations) {
  size_t next = 0;
  const Descriptor* last = nullptr;  // the result so far
  const auto is = [&](int type, int mode) {
    if (next >= operations.size()) return false;
    const Descriptor& o = *operations[next];
    if (o.type != type) return false;
    if (type == kPointwiseOperation) return o.at(750)->one<int>(0) == mode;
    return type != kReductionOperation || o.at(1612)->one<int>(1600) == mode;
  };
  const auto take = [&](int type, int mode) {
    if (!is(type, mode)) return false;
    const int result = type == kMatmulOperation ? 1522 : type == kReductionOperation ? 1611 : 753;
    last = operations[next++]->at(result);
    return true;
  };
  const Descriptor &q = *operations[0]->at(1520), &k = *operations[0]->at(1521);
  if (q.element_type() == kF32 || k.element_type() != q.element_type() || k.strides()[2] != 1 || !has_16_byte_lines(q))
    return refuse(kNotSupported, "other queries and keys than 16-bit ones, lines along their heads");
  bool known = take(kMatmulOperation, 0);
  if (is(kPointwiseOperation, kMul))
    known = known && operations[next]->at(752)->is_by_value() && take(kPointwiseOperation, kMul);
  if (is(kPointwiseOperation, kAdd))
    known = known && !operations[next]->at(752)->is_virtual() && take(kPointwiseOperation, kAdd);
  known = known && take(kReductionOperation, kMax) && take(kPointwiseOperation, kSub) &&
          take(kPointwiseOperation, kExp) && take(kReductionOperation, kSum) && take(kPointwiseOperation, kLog) &&
          take(kPointwiseOperation, kAdd) && take(kPointwiseOperation, kDiv) &&
          last->element_type() == q.element_type() && take(kMatmulOperation, 0) && next == operations.size() &&
          last->element_type() == q.element_type();
  return known ? int{kSuccess} : refuse(kNotSupported, "products that are no attention");
}

// Several heads of `a` may share one head of `b`.
Values multiply(const Values& a, const Values& b) {
  const int64_t heads = a.extents[1], rows = a.extents[2], depth = a.extents[3], columns = b.extents[3];
  Values c{{a.extents[0], heads, rows, columns}, {}};
  for (int64_t line = 0; line < a.extents[0] * heads * rows; ++line) {
    const int64_t batch = line / rows / heads, head = line / rows % heads,
                  of_b = batch * b.extents[1] + head / (heads / b.extents[1]);
    for (int64_t column = 0; column < columns; ++column) {
      double sum = 0;
      for (int64_t k = 0; k < depth; ++k)
        sum += double{a.data[static_cast<size_t>(line * depth + k)]} *
               b.data[static_cast<size_t>((of_b * depth + k) * columns + column)];
      c.data.push_back(static_cast<float>(sum));
    }
  }
  return c;
}

// Probabilities are not rounded: the rounding of 16-bit engines is within the tests' tolerance for such numbers.
Values attend(const Values& q, const Values& k, const Values& v, float scale) {
  const int64_t heads = q.extents[1], rows = q.extents[2], keys = k.extents[2], depth = q.extents[3],
                columns = v.extents[3];
  Values o{{q.extents[0], heads, rows, columns},
           std::vector<float>(static_cast<size_t>(q.extents[0] * heads * rows * columns))};
  std::vector<double> p(static_cast<size_t>(keys));
  for (int64_t line = 0; line < q.extents[0] * heads * rows; ++line) {
    const int64_t batch = line / rows / heads, head = line / rows % heads;
    const int64_t of_k = batch * k.extents[1] + head / (heads / k.extents[1]),
                  of_v = batch * v.extents[1] + head / (heads / v.extents[1]);
    double largest = -INFINITY, sum = 0;
    for (int64_t t = 0; t < keys; ++t) {
      double score = 0;
      for (int64_t d = 0; d < depth; ++d)
        score += double{q.data[static_cast<size_t>(line * depth + d)]} *
                 k.data[static_cast<size_t>((of_k * keys + t) * depth + d)];
      p[static_cast<size_t>(t)] = score * scale;
      largest = std::max(largest, score * scale);
    }
    for (double& x : p) sum += x = std::exp(x - largest);
    for (int64_t c = 0; c < columns; ++c) {
      double value = 0;
      for (int64_t t = 0; t < keys; ++t)
        value += p[static_cast<size_t>(t)] / sum * v.data[static_cast<size_t>((of_v * keys + t) * columns + c)];
      o.data[static_cast<size_t>(line * columns + c)] = static_cast<float>(value);
    }
  }
  return o;
}

}  // namespace gart_sim::cudnn
