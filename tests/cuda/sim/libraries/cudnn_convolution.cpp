// Convolutions in the simulated cuDNN: the accepted graphs, and their values.
#include "tests/cuda/sim/libraries/cudnn_program.h"

namespace gart_sim::cudnn {
namespace {

// Engines accept only one memory layout, as the real ones do.
bool is_channels_last(const Descriptor& t) { return t.extents()[1] > 1 && t.strides()[1] == 1; }

/// Channels before positions, or after them.
bool is_dense(const Descriptor& t, bool channels_last) {
  const auto extents = t.extents(), strides = t.strides();
  std::vector<size_t> order = {0};
  for (size_t d = 2; d < extents.size(); ++d) order.push_back(d);
  order.insert(channels_last ? order.end() : order.begin() + 1, 1);
  int64_t stride = 1;
  for (size_t k = order.size(); k-- > 0; stride *= extents[order[k]])
    if (extents[order[k]] > 1 && strides[order[k]] != stride) return false;
  return true;
}

/// True if input, weights and result have the same layout.
bool is_of_one_order(const Descriptor& convolution) {
  const bool last = is_channels_last(*convolution.at(704));
  const Descriptor& y = *convolution.at(705);
  return is_dense(*convolution.at(703), last) && (y.is_virtual() || y.extents()[1] == 1 || is_channels_last(y) == last);
}

bool is_bias(const Descriptor& b) {
  const auto extents = b.extents();
  for (size_t d = 0; d < extents.size(); ++d) {
    if (d != 1 && extents[d] != 1) return false;
  }
  return true;
}

}  // namespace

// out = (in + pads - window) / stride + 1, which the library requires exactly.
int check_convolution(const Descriptor& d) {
  if (!d.has({700, 701, 702, 703, 704, 705})) return refuse(kBadParam, "a convolution without all its parts");
  const auto x = d.at(704)->extents(), w = d.at(703)->extents(), y = d.at(705)->extents();
  const Descriptor& how = *d.at(702);
  const auto dilations = how.list<int64_t>(102), steps = how.list<int64_t>(103), after = how.list<int64_t>(104),
             before = how.list<int64_t>(105);
  const size_t spatial = static_cast<size_t>(how.one<int64_t>(106));
  if (x.size() != spatial + 2 || w.size() != x.size() || y.size() != x.size() || spatial < 2)
    return refuse(kBadParam, "ranks of a convolution");
  if (x[0] != y[0] || w[0] != y[1] || x[1] % w[1] != 0 || w[0] % (x[1] / w[1]) != 0)
    return refuse(kBadParam, "channels of a convolution");
  for (size_t i = 0; i < spatial; ++i) {
    const int64_t window = (w[i + 2] - 1) * dilations[i] + 1;
    if ((x[i + 2] + before[i] + after[i] - window) / steps[i] + 1 != y[i + 2])
      return refuse(kBadParam, "extents of a convolution");
  }
  return kSuccess;
}

// The graphs for which cuDNN 9.19 has engines if channels come before positions: a convolution alone, or followed by an
// optional addend, a bias and an optional activation. All tensors have one type, and intermediate values are f32.
int check_convolution_graph(const std::vector<const Descriptor*>& operations) {
  const int type = operations[0]->at(704)->element_type();
  if (!is_of_one_order(*operations[0]) || operations[0]->at(703)->element_type() != type)
    return refuse(kNotSupported, "weights in another order, or of another type, than activations");
  enum { none, addend, bias, activation } last = none;
  for (size_t i = 1; i < operations.size(); ++i) {
    const Descriptor &o = *operations[i], &x = *o.at(751);
    const bool is_relu = o.at(750)->one<int>(0) == kRelu;
    if (!x.is_virtual() || x.element_type() != kF32) return refuse(kNotSupported, "sums that are not f32");
    if (!is_relu && o.at(752)->element_type() != type) return refuse(kNotSupported, "an addition of another type");
    const auto now = is_relu ? activation : is_bias(*o.at(752)) ? bias : addend;
    if (now <= last) return refuse(kNotSupported, "operations in another order");
    if (now == activation && last != bias) return refuse(kNotSupported, "an activation without a bias");
    last = now;
  }
  return last == addend ? refuse(kNotSupported, "an addend without a bias") : int{kSuccess};
}

Values convolve(const Values& x, const Values& w, const std::vector<int64_t>& out, const Descriptor& how) {
  const std::vector<int64_t> dilations = how.list<int64_t>(102), steps = how.list<int64_t>(103),
                             pads = how.list<int64_t>(105);
  const int64_t depth = w.extents[1], per_group = out[1] / (x.extents[1] / depth);
  const std::vector<int64_t> window(w.extents.begin() + 2, w.extents.end());
  Values y{out, std::vector<float>(static_cast<size_t>(product(out)))};
  for (size_t i = 0; i < y.data.size(); ++i) {
    std::vector<int64_t> at(out.size());
    for (size_t d = out.size(), rest = i; d-- > 0; rest /= static_cast<size_t>(out[d])) {
      at[d] = static_cast<int64_t>(rest) % out[d];
    }
    double sum = 0;
    for (int64_t tap = 0; tap < product(window); ++tap) {
      int64_t place = 0, rest = tap, scale = 1;
      bool inside = true;
      for (size_t d = window.size(); d-- > 0; rest /= window[d]) {
        const int64_t p = at[d + 2] * steps[d] - pads[d] + rest % window[d] * dilations[d];
        inside = inside && p >= 0 && p < x.extents[d + 2];
        place += p * scale;
        scale *= x.extents[d + 2];
      }
      if (!inside) continue;
      for (int64_t c = 0; c < depth; ++c) {
        const int64_t channel = at[1] / per_group * depth + c;
        sum += double{x.data[static_cast<size_t>((at[0] * x.extents[1] + channel) * scale + place)]} *
               w.data[static_cast<size_t>((at[1] * depth + c) * product(window) + tap)];
      }
    }
    y.data[i] = static_cast<float>(sum);
  }
  return y;
}

}  // namespace gart_sim::cudnn
