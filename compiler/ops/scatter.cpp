// ScatterElements and ScatterND: copy the data, with updates at indexed positions. The program copies, then applies the
// updates in order. The lowering is for few updates on GPUs: each output element searches for the updates that hit it.
// Many updates use launches (scatter_launches.cpp). If several updates hit the same element without a reduction, the
// last one in row-major order wins.
#include "compiler/ops/scatter.h"

#include <algorithm>

#include "compiler/ops/index.h"
#include "compiler/ops/movement.h"
#include "compiler/ops/ops.h"
#include "compiler/ops/pointwise.h"
#include "compiler/ops/program_builder.h"

namespace gcg {

std::string reduction_of(const Node& node) { return node.string_attribute("reduction", "none"); }

Combination combination(const std::string& reduction, DType dtype) {
  if (dtype == DType::boolean && (reduction == "add" || reduction == "max"))
    return {ReduceOp::logical_or, BinaryOp::logical_or};
  if (dtype == DType::boolean) return {ReduceOp::logical_and, BinaryOp::logical_and};
  if (reduction == "add") return {ReduceOp::sum, BinaryOp::add};
  if (reduction == "mul") return {ReduceOp::prod, BinaryOp::mul};
  if (reduction == "max") return {ReduceOp::max, BinaryOp::max};
  return {ReduceOp::min, BinaryOp::min};
}

Expr from_front(const Expr& i, const Dim& size) {
  return select(binary(BinaryOp::less, i, index(0)), i + extent(size), i);
}

Dim count_of(const Shape& shape, size_t begin, size_t end) {
  return product(Shape(shape.begin() + static_cast<int64_t>(begin), shape.begin() + static_cast<int64_t>(end)));
}

namespace {

void check_common(const InferContext& ctx) {
  const std::string reduction = reduction_of(ctx.node());
  for (const char* known : {"none", "add", "mul", "max", "min"})
    if (reduction == known) return;
  ctx.fail(concat("reduction is '", reduction, "', it must be 'none', 'add', 'mul', 'max' or 'min'"));
}

/// The updates as seen from one output element.
struct Updates {
  std::vector<Axis> axes;  // axes over the updates that may hit the element
  Index number;            // the update that the axes point to
  Shape extents;           // of `number`
  Expr possible;           // false if no update can hit this element; the indices are only read if it is true
  Expr hit;                // true if this update hits
};

/// `index_of(number)` is the position in input 2 of update `number` for this element.
template <class IndexOf>
Expr scattered(LowerContext& ctx, const std::vector<Expr>& at, const Updates& u, IndexOf index_of) {
  const Expr hit = select(u.possible, guarded(u.hit), boolean(false));
  const std::string reduction = reduction_of(ctx.node());
  if (reduction == "none") {
    const Expr last = reduce(ReduceOp::max, u.axes, select(hit, linearize(u.number, u.extents), index(-1)));
    const Expr any = binary(BinaryOp::greater_equal, last, index(0));
    return select(any, guarded(ctx.input(2, index_of(delinearize(last, u.extents)))), ctx.input(0, at));
  }
  const DType dtype = arithmetic_dtype(ctx.input_value(0).dtype);
  const Combination c = combination(reduction, dtype);
  const Expr update = cast(dtype, ctx.input(2, index_of(u.number)));
  const Expr all = reduce(c.reduce, u.axes, select(hit, guarded(update), reduce_identity(c.reduce, dtype)));
  return as_output(ctx, 0, binary(c.binary, cast(dtype, ctx.input(0, at)), all));
}

/// The element at `to` of the output after the update.
Expr after_update(ProgramBuilder& p, const Expr& to, const Expr& update) {
  const std::string reduction = reduction_of(p.node());
  if (reduction == "none") return update;
  const DType dtype = arithmetic_dtype(p.output_dtype(0));
  return binary(combination(reduction, dtype).binary, cast(dtype, p.output(0, {to})), cast(dtype, update));
}

Expr is_within(const Expr& i, const Dim& extent) { return in_range(i, Dim(0), extent); }

template <class T>
T combined(const std::string& reduction, T old, T update) {
  if (reduction == "add") return wrapping_add(old, update);
  if (reduction == "mul") return wrapping_mul(old, update);
  if (reduction == "max") return old != old || old > update ? old : update;
  if (reduction == "min") return old != old || old < update ? old : update;
  return update;
}

void put_update(const ReferenceContext& ctx, Tensor& y, int64_t at, int64_t from) {
  const Tensor& updates = *ctx.input(2);
  with_number_type(y.dtype(), [&]<class T>() {
    put<T>(y, at, combined(reduction_of(ctx.node()), get<T>(y, at), get<T>(updates, from)));
  });
}

Tensor copy_of(const Tensor& x) {
  Tensor y(x.dtype(), x.shape());
  for (int64_t i = 0; i < x.elements(); ++i) copy_element(y, i, x, i);
  return y;
}

int64_t checked(const ReferenceContext& ctx, int64_t i, int64_t extent) {
  if (i < -extent || i >= extent)
    fail_node(ctx.node(), concat("index ", i, " out of range [", -extent, ", ", extent, ")"));
  return i < 0 ? i + extent : i;
}

// ---- ScatterElements: out[..., indices[..., j, ...], ...] = updates[..., j, ...]

void infer_scatter_elements(InferContext& ctx) {
  check_common(ctx);
  ctx.axis(ctx.node().int_attribute("axis", 0), ctx.rank(0));
  if (ctx.rank(1) != ctx.rank(0) || ctx.rank(2) != ctx.rank(0))
    ctx.fail("data, indices and updates must have the same rank");
  for (size_t d = 0; d < ctx.shape(1).size(); ++d)
    ctx.require_equal(ctx.shape(1)[d], ctx.shape(2)[d], concat("dimension ", d, " of indices and updates"));
  ctx.set_output(0, ctx.dtype(0), ctx.shape(0));
}

Expr lower_scatter_elements(LowerContext& ctx, int, const std::vector<Expr>& at) {
  const auto axis =
      static_cast<size_t>(wrap_axis(ctx.node().int_attribute("axis", 0), static_cast<int64_t>(at.size())));
  const Shape &data = ctx.input_shape(0), &indices = ctx.input_shape(1);
  const Axis along = ctx.fresh_axis(indices[axis]);
  Expr possible = boolean(true);
  for (size_t d = 0; d < at.size(); ++d)
    if (d != axis && !(indices[d] == data[d]))
      possible = both(possible, binary(BinaryOp::less, at[d], extent(indices[d])));
  const auto index_of = [&](const Index& number) {
    Index where = at;
    where[axis] = number[0];
    return where;
  };
  const Index number{axis_ref(along)};
  const Expr target = from_front(cast(DType::i64, ctx.input(1, index_of(number))), data[axis]);
  return scattered(ctx, at, {{along}, number, {indices[axis]}, possible, binary(BinaryOp::equal, target, at[axis])},
                   index_of);
}

/// If the indices cover all slices of the data before the axis, these slices are tasks. If they cover all elements
/// after the axis, these elements are copied together.
void program_scatter_elements(ProgramBuilder& p) {
  const Shape &data = p.input_shape(0), &indices = p.input_shape(1);
  const size_t rank = data.size();
  const auto axis = static_cast<size_t>(wrap_axis(p.node().int_attribute("axis", 0), static_cast<int64_t>(rank)));
  const auto same = [&](size_t begin, size_t end) {
    return std::equal(data.begin() + static_cast<int64_t>(begin), data.begin() + static_cast<int64_t>(end),
                      indices.begin() + static_cast<int64_t>(begin));
  };
  const size_t outer = same(0, axis) ? axis : 0, inner = same(axis + 1, rank) ? axis + 1 : rank;
  const Dim slice = count_of(data, outer, rank), all = product(data), row = count_of(data, inner, rank);
  const Expr task = p.parallel(count_of(data, 0, outer));
  p.copy(0, 0, Range(task * extent(slice), (task + index(1)) * extent(slice), all));
  // Loops over the dimensions of the indices from `outer` on. The dimensions from `inner` on share one loop.
  const std::function<void(size_t, const Index&)> nest = [&](size_t d, const Index& at) {
    if (d < inner) {
      return p.loop(indices[d], [&](const Expr& i) {
        Index next = at;
        next.push_back(i);
        nest(d + 1, next);
      });
    }
    Expr from = task;
    for (size_t k = outer; k < inner; ++k) from = from * extent(indices[k]) + at[k - outer];
    const auto target = [&](const Expr& i) {
      return from_front(cast(DType::i64, p.input(1, {from * extent(row) + i})), data[axis]);
    };
    const auto to = [&](const Expr& along, const Expr& i) {
      Expr position = task;
      for (size_t k = outer; k < inner; ++k)
        position = position * extent(data[k]) + (k == axis ? along : at[k - outer]);
      return position * extent(row) + i;
    };
    const auto update = [&](const Expr& i) { return p.input(2, {from * extent(row) + i}); };
    if (row.is(1)) {
      const Expr along = p.let(target(index(0)));
      p.require(is_within(along, data[axis]));
      return p.store(0, {to(along, index(0))}, after_update(p, to(along, index(0)), update(index(0))));
    }
    p.require(p.fold(ReduceOp::logical_and, row, [&](const Expr& i) { return is_within(target(i), data[axis]); }));
    p.each(row, [&](const Expr& i) { p.store(0, {to(target(i), i)}, after_update(p, to(target(i), i), update(i))); });
  };
  nest(outer, {});
}

std::vector<Tensor> reference_scatter_elements(ReferenceContext& ctx) {
  const Tensor &x = *ctx.input(0), &indices = *ctx.input(1);
  const auto axis = static_cast<size_t>(wrap_axis(ctx.node().int_attribute("axis", 0), x.rank()));
  Tensor y = copy_of(x);
  int64_t i = 0;
  for_each_index(indices.shape(), [&](std::vector<int64_t> at) {
    at[axis] = checked(ctx, indices.at_int(i), x.shape()[axis]);
    put_update(ctx, y, position(at, x.shape()), i++);
  });
  return {std::move(y)};
}

// ---- ScatterND: the last dimension of the indices holds a partial index into the data

void infer_scatter_nd(InferContext& ctx) {
  check_common(ctx);
  if (ctx.rank(1) < 1 || !ctx.shape(1).back().is_constant())
    ctx.fail("the last extent of the indices must be known at compile time");
  const int64_t length = ctx.shape(1).back().constant(), tuples = ctx.rank(1) - 1;
  if (length > ctx.rank(0))
    ctx.fail(concat("index tuples of ", length, " elements for ", ctx.rank(0), " dimensions of data"));
  Shape updates(ctx.shape(1).begin(), ctx.shape(1).end() - 1);
  updates.insert(updates.end(), ctx.shape(0).begin() + length, ctx.shape(0).end());
  if (ctx.rank(2) != static_cast<int64_t>(updates.size()))
    ctx.fail(concat("the updates have rank ", ctx.rank(2), ", not ", tuples, " + ", ctx.rank(0) - length));
  for (size_t d = 0; d < updates.size(); ++d)
    ctx.require_equal(ctx.shape(2)[d], updates[d], concat("dimension ", d, " of the updates"));
  ctx.set_output(0, ctx.dtype(0), ctx.shape(0));
}

Expr lower_scatter_nd(LowerContext& ctx, int, const std::vector<Expr>& at) {
  const Shape &data = ctx.input_shape(0), &indices = ctx.input_shape(1);
  Updates u;
  u.possible = u.hit = boolean(true);
  u.extents = Shape(indices.begin(), indices.end() - 1);
  for (const Dim& d : u.extents) {
    u.axes.push_back(ctx.fresh_axis(d));
    u.number.push_back(axis_ref(u.axes.back()));
  }
  const int64_t length = indices.back().constant();
  for (int64_t i = 0; i < length; ++i) {
    Index where = u.number;
    where.push_back(index(i));
    const auto d = static_cast<size_t>(i);
    u.hit = both(u.hit, binary(BinaryOp::equal, from_front(cast(DType::i64, ctx.input(1, where)), data[d]), at[d]));
  }
  return scattered(ctx, at, u, [&](Index number) {
    number.insert(number.end(), at.begin() + length, at.end());
    return number;
  });
}

void program_scatter_nd(ProgramBuilder& p) {
  const Shape &data = p.input_shape(0), &indices = p.input_shape(1);
  const auto length = static_cast<size_t>(indices.back().constant());
  const Dim row = count_of(data, length, data.size());
  p.copy(0, 0, product(data));
  p.loop(count_of(indices, 0, indices.size() - 1), [&](const Expr& tuple) {
    const Expr first = p.variable(index(0));
    for (size_t d = 0; d < length; ++d) {
      const Expr place = tuple * extent(indices.back()) + index(static_cast<int64_t>(d));
      const Expr i = p.let(from_front(cast(DType::i64, p.input(1, {place})), data[d]));
      p.require(is_within(i, data[d]));
      p.set(first, first * extent(data[d]) + i);
    }
    p.each(row, [&](const Expr& i) {
      const Expr to = first * extent(row) + i;
      p.store(0, {to}, after_update(p, to, p.input(2, {tuple * extent(row) + i})));
    });
  });
}

std::vector<Tensor> reference_scatter_nd(ReferenceContext& ctx) {
  const Tensor &x = *ctx.input(0), &indices = *ctx.input(1);
  const int64_t length = indices.shape().back();
  const std::vector<int64_t> tuples(indices.shape().begin(), indices.shape().end() - 1);
  const std::vector<int64_t> rest(x.shape().begin() + length, x.shape().end());
  Tensor y = copy_of(x);
  int64_t tuple = 0, from = 0;
  for_each_index(tuples, [&](const std::vector<int64_t>&) {
    std::vector<int64_t> at;
    for (int64_t i = 0; i < length; ++i)
      at.push_back(checked(ctx, indices.at_int(tuple++), x.shape()[static_cast<size_t>(i)]));
    for_each_index(rest, [&](const std::vector<int64_t>& inner) {
      std::vector<int64_t> whole = at;
      whole.insert(whole.end(), inner.begin(), inner.end());
      put_update(ctx, y, position(whole, x.shape()), from++);
    });
  });
  return {std::move(y)};
}

constexpr OpDef scatter(const char* name, int since, void (*infer)(InferContext&),
                        Expr (*lower)(LowerContext&, int, const std::vector<Expr>&), void (*program)(ProgramBuilder&),
                        std::vector<Tensor> (*reference)(ReferenceContext&)) {
  return {.name = name,
          .since = since,
          .min_inputs = 3,
          .max_inputs = 3,
          .types = {Types::numbers_and_bool, Types::integers, Types::as_first},
          .kind = OpKind::reduction,
          .infer = infer,
          .lower = lower,
          .program = program,
          .reference = reference};
}

}  // namespace

/// The name of ScatterElements before opset 11.
constinit const OpDef op_Scatter = scatter("Scatter", 9, infer_scatter_elements, lower_scatter_elements,
                                           program_scatter_elements, reference_scatter_elements);
constinit const OpDef op_ScatterElements =
    scatter("ScatterElements", 11, infer_scatter_elements, lower_scatter_elements, program_scatter_elements,
            reference_scatter_elements);
constinit const OpDef op_ScatterND =
    scatter("ScatterND", 11, infer_scatter_nd, lower_scatter_nd, program_scatter_nd, reference_scatter_nd);

}  // namespace gcg
