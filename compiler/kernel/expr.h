// Tensor expressions: one element of a tensor as a function of its index.
//
// An op's lowering (compiler/ops) returns an Expr for one element of its output; composing lowerings by substitution is
// fusion. Expressions are immutable, compared by their structural `key()`, and typed: index arithmetic is i64,
// everything else has the dtype of its node. f16 and bf16 are storage types: an explicit Cast widens their Loads to
// f32, and arithmetic is f32.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "compiler/ir/dim.h"
#include "compiler/ir/dtype.h"

namespace gcg {

struct ExprNode;
using Expr = std::shared_ptr<const ExprNode>;

enum class ExprKind : uint8_t {
  constant,     // number (float dtypes: `number`; others: `integer`)
  axis,         // i64 loop variable `axis`
  extent,       // i64 value of `dim`, a run-time parameter when symbolic
  load,         // operand `operand` at args = one i64 index per dimension of the operand
  local,        // result `local` of an earlier reduction stage of the same kernel; a variable of a program
  accumulator,  // in an epilogue: the contraction's f32 result at this element
  unary,
  binary,
  select,  // args: condition (boolean), then, else. Both sides are evaluated; loads in the side not taken must
           // still be in bounds unless `guarded` is set: such a load is executed only if every select around it takes
           // its side.
  cast,
  reduce,  // `reduce` over `reduce_axes` of args[0]
};

enum class UnaryOp : uint8_t {
  neg,
  abs,
  sqrt,
  rsqrt,
  exp,
  log,
  erf,
  tanh,
  sigmoid,
  sin,
  cos,
  tan,
  asin,
  acos,
  atan,
  sinh,
  cosh,
  asinh,
  acosh,
  atanh,
  floor,
  ceil,
  round_even,
  reciprocal,
  logical_not,
  bit_not,
  is_nan,
  is_inf,
  sign,
  bits,     // f32 or f64 -> its bits, as u32 or u64
  of_bits,  // u32 or u64 -> the f32 or f64 whose bits it is
};

enum class BinaryOp : uint8_t {
  add,
  sub,
  mul,
  div,        // floats: IEEE; integers: towards zero, by zero gives zero (never a trap)
  floor_div,  // integers only; divisor > 0 in index arithmetic
  mod,        // integers: sign of the divisor (ONNX Mod fmod=0); by zero gives zero
  fmod,       // C fmod, sign of the dividend
  pow,
  max,
  min,  // max/min of floats propagate NaN
  equal,
  not_equal,
  less,
  less_equal,
  greater,
  greater_equal,  // -> boolean
  logical_and,
  logical_or,
  logical_xor,  // boolean
  bit_and,
  bit_or,
  bit_xor,
  shift_left,
  shift_right,    // integers; shift_right is logical on unsigned types
  checked_index,  // i64: a where 0 <= a < b; elsewhere 0, and the kernel reports an index out of range
};

enum class ReduceOp : uint8_t { sum, prod, max, min, logical_and, logical_or };

/// A loop variable. Ids are unique within a kernel (and within a fusion group while it is being built).
struct Axis {
  int id = -1;
  Dim extent;
};

struct ExprNode {
  ExprKind kind;
  DType dtype;
  double number = 0;
  int64_t integer = 0;
  int axis = -1;
  int operand = -1;
  int local = -1;
  UnaryOp unary{};
  BinaryOp binary{};
  ReduceOp reduce{};
  bool guarded = false;  // load: only executed if every enclosing select takes its side
  Dim dim;
  std::vector<Axis> reduce_axes;
  std::vector<Expr> args;
};

// Builders. They fold constants and trivial identities (x*1, x+0 for integers, select of a constant condition, ...).
Expr constant_float(DType dtype, double value);
Expr constant_int(DType dtype, int64_t value);
inline Expr index(int64_t value) { return constant_int(DType::i64, value); }
Expr boolean(bool value);
Expr axis_ref(const Axis& axis);
Expr extent(const Dim& dim);  // a constant if the Dim is one
Expr load(int operand, DType dtype, std::vector<Expr> indices);
Expr local_ref(int local, DType dtype);
Expr accumulator(DType dtype);
Expr unary(UnaryOp op, Expr a);
Expr binary(BinaryOp op, Expr a, Expr b);
Expr select(Expr condition, Expr then, Expr otherwise);
/// ONNX Cast semantics: float -> int truncates towards zero, saturating; anything -> boolean is `!= 0`.
Expr cast(DType to, Expr a);
Expr reduce(ReduceOp op, std::vector<Axis> axes, Expr body);

inline Expr operator+(Expr a, Expr b) { return binary(BinaryOp::add, std::move(a), std::move(b)); }
inline Expr operator-(Expr a, Expr b) { return binary(BinaryOp::sub, std::move(a), std::move(b)); }
inline Expr operator*(Expr a, Expr b) { return binary(BinaryOp::mul, std::move(a), std::move(b)); }

/// The identity element of a reduction in a dtype (-inf or the lowest value for max, ...).
Expr reduce_identity(ReduceOp op, DType dtype);

/// A canonical text, equal for structurally equal expressions.
std::string key(const Expr& e);
/// Rebuilds bottom-up (through the folding builders); `replace` returns null to keep a node.
Expr rewrite(const Expr& e, const std::function<Expr(const Expr&)>& replace);
void visit(const Expr& e, const std::function<void(const ExprNode&)>& see);
/// Axis ids that occur free (reduction axes are bound).
std::set<int> free_axes(const Expr& e);

/// `e` as base + sum(stride * axis): nullopt when some axis enters non-linearly. i64 expressions over axes, extents and
/// constants only.
struct Affine {
  Dim base;
  std::map<int, Dim> strides;  // axis id -> stride, zero strides left out
};
std::optional<Affine> as_affine(const Expr& e);

/// Simplifies index arithmetic given the extents of axes: (i*c + j)/c = i when 0 <= j < c, (i*c + j)%c = j, ...
Expr simplify_index(const Expr& e, const std::map<int, Dim>& extents);

}  // namespace gcg
