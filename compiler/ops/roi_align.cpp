// RoiAlign: cuts regions out of x[N, C, H, W] and resizes them to one size. Every cell of a region is the mean (or the
// largest) of samples on an even grid, each interpolated between four elements. Regions are rows (x1, y1, x2, y2).
#include <cmath>

#include "compiler/ops/movement.h"
#include "compiler/ops/ops.h"
#include "compiler/ops/pointwise.h"
#include "compiler/ops/program_builder.h"
#include "compiler/ops/sampling.h"

namespace gcg {
namespace {

enum : int { kX, kRois, kBatchIndices };

struct RoiParams {
  int64_t out[2];   // rows and columns of cells
  int64_t samples;  // samples along each side of a cell; 0: about one per element of x
  double scale, shift;
  bool averages, keeps_small;

  explicit RoiParams(const Node& node)
      : out{node.int_attribute("output_height", 1), node.int_attribute("output_width", 1)},
        samples(node.int_attribute("sampling_ratio", 0)),
        scale(node.float_attribute("spatial_scale", 1)) {
    const std::string mode = node.string_attribute("mode", "avg");
    const std::string how = node.string_attribute("coordinate_transformation_mode", "half_pixel");
    if (mode != "avg" && mode != "max")
      fail_node(node, concat("attribute mode is '", mode, "', it must be 'avg' or 'max'"));
    if (how != "half_pixel" && how != "output_half_pixel")
      fail_node(node, concat("attribute coordinate_transformation_mode is '", how,
                             "', it must be 'half_pixel' or 'output_half_pixel'"));
    if (out[0] < 1 || out[1] < 1 || samples < 0)
      fail_node(node, concat("output_height ", out[0], ", output_width ", out[1], " and sampling_ratio ", samples,
                             " must be at least 1, 1 and 0"));
    averages = mode == "avg";
    keeps_small = how == "half_pixel";
    shift = keeps_small ? 0.5 : 0;
  }
};

/// Opset 10 supported only 'output_half_pixel'.
void upgrade_roi_align(UpgradeContext& ctx) {
  if (ctx.version < 16) ctx.node.attributes["coordinate_transformation_mode"] = std::string("output_half_pixel");
}

void infer_roi_align(InferContext& ctx) {
  const RoiParams params(ctx.node());
  if (ctx.rank(kX) != 4 || ctx.rank(kRois) != 2 || ctx.rank(kBatchIndices) != 1)
    ctx.fail("the inputs must be X [N, C, H, W], rois [R, 4] and batch_indices [R]");
  ctx.require_equal(ctx.shape(kRois)[1], 4, "columns of rois");
  const Dim rois =
      ctx.require_equal(ctx.shape(kRois)[0], ctx.shape(kBatchIndices)[0], "rows of rois and batch_indices");
  if (params.samples == 0)
    for (const char* side : {"samples_down", "samples_across"}) ctx.fresh_symbol(side);
  ctx.set_output(0, ctx.dtype(kX), {rois, ctx.shape(kX)[1], params.out[0], params.out[1]});
}

/// A region along one side. Side 0 is its height, side 1 its width.
struct Side {
  Expr start, cell;  // in elements of x
  Expr samples;      // per cell, i64
};

Side side_of(LowerContext& ctx, const RoiParams& params, const Expr& roi, int side) {
  const auto corner = [&](int64_t column) {
    const Expr at = arithmetic_input(ctx, kRois, {roi, index(column)});
    return at * number(at->dtype, params.scale) - number(at->dtype, params.shift);
  };
  const Expr start = corner(1 - side);
  Expr size = corner(3 - side) - start;
  if (!params.keeps_small) size = binary(BinaryOp::max, size, number(size->dtype, 1));
  const Expr cell = binary(BinaryOp::div, size, number(size->dtype, static_cast<double>(params.out[side])));
  const Expr adapted = binary(BinaryOp::max, cast(DType::i64, unary(UnaryOp::ceil, cell)), index(0));
  return {start, cell, params.samples > 0 ? index(params.samples) : adapted};
}

/// The largest number of samples along one side that a cell of any region has.
Expr most_samples(LowerContext& ctx, int symbol) {
  const Axis roi = ctx.fresh_axis(ctx.input_shape(kRois)[0]);
  const Expr samples = side_of(ctx, RoiParams(ctx.node()), axis_ref(roi), symbol).samples;
  return binary(BinaryOp::max, reduce(ReduceOp::max, {roi}, samples), index(0));
}

/// A sample's position along one side. It is outside of x, or between two elements, at the fraction `t`.
struct Sample {
  Expr low, high, t, inside;
};

Sample sample_at(const Side& side, const Expr& cell, const Expr& sample, const Dim& size) {
  const auto as = [&](const Expr& i) { return cast(side.start->dtype, i); };
  const auto n = [&](double value) { return number(side.start->dtype, value); };
  const Expr within = binary(BinaryOp::div, (as(sample) + n(0.5)) * side.cell, as(side.samples));
  const Expr at = side.start + as(cell) * side.cell + within;
  const Expr inside = binary(BinaryOp::logical_and, binary(BinaryOp::greater_equal, at, n(-1)),
                             binary(BinaryOp::less_equal, at, as(extent(size))));
  const Expr clamped = binary(BinaryOp::max, binary(BinaryOp::min, at, as(extent(size - 1))), n(0));
  const Expr low = clamp_index(cast(DType::i64, clamped), size);
  return {low, clamp_index(low + index(1), size), clamped - as(low), inside};
}

Expr lower_roi_align(LowerContext& ctx, int output, const std::vector<Expr>& at) {
  const RoiParams params(ctx.node());
  const Shape& x = ctx.input_shape(kX);
  const std::vector<std::string> symbols = ctx.node().strings_attribute(kSymbolsAttribute);
  const Expr batch = clamp_index(integer_input(ctx, kBatchIndices, {at[0]}), x[0]);
  std::vector<Axis> axes;
  Sample samples[2];
  Expr taken, count;
  for (int s = 0; s < 2; ++s) {
    const Side side = side_of(ctx, params, at[0], s);
    const auto i = static_cast<size_t>(s);
    axes.push_back(ctx.fresh_axis(params.samples > 0 ? Dim(params.samples) : Dim::symbol(symbols.at(i))));
    samples[s] = sample_at(side, at[i + 2], axis_ref(axes.back()), x[i + 2]);
    if (params.samples == 0) taken = both(taken, binary(BinaryOp::less, axis_ref(axes.back()), side.samples));
    count = count ? count * side.samples : side.samples;
  }
  const auto corner = [&](bool down, bool across) {
    const Expr v = sample_of(x, arithmetic_input(ctx, kX,
                                                 {batch, at[1], down ? samples[0].high : samples[0].low,
                                                  across ? samples[1].high : samples[1].low}));
    const auto weight = [&](const Expr& t, bool high) { return cast(v->dtype, high ? t : number(t->dtype, 1) - t); };
    return weight(samples[0].t, down) * weight(samples[1].t, across) * v;
  };
  const auto combine = [&](const Expr& a, const Expr& b) {
    return params.averages ? a + b : binary(BinaryOp::max, a, b);
  };
  const Expr value =
      combine(combine(corner(false, false), corner(false, true)), combine(corner(true, false), corner(true, true)));
  const Expr zero = number(value->dtype, 0);
  const Expr sample = select(both(samples[0].inside, samples[1].inside), value, zero);
  const ReduceOp op = params.averages ? ReduceOp::sum : ReduceOp::max;
  const Expr all = reduce(op, axes, taken ? select(taken, sample, reduce_identity(op, value->dtype)) : sample);
  const Expr none = taken ? binary(BinaryOp::less, count, index(1)) : boolean(false);
  const Expr mean = binary(BinaryOp::div, all, cast(all->dtype, binary(BinaryOp::max, count, index(1))));
  return unless_empty(x, as_output(ctx, output, select(none, zero, params.averages ? mean : all)));
}

// ---- program

/// Cuts the cells of a region out of a block of channels. The positions and weights of its samples are the same in all
/// channels. The number of samples depends on the region alone.
class RoiProgram {
 public:
  explicit RoiProgram(ProgramBuilder& p)
      : p_(p),
        params_(p.node()),
        x_(p.input_shape(kX)),
        cells_(params_.out[0] * params_.out[1]),
        dtype_(arithmetic_dtype(p.input_dtype(kX))) {}

  void run() {
    const Expr roi = p_.parallel(p_.input_shape(kRois)[0]), block = p_.parallel(ceil_div(x_[1], kChannels));
    LowerContext& ctx = p_.context();
    const Expr batch = p_.let(clamp_index(integer_input(ctx, kBatchIndices, {roi}), x_[0]));
    const Table down = table(side_of(ctx, params_, roi, 0), 0), across = table(side_of(ctx, params_, roi, 1), 1);
    const ProgramBuilder::Array sums = p_.array(dtype_, cells_);
    const Expr first = p_.let(block * index(kChannels)),
               last = binary(BinaryOp::min, first + index(kChannels), extent(x_[1]));
    p_.loop(Range(first, last, x_[1]), [&](const Expr& channel) {
      const Expr none = params_.averages ? zero() : reduce_identity(ReduceOp::max, dtype_);
      each_cell([&](const Expr& cell) { p_.put(sums, cell, none); });
      const Expr plane = p_.let((batch * extent(x_[1]) + channel) * extent(x_[2] * x_[3]));
      const auto add = [&] { add_samples(sums, plane, down, across); };
      const Expr some = has_elements(x_);
      some ? p_.branch(some, add) : add();
      const Expr count = p_.let(down.samples * across.samples);
      each_cell([&](const Expr& cell) {
        Expr all = p_.at(sums, cell);
        if (params_.averages)
          all = binary(BinaryOp::div, all, cast(dtype_, binary(BinaryOp::max, count, index(1))));
        else
          all = select(both(some, binary(BinaryOp::greater, count, index(0))), all, zero());
        p_.store(0, {roi, channel, row_of(cell), column_of(cell)}, cast(p_.output_dtype(0), all));
      });
    });
  }

 private:
  static constexpr int64_t kChannels = 32;  // of a task

  /// The positions of the samples of all cells along one side. Element i * cells + cell is sample i of the cell.
  struct Table {
    Expr samples;
    Dim most;
    ProgramBuilder::Array low, high, t, inside;
  };

  Expr zero() const { return number(dtype_, 0); }
  Expr row_of(const Expr& cell) const { return binary(BinaryOp::floor_div, cell, index(params_.out[1])); }
  Expr column_of(const Expr& cell) const { return binary(BinaryOp::mod, cell, index(params_.out[1])); }
  void each_cell(const ProgramBuilder::IndexedBody& body) { p_.each(Range(cells_), body); }

  Table table(const Side& at, int side) {
    const Side stored{p_.let(at.start), p_.let(at.cell), p_.let(at.samples)};
    const std::vector<std::string> symbols = p_.node().strings_attribute(kSymbolsAttribute);
    const auto d = static_cast<size_t>(side);
    const Dim most = params_.samples > 0 ? Dim(params_.samples) : Dim::symbol(symbols.at(d)), elements = most * cells_;
    const Table table{stored.samples,
                      most,
                      p_.array(DType::i64, elements),
                      p_.array(DType::i64, elements),
                      p_.array(dtype_, elements),
                      p_.array(dtype_, elements)};
    const Expr stride = side == 0 ? extent(x_[3]) : index(1);
    p_.loop(Range(index(0), stored.samples, most), [&](const Expr& i) {
      each_cell([&](const Expr& cell) {
        const Sample s = sample_at(stored, side == 0 ? row_of(cell) : column_of(cell), i, x_[d + 2]);
        const Expr place = i * index(cells_) + cell;
        p_.put(table.low, place, s.low * stride);
        p_.put(table.high, place, s.high * stride);
        p_.put(table.t, place, cast(dtype_, s.t));
        p_.put(table.inside, place, select(s.inside, number(dtype_, 1), zero()));
      });
    });
    return table;
  }

  void add_samples(const ProgramBuilder::Array& sums, const Expr& plane, const Table& down, const Table& across) {
    p_.loop(Range(index(0), down.samples, down.most), [&](const Expr& i) {
      p_.loop(Range(index(0), across.samples, across.most), [&](const Expr& j) {
        each_cell([&](const Expr& cell) {
          const Expr y = i * index(cells_) + cell, x = j * index(cells_) + cell, sum = p_.at(sums, cell);
          const Expr inside = binary(BinaryOp::greater, p_.at(down.inside, y) * p_.at(across.inside, x), zero());
          const Expr sample = select(inside, interpolated(plane, down, across, y, x), zero());
          p_.put(sums, cell, combine(sum, sample));
        });
      });
    });
  }

  Expr combine(const Expr& a, const Expr& b) const { return params_.averages ? a + b : binary(BinaryOp::max, a, b); }

  Expr interpolated(const Expr& plane, const Table& down, const Table& across, const Expr& y, const Expr& x) const {
    const auto corner = [&](bool below, bool right) {
      const auto weight = [&](const Expr& t, bool far) { return far ? t : number(dtype_, 1) - t; };
      const Expr at = plane + p_.at(below ? down.high : down.low, y) + p_.at(right ? across.high : across.low, x);
      return weight(p_.at(down.t, y), below) * weight(p_.at(across.t, x), right) * cast(dtype_, p_.input(kX, {at}));
    };
    return combine(combine(corner(false, false), corner(false, true)),
                   combine(corner(true, false), corner(true, true)));
  }

  ProgramBuilder& p_;
  const RoiParams params_;
  const Shape x_;
  const int64_t cells_;
  const DType dtype_;
};

void program_roi_align(ProgramBuilder& p) { RoiProgram(p).run(); }

// ---- reference

/// The contribution of one sample: four products. In mode 'max' only the largest counts.
double reference_sample(const Tensor& x, int64_t plane, double row, double column, bool averages) {
  const int64_t height = x.shape()[2], width = x.shape()[3];
  if (row < -1 || row > static_cast<double>(height) || column < -1 || column > static_cast<double>(width)) return 0;
  const double r = std::fmin(std::fmax(row, 0), static_cast<double>(height - 1)),
               c = std::fmin(std::fmax(column, 0), static_cast<double>(width - 1));
  const auto r0 = static_cast<int64_t>(r), c0 = static_cast<int64_t>(c);
  double sum = 0, most = -std::numeric_limits<double>::infinity();
  for (int64_t i : {0, 1})
    for (int64_t j : {0, 1}) {
      const double down = r - static_cast<double>(r0), across = c - static_cast<double>(c0);
      const int64_t at = (plane * height + std::min(r0 + i, height - 1)) * width + std::min(c0 + j, width - 1);
      const double part = (i ? down : 1 - down) * (j ? across : 1 - across) * x.at_double(at);
      sum += part;
      most = std::fmax(most, part);
    }
  return averages ? sum : most;
}

std::vector<Tensor> reference_roi_align(ReferenceContext& ctx) {
  const RoiParams params(ctx.node());
  const Tensor &x = *ctx.input(kX), &rois = *ctx.input(kRois), &batches = *ctx.input(kBatchIndices);
  const std::vector<int64_t> shape = {rois.shape()[0], x.shape()[1], params.out[0], params.out[1]};
  Tensor y(x.dtype(), shape);
  for_each_index(shape, [&, o = int64_t{0}](const std::vector<int64_t>& at) mutable {
    double start[2], cell[2];
    int64_t count[2];
    for (int s = 0; s < 2; ++s) {
      start[s] = rois.at_double(at[0] * 4 + 1 - s) * params.scale - params.shift;
      double size = rois.at_double(at[0] * 4 + 3 - s) * params.scale - params.shift - start[s];
      if (!params.keeps_small) size = std::fmax(size, 1);
      cell[s] = size / static_cast<double>(params.out[s]);
      count[s] = params.samples > 0 ? params.samples : static_cast<int64_t>(std::ceil(cell[s]));
      start[s] += static_cast<double>(at[static_cast<size_t>(s + 2)]) * cell[s];
    }
    const int64_t plane = batches.at_int(at[0]) * x.shape()[1] + at[1];
    double sum = 0, most = -std::numeric_limits<double>::infinity();
    for (int64_t i = 0; i < count[0]; ++i)
      for (int64_t j = 0; j < count[1]; ++j) {
        const auto place = [&](int s, int64_t k) {
          return start[s] + (static_cast<double>(k) + 0.5) * cell[s] / static_cast<double>(count[s]);
        };
        const double value = reference_sample(x, plane, place(0, i), place(1, j), params.averages);
        sum += value;
        most = std::fmax(most, value);
      }
    const int64_t all = count[0] * count[1];
    const bool none = count[0] < 1 || count[1] < 1;
    y.set_double(o++, none ? 0 : params.averages ? sum / static_cast<double>(all) : most);
  });
  return {std::move(y)};
}

}  // namespace

constinit const OpDef op_RoiAlign{.name = "RoiAlign",
                                  .since = 10,
                                  .min_inputs = 3,
                                  .max_inputs = 3,
                                  .types = {Types::floats, Types::as_first, Types::integers},
                                  .kind = OpKind::reduction,
                                  .upgrade = upgrade_roi_align,
                                  .infer = infer_roi_align,
                                  .lower = lower_roi_align,
                                  .program = program_roi_align,
                                  .data_extent = most_samples,
                                  .reference = reference_roi_align};

}  // namespace gcg
