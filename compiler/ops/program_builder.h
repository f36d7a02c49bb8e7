// Writes the kernel of an operator as statements (compiler/kernel/program.h): for work that is no function from an
// index of the result to its value, or that such functions would do over and over. An operator that is given a function
// `OpDef::program` needs nothing else; it may have `lower` beside it, which GPUs then use.
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
// An expression is computed where a statement uses it, each time anew; what is to be computed once becomes a variable
// (`let`). Work on many elements at once, in vectors, is said with `each` (stores) and `fold` (reductions) instead of a
// `loop`: their points must not depend on each other. `array` is scratch memory of the task. Results whose number
// depends on data: give their extent by OpDef::data_extent from a result of another program (compiler/ops/selection.cpp
// shows how).
#pragma once

#include <functional>
#include <vector>

#include "compiler/kernel/kernel.h"
#include "compiler/ops/op_def.h"

namespace gcg {

/// i64 variables `begin` to `end` - 1, all below `most`, the largest `end` that there can be.
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

  /// `wanted`: per output of the node, whether something reads it.
  ProgramBuilder(LowerContext& node, std::vector<bool> wanted) : ctx_(node), wanted_(std::move(wanted)) {}

  // ---- the node
  LowerContext& context() const { return ctx_; }
  const Node& node() const { return ctx_.node(); }
  const Shape& input_shape(int i) const { return ctx_.input_shape(i); }
  const Shape& output_shape(int i) const { return ctx_.output_shape(i); }
  DType input_dtype(int i) const { return storage_dtype(ctx_.input_value(i).dtype); }
  DType output_dtype(int i) const { return storage_dtype(ctx_.output_value(i).dtype); }
  bool has_input(int i) const { return ctx_.has_input(i); }
  /// Does something read the output? Stores to one that nothing reads are left out.
  bool wants(int output) const { return wanted_.at(static_cast<size_t>(output)); }
  /// Element of an input: an index per dimension, or its row-major number.
  Expr input(int i, const std::vector<Expr>& at);
  /// Element of an output as it has been stored.
  Expr output(int i, const std::vector<Expr>& at) const;

  // ---- tasks
  /// A coordinate of the task; all such before anything else. Tasks must not read what other tasks store.
  Expr parallel(const Dim& extent);

  // ---- variables
  Expr variable(const Expr& initial);
  /// A variable that keeps its value, or the expression where that is a constant.
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
  /// output[i] = input[i] for these row-major numbers; nothing to do where the output has taken over the input's
  /// storage. The whole program then must not read the input in any other way.
  void copy(int output, int input, const Range& elements);
  /// The program reads each element of the input before it stores the element of output 0 in its place, and not after
  /// it.
  void replaces(int input) { replaced_ = input; }

  // ---- control
  void loop(const Range& range, const IndexedBody& body);
  void loop_while(const Expr& condition, const Body& body);
  void branch(const Expr& condition, const Body& then, const Body& otherwise = {});
  /// The run fails with "index out of range" where it does not hold.
  void require(const Expr& condition);

  // ---- launches (compiler/ops/launches.h). A program has either launches on its outermost level, or none. Arrays and
  // results are what they have in common.
  using TaskBody = std::function<void(const std::vector<Expr>& task)>;

  /// A thread for each task.
  void launch(const Shape& tasks, const TaskBody& body) { add_launch(Statement::Kind::launch, tasks, body); }
  /// The threads of a block share each task: they share the points of `each`, `fold`, `scan` and `order`, and do all
  /// else together.
  void shared_launch(const Shape& tasks, const TaskBody& body) {
    add_launch(Statement::Kind::shared_launch, tasks, body);
  }
  /// In a launch of threads: array[i] = `op` of it and an integer, whatever others do with it meanwhile.
  void merge(const Array& array, const Expr& i, ReduceOp op, const Expr& value);
  /// In a shared launch: running sums and the like. `body` stores, for each point of the range, with the value there
  /// and what `op` has made of `initial` and the values before it. The result: with all values.
  using ScanBody = std::function<void(const Expr& i, const Expr& here, const Expr& before)>;
  Expr scan(ReduceOp op, const Range& range, const Expr& initial, const std::function<Expr(const Expr&)>& value,
            const ScanBody& body);
  /// In a shared launch: array[at], array[at + 1], ... (i32) = the first `count` points of the range in the order of
  /// their keys (u32, u64), as distances from its begin. `spare` is a second such array.
  void order(const Array& array, const Array& spare, const Expr& at, const Range& range, const Expr& count,
             const std::function<Expr(const Expr&)>& key);

  /// A function of the application's computes the outputs from so many inputs. What is omitted or not read is no memory
  /// to it.
  void call(const std::string& function, const std::string& attributes, size_t inputs, size_t outputs,
            const Dim& workspace_bytes);

  // ---- many points at once
  /// The stores of `body`, for all points of the range in any order. It consists of nothing else.
  void each(const Range& range, const IndexedBody& body);
  /// A variable with the reduction of value(i) over the range.
  Expr fold(ReduceOp op, const Range& range, const std::function<Expr(const Expr&)>& value);

  /// Operands: inputs by the numbers that the context gives them, outputs and arrays by numbers from kOutputs and
  /// kArrays on.
  struct Program {
    ProgramKernel kernel;
    std::vector<Operand> arrays;
    int replaced = -1;  // input
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
  std::vector<bool> wanted_;
  Program out_;
  Statements top_;
  Statements* block_ = &top_;
  const Range* each_ = nullptr;  // of the `each` that is being written
  Axis each_axis_;
  int replaced_ = -1;
};

}  // namespace gcg
