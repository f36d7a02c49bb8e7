// Operators of arrays and functions of one array, recorded with a few C calls.
#pragma once

#include "objects.h"

namespace gart_lazy {

enum Slot : int {
  kAdd,
  kSub,
  kMul,
  kDiv,
  kMatMul,
  kLess,
  kLessOrEqual,
  kGreater,
  kGreaterOrEqual,
  kEqual,
  kNotEqual,
  kAnd,
  kOr,
  kXor,
  kPower,
  kFloorDivide,
  kRemainder,
  kSlots
};

/// Converts a Python number that is an operand together with an array of `dtype`, by NumPy's type rules. Empty if the
/// Python code must handle the number.
Array weak_scalar(PyObject* value, DType dtype);

PyObject* binary(int slot, PyObject* a, PyObject* b);
template <int slot>
PyObject* binary_slot(PyObject* a, PyObject* b) {
  return binary(slot, a, b);
}
PyObject* power_slot(PyObject* a, PyObject* b, PyObject*);
PyObject* compare(PyObject* a, PyObject* b, int how);
PyObject* negative(PyObject* x);
PyObject* absolute(PyObject* x);

/// exp, tanh, ... as functions of the module. False with an exception set.
bool add_unary_functions(PyObject* module);
/// Must run before anything is recorded.
void make_operators();

}  // namespace gart_lazy
