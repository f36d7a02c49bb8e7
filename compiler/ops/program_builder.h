// Builds an operator's kernel from statements (compiler/kernel/program.h). It is for work that cannot be written as a
// function from a result's index to its value, or that such a function would repeat many times. An operator that
// defines `OpDef::program` needs nothing else. If it also has `lower`, GPUs use `lower`.
//
// Example: running sums of the rows of x[m, n].
//
//   void program_row_sums(ProgramBuilder& p) {
//     const Shape& x = p.input_shape(0);
//     const Expr row = p.parallel(x[0]);                         // tasks: every row on its own
//     const Expr sum = p.variable(number(DType::f32, 0));        // a variable; `sum` in an expression reads it
//     p.loop(x[1], [&](const Expr& i) {                          // i = 0, 1, ...
//       p.set(sum, sum + p.input(0, {row, i}));
//       p.store(0, {row, i}, sum);                               // result 0
//     });
//   }
//
// Each statement that uses an expression computes it again. A value that should be computed once becomes a
// variable (`let`). Vectorised work on many elements uses `each` (stores) and `fold` (reductions) instead of `loop`;
// their points must be independent. `array` is scratch memory of the task. If the number of results depends on data,
// `OpDef::data_extent` gives their extent from a result of another program (see compiler/ops/selection.cpp).
#pragma once

#include <functional>
#include <vector>

#include "compiler/kernel/kernel.h"
#include "compiler/ops/op_def.h"

namespace gcg {

/// i64 values `begin` to `end` - 1. `most` is an upper bound of `end`.
struct Range {
  Expr begin, end;
  Dim most;

  Range(const Dim& count) : begin(index(0)), end(extent(count)), most(count) {}  // NOLINT: a count is a range
  Range(Expr from, Expr to, Dim largest) : begin(std::move(from)), end(std::move(to)), most(std::move(largest)) {}
};

class ProgramBuilder {
 public:
  using Body = std::function<void()>;
  using IndexedBody = std::function<void(const Expr&)>;

  /// `is_read`: for each output of the node, whether something reads it.
  ProgramBuilder(LowerContext& node, std::vector<bool> is_read) : ctx_(node), is_read_(std::move(is_read)) {}

  // ---- the node
  LowerContext& context() const { return ctx_; }
  const Node& node() const { return ctx_.node(); }
  const Shape& input_shape(int i) const { return ctx_.input_shape(i); }
  const Shape& output_shape(int i) const { return ctx_.output_shape(i); }
  DType input_dtype(int i) const { return storage_dtype(ctx_.input_value(i).dtype); }
  DType output_dtype(int i) const { return storage_dtype(ctx_.output_value(i).dtype); }
  bool has_input(int i) const { return ctx_.has_input(i); }
  /// True if something reads the output. Stores to other outputs are dropped.
  bool wants(int output) const { return is_read_.at(static_cast<size_t>(output)); }
  /// An element of an input; `at` is an index per dimension, or its row-major number.
  Expr input(int i, const std::vector<Expr>& at);
  /// An element of an output that has been stored.
  Expr output(int i, const std::vector<Expr>& at) const;

  // ---- tasks
  /// A coordinate of the task. All coordinates come before other statements. Tasks must not read data that other tasks
  /// store.
  Expr parallel(const Dim& extent);

  // ---- variables
  Expr variable(const Expr& initial);
  /// A variable that keeps its value; a constant is returned as it is.
  Expr let(const Expr& value);
  void set(const Expr& variable, const Expr& value);

  // ---- arrays
  struct Array {
    int operand;
    DType dtype;
  };
  Array array(DType dtype, const Dim& elements);
  Expr at(const Array& array, const Expr& i) const { return load(array.operand, array.dtype, {i}); }
  void put(const Array& array, const Expr& i, const Expr& value);

  // ---- results: an index per dimension, or the row-major number
  void store(int output, const std::vector<Expr>& at, const Expr& value);
  /// output[i] = input[i] for these row-major numbers. It does nothing if the output has taken over the input's
  /// storage. The program must not read the input in any other way.
  void copy(int output, int input, const Range& elements);
  /// States that the program reads each element of the input before it stores the element of output 0 at the same
  /// position. After that it does not read the element.
  void replaces(int input) { replaced_ = input; }

  // ---- control
  void loop(const Range& range, const IndexedBody& body);
  void loop_while(const Expr& condition, const Body& body);
  void branch(const Expr& condition, const Body& then, const Body& otherwise = {});
  /// If the condition is false, the run fails with "index out of range".
  void require(const Expr& condition);

  // ---- launches (compiler/ops/launches.h). A program's outermost level has either launches only, or none. Launches
  // share
  // data through arrays and results.
  using TaskBody = std::function<void(const std::vector<Expr>& task)>;

  /// Runs one thread for each task.
  void launch(const Shape& tasks, const TaskBody& body) { add_launch(Statement::Kind::launch, tasks, body); }
  /// Runs one block of threads for each task. The threads split the points of `each`, `fold`, `scan` and `order`, and
  /// execute everything else together.
  void shared_launch(const Shape& tasks, const TaskBody& body) {
    add_launch(Statement::Kind::shared_launch, tasks, body);
  }
  /// In a launch of threads: an atomic array[i] = `op`(array[i], value), for integers.
  void merge(const Array& array, const Expr& i, ReduceOp op, const Expr& value);
  /// In a shared launch: a scan, such as running sums. `body` stores the result for each point of the range. It gets
  /// the value there, and `op` of `initial` and all earlier values. Returns `op` of all values.
  using ScanBody = std::function<void(const Expr& i, const Expr& here, const Expr& before)>;
  Expr scan(ReduceOp op, const Range& range, const Expr& initial, const std::function<Expr(const Expr&)>& value,
            const ScanBody& body);
  /// In a shared launch: sorts the first `count` points of the range by their keys (u32, u64). Their distances from the
  /// range's begin go to array[at], array[at + 1], ... (i32). `spare` is a second array of the same kind.
  void order(const Array& array, const Array& spare, const Expr& at, const Range& range, const Expr& count,
             const std::function<Expr(const Expr&)>& key);

  /// Calls a function of the application that computes the outputs from the inputs. Omitted or unread inputs and
  /// outputs have no memory for it.
  void call(const std::string& function, const std::string& attributes, size_t inputs, size_t outputs,
            const Dim& workspace_bytes);

  // ---- many points at once
  /// Executes the stores of `body`, and nothing else, for all points of the range in any order.
  void each(const Range& range, const IndexedBody& body);
  /// A variable with the reduction of value(i) over the range.
  Expr fold(ReduceOp op, const Range& range, const std::function<Expr(const Expr&)>& value);

  /// The operands are numbered: inputs as in the context, outputs from kOutputs on, arrays from kArrays on.
  struct Program {
    ProgramKernel kernel;
    std::vector<Operand> arrays;
    int replaced = -1;  // an input
  };
  static constexpr int kOutputs = 1 << 20, kArrays = 1 << 21;
  Program take();

 private:
  Statement& add(Statement::Kind kind);
  Statements inside(const Body& body);
  void add_launch(Statement::Kind kind, const Shape& tasks, const TaskBody& body);
  Axis ranged(Statement& s, const Range& range);
  int input_in_memory(int i);

  LowerContext& ctx_;
  std::vector<bool> is_read_;
  Program out_;
  Statements top_;
  Statements* block_ = &top_;
  const Range* each_ = nullptr;  // the `each` that is being written
  Axis each_axis_;
  int replaced_ = -1;
};

}  // namespace gcg
