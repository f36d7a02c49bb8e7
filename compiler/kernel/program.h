// Imperative kernels, as statements over the same expressions. They are for work that is not a function from an index
// to a value: sorting, scanning, scattering, selecting. An operator writes one with compiler/ops/program_builder.h,
// whose first comment shows how. Every backend runs them.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "compiler/kernel/expr.h"

namespace gcg {

struct Statement;
using Statements = std::vector<Statement>;

/// A tensor argument of an application's function: memory in row-major order, or none.
struct CallArgument {
  int operand = -1;                // -1: none
  DType dtype = DType::undefined;  // the type in the model
  std::vector<Expr> extents;       // i64
};

/// Statements run in order. Expressions in them may read variables (`local`), operands, arrays, and the axes of the
/// task and of the loops around. A statement reads the values that the statements before it wrote.
struct Statement {
  enum class Kind : uint8_t {
    assign,      // variable `local` = value
    store,       // operand[index] = value; with an axis: for each of its points, in any order (may be vectorised)
    reduce,      // variable `local` = `reduce` of value over the points of the axis, in any order (may be vectorised)
    loop,        // body for each point of the axis, in ascending order
    loop_while,  // body as long as value (boolean) holds
    branch,      // body if value (boolean) holds, otherwise `otherwise`
    require,     // if value (boolean) does not hold, the kernel ends here: an index is out of range
    call,        // CPUs: the application's `function` on the arguments; the kernel ends here if it fails
    // GPUs only; a program consists only of launches, or has none:
    launch,  // body for each point of the axis, in any order; all end before the next statement. On the outermost level
             // only. A thread runs one point
    shared_launch,  // the same, but the threads of a block share one point
    // In a shared launch:
    scan,   // for each point of the axis in ascending order: variable `local` + 1 = value, body, variable `local` =
            // `reduce` of both. The body consists of stores and branches
    order,  // operand[index], [index + 1], ... = the points of the axis with the n smallest values, as distances from
            // `begin`; n is in variable `local`. Points are sorted by value; points of equal value ascend. `workspace`
            // is an array of as many elements, used from the same index on
    // In a launch:
    merge,  // operand[index] = `reduce` of operand[index] and value, atomically with respect to other tasks; integers
            // only
  };
  Kind kind = Kind::assign;
  Expr value;
  int local = -1;
  int operand = -1;
  std::vector<Expr> index;  // store, merge: one i64 per dimension, or the row-major element number alone
  int unless_same = -1;     // store: skipped if `operand` and this operand share storage, which then holds the values
  ReduceOp reduce{};
  // Over [begin, end), or over tasks; 0 <= begin, and end <= the axis's extent, which is known before the launch.
  Axis axis;
  Expr begin, end;
  Statements body, otherwise;
  std::string function;                       // call: the function's name in the import table
  std::string attributes;                     // call: the node's attributes, as JSON
  std::vector<CallArgument> inputs, outputs;  // call
  int workspace = -1;                         // call, order: an array; for a call, of bytes
  Expr workspace_bytes;                       // call: the number of these bytes; i64
};

/// Tasks are the points of `outer`, in any order. Operands with `array` set are scratch memory of the task; their
/// initial contents are undefined. A program of launches has an empty `outer`. Its launches share one copy of the
/// arrays; variables are not kept from one launch to the next.
///
/// An index that is computed from a read-only operand's elements is checked where it is used. An index that is computed
/// from variables, arrays or results is not checked: the program uses `require` for the values that it keeps.
struct ProgramKernel {
  std::vector<Axis> outer;
  std::vector<DType> locals;  // the variables' types
  Statements body;
  int replaced = -1;  // the operand whose storage the result may reuse: elements are read before they are written
};

bool is_launch(const Statement& s);
/// True if the program consists of launches.
bool has_launches(const ProgramKernel& program);

/// Calls `see` for every statement, including those in bodies, outer ones first.
void each_statement(const Statements& block, const std::function<void(const Statement&)>& see);
void each_statement(Statements& block, const std::function<void(Statement&)>& see);
/// Calls `see` for every expression of one statement, not of those in its bodies.
void each_expr(const Statement& s, const std::function<void(const Expr&)>& see);
void each_expr(Statement& s, const std::function<void(Expr&)>& see);

}  // namespace gcg
