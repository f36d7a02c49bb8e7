// Imperative kernels: work that is no function from an index to a value (sorting, scanning, scattering, selecting), as
// statements over the same expressions. An operator writes one with compiler/ops/program_builder.h, whose head shows
// how; every backend runs it.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "compiler/kernel/expr.h"

namespace gcg {

struct Statement;
using Statements = std::vector<Statement>;

/// A tensor that an application's function is given: memory in row-major order, or none.
struct CallArgument {
  int operand = -1;                // -1: none
  DType dtype = DType::undefined;  // as the model has it
  std::vector<Expr> extents;       // i64
};

/// Statements run in order. Expressions in them may read variables (`local`), operands, arrays, and the axes of the
/// task and of the loops around. What a statement reads is what the statements before it left.
struct Statement {
  enum class Kind : uint8_t {
    assign,      // variable `local` = value
    store,       // operand[index] = value; with an axis: for each of its points, in any order, so as vectors
    reduce,      // variable `local` = `reduce` of value over the points of the axis, in any order, so as vectors
    loop,        // body for each point of the axis, in ascending order
    loop_while,  // body as long as value (boolean) holds
    branch,      // body where value (boolean) holds, otherwise `otherwise`
    require,     // where value (boolean) does not hold, the kernel ends here: an index is out of range
    call,        // CPUs: the application's `function` on the arguments; the kernel ends here if it fails
    // GPUs, all of a program or none of it:
    launch,         // body for each point of the axis, in any order, all before the next statement; on the outermost
                    // level. A point is a thread's task
    shared_launch,  // the same, where the threads of a block share each task
    // In a shared launch:
    scan,   // for each point of the axis in ascending order: variable `local` + 1 = value, body, variable `local` =
            // `reduce` of both. The body consists of stores and branches
    order,  // operand[index], [index + 1], ... = those points of the axis that have the smallest values, as many as
            // variable `local` says, as their distance from `begin`, in the order of their values, of equal ones in
            // ascending order; `workspace` is an array of as many elements, used from the same index on
    // In a launch:
    merge,  // operand[index] = `reduce` of operand[index] and value, as other tasks may do at once; integers
  };
  Kind kind = Kind::assign;
  Expr value;
  int local = -1;
  int operand = -1;
  std::vector<Expr> index;  // store, merge: an i64 per dimension of the operand, or one: the element's row-major number
  int unless_same =
      -1;  // store: left out where `operand` is in the storage of this operand, so holds the values already
  ReduceOp reduce{};
  Axis axis;  // runs over [begin, end); 0 <= begin, end <= its extent, which is known before the launch; or over tasks
  Expr begin, end;
  Statements body, otherwise;
  std::string function;                       // call: its name in the import table
  std::string attributes;                     // call: of the node, as JSON
  std::vector<CallArgument> inputs, outputs;  // call
  int workspace = -1;                         // call, order: an array, of bytes for a call ...
  Expr workspace_bytes;                       // ... and how many they are; i64
};

/// Tasks are the points of `outer`, in any order. Of the kernel's operands those with `array` set are scratch memory of
/// the task, with any contents at its begin. In a program of launches, whose own `outer` is empty, arrays are there
/// once for all launches; variables are not kept from one to the next.
///
/// An index made of what the kernel is given (a read-only operand's elements) is checked where it is used; one made of
/// variables, arrays and results is not: a program has `require` for what it keeps.
struct ProgramKernel {
  std::vector<Axis> outer;
  std::vector<DType> locals;  // the variables' types
  Statements body;
  int replaced = -1;  // an operand whose storage the result may take over: each element is read before it is written
};

bool is_launch(const Statement& s);
/// Is the program one of launches?
bool has_launches(const ProgramKernel& program);

/// Calls `see` for every statement, those in bodies included, outer ones first.
void each_statement(const Statements& block, const std::function<void(const Statement&)>& see);
void each_statement(Statements& block, const std::function<void(Statement&)>& see);
/// Calls `see` for every expression of one statement, not of those in its bodies.
void each_expr(const Statement& s, const std::function<void(const Expr&)>& see);
void each_expr(Statement& s, const std::function<void(Expr&)>& see);

}  // namespace gcg
