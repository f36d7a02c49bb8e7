#include "forms.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "arithmetic.h"
#include "source_lines.h"

namespace gart_lazy {
namespace {

using Ints = std::vector<int64_t>;

/// Arguments of a call; keyword arguments come last.
struct Call {
  PyObject* self = nullptr;  // an array
  PyObject* const* at = nullptr;
  Py_ssize_t places = 0;  // positional
  PyObject* names = nullptr;

  Py_ssize_t named() const { return names == nullptr ? 0 : PyTuple_Size(names); }
  const Array& array() const { return array_of(self); }
};

// ---- arguments: these functions return nullopt, or null without an exception, if the Python code must handle them

std::optional<int64_t> plain_int(PyObject* object) {
  if (!PyLong_CheckExact(object)) return std::nullopt;
  int overflow = 0;
  const long long value = PyLong_AsLongLongAndOverflow(object, &overflow);
  return overflow == 0 ? std::optional<int64_t>(value) : std::nullopt;
}

std::optional<Ints> plain_ints(PyObject* const* at, Py_ssize_t count) {
  Ints out;
  for (Py_ssize_t i = 0; i < count; ++i) {
    const std::optional<int64_t> value = plain_int(at[i]);
    if (!value) return std::nullopt;
    out.push_back(*value);
  }
  return out;
}

/// The integers in a tuple or a list; null if it contains anything else.
std::optional<Ints> ints_in(PyObject* object) {
  const bool is_tuple = PyTuple_CheckExact(object) != 0;
  if (!is_tuple && PyList_CheckExact(object) == 0) return std::nullopt;
  Ints out;
  const Py_ssize_t count = PyObject_Size(object);
  for (Py_ssize_t i = 0; i < count; ++i) {
    const auto value = plain_int(is_tuple ? PyTuple_GetItem(object, i) : PyList_GetItem(object, i));
    if (!value) return std::nullopt;
    out.push_back(*value);
  }
  return out;
}

/// Integers one by one, or a tuple or a list of them.
std::optional<Ints> ints_of(const Call& call) {
  if (call.named() != 0) return std::nullopt;
  return call.places == 1 && !PyLong_Check(call.at[0]) ? ints_in(call.at[0]) : plain_ints(call.at, call.places);
}

/// Axes, counted from the front.
std::optional<Ints> axes_of(Ints axes, size_t rank) {
  uint64_t seen = 0;
  for (int64_t& axis : axes) {
    if (axis < 0) axis += static_cast<int64_t>(rank);
    if (axis < 0 || axis >= static_cast<int64_t>(rank) || rank > 64 || (seen >> axis & 1) != 0) return std::nullopt;
    seen |= uint64_t{1} << axis;
  }
  return axes;
}

// ---- recording

Operator with_ints(const char* op) { return Operator::make(op, "xi"); }

PyObject* record_list(const Operator& op, const Array& x, const Ints& list) {
  const uint32_t length[] = {static_cast<uint32_t>(list.size())};
  return guarded([&] { return wrap(gcc_graph::lazy::record(op, x, list, length, here())); });
}

/// An operator from the cache `known`, by the integers in its attributes; `make` adds a missing one.
template <class Make>
const Operator& remembered(std::map<Ints, Operator>& known, const Ints& key, Make make) {
  constexpr size_t kMost = 4096;
  const auto it = known.find(key);
  if (it != known.end()) return it->second;
  if (known.size() >= kMost) known.clear();
  return known[key] = make();
}

// ---- reductions: (axis=None, keepdims=False)

struct Reduction {
  const char* op;
  bool floats_only, wide_only;  // the types that the function accepts; other integer types are left to the Python code
};

bool is_float(DType t) { return t == DType::f32 || t == DType::f64 || t == DType::f16 || t == DType::bf16; }
bool takes(const Reduction& r, DType t) {
  return is_float(t) || (!r.floats_only && (r.wide_only ? t == DType::i64 || t == DType::u64 : t != DType::boolean));
}

struct Along {
  Ints axes;
  bool is_all = true, keeps = false;
};

std::optional<Along> along(const Call& call) {
  Along out;
  PyObject *axis = call.places > 0 ? call.at[0] : Py_None, *keeps = Py_False;
  for (Py_ssize_t i = 0; i < call.named(); ++i) {
    PyObject* name = PyTuple_GetItem(call.names, i);
    if (PyUnicode_CompareWithASCIIString(name, "axis") == 0 && call.places == 0)
      axis = call.at[call.places + i];
    else if (PyUnicode_CompareWithASCIIString(name, "keepdims") == 0)
      keeps = call.at[call.places + i];
    else
      return std::nullopt;
  }
  if (call.places > 1 || (keeps != Py_True && keeps != Py_False)) return std::nullopt;
  out.keeps = keeps == Py_True;
  if (axis == Py_None) return out;
  out.is_all = false;
  if (const auto one = plain_int(axis)) {
    out.axes = {*one};
    return out;
  }
  std::optional<Ints> several = PyTuple_CheckExact(axis) != 0 ? ints_in(axis) : std::nullopt;
  if (!several) return std::nullopt;
  out.axes = std::move(*several);
  return out;
}

PyObject* reduce(const Call& call, const Reduction& r, Operator (&operators)[2]) {
  const size_t rank = call.array().shape().size();
  std::optional<Along> a = along(call);
  if (!a || rank == 0 || !takes(r, call.array().dtype()) || call.array().elements() == 0) return nullptr;
  if (a->is_all)
    for (size_t k = 0; k < rank; ++k) a->axes.push_back(static_cast<int64_t>(k));
  const std::optional<Ints> axes = axes_of(std::move(a->axes), rank);
  if (!axes || axes->empty()) return nullptr;
  Operator& op = operators[a->keeps ? 1 : 0];
  if (op.op() == nullptr) op = Operator::make(r.op, "xi", {{"keepdims", int64_t{a->keeps ? 1 : 0}}});
  return record_list(op, call.array(), *axes);
}

PyObject* sum(const Call& call) {
  static Operator operators[2];
  return reduce(call, {"ReduceSum", false, true}, operators);
}
PyObject* mean(const Call& call) {
  static Operator operators[2];
  return reduce(call, {"ReduceMean", true, false}, operators);
}
PyObject* max(const Call& call) {
  static Operator operators[2];
  return reduce(call, {"ReduceMax", false, false}, operators);
}
PyObject* min(const Call& call) {
  static Operator operators[2];
  return reduce(call, {"ReduceMin", false, false}, operators);
}

PyObject* place(const Call& call, const char* op, std::map<Ints, Operator>& known) {
  const std::optional<Along> a = along(call);
  if (!a || a->is_all || call.array().dtype() == DType::boolean || call.array().elements() == 0) return nullptr;
  const std::optional<Ints> axes = axes_of(a->axes, call.array().shape().size());
  if (!axes || axes->size() != 1) return nullptr;
  const Ints key = {axes->front(), a->keeps ? 1 : 0};
  return guarded([&] {
    const Operator& recorded =
        remembered(known, key, [&] { return Operator::make(op, "x", {{"axis", key[0]}, {"keepdims", key[1]}}); });
    return wrap(gcc_graph::lazy::record(recorded, call.array(), here()));
  });
}
PyObject* argmax(const Call& call) {
  static auto* known = new std::map<Ints, Operator>;
  return place(call, "ArgMax", *known);
}
PyObject* argmin(const Call& call) {
  static auto* known = new std::map<Ints, Operator>;
  return place(call, "ArgMin", *known);
}

// ---- shapes

PyObject* reshape(const Call& call) {
  static const Operator op = with_ints("Reshape");
  std::optional<Ints> shape = ints_of(call);
  if (!shape) return nullptr;
  int64_t known_product = 1;
  int64_t* open = nullptr;
  for (int64_t& extent : *shape) {
    if (extent < 0) {
      if (extent != -1 || open != nullptr) return nullptr;
      open = &extent;
    } else if (__builtin_mul_overflow(known_product, extent, &known_product)) {
      return nullptr;
    }
  }
  const Array& x = call.array();
  if (open != nullptr) {
    if (known_product == 0 || x.elements() % known_product != 0) return nullptr;
    *open = x.elements() / known_product;
  } else if (known_product != x.elements()) {
    return nullptr;
  }
  if (std::ranges::equal(x.shape(), *shape)) return Py_NewRef(call.self);
  return record_list(op, x, *shape);
}

PyObject* turned(PyObject* self, const Ints& order) {
  static auto* known = new std::map<Ints, Operator>;
  if (std::is_sorted(order.begin(), order.end())) return Py_NewRef(self);
  return guarded([&] {
    const Operator& op = remembered(*known, order, [&] { return Operator::make("Transpose", "x", {{"perm", order}}); });
    return wrap(gcc_graph::lazy::record(op, array_of(self), here()));
  });
}

Ints counting(size_t rank) {
  Ints order(rank);
  for (size_t i = 0; i < rank; ++i) order[i] = static_cast<int64_t>(i);
  return order;
}

PyObject* transpose(const Call& call) {
  if (call.places == 0 && call.named() == 0) return transposed(call.self, nullptr);
  const size_t rank = call.array().shape().size();
  std::optional<Ints> order = ints_of(call);
  if (!order || order->size() != rank) return nullptr;
  order = axes_of(std::move(*order), rank);
  return order ? turned(call.self, *order) : nullptr;
}

PyObject* swapaxes(const Call& call) {
  if (call.places != 2) return nullptr;
  const size_t rank = call.array().shape().size();
  const std::optional<Ints> two = ints_of(call);
  if (!two) return nullptr;
  Ints order = counting(rank);
  for (const int64_t axis : *two)
    if (axis < -static_cast<int64_t>(rank) || axis >= static_cast<int64_t>(rank)) return nullptr;
  const auto from_front = [&](int64_t axis) {
    return static_cast<size_t>(axis < 0 ? axis + static_cast<int64_t>(rank) : axis);
  };
  std::swap(order[from_front((*two)[0])], order[from_front((*two)[1])]);
  return turned(call.self, order);
}

// ---- choices

/// Both operands as arrays of one type; empty if the Python code must handle them.
std::pair<Array, Array> alike(PyObject* a, PyObject* b) {
  if (is_array(a) && is_array(b))
    return array_of(a).dtype() == array_of(b).dtype() ? std::pair(array_of(a), array_of(b)) : std::pair<Array, Array>();
  if (is_array(a)) return {array_of(a), weak_scalar(b, array_of(a).dtype())};
  if (is_array(b)) return {weak_scalar(a, array_of(b).dtype()), array_of(b)};
  const bool floats = PyFloat_CheckExact(a) != 0 && PyFloat_CheckExact(b) != 0;
  if (!floats && (PyLong_CheckExact(a) == 0 || PyLong_CheckExact(b) == 0)) return {};
  const DType type = floats ? DType::f32 : DType::i64;
  return {weak_scalar(a, type), weak_scalar(b, type)};
}

PyObject* where(const Call& call) {
  static const Operator op = Operator::make("Where", "xxx");
  if (call.places != 2 || call.named() != 0 || call.array().dtype() != DType::boolean) return nullptr;
  const auto [a, b] = alike(call.at[0], call.at[1]);
  if (!a || !b) return nullptr;
  return guarded([&] { return wrap(gcc_graph::lazy::record(op, call.array(), a, b, here())); });
}

PyObject* choose(const Call& call, const Operator& op) {
  if (call.places != 1 || call.named() != 0 || call.array().dtype() == DType::boolean) return nullptr;
  const auto [a, b] = alike(call.self, call.at[0]);
  if (!a || !b) return nullptr;
  return guarded([&] { return wrap(gcc_graph::lazy::record(op, a, b, here())); });
}
PyObject* maximum(const Call& call) {
  static const Operator op = Operator::make("Max", "xx");
  return choose(call, op);
}
PyObject* minimum(const Call& call) {
  static const Operator op = Operator::make("Min", "xx");
  return choose(call, op);
}

// ---- the table

struct Form {
  const char* name;
  PyObject* (*record)(const Call&);  // null without an exception: the Python code must handle it
  const char* doc;
};
constexpr Form kForms[] = {{"sum", sum, "sum(x, axis=None, keepdims=False, dtype=None): as in NumPy"},
                           {"mean", mean, "mean(x, axis=None, keepdims=False, dtype=None): as in NumPy"},
                           {"max", max, "max(x, axis=None, keepdims=False): as in NumPy"},
                           {"min", min, "min(x, axis=None, keepdims=False): as in NumPy"},
                           {"argmax", argmax, "argmax(x, axis=None, keepdims=False): as in NumPy"},
                           {"argmin", argmin, "argmin(x, axis=None, keepdims=False): as in NumPy"},
                           {"reshape", reshape, "reshape(x, *shape): as in NumPy; one extent may be -1"},
                           {"transpose", transpose, "transpose(x, *axes): as in NumPy"},
                           {"swapaxes", swapaxes, "swapaxes(x, a, b): as in NumPy"},
                           {"where", where, "where(condition, a, b): as in NumPy"},
                           {"maximum", maximum, "maximum(a, b): as in NumPy"},
                           {"minimum", minimum, "minimum(a, b): as in NumPy"}};
constexpr int kFormCount = sizeof kForms / sizeof *kForms, kMethodCount = 9;  // methods come first

/// Calls the package's Python function `name` with all arguments.
PyObject* general(const char* name, PyObject* first, const Call& call) {
  PyObject* function = PyDict_GetItemString(package.forms, name);
  const Py_ssize_t ahead = first != nullptr ? 1 : 0;
  PyObject *arguments = PyTuple_New(call.places + ahead), *named = nullptr, *result = nullptr;
  if (arguments == nullptr || function == nullptr) return nullptr;
  if (first != nullptr) PyTuple_SetItem(arguments, 0, Py_NewRef(first));
  for (Py_ssize_t i = 0; i < call.places; ++i) PyTuple_SetItem(arguments, ahead + i, Py_NewRef(call.at[i]));
  if (call.named() > 0) named = PyDict_New();
  for (Py_ssize_t i = 0; named != nullptr && i < call.named(); ++i)
    PyDict_SetItem(named, PyTuple_GetItem(call.names, i), call.at[call.places + i]);
  result = PyObject_Call(function, arguments, named);
  Py_DECREF(arguments);
  Py_XDECREF(named);
  return result;
}

template <int which>
PyObject* as_method(PyObject* self, PyObject* const* at, Py_ssize_t places, PyObject* names) {
  const Call call{self, at, places, names};
  PyObject* recorded = kForms[which].record(call);
  return recorded != nullptr || PyErr_Occurred() != nullptr ? recorded : general(kForms[which].name, self, call);
}

template <int which>
PyObject* as_function(PyObject*, PyObject* const* at, Py_ssize_t places, PyObject* names) {
  if (places > 0 && is_array(at[0])) return as_method<which>(at[0], at + 1, places - 1, names);
  // the first argument may be a number, for example of `where`
  const Call call{nullptr, at, places, names};
  return general(kForms[which].name, nullptr, call);
}

template <PyObject* (*function)(PyObject*, PyObject* const*, Py_ssize_t, PyObject*)>
PyMethodDef entry(const Form& form) {
  return {form.name, reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(function)),
          METH_FASTCALL | METH_KEYWORDS, form.doc};
}

template <int... which>
PyMethodDef* functions(std::integer_sequence<int, which...>) {
  static PyMethodDef table[] = {entry<as_function<which>>(kForms[which])..., {nullptr, nullptr, 0, nullptr}};
  return table;
}
template <int... which>
std::span<const PyMethodDef> methods(std::integer_sequence<int, which...>) {
  static const PyMethodDef table[] = {entry<as_method<which>>(kForms[which])...};
  return table;
}

}  // namespace

bool add_form_functions(PyObject* module) {
  if (PyModule_AddFunctions(module, functions(std::make_integer_sequence<int, kFormCount>())) != 0) return false;
  PyObject* names = PyTuple_New(kFormCount);
  for (int i = 0; names != nullptr && i < kFormCount; ++i)
    PyTuple_SetItem(names, i, PyUnicode_FromString(kForms[i].name));
  return names != nullptr && PyModule_AddObject(module, "forms", names) == 0;
}

std::span<const PyMethodDef> form_methods() { return methods(std::make_integer_sequence<int, kMethodCount>()); }

PyObject* transposed(PyObject* self, void*) {
  Ints order = counting(array_of(self).shape().size());
  std::reverse(order.begin(), order.end());
  return turned(self, order);
}

}  // namespace gart_lazy
