// CumSum and CumProd: running sums and products along one axis.
#include "compiler/kernel/access_analysis.h"
#include "compiler/ops/index.h"
#include "compiler/ops/launches.h"
#include "compiler/ops/op_support.h"
#include "compiler/ops/ops.h"
#include "compiler/ops/program_builder.h"
#include "compiler/ops/runtime_axes.h"

namespace gcg {
namespace {

bool is_exclusive(const Node& node) { return node.int_attribute("exclusive", 0) != 0; }
bool is_reverse(const Node& node) { return node.int_attribute("reverse", 0) != 0; }

/// If the axis is only known at run time, each dimension gets a symbol: 1 for the axis, 0 for the others.
void infer_cumulative(InferContext& ctx) {
  if (ctx.rank(0) == 0) ctx.fail("the input must have at least one dimension");
  if (!product(ctx.shape(1)).is(1)) ctx.fail("the axis must be one number");
  if (ctx.dtype(0) == DType::boolean) ctx.fail("bool elements cannot be summed");
  if (const auto axis = ctx.int_contents(1)) {
    ctx.axis(axis->front(), ctx.rank(0));
  } else {
    Dim named = 0;
    for (int64_t d = 0; d < ctx.rank(0); ++d) named = named + ctx.fresh_symbol("summed");
    ctx.require_equal(named, 1, "an axis in range");
  }
  ctx.set_output(0, ctx.dtype(0), ctx.shape(0));
}

Expr summed_extent(LowerContext& ctx, int symbol) {
  return cast(DType::i64, is_named(ctx, 1, symbol, static_cast<int64_t>(ctx.input_shape(0).size())));
}

/// The elements along the axis, and the position of the requested element among them.
struct Line {
  Sweep row;
  Expr position, axis_position;
};
Line line_of(LowerContext& ctx, const std::vector<Expr>& at) {
  const Shape& x = ctx.input_shape(0);
  if (const auto known = known_ints(ctx.input_value(1))) {
    const auto axis = static_cast<size_t>(wrap_axis(known->at(0), static_cast<int64_t>(at.size())));
    std::vector<bool> swept(at.size(), false);
    swept[axis] = true;
    Line line{sweep(ctx, x, swept, at), nullptr, at[axis]};
    line.position = line.row.index[axis];
    return line;
  }
  Line line{{}, index(0), index(0)};
  for (size_t d = 0; d < at.size(); ++d) {
    const Dim here = Dim::symbol(ctx.node().strings_attribute(kSymbolsAttribute).at(d));
    line.row.axes.push_back(ctx.fresh_axis(here * x[d] + Dim(1) - here));
    const Expr i = axis_ref(line.row.axes.back()), is_axis = binary(BinaryOp::equal, extent(here), index(1));
    line.row.index.push_back(select(is_axis, i, at[d]));
    line.position = line.position + i;  // 0 along the other dimensions
    line.axis_position = line.axis_position + select(is_axis, at[d], index(0));
  }
  return line;
}

/// Each element sums its own part of the axis. This is quadratic work, but every element is independent. Elements
/// outside of the part are replaced by a select, so that an infinity there has no effect.
template <ReduceOp kOp>
Expr lower_cumulative(LowerContext& ctx, int, const std::vector<Expr>& at) {
  const Line line = line_of(ctx, at);
  const Expr x = arithmetic_input(ctx, 0, line.row.index);
  const bool exclusive = is_exclusive(ctx.node()), reverse = is_reverse(ctx.node());
  const BinaryOp part = reverse ? (exclusive ? BinaryOp::greater : BinaryOp::greater_equal)
                                : (exclusive ? BinaryOp::less : BinaryOp::less_equal);
  const Expr counts = binary(part, line.position, line.axis_position);
  constexpr double kNeutral = kOp == ReduceOp::sum ? 0 : 1;
  return as_output(ctx, 0, reduce(kOp, line.row.axes, select(counts, x, number(x->dtype, kNeutral))));
}

/// The tensor as [outer, n, inner], where n is the summed axis.
struct Split {
  Dim outer, n, inner;
};
Split split_at_axis(const ProgramBuilder& p) {
  const Shape& x = p.input_shape(0);
  const auto known = known_ints(p.context().input_value(1));
  Split s{0, 0, 0};
  for (size_t d = 0; d < x.size(); ++d) {
    const Dim here =
        known ? Dim(wrap_axis(known->at(0), static_cast<int64_t>(x.size())) == static_cast<int64_t>(d) ? 1 : 0)
              : Dim::symbol(p.node().strings_attribute(kSymbolsAttribute).at(d));
    s.outer = s.outer + here * product(Shape(x.begin(), x.begin() + static_cast<int64_t>(d)));
    s.n = s.n + here * x[d];
    s.inner = s.inner + here * product(Shape(x.begin() + static_cast<int64_t>(d) + 1, x.end()));
  }
  return s;
}

/// The program for CPUs. It keeps one running sum if the axis is the last one, else one for each element of a block of
/// neighbours.
template <ReduceOp kOp>
class CumulativeProgram {
 public:
  explicit CumulativeProgram(ProgramBuilder& p)
      : p_(p),
        s_(split_at_axis(p)),
        dtype_(arithmetic_dtype(p.input_dtype(0))),
        exclusive_(is_exclusive(p.node())),
        outer_(p.parallel(s_.outer)) {}

  void run() {
    if (s_.inner.is(1)) {
      sum_row();
      return p_.replaces(0);
    }
    sum_blocks();
    if (!exclusive_) p_.replaces(0);  // an exclusive sum is stored before the element at the same position is read
  }

 private:
  static constexpr int64_t kBlock = 1024, kRegister = 16;  // elements

  Expr neutral() const { return number(dtype_, kOp == ReduceOp::sum ? 0 : 1); }
  static Expr add(const Expr& a, const Expr& b) {
    return binary(kOp == ReduceOp::sum ? BinaryOp::add : BinaryOp::mul, a, b);
  }
  Expr along(const Expr& i) const {
    return outer_ * extent(s_.n) + (is_reverse(p_.node()) ? extent(s_.n - Dim(1)) - i : i);
  }
  Expr x(const Expr& at) { return cast(dtype_, p_.input(0, {at})); }

  void sum_row() {
    const Expr sum = p_.variable(neutral());
    p_.loop(s_.n, [&](const Expr& i) {
      const Expr here = p_.let(x(along(i)));
      if (exclusive_) p_.store(0, {along(i)}, sum);
      p_.set(sum, add(sum, here));
      if (!exclusive_) p_.store(0, {along(i)}, sum);
    });
  }

  /// The sums fill whole registers, because reading what a masked store has just written takes long. If they may be
  /// few, two lines are added at once, because each line otherwise waits for the sums of the line before it.
  void sum_blocks() {
    const bool whole = is_multiple(s_.inner, kRegister);
    const Dim width = min(ceil_div(s_.inner, Dim(kRegister)) * Dim(kRegister), Dim(kBlock));
    const Expr first = p_.parallel(ceil_div(s_.inner, Dim(kBlock))) * index(kBlock);
    const ProgramBuilder::Array sums = p_.array(dtype_, width);
    const Expr count = binary(BinaryOp::min, extent(s_.inner) - first, index(kBlock));
    const Range block(index(0), count, min(s_.inner, Dim(kBlock)));
    const Expr rounded = binary(BinaryOp::floor_div, count + index(kRegister - 1), index(kRegister)) * index(kRegister);
    const Range registers(index(0), whole ? count : rounded, width);
    const auto at = [&](const Expr& i, const Expr& j) { return along(i) * extent(s_.inner) + (first + j); };
    const auto here = [&](const Expr& i, const Expr& j) {
      const Expr element = x(at(i, j));
      return whole ? element : select(binary(BinaryOp::less, j, count), guarded(element), neutral());
    };
    const auto store = [&](const Expr& i, const ProgramBuilder::Array& from) {
      p_.each(block, [&](const Expr& j) { p_.store(0, {at(i, j)}, p_.at(from, j)); });
    };
    p_.each(registers, [&](const Expr& j) { p_.put(sums, j, neutral()); });
    const Dim pairs = whole ? Dim(0) : floor_div(s_.n, Dim(2));
    if (!whole) {
      const ProgramBuilder::Array between = p_.array(dtype_, width);
      p_.loop(pairs, [&](const Expr& pair) {
        const Expr one = pair * index(2), two = one + index(1);
        if (exclusive_) store(one, sums);
        p_.each(registers, [&](const Expr& j) { p_.put(between, j, add(p_.at(sums, j), here(one, j))); });
        p_.each(registers,
                [&](const Expr& j) { p_.put(sums, j, add(add(p_.at(sums, j), here(one, j)), here(two, j))); });
        store(exclusive_ ? two : one, between);
        if (!exclusive_) store(two, sums);
      });
    }
    p_.loop({extent(pairs * Dim(2)), extent(s_.n), s_.n}, [&](const Expr& i) {
      if (exclusive_) store(i, sums);
      p_.each(registers, [&](const Expr& j) { p_.put(sums, j, add(p_.at(sums, j), here(i, j))); });
      if (!exclusive_) store(i, sums);
    });
  }

  ProgramBuilder& p_;
  Split s_;
  DType dtype_;
  bool exclusive_;
  Expr outer_;
};

template <ReduceOp kOp>
void program_cumulative(ProgramBuilder& p) {
  CumulativeProgram<kOp>(p).run();
}

/// Running sums in launches. Along the last axis, the threads of a block share a row or a tile of one. Along another
/// axis, neighbouring threads take neighbouring lines. Tiles are summed first, then the sums of the tiles are scanned,
/// then each tile continues from the total of the tiles before it.
template <ReduceOp kOp>
class CumulativeLaunches {
 public:
  explicit CumulativeLaunches(ProgramBuilder& p)
      : p_(p), s_(split_at_axis(p)), dtype_(arithmetic_dtype(p.input_dtype(0))) {}

  void run() {
    const bool rows = s_.inner.is(1);
    const int64_t most = rows ? kRow : kLine;
    const Dim tiles = ceil_div(s_.n, Dim(most));
    if (s_.n.upper_bound().value_or(most + 1) <= most) {
      rows ? scan_rows(Dim(1), nullptr) : scan_lines(Dim(1), nullptr);
    } else {
      const ProgramBuilder::Array sums = p_.array(dtype_, s_.outer * tiles * s_.inner);
      rows ? sum_rows(tiles, sums) : sum_lines(tiles, sums);
      scan_sums(tiles, sums);
      rows ? scan_rows(tiles, &sums) : scan_lines(tiles, &sums);
    }
    p_.replaces(0);
  }

 private:
  using Task = std::vector<Expr>;  // outer, tile, inner
  static constexpr int64_t kRow = 8192, kLine = 128;

  Expr neutral() const { return number(dtype_, kOp == ReduceOp::sum ? 0 : 1); }
  static Expr add(const Expr& a, const Expr& b) {
    return binary(kOp == ReduceOp::sum ? BinaryOp::add : BinaryOp::mul, a, b);
  }
  /// The position of element i, counted in the direction of the sum.
  Expr at(const Task& task, const Expr& i) const {
    const Expr along = is_reverse(p_.node()) ? extent(s_.n - Dim(1)) - i : i;
    return (task[0] * extent(s_.n) + along) * extent(s_.inner) + task[2];
  }
  Expr x(const Task& task, const Expr& i) { return cast(dtype_, p_.input(0, {at(task, i)})); }
  Range tile(const Task& task, int64_t size) {
    const Expr begin = p_.let(task[1] * index(size));
    return {begin, p_.let(binary(BinaryOp::min, begin + index(size), extent(s_.n))), s_.n};
  }
  Expr place(const Task& task, const Dim& tiles) const {
    return (task[0] * extent(tiles) + task[1]) * extent(s_.inner) + task[2];
  }
  Expr before(const Task& task, const Dim& tiles, const ProgramBuilder::Array* sums) const {
    return sums == nullptr ? neutral() : p_.at(*sums, place(task, tiles));
  }
  void store(const Task& task, const Expr& i, const Expr& before_it, const Expr& here) {
    p_.store(0, {at(task, i)}, is_exclusive(p_.node()) ? before_it : add(before_it, here));
  }

  void sum_rows(const Dim& tiles, const ProgramBuilder::Array& sums) {
    p_.shared_launch({s_.outer, tiles, Dim(1)}, [&](const Task& task) {
      const Expr sum = p_.fold(kOp, tile(task, kRow), [&](const Expr& i) { return x(task, i); });
      p_.put(sums, place(task, tiles), sum);
    });
  }
  void scan_rows(const Dim& tiles, const ProgramBuilder::Array* sums) {
    p_.shared_launch({s_.outer, tiles, Dim(1)}, [&](const Task& task) {
      p_.scan(
          kOp, tile(task, kRow), before(task, tiles, sums), [&](const Expr& i) { return x(task, i); },
          [&](const Expr& i, const Expr& here, const Expr& before_it) { store(task, i, before_it, here); });
    });
  }
  void sum_lines(const Dim& tiles, const ProgramBuilder::Array& sums) {
    p_.launch({s_.outer, tiles, s_.inner}, [&](const Task& task) {
      const Expr sum = p_.fold(kOp, tile(task, kLine), [&](const Expr& i) { return x(task, i); });
      p_.put(sums, place(task, tiles), sum);
    });
  }
  void scan_lines(const Dim& tiles, const ProgramBuilder::Array* sums) {
    p_.launch({s_.outer, tiles, s_.inner}, [&](const Task& task) {
      const Expr sum = p_.variable(before(task, tiles, sums));
      p_.loop(tile(task, kLine), [&](const Expr& i) {
        const Expr here = p_.let(x(task, i));
        store(task, i, sum, here);
        p_.set(sum, add(sum, here));
      });
    });
  }
  /// Replaces each tile's sum by the total of the tiles before it.
  void scan_sums(const Dim& tiles, const ProgramBuilder::Array& sums) {
    p_.shared_launch({s_.outer, s_.inner}, [&](const Task& line) {
      const auto sum = [&](const Expr& i) { return place({line[0], i, line[1]}, tiles); };
      p_.scan(
          kOp, Range(tiles), neutral(), [&](const Expr& i) { return p_.at(sums, sum(i)); },
          [&](const Expr& i, const Expr&, const Expr& before_it) { p_.put(sums, sum(i), before_it); });
    });
  }

  ProgramBuilder& p_;
  Split s_;
  DType dtype_;
};

}  // namespace

void launches_cum_sum(ProgramBuilder& p) { CumulativeLaunches<ReduceOp::sum>(p).run(); }
void launches_cum_prod(ProgramBuilder& p) { CumulativeLaunches<ReduceOp::prod>(p).run(); }

/// False for short lines: there, each reader computes its sum itself.
bool sums_long_lines(const Graph& graph, const Node& n) {
  constexpr int64_t kShort = 32;
  const Shape& x = *graph.value(n.inputs[0]).shape;
  const auto axis = known_ints(graph.value(n.inputs[1]));
  if (!axis) return true;
  const Dim& extent = x[static_cast<size_t>(wrap_axis(axis->at(0), static_cast<int64_t>(x.size())))];
  return extent.upper_bound().value_or(kShort + 1) > kShort;
}

namespace {

template <ReduceOp kOp>
std::vector<Tensor> reference_cumulative(ReferenceContext& ctx) {
  const Tensor& x = *ctx.input(0);
  Tensor y(x.dtype(), x.shape());
  std::vector<bool> swept(x.shape().size(), false);
  swept[static_cast<size_t>(wrap_axis(ctx.input(1)->at_int(0), x.rank()))] = true;
  SplitOffsets offsets = split_offsets(x.shape(), swept);
  if (is_reverse(ctx.node())) offsets.swept = {offsets.swept.rbegin(), offsets.swept.rend()};
  with_number_type(x.dtype(), [&]<class T>() {
    for (int64_t start : offsets.outer) {
      T sum = kOp == ReduceOp::sum ? T{0} : T{1};
      for (int64_t i : offsets.swept) {
        const T here = get<T>(x, start + i),
                next = kOp == ReduceOp::sum ? wrapping_add(sum, here) : wrapping_mul(sum, here);
        put<T>(y, start + i, is_exclusive(ctx.node()) ? sum : next);
        sum = next;
      }
    }
  });
  return {y};
}

}  // namespace

template <ReduceOp kOp>
constexpr OpDef cumulative(const char* name, int since) {
  return {.name = name,
          .since = since,
          .min_inputs = 2,
          .max_inputs = 2,
          .types = {Types::numbers, Types::integers},
          .kind = OpKind::reduction,
          .traits = {.magnitude = Magnitude::exact},
          .infer = infer_cumulative,
          .lower = lower_cumulative<kOp>,
          .program = program_cumulative<kOp>,
          .data_extent = summed_extent,
          .reference = reference_cumulative<kOp>};
}

const OpDef op_CumProd = cumulative<ReduceOp::prod>("CumProd", 26);
const OpDef op_CumSum = cumulative<ReduceOp::sum>("CumSum", 11);

}  // namespace gcg
