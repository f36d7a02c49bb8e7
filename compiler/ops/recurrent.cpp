// LSTM, GRU, RNN, and the quantised LSTM of com.microsoft. They have no lowering: expand_recurrent rewrites them as
// loops of plain operators.
#include "compiler/ops/recurrent.h"

#include <algorithm>
#include <cmath>

#include "compiler/ops/op_support.h"
#include "compiler/ops/ops.h"

namespace gcg {
namespace {

using namespace recurrent;

// ---- Inference ------------------------------------------------------------------------------------------------------

void require_shape(InferContext& c, int input, const Shape& expected, const std::string& what) {
  if (!c.has_input(input)) return;
  if (c.rank(input) != static_cast<int64_t>(expected.size()))
    c.fail(concat(what, " has rank ", c.rank(input), "; ", str(expected), " is needed"));
  for (size_t d = 0; d < expected.size(); ++d)
    c.require_equal(c.shape(input)[d], expected[d], concat("dimension ", d, " of ", what));
}

/// Checks the shape of W or R. `expected` is the shape of float weights; quantised weights are transposed.
void require_factor(InferContext& c, int input, Shape expected, const char* what) {
  const bool quantized = recurrent_params(c.node()).quantized;
  if (quantized) std::swap(expected[1], expected[2]);
  require_shape(c, input, expected, what);
  if (!quantized) return;
  const int scale = input == kW ? kWScale : kRScale;
  for (int i : {scale, scale + 1}) {
    Shape one_each = {expected[0]};
    if (c.rank(i) == 2) one_each.push_back(expected[2]);
    require_shape(c, i, one_each, i == scale ? concat(what, "'s scale") : concat(what, "'s zero point"));
  }
}

void infer_recurrent(InferContext& c) {
  const RecurrentParams params = recurrent_params(c.node());
  if (!is_float(c.dtype(kX))) c.fail("X must be of a float type");
  if (c.rank(kX) != 3) c.fail(concat("X has rank ", c.rank(kX), "; 3 is needed"));
  if (c.rank(kR) != 3) c.fail(concat("R has rank ", c.rank(kR), "; 3 is needed"));
  for (int i : {kW, kR, kB, kInitialH, kInitialC, kP})
    if (c.has_input(i) && c.dtype(i) != c.dtype(kX) && !(params.quantized && (i == kW || i == kR)))
      c.fail(concat("input ", i, " is not of X's type"));
  const Dim hidden = c.shape(kR)[params.quantized ? 1 : 2], directions(params.directions()), gates(params.gates);
  if (c.node().has_attribute("hidden_size"))
    c.require_equal(hidden, Dim(c.node().int_attribute("hidden_size", 0)), "hidden_size and R");
  const Dim steps = c.shape(kX)[params.batch_first ? 1 : 0], batch = c.shape(kX)[params.batch_first ? 0 : 1];
  const Shape state = params.batch_first ? Shape{batch, directions, hidden} : Shape{directions, batch, hidden};
  require_factor(c, kW, {directions, gates * hidden, c.shape(kX)[2]}, "W");
  require_factor(c, kR, {directions, gates * hidden, hidden}, "R");
  require_shape(c, kB, {directions, Dim(2) * gates * hidden}, "B");
  require_shape(c, kSequenceLens, {batch}, "sequence_lens");
  require_shape(c, kInitialH, state, "initial_h");
  require_shape(c, kInitialC, state, "initial_c");
  require_shape(c, kP, {directions, Dim(3) * hidden}, "P");
  c.set_output(0, c.dtype(kX),
               params.batch_first ? Shape{batch, steps, directions, hidden} : Shape{steps, directions, batch, hidden});
  c.set_output(1, c.dtype(kX), state);
  c.set_output(2, c.dtype(kX), state);
}

// ---- Reference ------------------------------------------------------------------------------------------------------

/// Quantises `values` to bytes as DynamicQuantizeLinear does, and returns the values that the bytes represent.
std::vector<double> as_quantized(std::vector<double> values) {
  double low = 0, high = 0;
  for (double v : values) low = std::min(low, v), high = std::max(high, v);
  const float scale = high > low ? static_cast<float>(high - low) / 255 : 1.0F / 255;
  const double zero = std::nearbyint(static_cast<float>(-low) / scale);
  for (double& v : values) {
    const double steps = std::nearbyint(static_cast<float>(v) / scale) + zero;
    v = (std::clamp(steps, 0.0, 255.0) - zero) * static_cast<double>(scale);
  }
  return values;
}

/// W or R.
class Factor {
 public:
  Factor(ReferenceContext& c, const RecurrentParams& params, int input, int scale)
      : values_(*c.input(input)),
        scale_(params.quantized ? c.input(scale) : nullptr),
        zero_(params.quantized ? c.input(scale + 1) : nullptr),
        columns_(values_.shape()[params.quantized ? 2 : 1]),
        of_(values_.shape()[params.quantized ? 1 : 2]) {}

  int64_t of() const { return of_; }
  /// The weight of element k in `column` of a direction's gates.
  double at(int64_t direction, int64_t column, int64_t k) const {
    if (scale_ == nullptr) return values_.at_double((direction * columns_ + column) * of_ + k);
    const auto own = [&](const Tensor& t) {
      return t.at_double(t.rank() == 2 ? direction * columns_ + column : direction);
    };
    return (values_.at_double((direction * of_ + k) * columns_ + column) - own(*zero_)) * own(*scale_);
  }

 private:
  const Tensor& values_;
  const Tensor *scale_, *zero_;
  int64_t columns_, of_;
};

/// One direction of one sequence of the batch, stepped in double.
class Cell {
 public:
  Cell(ReferenceContext& c, const RecurrentParams& params, int64_t direction)
      : c_(c),
        params_(params),
        d_(direction),
        w_(c, params, kW, kWScale),
        r_(c, params, kR, kRScale),
        hidden_(r_.of()) {}

  std::vector<double> h, cell;

  /// `before` is the previous h; a quantised LSTM rounds it to bytes first.
  void step(const std::vector<double>& x, const std::vector<double>& before) {
    if (params_.gates == 4) lstm(x, before);
    if (params_.gates == 3) gru(x);
    if (params_.gates == 1) rnn(x);
  }

 private:
  double bias(int64_t half, int64_t gate, int64_t j) const {
    const Tensor* b = c_.input(kB);
    return b == nullptr ? 0 : b->at_double(((d_ * 2 + half) * params_.gates + gate) * hidden_ + j);
  }
  double peephole(int64_t gate, int64_t j) const {
    const Tensor* p = c_.input_count() > kP ? c_.input(kP) : nullptr;
    return p == nullptr ? 0 : p->at_double((d_ * 3 + gate) * hidden_ + j);
  }
  double from(const Factor& factor, int64_t half, int64_t gate, int64_t j, const std::vector<double>& x) const {
    double sum = bias(half, gate, j);
    for (int64_t k = 0; k < factor.of(); ++k) sum += x[static_cast<size_t>(k)] * factor.at(d_, gate * hidden_ + j, k);
    return sum;
  }
  double from_x(int64_t gate, int64_t j, const std::vector<double>& x) const { return from(w_, 0, gate, j, x); }
  double from_h(int64_t gate, int64_t j, const std::vector<double>& state) const { return from(r_, 1, gate, j, state); }
  double gate(int64_t g, int64_t j, const std::vector<double>& x, const std::vector<double>& state) const {
    return from_x(g, j, x) + from_h(g, j, state);
  }
  double activate(size_t f, double x) const {
    return params_.activations[static_cast<size_t>(d_)][f](params_.clip ? std::clamp(x, -*params_.clip, *params_.clip)
                                                                        : x);
  }

  void rnn(const std::vector<double>& x) {
    const std::vector<double> before = h;
    for (size_t j = 0; j < h.size(); ++j) h[j] = activate(0, gate(0, static_cast<int64_t>(j), x, before));
  }

  void lstm(const std::vector<double>& x, const std::vector<double>& h_before) {
    for (size_t j = 0; j < h.size(); ++j) {
      const auto n = static_cast<int64_t>(j);
      const double c_before = cell[j];
      const double i = activate(0, gate(0, n, x, h_before) + peephole(0, n) * c_before);
      const double f = params_.input_forget ? 1 - i : activate(0, gate(2, n, x, h_before) + peephole(2, n) * c_before);
      cell[j] = f * c_before + i * activate(1, gate(3, n, x, h_before));
      const double o = activate(0, gate(1, n, x, h_before) + peephole(1, n) * cell[j]);
      h[j] = o * params_.activations[static_cast<size_t>(d_)][2](cell[j]);
    }
  }

  void gru(const std::vector<double>& x) {
    const std::vector<double> before = h;
    std::vector<double> reset(h.size()), reset_h(h.size());
    for (size_t j = 0; j < h.size(); ++j) {
      reset[j] = activate(0, gate(1, static_cast<int64_t>(j), x, before));
      reset_h[j] = reset[j] * before[j];
    }
    for (size_t j = 0; j < h.size(); ++j) {
      const auto n = static_cast<int64_t>(j);
      const double z = activate(0, gate(0, n, x, before));
      const double recurrent = params_.linear_before_reset ? reset[j] * from_h(2, n, before) : from_h(2, n, reset_h);
      h[j] = (1 - z) * activate(1, from_x(2, n, x) + recurrent) + z * before[j];
    }
  }

  ReferenceContext& c_;
  const RecurrentParams& params_;
  int64_t d_;
  Factor w_, r_;
  int64_t hidden_;
};

/// Positions in X, Y and the states, for either layout.
struct Positions {
  bool batch_first;
  int64_t steps, batch, directions, width, hidden;

  int64_t x(int64_t t, int64_t b) const { return (batch_first ? b * steps + t : t * batch + b) * width; }
  int64_t y(int64_t t, int64_t d, int64_t b) const {
    return (batch_first ? (b * steps + t) * directions + d : (t * directions + d) * batch + b) * hidden;
  }
  int64_t state(int64_t d, int64_t b) const { return (batch_first ? b * directions + d : d * batch + b) * hidden; }
};

std::vector<double> read(const Tensor* tensor, int64_t offset, int64_t count) {
  std::vector<double> values(static_cast<size_t>(count), 0.0);
  for (size_t i = 0; i < values.size() && tensor != nullptr; ++i)
    values[i] = tensor->at_double(offset + static_cast<int64_t>(i));
  return values;
}

void write(Tensor& tensor, int64_t offset, const std::vector<double>& values) {
  for (size_t i = 0; i < values.size(); ++i) tensor.set_double(offset + static_cast<int64_t>(i), values[i]);
}

std::vector<double> part(const std::vector<double>& of, int64_t from, int64_t count) {
  return {of.begin() + from, of.begin() + from + count};
}

/// h of all cells, concatenated.
std::vector<double> states(const std::vector<Cell>& cells) {
  std::vector<double> h;
  for (const Cell& cell : cells) h.insert(h.end(), cell.h.begin(), cell.h.end());
  return h;
}

std::vector<Tensor> reference_recurrent(ReferenceContext& c) {
  const RecurrentParams params = recurrent_params(c.node());
  const auto input = [&](int i) { return i < c.input_count() ? c.input(i) : nullptr; };
  const Tensor& x = *c.input(kX);
  const Positions at{params.batch_first,
                     x.shape()[params.batch_first ? 1 : 0],
                     x.shape()[params.batch_first ? 0 : 1],
                     params.directions(),
                     x.shape()[2],
                     Factor(c, params, kR, kRScale).of()};
  std::vector<int64_t> y_shape{at.steps, at.directions, at.batch, at.hidden},
      state_shape{at.directions, at.batch, at.hidden};
  if (params.batch_first) {
    y_shape = {at.batch, at.steps, at.directions, at.hidden};
    state_shape = {at.batch, at.directions, at.hidden};
  }
  Tensor y(x.dtype(), y_shape), y_h(x.dtype(), state_shape), y_c(x.dtype(), state_shape);
  const auto as_factor = [&](std::vector<double> v) { return params.quantized ? as_quantized(std::move(v)) : v; };
  const std::vector<double> of_x = as_factor(read(&x, 0, x.elements()));
  const Tensor* lengths = input(kSequenceLens);
  const auto length = [&](int64_t b) { return lengths == nullptr ? at.steps : lengths->at_int(b); };
  for (int64_t d = 0; d < at.directions; ++d) {
    std::vector<Cell> cells;
    for (int64_t b = 0; b < at.batch; ++b) {
      Cell& cell = cells.emplace_back(c, params, d);
      cell.h = read(input(kInitialH), at.state(d, b), at.hidden);
      cell.cell = read(params.gates == 4 ? input(kInitialC) : nullptr, at.state(d, b), at.hidden);
    }
    for (int64_t i = 0; i < at.steps; ++i) {
      const int64_t t = params.backward[static_cast<size_t>(d)] ? at.steps - 1 - i : i;
      const std::vector<double> before = as_factor(states(cells));
      for (int64_t b = 0; b < at.batch; ++b) {
        if (t >= length(b)) continue;
        Cell& cell = cells[static_cast<size_t>(b)];
        cell.step(part(of_x, at.x(t, b), at.width), part(before, b * at.hidden, at.hidden));
        write(y, at.y(t, d, b), cell.h);
      }
    }
    for (int64_t b = 0; b < at.batch; ++b) {
      write(y_h, at.state(d, b), cells[static_cast<size_t>(b)].h);
      write(y_c, at.state(d, b), cells[static_cast<size_t>(b)].cell);
    }
  }
  std::vector<Tensor> out{std::move(y), std::move(y_h)};
  if (params.gates == 4) out.push_back(std::move(y_c));
  return out;
}

}  // namespace

const OpDef op_GRU{
    .name = "GRU",
    .since = 7,
    .min_inputs = 3,
    .max_inputs = 6,
    .min_outputs = 0,
    .max_outputs = 2,
    .types = {Types::floats, Types::as_first, Types::as_first, Types::as_first, Types::integers, Types::as_first},
    .kind = OpKind::opaque,
    .infer = infer_recurrent,
    .reference = reference_recurrent};

const OpDef op_LSTM{
    .name = "LSTM",
    .since = 7,
    .min_inputs = 3,
    .max_inputs = 8,
    .min_outputs = 0,
    .max_outputs = 3,
    .types = {Types::floats, Types::as_first, Types::as_first, Types::as_first, Types::integers, Types::as_first},
    .kind = OpKind::opaque,
    .infer = infer_recurrent,
    .reference = reference_recurrent};

/// This LSTM has 8-bit weights whose columns are stored one after the other.
const OpDef op_microsoft_DynamicQuantizeLSTM{
    .name = "DynamicQuantizeLSTM",
    .domain = "com.microsoft",
    .since = 1,
    .min_inputs = 12,
    .max_inputs = 12,
    .min_outputs = 0,
    .max_outputs = 3,
    .types = {Types::f32, Types::bytes, Types::bytes, Types::as_first, Types::integers, Types::as_first,
              Types::as_first, Types::as_first, Types::f32, Types::bytes, Types::f32, Types::bytes},
    .kind = OpKind::opaque,
    .infer = infer_recurrent,
    .reference = reference_recurrent};

const OpDef op_RNN{
    .name = "RNN",
    .since = 7,
    .min_inputs = 3,
    .max_inputs = 6,
    .min_outputs = 0,
    .max_outputs = 2,
    .types = {Types::floats, Types::as_first, Types::as_first, Types::as_first, Types::integers, Types::as_first},
    .kind = OpKind::opaque,
    .infer = infer_recurrent,
    .reference = reference_recurrent};

}  // namespace gcg
