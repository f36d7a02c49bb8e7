// LSTM, GRU, RNN. They have no lowering: expand_recurrent makes loops of plain operators of them.
#include "compiler/ops/recurrent.h"

#include <algorithm>

#include "compiler/ops/op_support.h"
#include "compiler/ops/ops.h"

namespace gcg {
namespace {

enum : int { kX, kW, kR, kB, kSequenceLens, kInitialH, kInitialC, kP };

// ---- Inference ------------------------------------------------------------------------------------------------------

void require_shape(InferContext& c, int input, const Shape& expected, const char* what) {
  if (!c.has_input(input)) return;
  if (c.rank(input) != static_cast<int64_t>(expected.size()))
    c.fail(concat(what, " has rank ", c.rank(input), "; ", str(expected), " is needed"));
  for (size_t d = 0; d < expected.size(); ++d)
    c.require_equal(c.shape(input)[d], expected[d], concat("dimension ", d, " of ", what));
}

void infer_recurrent(InferContext& c) {
  const RecurrentForm form = recurrent_form(c.node());
  if (!is_float(c.dtype(kX))) c.fail("X must be of a float type");
  if (c.rank(kX) != 3) c.fail(concat("X has rank ", c.rank(kX), "; 3 is needed"));
  if (c.rank(kR) != 3) c.fail(concat("R has rank ", c.rank(kR), "; 3 is needed"));
  for (int i : {kW, kR, kB, kInitialH, kInitialC, kP})
    if (c.has_input(i) && c.dtype(i) != c.dtype(kX)) c.fail(concat("input ", i, " is not of X's type"));
  const Dim hidden = c.shape(kR)[2], directions(form.directions()), gates(form.gates);
  if (c.node().has_attribute("hidden_size"))
    c.require_equal(hidden, Dim(c.node().int_attribute("hidden_size", 0)), "hidden_size and R");
  const Dim steps = c.shape(kX)[form.batch_first ? 1 : 0], batch = c.shape(kX)[form.batch_first ? 0 : 1];
  const Shape state = form.batch_first ? Shape{batch, directions, hidden} : Shape{directions, batch, hidden};
  require_shape(c, kW, {directions, gates * hidden, c.shape(kX)[2]}, "W");
  require_shape(c, kR, {directions, gates * hidden, hidden}, "R");
  require_shape(c, kB, {directions, Dim(2) * gates * hidden}, "B");
  require_shape(c, kSequenceLens, {batch}, "sequence_lens");
  require_shape(c, kInitialH, state, "initial_h");
  require_shape(c, kInitialC, state, "initial_c");
  require_shape(c, kP, {directions, Dim(3) * hidden}, "P");
  c.set_output(0, c.dtype(kX),
               form.batch_first ? Shape{batch, steps, directions, hidden} : Shape{steps, directions, batch, hidden});
  c.set_output(1, c.dtype(kX), state);
  c.set_output(2, c.dtype(kX), state);
}

// ---- Reference ------------------------------------------------------------------------------------------------------

/// One direction of one sequence of the batch, stepped in double.
class Cell {
 public:
  Cell(ReferenceContext& c, const RecurrentForm& form, int64_t direction)
      : c_(c), form_(form), d_(direction), hidden_(c.input(kR)->shape()[2]), width_(c.input(kW)->shape()[2]) {}

  std::vector<double> h, cell;

  void step(const std::vector<double>& x) {
    if (form_.gates == 4) lstm(x);
    if (form_.gates == 3) gru(x);
    if (form_.gates == 1) rnn(x);
  }

 private:
  double bias(int64_t half, int64_t gate, int64_t j) const {
    const Tensor* b = c_.input(kB);
    return b == nullptr ? 0 : b->at_double(((d_ * 2 + half) * form_.gates + gate) * hidden_ + j);
  }
  double peephole(int64_t gate, int64_t j) const {
    const Tensor* p = c_.input_count() > kP ? c_.input(kP) : nullptr;
    return p == nullptr ? 0 : p->at_double((d_ * 3 + gate) * hidden_ + j);
  }
  double from_x(int64_t gate, int64_t j, const std::vector<double>& x) const {
    double sum = bias(0, gate, j);
    for (int64_t k = 0; k < width_; ++k)
      sum +=
          x[static_cast<size_t>(k)] * c_.input(kW)->at_double(((d_ * form_.gates + gate) * hidden_ + j) * width_ + k);
    return sum;
  }
  double from_h(int64_t gate, int64_t j, const std::vector<double>& state) const {
    double sum = bias(1, gate, j);
    for (int64_t k = 0; k < hidden_; ++k)
      sum += state[static_cast<size_t>(k)] *
             c_.input(kR)->at_double(((d_ * form_.gates + gate) * hidden_ + j) * hidden_ + k);
    return sum;
  }
  double gate(int64_t g, int64_t j, const std::vector<double>& x, const std::vector<double>& state) const {
    return from_x(g, j, x) + from_h(g, j, state);
  }
  double activate(size_t f, double x) const {
    return form_.activations[static_cast<size_t>(d_)][f](form_.clip ? std::clamp(x, -*form_.clip, *form_.clip) : x);
  }

  void rnn(const std::vector<double>& x) {
    const std::vector<double> before = h;
    for (size_t j = 0; j < h.size(); ++j) h[j] = activate(0, gate(0, static_cast<int64_t>(j), x, before));
  }

  void lstm(const std::vector<double>& x) {
    const std::vector<double> h_before = h;
    for (size_t j = 0; j < h.size(); ++j) {
      const auto n = static_cast<int64_t>(j);
      const double c_before = cell[j];
      const double i = activate(0, gate(0, n, x, h_before) + peephole(0, n) * c_before);
      const double f = form_.input_forget ? 1 - i : activate(0, gate(2, n, x, h_before) + peephole(2, n) * c_before);
      cell[j] = f * c_before + i * activate(1, gate(3, n, x, h_before));
      const double o = activate(0, gate(1, n, x, h_before) + peephole(1, n) * cell[j]);
      h[j] = o * form_.activations[static_cast<size_t>(d_)][2](cell[j]);
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
      const double recurrent = form_.linear_before_reset ? reset[j] * from_h(2, n, before) : from_h(2, n, reset_h);
      h[j] = (1 - z) * activate(1, from_x(2, n, x) + recurrent) + z * before[j];
    }
  }

  ReferenceContext& c_;
  const RecurrentForm& form_;
  int64_t d_, hidden_, width_;
};

/// Places of X, Y and the states in either layout.
struct Places {
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

std::vector<Tensor> reference_recurrent(ReferenceContext& c) {
  const RecurrentForm form = recurrent_form(c.node());
  const auto input = [&](int i) { return i < c.input_count() ? c.input(i) : nullptr; };
  const Tensor &x = *c.input(kX), &r = *c.input(kR);
  const Places at{form.batch_first,
                  x.shape()[form.batch_first ? 1 : 0],
                  x.shape()[form.batch_first ? 0 : 1],
                  form.directions(),
                  x.shape()[2],
                  r.shape()[2]};
  std::vector<int64_t> y_shape{at.steps, at.directions, at.batch, at.hidden},
      state_shape{at.directions, at.batch, at.hidden};
  if (form.batch_first) {
    y_shape = {at.batch, at.steps, at.directions, at.hidden};
    state_shape = {at.batch, at.directions, at.hidden};
  }
  Tensor y(x.dtype(), y_shape), y_h(x.dtype(), state_shape), y_c(x.dtype(), state_shape);
  for (int64_t d = 0; d < at.directions; ++d)
    for (int64_t b = 0; b < at.batch; ++b) {
      Cell cell(c, form, d);
      cell.h = read(input(kInitialH), at.state(d, b), at.hidden);
      cell.cell = read(form.gates == 4 ? input(kInitialC) : nullptr, at.state(d, b), at.hidden);
      const Tensor* lengths = input(kSequenceLens);
      const int64_t steps = lengths == nullptr ? at.steps : std::clamp<int64_t>(lengths->at_int(b), 0, at.steps);
      for (int64_t i = 0; i < steps; ++i) {
        const int64_t t = form.backward[static_cast<size_t>(d)] ? steps - 1 - i : i;
        cell.step(read(&x, at.x(t, b), at.width));
        write(y, at.y(t, d, b), cell.h);
      }
      write(y_h, at.state(d, b), cell.h);
      write(y_c, at.state(d, b), cell.cell);
    }
  std::vector<Tensor> out{std::move(y), std::move(y_h)};
  if (form.gates == 4) out.push_back(std::move(y_c));
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
