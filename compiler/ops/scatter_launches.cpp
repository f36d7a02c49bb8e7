// ScatterElements and ScatterND as launches that process each update and each element once. The results are those of
// the updates in row-major order, whatever their order in time.
//   none            stores the number of the last update of each slot, then the elements
//   order is free   integer sums, extremes, booleans: merges keys of the elements with keys of the updates
//   else            sorts updates by their slots; those of one slot are applied in their order
#include <cmath>
#include <functional>

#include "compiler/ops/index.h"
#include "compiler/ops/launches.h"
#include "compiler/ops/ops.h"
#include "compiler/ops/program_builder.h"
#include "compiler/ops/scatter.h"
#include "compiler/ops/top_k_program.h"

namespace gcg {
namespace {

Expr less(const Expr& a, const Expr& b) { return binary(BinaryOp::less, a, b); }

/// Lines of updates; each line has its own slots. A slot consists of `columns` adjacent elements, as does an update.
struct ScatterSpace {
  Dim lines, updates, slots, columns;  // updates and slots per line
  // The slot of an update within its line; not checked.
  std::function<Expr(const Expr& line, const Expr& update)> slot_at;
  // The slot's number among all slots: element / columns.
  std::function<Expr(const Expr& line, const Expr& slot)> slot_number;
  std::function<Expr(const Expr& line, const Expr& update)> update_number;  // among all updates
  // The same, for an update of the line that has this slot.
  std::function<Expr(const Expr& slot_number, const Expr& update)> update_of_slot;
};

ScatterSpace space_of_elements(ProgramBuilder& p) {
  const Shape data = p.input_shape(0), indices = p.input_shape(1);
  const auto axis =
      static_cast<size_t>(wrap_axis(p.node().int_attribute("axis", 0), static_cast<int64_t>(data.size())));
  Shape lines = indices;
  lines[axis] = Dim(1);
  const auto at = [lines, axis](const Expr& line, const Expr& i) {
    Index where = delinearize(line, lines);
    where[axis] = i;
    return where;
  };
  ScatterSpace s{product(lines), indices[axis], data[axis], Dim(1), {}, {}, {}, {}};
  s.update_number = [at, indices](const Expr& line, const Expr& u) { return linearize(at(line, u), indices); };
  s.slot_number = [at, data](const Expr& line, const Expr& slot) { return linearize(at(line, slot), data); };
  s.slot_at = [&p, s, data, axis](const Expr& line, const Expr& u) {
    return from_front(cast(DType::i64, p.input(1, {s.update_number(line, u)})), data[axis]);
  };
  s.update_of_slot = [data, indices, axis](const Expr& slot, const Expr& u) {
    Index where = delinearize(slot, data);
    where[axis] = u;
    return linearize(where, indices);
  };
  return s;
}

ScatterSpace space_of_slices(ProgramBuilder& p) {
  const Shape data = p.input_shape(0), indices = p.input_shape(1);
  const auto length = static_cast<size_t>(indices.back().constant());
  ScatterSpace s{Dim(1),
                 count_of(indices, 0, indices.size() - 1),
                 count_of(data, 0, length),
                 count_of(data, length, data.size()),
                 {},
                 {},
                 {},
                 {}};
  s.update_number = [](const Expr&, const Expr& u) { return u; };
  s.slot_number = [](const Expr&, const Expr& slot) { return slot; };
  s.update_of_slot = [](const Expr&, const Expr& u) { return u; };
  s.slot_at = [&p, data, indices, length](const Expr&, const Expr& u) {
    Expr slot = index(0), valid = boolean(true);
    for (size_t d = 0; d < length; ++d) {
      const Expr place = u * extent(indices.back()) + index(static_cast<int64_t>(d));
      const Expr i = p.let(from_front(cast(DType::i64, p.input(1, {place})), data[d]));
      valid = both(valid, in_range(i, Dim(0), data[d]));
      slot = slot * extent(data[d]) + i;
    }
    return select(valid, slot, index(-1));
  };
  return s;
}

class ScatterLaunches {
 public:
  ScatterLaunches(ProgramBuilder& p, ScatterSpace space)
      : p_(p),
        s_(std::move(space)),
        reduction_(reduction_of(p.node())),
        dtype_(arithmetic_dtype(p.output_dtype(0))),
        elements_(product(p.input_shape(0))) {}

  void run() {
    if (reduction_ == "none")
      place_last();
    else if (is_order_free())
      merge_keys();
    else
      add_in_order();
  }

 private:
  using Task = std::vector<Expr>;

  ReduceOp reduce() const { return combination(reduction_, dtype_).reduce; }
  bool is_extreme() const { return reduce() == ReduceOp::max || reduce() == ReduceOp::min; }
  bool is_order_free() const {
    return is_extreme() || dtype_ == DType::boolean || (reduce() == ReduceOp::sum && !is_float(dtype_));
  }
  Expr element(const Expr& slot_number, const Expr& column) const { return slot_number * extent(s_.columns) + column; }
  Expr data(const Expr& e) { return cast(dtype_, p_.input(0, {e})); }
  Expr update(const Expr& e) { return cast(dtype_, p_.input(2, {e})); }
  /// The slot of an update; the run fails if the slot does not exist.
  Expr checked_slot(const Expr& line, const Expr& u) {
    const Expr slot = p_.let(s_.slot_at(line, u));
    p_.require(in_range(slot, Dim(0), s_.slots));
    return slot;
  }

  // ---- none

  void place_last() {
    const Dim slots = s_.columns.is(1) ? elements_ : s_.slots;       // of all lines
    const ProgramBuilder::Array last = p_.array(DType::i32, slots);  // number of the update + 1; 0: none
    p_.launch({slots}, [&](const Task& task) { p_.put(last, task[0], constant_int(DType::i32, 0)); });
    p_.launch({s_.lines, s_.updates}, [&](const Task& task) {
      const Expr slot = checked_slot(task[0], task[1]);
      p_.merge(last, s_.slot_number(task[0], slot), ReduceOp::max, cast(DType::i32, task[1] + index(1)));
    });
    p_.launch({slots, s_.columns}, [&](const Task& task) {
      const Expr winner = p_.let(cast(DType::i64, p_.at(last, task[0]))), e = element(task[0], task[1]);
      p_.branch(
          less(index(0), winner),
          [&] { p_.store(0, {e}, p_.input(2, {element(s_.update_of_slot(task[0], winner - index(1)), task[1])})); },
          [&] { p_.store(0, {e}, p_.input(0, {e})); });
    });
    p_.replaces(0);
  }

  // ---- order is free

  /// For sums, the key is the number itself. For extremes, the keys have the order of the numbers as unsigned integers;
  /// NaN is the extreme.
  Expr key(const Expr& x) const {
    if (dtype_ == DType::boolean) return cast(DType::u32, x);
    if (!is_extreme()) return cast(sum_dtype(), x);
    const Expr k = ascending_key(x);
    const bool sinks = is_float(dtype_) && reduce() == ReduceOp::min;
    return sinks ? select(unary(UnaryOp::is_nan, x), constant_int(k->dtype, 0), k) : k;
  }
  Expr element_of(const Expr& k) const {
    if (dtype_ == DType::boolean) return binary(BinaryOp::not_equal, k, constant_int(DType::u32, 0));
    if (!is_extreme()) return cast(dtype_, k);
    const bool sinks = is_float(dtype_) && reduce() == ReduceOp::min;
    const Expr x = element_of_key(k, dtype_);
    return sinks ? select(binary(BinaryOp::equal, k, constant_int(k->dtype, 0)), number(dtype_, NAN), x) : x;
  }
  DType sum_dtype() const { return size_of(dtype_) == 8 ? dtype_ : is_unsigned_int(dtype_) ? DType::u32 : DType::i32; }
  ReduceOp merging() const {
    if (dtype_ == DType::boolean) return reduce() == ReduceOp::logical_or ? ReduceOp::max : ReduceOp::min;
    return reduce();
  }

  void merge_keys() {
    const ProgramBuilder::Array keys = p_.array(key(number(dtype_, 0))->dtype, elements_);
    p_.launch({elements_}, [&](const Task& task) { p_.put(keys, task[0], key(data(task[0]))); });
    p_.launch({s_.lines, s_.updates, s_.columns}, [&](const Task& task) {
      const Expr slot = checked_slot(task[0], task[1]);
      p_.merge(keys, element(s_.slot_number(task[0], slot), task[2]), merging(),
               key(update(element(s_.update_number(task[0], task[1]), task[2]))));
    });
    p_.launch({elements_}, [&](const Task& task) { p_.store(0, {task[0]}, element_of(p_.at(keys, task[0]))); });
    p_.replaces(0);
  }

  // ---- in order

  void add_in_order() {
    const Dim all = s_.lines * s_.updates;
    const ProgramBuilder::Array slots = p_.array(DType::u32, all), sorted = p_.array(DType::i32, all),
                                spare = p_.array(DType::i32, all);
    const auto first = [&](const Task& task) { return task[0] * extent(s_.updates); };
    p_.launch({elements_}, [&](const Task& task) { p_.store(0, {task[0]}, p_.input(0, {task[0]})); });
    p_.launch({s_.lines, s_.updates}, [&](const Task& task) {
      const Expr slot = p_.let(s_.slot_at(task[0], task[1])), valid = p_.let(in_range(slot, Dim(0), s_.slots));
      p_.put(slots, first(task) + task[1], cast(DType::u32, select(valid, slot, index(0))));
      p_.require(valid);
    });
    p_.shared_launch({s_.lines}, [&](const Task& task) {
      p_.order(sorted, spare, first(task), s_.updates, extent(s_.updates),
               [&](const Expr& i) { return p_.at(slots, first(task) + i); });
    });
    p_.launch({s_.lines, s_.updates, s_.columns}, [&](const Task& task) {
      const auto number = [&](const Expr& i) { return cast(DType::i64, p_.at(sorted, first(task) + i)); };
      const auto slot = [&](const Expr& i) { return p_.at(slots, first(task) + number(i)); };
      const Expr mine = p_.let(slot(task[1])), begins = p_.variable(boolean(true));
      p_.branch(less(index(0), task[1]),
                [&] { p_.set(begins, binary(BinaryOp::not_equal, slot(task[1] - index(1)), mine)); });
      p_.branch(begins, [&] { add_run(task, mine, slot, number); });
    });
    p_.replaces(0);
  }

  /// Applies the updates of one slot, from the task's own update on.
  void add_run(const Task& task, const Expr& mine, const std::function<Expr(const Expr&)>& slot,
               const std::function<Expr(const Expr&)>& number_of) {
    const Expr e = p_.let(element(s_.slot_number(task[0], cast(DType::i64, mine)), task[2]));
    const Expr sum = p_.variable(cast(dtype_, p_.output(0, {e}))), i = p_.variable(task[1]);
    const Expr goes_on = p_.variable(boolean(true));
    p_.loop_while(goes_on, [&] {
      const Expr here = update(element(s_.update_number(task[0], number_of(i)), task[2]));
      p_.set(sum, binary(combination(reduction_, dtype_).binary, sum, here));
      p_.set(i, i + index(1));
      p_.set(goes_on, less(i, extent(s_.updates)));
      p_.branch(goes_on, [&] { p_.set(goes_on, binary(BinaryOp::equal, slot(i), mine)); });
    });
    p_.store(0, {e}, sum);
  }

  ProgramBuilder& p_;
  ScatterSpace s_;
  std::string reduction_;
  DType dtype_;
  Dim elements_;
};

}  // namespace

void launches_scatter_elements(ProgramBuilder& p) { ScatterLaunches(p, space_of_elements(p)).run(); }

void launches_scatter_nd(ProgramBuilder& p) { ScatterLaunches(p, space_of_slices(p)).run(); }

bool has_many_updates(const Graph& graph, const Node& n) {
  constexpr int64_t kFew = 16;
  const Shape &data = *graph.value(n.inputs[0]).shape, &indices = *graph.value(n.inputs[1]).shape;
  if (n.op == &op_ScatterND) return count_of(indices, 0, indices.size() - 1).upper_bound().value_or(kFew + 1) > kFew;
  const auto axis = static_cast<size_t>(wrap_axis(n.int_attribute("axis", 0), static_cast<int64_t>(data.size())));
  return indices[axis].upper_bound().value_or(kFew + 1) > kFew;
}

}  // namespace gcg
