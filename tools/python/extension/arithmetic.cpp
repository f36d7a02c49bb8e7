#include "arithmetic.h"

#include <cstring>
#include <utility>

#include "source_lines.h"

namespace gart_lazy {
namespace {

const char* const kSlotNames[kSlots] = {"add",          "subtract",    "multiply",   "divide",        "matmul",
                                        "less",         "less_equal",  "greater",    "greater_equal", "equal",
                                        "not_equal",    "bitwise_and", "bitwise_or", "bitwise_xor",   "power",
                                        "floor_divide", "remainder"};
const char* const kSlotOps[] = {
    "Add", "Sub", "Mul", "Div", "MatMul", "Less", "LessOrEqual", "Greater", "GreaterOrEqual", "Equal"};
Operator slot_operators[10];

bool is_plain_float(DType t) { return t == DType::f32 || t == DType::f64; }
bool is_float(DType t) { return is_plain_float(t) || t == DType::f16 || t == DType::bf16; }
bool is_number(DType t) { return t != DType::boolean; }
bool is_unsigned(DType t) { return t >= DType::u8 && t <= DType::u64; }
bool is_fast(int slot, DType t) {
  if (slot > kEqual || !is_number(t)) return false;
  return slot != kDiv || is_float(t);
}

}  // namespace

Array weak_scalar(PyObject* value, DType dtype) {
  if (PyFloat_CheckExact(value) && is_plain_float(dtype)) {
    const double number = PyFloat_AsDouble(value);
    const auto narrow = static_cast<float>(number);
    return Array::scalar(dtype, dtype == DType::f64 ? static_cast<const void*>(&number) : &narrow);
  }
  if (!PyLong_CheckExact(value)) return {};
  int overflow = 0;
  const long long number = PyLong_AsLongLongAndOverflow(value, &overflow);
  if (overflow != 0) return {};
  if (dtype == DType::f32) {
    const auto f = static_cast<float>(number);
    return Array::scalar(dtype, &f);
  }
  if (dtype == DType::f64) {
    const auto f = static_cast<double>(number);
    return Array::scalar(dtype, &f);
  }
  if (dtype == DType::i64) return Array::scalar(dtype, &number);
  if (dtype == DType::i32 && number == static_cast<int32_t>(number)) {
    const auto i = static_cast<int32_t>(number);
    return Array::scalar(dtype, &i);
  }
  return {};
}

PyObject* binary(int slot, PyObject* a, PyObject* b) {
  const bool left = is_array(a), right = is_array(b);
  if (left && right) {
    const Array& x = array_of(a);
    const Array& y = array_of(b);
    if (x.dtype() == y.dtype() && is_fast(slot, x.dtype()))
      return guarded([&] { return wrap(gcc_graph::lazy::record(slot_operators[slot], x, y, here())); });
  } else if (slot != kMatMul) {
    const Array& known = array_of(left ? a : b);
    if (is_fast(slot, known.dtype()))
      if (const Array number = weak_scalar(left ? b : a, known.dtype()))
        return guarded([&] {
          return wrap(
              gcc_graph::lazy::record(slot_operators[slot], left ? known : number, left ? number : known, here()));
        });
  }
  if (package.fallback == nullptr) Py_RETURN_NOTIMPLEMENTED;
  return PyObject_CallFunction(package.fallback, "sOO", kSlotNames[slot], a, b);
}

PyObject* compare(PyObject* a, PyObject* b, int how) {
  switch (how) {
    case Py_LT:
      return binary(kLess, a, b);
    case Py_LE:
      return binary(kLessOrEqual, a, b);
    case Py_GT:
      return binary(kGreater, a, b);
    case Py_GE:
      return binary(kGreaterOrEqual, a, b);
    case Py_EQ:
      return binary(kEqual, a, b);
    default:
      return binary(kNotEqual, a, b);
  }
}

namespace {

// Functions of one array. Most convert integers to floats first; rounding functions return integers unchanged.
struct Unary {
  const char* name;
  const char* op;
  bool floats_only;
  bool rounds = false;
};
constexpr Unary kUnary[] = {
    {"exp", "Exp", true},           {"log", "Log", true},         {"tanh", "Tanh", true},
    {"sqrt", "Sqrt", true},         {"sin", "Sin", true},         {"cos", "Cos", true},
    {"tan", "Tan", true},           {"sinh", "Sinh", true},       {"cosh", "Cosh", true},
    {"arcsin", "Asin", true},       {"arccos", "Acos", true},     {"arctan", "Atan", true},
    {"arcsinh", "Asinh", true},     {"arccosh", "Acosh", true},   {"arctanh", "Atanh", true},
    {"erf", "Erf", true},           {"sigmoid", "Sigmoid", true}, {"reciprocal", "Reciprocal", true},
    {"softplus", "Softplus", true}, {"abs", "Abs", false},        {"negative", "Neg", false},
    {"sign", "Sign", false},        {"relu", "Relu", false},      {"floor", "Floor", true, true},
    {"ceil", "Ceil", true, true},   {"rint", "Round", true}};
constexpr int kUnaryCount = sizeof kUnary / sizeof *kUnary;
Operator unary_operators[kUnaryCount];

int index_of_unary(const char* name) {
  for (int i = 0; i < kUnaryCount; ++i)
    if (std::strcmp(kUnary[i].name, name) == 0) return i;
  return 0;
}

/// ONNX has no Neg for unsigned numbers; this one wraps around, as NumPy's does.
PyObject* unsigned_negative(const Array& x) {
  constexpr int64_t zero = 0;
  return guarded(
      [&] { return wrap(gcc_graph::lazy::record(slot_operators[kSub], Array::scalar(x.dtype(), &zero), x, here())); });
}

/// Records the operator `which` on `x`.
PyObject* record_unary(int which, const Array& x) {
  return guarded([&] { return wrap(gcc_graph::lazy::record(unary_operators[which], x, here())); });
}

/// Converts `x` to an array with the package's Python code; `to_floats`: to a float type.
PyObject* converted(PyObject* x, bool to_floats) {
  return PyObject_CallFunction(package.convert, "Oi", x, to_floats ? 1 : 0);
}

PyObject* unary(int which, PyObject* x) {
  static const int negative = index_of_unary("negative"), absolute = index_of_unary("abs");
  const Unary& u = kUnary[which];
  const DType t = is_array(x) ? array_of(x).dtype() : DType::undefined;
  const bool is_taken = u.floats_only ? is_float(t) : is_number(t) && t != DType::undefined;
  if (is_taken)
    return which == negative && is_unsigned(t) ? unsigned_negative(array_of(x)) : record_unary(which, array_of(x));
  if (t == DType::undefined || (u.floats_only && !u.rounds)) {
    PyObject* taken = converted(x, t != DType::undefined);
    PyObject* result = taken != nullptr && is_array(taken) ? unary(which, taken) : nullptr;
    Py_XDECREF(taken);
    return result;
  }
  if (u.rounds || which == absolute) {  // x holds integers or booleans, which these functions do not change
    Py_INCREF(x);
    return x;
  }
  PyErr_Format(package.error, "%s: booleans are not numbers; ~ inverts them", u.name);
  return nullptr;
}

template <int which>
PyObject* unary_function(PyObject*, PyObject* x) {
  return unary(which, x);
}

template <int... which>
bool add_functions(PyObject* module, std::integer_sequence<int, which...>) {
  static PyMethodDef table[] = {{kUnary[which].name, unary_function<which>, METH_O, "Elementwise"}...,
                                {nullptr, nullptr, 0, nullptr}};
  return PyModule_AddFunctions(module, table) == 0;
}

}  // namespace

/// Integer powers are computed by products, as in NumPy.
PyObject* power_slot(PyObject* a, PyObject* b, PyObject*) {
  static const int root = index_of_unary("sqrt");
  int overflow = 0;
  const long power = PyLong_CheckExact(b) != 0 ? PyLong_AsLongAndOverflow(b, &overflow) : 0;
  if (is_array(a) && is_number(array_of(a).dtype())) {
    if (power == 2) return binary(kMul, a, a);
    if (power == 3) {
      PyObject* square = binary(kMul, a, a);
      PyObject* cube = square == nullptr ? nullptr : binary(kMul, square, a);
      Py_XDECREF(square);
      return cube;
    }
    if (PyFloat_CheckExact(b) != 0 && PyFloat_AsDouble(b) == 0.5 && is_float(array_of(a).dtype()))
      return unary(root, a);
  }
  return binary(kPower, a, b);
}

PyObject* negative(PyObject* x) {
  static const int which = index_of_unary("negative");
  return unary(which, x);
}
PyObject* absolute(PyObject* x) {
  static const int which = index_of_unary("abs");
  return unary(which, x);
}

bool add_unary_functions(PyObject* module) {
  return add_functions(module, std::make_integer_sequence<int, kUnaryCount>());
}

void make_operators() {
  for (int slot = 0; slot <= kEqual; ++slot) slot_operators[slot] = Operator::make(kSlotOps[slot], "xx");
  for (int i = 0; i < kUnaryCount; ++i) unary_operators[i] = Operator::make(kUnary[i].op, "x");
}

}  // namespace gart_lazy
