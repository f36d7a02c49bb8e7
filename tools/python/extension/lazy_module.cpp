// gart.lazy's recorder for Python: arrays with their operators, each recorded by a few calls of C. What is not fast by
// need is Python (tools/python/gart/lazy). Python's stable ABI of 3.11.
#define PY_SSIZE_T_CLEAN
#define Py_LIMITED_API 0x030B0000
#include <Python.h>

#include <cstring>
#include <string>
#include <unordered_map>
#include <vector>

#include "gcc_graph/lazy.h"

namespace {

using gcc_graph::Attribute;
using gcc_graph::Attributes;
using gcc_graph::DType;
using gcc_graph::lazy::Array;
using gcc_graph::lazy::Operator;
using gcc_graph::lazy::Recording;
using gcc_graph::lazy::Source;

struct PyArray {
  PyObject_HEAD Array array;
};
struct PyOperator {
  PyObject_HEAD Operator op;
};
struct PyRecording {
  PyObject_HEAD Recording recording;
};

PyTypeObject* array_type = nullptr;
PyTypeObject* operator_type = nullptr;
PyTypeObject* recording_type = nullptr;
PyObject* error_type = nullptr;
PyObject* fallback = nullptr;  // what Python does for operands that are not alike: fallback(name, a, b)
PyObject* convert = nullptr;   // what makes an array of anything else
std::string own_folder;        // of the package: its frames are nobody's lines

Array& array_of(PyObject* object) { return reinterpret_cast<PyArray*>(object)->array; }
bool is_array(PyObject* object) { return Py_TYPE(object) == array_type; }

PyObject* wrap(Array&& array) {
  auto* object = reinterpret_cast<PyArray*>(PyType_GenericAlloc(array_type, 0));
  if (object == nullptr) return nullptr;
  new (&object->array) Array(std::move(array));
  return reinterpret_cast<PyObject*>(object);
}

// ---- where the user's program is

struct Codes {
  std::vector<PyObject*> all = {nullptr};  // number 0: not known; each is kept
  std::unordered_map<PyObject*, uint32_t> numbers;
  std::vector<bool> is_own = {false};
  PyObject* last = nullptr;
  uint32_t last_number = 0;

  uint32_t number(PyObject* code) {
    if (code == last) return last_number;
    const auto [it, fresh] = numbers.try_emplace(code, static_cast<uint32_t>(all.size()));
    if (fresh) {
      Py_INCREF(code);
      all.push_back(code);
      PyObject* name = PyObject_GetAttrString(code, "co_filename");
      const char* text = name == nullptr ? nullptr : PyUnicode_AsUTF8AndSize(name, nullptr);
      is_own.push_back(text != nullptr && !own_folder.empty() && std::string(text).starts_with(own_folder));
      Py_XDECREF(name);
      PyErr_Clear();
    }
    last = code;
    return last_number = it->second;
  }
};
Codes& codes() {
  static auto* table = new Codes;
  return *table;
}

Source here() {
  static PyObject* const lasti = PyUnicode_InternFromString("f_lasti");
  static PyObject* const back = PyUnicode_InternFromString("f_back");
  PyObject* frame = reinterpret_cast<PyObject*>(PyEval_GetFrame());
  if (frame == nullptr) return {};
  Py_INCREF(frame);
  for (;;) {
    PyObject* code = reinterpret_cast<PyObject*>(PyFrame_GetCode(reinterpret_cast<PyFrameObject*>(frame)));
    const uint32_t number = codes().number(code);
    Py_DECREF(code);
    if (codes().is_own[number]) {
      PyObject* outer = PyObject_GetAttr(frame, back);
      Py_DECREF(frame);
      frame = outer;
      if (frame != nullptr && frame != Py_None) continue;
      Py_XDECREF(frame);
      PyErr_Clear();
      return {};
    }
    PyObject* at = PyObject_GetAttr(frame, lasti);
    Py_DECREF(frame);
    const long offset = at == nullptr ? -1 : PyLong_AsLong(at);
    Py_XDECREF(at);
    return {number, static_cast<int32_t>(offset)};
  }
}

/// " (model.py, line 12)"
std::string place_of(Source source) {
  if (source.code == 0 || source.code >= codes().all.size()) return {};
  PyObject* code = codes().all[source.code];
  PyObject* name = PyObject_GetAttrString(code, "co_filename");
  PyObject* lines = PyObject_CallMethod(code, "co_lines", nullptr);
  std::string text;
  long line = 0;
  PyObject* iterator = lines == nullptr ? nullptr : PyObject_GetIter(lines);
  for (PyObject* item = nullptr; iterator != nullptr && (item = PyIter_Next(iterator)) != nullptr; Py_DECREF(item)) {
    const long begin = PyLong_AsLong(PyTuple_GetItem(item, 0)), end = PyLong_AsLong(PyTuple_GetItem(item, 1));
    PyObject* number = PyTuple_GetItem(item, 2);
    if (source.at >= begin && source.at < end && number != Py_None) line = PyLong_AsLong(number);
  }
  if (name != nullptr)
    if (const char* file = PyUnicode_AsUTF8AndSize(name, nullptr))
      text = std::string(" (") + file + ", line " + std::to_string(line) + ")";
  Py_XDECREF(iterator);
  Py_XDECREF(lines);
  Py_XDECREF(name);
  PyErr_Clear();
  return text;
}

/// Runs `body`; what it throws is Python's exception.
template <class Body>
PyObject* guarded(Body body) {
  try {
    return body();
  } catch (const gcc_graph::lazy::Failure& failure) {
    PyErr_SetString(error_type, (failure.what() + place_of(failure.source)).c_str());
  } catch (const gcc_graph::Error& error) {
    PyErr_SetString(error_type, (error.what() + place_of(here())).c_str());
  } catch (const std::bad_alloc&) {
    PyErr_NoMemory();
  } catch (const std::exception& error) {
    PyErr_SetString(PyExc_RuntimeError, error.what());
  }
  return nullptr;
}

bool evaluate(std::vector<Array> arrays) {
  PyObject* done = guarded([&]() -> PyObject* {
    PyThreadState* thread = PyEval_SaveThread();
    try {
      gcc_graph::lazy::evaluate(arrays);
    } catch (...) {
      PyEval_RestoreThread(thread);
      throw;
    }
    PyEval_RestoreThread(thread);
    return Py_None;
  });
  return done != nullptr;
}

bool ensure_ready(PyObject* self) { return array_of(self).is_ready() || evaluate({array_of(self)}); }

// ---- operators

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
const char* const kSlotNames[kSlots] = {"add",          "subtract",    "multiply",   "divide",        "matmul",
                                        "less",         "less_equal",  "greater",    "greater_equal", "equal",
                                        "not_equal",    "bitwise_and", "bitwise_or", "bitwise_xor",   "power",
                                        "floor_divide", "remainder"};
const char* const kSlotOps[] = {
    "Add", "Sub", "Mul", "Div", "MatMul", "Less", "LessOrEqual", "Greater", "GreaterOrEqual", "Equal"};
Operator slot_operators[10];

bool is_plain_float(DType t) { return t == DType::f32 || t == DType::f64; }
bool is_number(DType t) { return t != DType::boolean; }
bool is_fast(int slot, DType t) {
  if (slot > kEqual || !is_number(t)) return false;
  return slot != kDiv || is_plain_float(t) || t == DType::f16 || t == DType::bf16;
}

/// A Python number beside an array of `dtype`, as NumPy takes it; empty where Python is to see to it.
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
  if (fallback == nullptr) Py_RETURN_NOTIMPLEMENTED;
  return PyObject_CallFunction(fallback, "sOO", kSlotNames[slot], a, b);
}

template <int slot>
PyObject* binary_slot(PyObject* a, PyObject* b) {
  return binary(slot, a, b);
}
PyObject* power_slot(PyObject* a, PyObject* b, PyObject*) { return binary(kPower, a, b); }

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

// Functions of one array. Of integers most are of their floats.
struct Unary {
  const char* name;
  const char* op;
  bool floats_only;
};
constexpr Unary kUnary[] = {
    {"exp", "Exp", true},           {"log", "Log", true},         {"tanh", "Tanh", true},
    {"sqrt", "Sqrt", true},         {"sin", "Sin", true},         {"cos", "Cos", true},
    {"tan", "Tan", true},           {"sinh", "Sinh", true},       {"cosh", "Cosh", true},
    {"arcsin", "Asin", true},       {"arccos", "Acos", true},     {"arctan", "Atan", true},
    {"arcsinh", "Asinh", true},     {"arccosh", "Acosh", true},   {"arctanh", "Atanh", true},
    {"erf", "Erf", true},           {"sigmoid", "Sigmoid", true}, {"reciprocal", "Reciprocal", true},
    {"softplus", "Softplus", true}, {"abs", "Abs", false},        {"negative", "Neg", false},
    {"sign", "Sign", false},        {"relu", "Relu", false},      {"floor", "Floor", true},
    {"ceil", "Ceil", true},         {"rint", "Round", true}};
constexpr int kUnaryCount = sizeof kUnary / sizeof *kUnary;
Operator unary_operators[kUnaryCount];

PyObject* unary(int which, PyObject* x) {
  const Unary& u = kUnary[which];
  if (is_array(x)) {
    const DType t = array_of(x).dtype();
    if (u.floats_only ? (is_plain_float(t) || t == DType::f16 || t == DType::bf16) : is_number(t))
      return guarded([&] { return wrap(gcc_graph::lazy::record(unary_operators[which], array_of(x), here())); });
  }
  PyObject* floats = PyObject_CallFunction(convert, "Oi", x, u.floats_only ? 1 : 0);
  if (floats == nullptr) return nullptr;
  PyObject* result = nullptr;
  if (is_array(floats))
    result = guarded([&] { return wrap(gcc_graph::lazy::record(unary_operators[which], array_of(floats), here())); });
  Py_DECREF(floats);
  return result;
}
template <int which>
PyObject* unary_function(PyObject*, PyObject* x) {
  return unary(which, x);
}

int index_of_unary(const char* name) {
  for (int i = 0; i < kUnaryCount; ++i)
    if (std::strcmp(kUnary[i].name, name) == 0) return i;
  return 0;
}
PyObject* negative(PyObject* x) {
  static const int which = index_of_unary("negative");
  return unary(which, x);
}
PyObject* absolute(PyObject* x) {
  static const int which = index_of_unary("abs");
  return unary(which, x);
}

// ---- the array's own

void dealloc_array(PyObject* self) {
  PyTypeObject* type = Py_TYPE(self);
  array_of(self).~Array();
  PyObject_Free(self);
  Py_DECREF(type);
}

PyObject* get_shape(PyObject* self, void*) {
  const auto shape = array_of(self).shape();
  PyObject* tuple = PyTuple_New(static_cast<Py_ssize_t>(shape.size()));
  for (size_t i = 0; tuple != nullptr && i < shape.size(); ++i)
    PyTuple_SetItem(tuple, static_cast<Py_ssize_t>(i), PyLong_FromLongLong(shape[i]));
  return tuple;
}
PyObject* get_code(PyObject* self, void*) { return PyLong_FromLong(static_cast<long>(array_of(self).dtype())); }
PyObject* get_ready(PyObject* self, void*) { return PyBool_FromLong(array_of(self).is_ready() ? 1 : 0); }
PyObject* get_ndim(PyObject* self, void*) { return PyLong_FromSize_t(array_of(self).shape().size()); }
PyObject* get_size(PyObject* self, void*) { return PyLong_FromLongLong(array_of(self).elements()); }

/// As struct knows it; null: it knows no such type.
const char* format_of(DType dtype) {
  switch (dtype) {
    case DType::f32:
      return "f";
    case DType::f64:
      return "d";
    case DType::f16:
      return "e";
    case DType::i8:
      return "b";
    case DType::i16:
      return "h";
    case DType::i32:
      return "i";
    case DType::i64:
      return "q";
    case DType::u8:
      return "B";
    case DType::u16:
      return "H";
    case DType::u32:
      return "I";
    case DType::u64:
      return "Q";
    case DType::boolean:
      return "?";
    default:
      return nullptr;
  }
}

int get_buffer(PyObject* self, Py_buffer* view, int flags) {
  const Array& array = array_of(self);
  const char* format = format_of(array.dtype());
  if ((flags & PyBUF_FORMAT) == PyBUF_FORMAT && format == nullptr) {
    PyErr_SetString(PyExc_BufferError, "buffers have no format for elements of this type");
    return -1;
  }
  if (!ensure_ready(self)) return -1;
  if (PyBuffer_FillInfo(view, self, const_cast<void*>(array.data()), static_cast<Py_ssize_t>(array.bytes()), 1,
                        flags) != 0)
    return -1;
  if ((flags & PyBUF_ND) != PyBUF_ND) return 0;
  const auto shape = array.shape();
  auto* extents = new Py_ssize_t[2 * shape.size() + 1];
  Py_ssize_t stride = view->itemsize = static_cast<Py_ssize_t>(gcc_graph::size_of(array.dtype()));
  for (size_t i = shape.size(); i-- > 0; stride *= static_cast<Py_ssize_t>(shape[i])) {
    extents[i] = static_cast<Py_ssize_t>(shape[i]);
    extents[shape.size() + i] = stride;
  }
  view->internal = extents;
  view->ndim = static_cast<int>(shape.size());
  view->shape = extents;
  view->strides = (flags & PyBUF_STRIDES) == PyBUF_STRIDES ? extents + shape.size() : nullptr;
  view->format = (flags & PyBUF_FORMAT) == PyBUF_FORMAT ? const_cast<char*>(format) : nullptr;
  return 0;
}

void release_buffer(PyObject*, Py_buffer* view) { delete[] static_cast<Py_ssize_t*>(view->internal); }

PyObject* attributes_to_python(const Attributes& attributes);

/// (operator, index of the result, attributes, operands, lists, serial), or None for what is given.
PyObject* made_by(PyObject* self, PyObject*) {
  return guarded([&]() -> PyObject* {
    const Array& array = array_of(self);
    const std::string name = array.made_by();
    if (name.empty()) Py_RETURN_NONE;
    const std::vector<Array> operands = array.operands();
    PyObject* inputs = PyList_New(0);
    for (const Array& operand : operands) {
      PyObject* item = operand ? wrap(Array(operand)) : Py_NewRef(Py_None);
      PyList_Append(inputs, item);
      Py_DECREF(item);
    }
    PyObject* lists = PyList_New(0);
    for (const auto& list : array.static_operands()) {
      PyObject* item = PyList_New(0);
      for (const int64_t v : list) {
        PyObject* number = PyLong_FromLongLong(v);
        PyList_Append(item, number);
        Py_DECREF(number);
      }
      PyList_Append(lists, item);
      Py_DECREF(item);
    }
    return Py_BuildValue("siNNNL", name.c_str(), array.output_index(), attributes_to_python(array.attributes()), inputs,
                         lists, static_cast<long long>(array.serial()));
  });
}
PyObject* identity(PyObject* self, PyObject*) {
  return PyLong_FromVoidPtr(const_cast<void*>(array_of(self).identity()));
}

PyGetSetDef array_getset[] = {{"shape", get_shape, nullptr, "Extents, a tuple", nullptr},
                              {"ndim", get_ndim, nullptr, "Rank", nullptr},
                              {"size", get_size, nullptr, "Number of elements", nullptr},
                              {"_code", get_code, nullptr, "Number of the element type", nullptr},
                              {"is_ready", get_ready, nullptr, "Computed already?", nullptr},
                              {nullptr, nullptr, nullptr, nullptr, nullptr}};
PyMethodDef array_methods[] = {{"_made_by", made_by, METH_NOARGS, "What made it"},
                               {"_identity", identity, METH_NOARGS, "Equal for handles to one value"},
                               {nullptr, nullptr, 0, nullptr}};

#define SLOT(id, function) {id, reinterpret_cast<void*>(function)}
PyType_Slot array_slots[] = {SLOT(Py_tp_dealloc, dealloc_array),
                             SLOT(Py_tp_getset, array_getset),
                             SLOT(Py_tp_methods, array_methods),
                             SLOT(Py_tp_richcompare, compare),
                             SLOT(Py_bf_getbuffer, get_buffer),
                             SLOT(Py_bf_releasebuffer, release_buffer),
                             SLOT(Py_nb_add, binary_slot<kAdd>),
                             SLOT(Py_nb_subtract, binary_slot<kSub>),
                             SLOT(Py_nb_multiply, binary_slot<kMul>),
                             SLOT(Py_nb_true_divide, binary_slot<kDiv>),
                             SLOT(Py_nb_matrix_multiply, binary_slot<kMatMul>),
                             SLOT(Py_nb_and, binary_slot<kAnd>),
                             SLOT(Py_nb_or, binary_slot<kOr>),
                             SLOT(Py_nb_xor, binary_slot<kXor>),
                             SLOT(Py_nb_floor_divide, binary_slot<kFloorDivide>),
                             SLOT(Py_nb_remainder, binary_slot<kRemainder>),
                             SLOT(Py_nb_power, power_slot),
                             SLOT(Py_nb_negative, negative),
                             SLOT(Py_nb_absolute, absolute),
                             {0, nullptr}};
PyType_Spec array_spec = {"gart.lazy.Array", sizeof(PyArray), 0, Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION,
                          array_slots};

void dealloc_operator(PyObject* self) {
  PyTypeObject* type = Py_TYPE(self);
  PyObject_Free(self);
  Py_DECREF(type);
}
PyType_Slot operator_slots[] = {SLOT(Py_tp_dealloc, dealloc_operator), {0, nullptr}};
PyType_Spec operator_spec = {"gart.lazy.Operator", sizeof(PyOperator), 0,
                             Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION, operator_slots};

// ---- attributes and lists

template <class T>
PyObject* to_python(const T& value) {
  if constexpr (std::is_same_v<T, int64_t>)
    return PyLong_FromLongLong(value);
  else if constexpr (std::is_same_v<T, double>)
    return PyFloat_FromDouble(value);
  else if constexpr (std::is_same_v<T, std::string>)
    return PyUnicode_FromStringAndSize(value.data(), static_cast<Py_ssize_t>(value.size()));
  else {
    PyObject* list = PyList_New(0);
    for (const auto& element : value) {
      PyObject* item = to_python(element);
      PyList_Append(list, item);
      Py_DECREF(item);
    }
    return list;
  }
}

PyObject* attributes_to_python(const Attributes& attributes) {
  PyObject* dict = PyDict_New();
  for (const auto& [name, value] : attributes) {
    PyObject* item = std::visit([](const auto& v) { return to_python(v); }, value);
    PyDict_SetItemString(dict, name.c_str(), item);
    Py_DECREF(item);
  }
  return dict;
}

std::string text_of(PyObject* object) {
  const char* text = PyUnicode_AsUTF8AndSize(object, nullptr);
  if (text == nullptr) throw gcc_graph::Error("a text was expected");
  return text;
}

int64_t integer_of(PyObject* object) {
  const long long value = PyLong_AsLongLong(object);
  if (value == -1 && PyErr_Occurred() != nullptr) {
    PyErr_Clear();
    throw gcc_graph::Error("an integer of 64 bits was expected");
  }
  return value;
}

template <class Each>
void for_each(PyObject* sequence, Each each) {
  const Py_ssize_t count = PySequence_Size(sequence);
  if (count < 0) {
    PyErr_Clear();
    throw gcc_graph::Error("a list was expected");
  }
  for (Py_ssize_t i = 0; i < count; ++i) {
    PyObject* item = PySequence_GetItem(sequence, i);
    try {
      each(item);
    } catch (...) {
      Py_DECREF(item);
      throw;
    }
    Py_DECREF(item);
  }
}

std::vector<int64_t> integers_of(PyObject* sequence) {
  std::vector<int64_t> out;
  for_each(sequence, [&](PyObject* item) { out.push_back(integer_of(item)); });
  return out;
}
std::vector<std::string> texts_of(PyObject* sequence) {
  std::vector<std::string> out;
  for_each(sequence, [&](PyObject* item) { out.push_back(text_of(item)); });
  return out;
}
std::vector<Array> arrays_of(PyObject* sequence) {
  std::vector<Array> out;
  for_each(sequence, [&](PyObject* item) {
    if (!is_array(item)) throw gcc_graph::Error("a gart.lazy array was expected");
    out.push_back(array_of(item));
  });
  return out;
}

Attribute attribute_of(PyObject* value, bool as_floats) {
  if (PyLong_Check(value)) return integer_of(value);
  if (PyFloat_Check(value)) return PyFloat_AsDouble(value);
  if (PyUnicode_Check(value)) return text_of(value);
  PyObject* first = PySequence_Size(value) > 0 ? PySequence_GetItem(value, 0) : nullptr;
  PyErr_Clear();
  const bool texts = first != nullptr && PyUnicode_Check(first),
             floats = as_floats || (first != nullptr && PyFloat_Check(first));
  Py_XDECREF(first);
  if (texts) return texts_of(value);
  if (!floats) return integers_of(value);
  std::vector<double> numbers;
  for_each(value, [&](PyObject* item) { numbers.push_back(PyFloat_AsDouble(item)); });
  return numbers;
}

Attributes attributes_of(PyObject* dict) {
  Attributes out;
  PyObject *key = nullptr, *value = nullptr;
  for (Py_ssize_t at = 0; dict != Py_None && PyDict_Next(dict, &at, &key, &value) != 0;) {
    const std::string name = text_of(key);
    out[name] = attribute_of(value, name[0] == '#');
  }
  return out;
}

// ---- functions of the module

/// operator(name, operands, attributes, outputs)
PyObject* make_operator(PyObject*, PyObject* args) {
  const char *name = nullptr, *operands = nullptr;
  PyObject* attributes = nullptr;
  int outputs = 1;
  if (PyArg_ParseTuple(args, "ssOi", &name, &operands, &attributes, &outputs) == 0) return nullptr;
  return guarded([&]() -> PyObject* {
    const Operator op = Operator::make(name, operands, attributes_of(attributes), outputs);
    auto* object = reinterpret_cast<PyOperator*>(PyType_GenericAlloc(operator_type, 0));
    if (object == nullptr) return nullptr;
    object->op = op;
    return reinterpret_cast<PyObject*>(object);
  });
}

/// record(operator, arrays, lists) -> one array, or a tuple of several
PyObject* record(PyObject*, PyObject* args) {
  PyObject *op = nullptr, *arrays = nullptr, *lists = nullptr;
  if (PyArg_ParseTuple(args, "O!OO", operator_type, &op, &arrays, &lists) == 0) return nullptr;
  return guarded([&]() -> PyObject* {
    std::vector<std::vector<int64_t>> ints;
    for_each(lists, [&](PyObject* list) { ints.push_back(integers_of(list)); });
    std::vector<Array> made =
        gcc_graph::lazy::record(reinterpret_cast<PyOperator*>(op)->op, arrays_of(arrays), ints, here());
    if (made.size() == 1) return wrap(std::move(made[0]));
    PyObject* tuple = PyTuple_New(static_cast<Py_ssize_t>(made.size()));
    for (size_t i = 0; i < made.size(); ++i)
      PyTuple_SetItem(tuple, static_cast<Py_ssize_t>(i), wrap(std::move(made[i])));
    return tuple;
  });
}

/// placeholder(dtype, shape)
PyObject* placeholder(PyObject*, PyObject* args) {
  int dtype = 0;
  PyObject* shape = nullptr;
  if (PyArg_ParseTuple(args, "iO", &dtype, &shape) == 0) return nullptr;
  return guarded([&] { return wrap(Array::placeholder(static_cast<DType>(dtype), integers_of(shape))); });
}

PyObject* wrap(Recording&& recording) {
  auto* object = reinterpret_cast<PyRecording*>(PyType_GenericAlloc(recording_type, 0));
  if (object == nullptr) return nullptr;
  new (&object->recording) Recording(std::move(recording));
  return reinterpret_cast<PyObject*>(object);
}

/// recording(placeholders, outputs): called with a list of arrays it gives one of results
PyObject* make_recording(PyObject*, PyObject* args) {
  PyObject *placeholders = nullptr, *outputs = nullptr;
  if (PyArg_ParseTuple(args, "OO", &placeholders, &outputs) == 0) return nullptr;
  return guarded([&] { return wrap(Recording(arrays_of(placeholders), arrays_of(outputs))); });
}

/// import_function(name, arrays of its inputs' types, libraries) -> a recording
PyObject* import_function(PyObject*, PyObject* args) {
  const char* name = nullptr;
  PyObject *like = nullptr, *libraries = nullptr;
  if (PyArg_ParseTuple(args, "sOO", &name, &like, &libraries) == 0) return nullptr;
  return guarded([&] { return wrap(gcc_graph::lazy::import_function(name, arrays_of(like), texts_of(libraries))); });
}

PyObject* functions_of(PyObject*, PyObject* libraries) {
  return guarded([&] { return to_python(gcc_graph::lazy::functions(texts_of(libraries))); });
}

PyObject* call_recording(PyObject* self, PyObject* args, PyObject*) {
  PyObject* inputs = nullptr;
  if (PyArg_ParseTuple(args, "O", &inputs) == 0) return nullptr;
  return guarded([&]() -> PyObject* {
    std::vector<Array> made = reinterpret_cast<PyRecording*>(self)->recording.record(arrays_of(inputs));
    PyObject* list = PyList_New(static_cast<Py_ssize_t>(made.size()));
    for (size_t i = 0; list != nullptr && i < made.size(); ++i)
      PyList_SetItem(list, static_cast<Py_ssize_t>(i), wrap(std::move(made[i])));
    return list;
  });
}

void dealloc_recording(PyObject* self) {
  PyTypeObject* type = Py_TYPE(self);
  reinterpret_cast<PyRecording*>(self)->recording.~Recording();
  PyObject_Free(self);
  Py_DECREF(type);
}
PyType_Slot recording_slots[] = {
    SLOT(Py_tp_dealloc, dealloc_recording), SLOT(Py_tp_call, call_recording), {0, nullptr}};
PyType_Spec recording_spec = {"gart.lazy.Recording", sizeof(PyRecording), 0,
                              Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION, recording_slots};

/// from_bytes(dtype, shape, buffer): a copy
PyObject* from_bytes(PyObject*, PyObject* args) {
  int dtype = 0;
  PyObject *shape = nullptr, *data = nullptr;
  if (PyArg_ParseTuple(args, "iOO", &dtype, &shape, &data) == 0) return nullptr;
  Py_buffer view;
  if (PyObject_GetBuffer(data, &view, PyBUF_SIMPLE) != 0) return nullptr;
  PyObject* made = guarded([&] {
    const std::vector<int64_t> extents = integers_of(shape);
    int64_t bytes = gcc_graph::size_of(static_cast<DType>(dtype));
    for (const int64_t e : extents) bytes *= e;
    if (bytes != view.len) throw gcc_graph::Error("the data has not the size that its shape says");
    if (extents.empty()) return wrap(Array::scalar(static_cast<DType>(dtype), view.buf));
    return wrap(Array(static_cast<DType>(dtype), extents, view.buf));
  });
  PyBuffer_Release(&view);
  return made;
}

PyObject* evaluate_all(PyObject*, PyObject* sequence) {
  std::vector<Array> arrays;
  if (guarded([&] {
        arrays = arrays_of(sequence);
        return Py_None;
      }) == nullptr)
    return nullptr;
  if (!evaluate(std::move(arrays))) return nullptr;
  Py_RETURN_NONE;
}

PyObject* stats(PyObject*, PyObject*) {
  const gcc_graph::lazy::Stats s = gcc_graph::lazy::stats();
  return Py_BuildValue("{sLsLsLsLsLsLsLsLsLsLsLsL}", "nodes_recorded", s.nodes_recorded, "nodes_run", s.nodes_run,
                       "compiles", s.compiles, "cache_hits", s.cache_hits, "disk_hits", s.disk_hits, "interpreted",
                       s.interpreted, "evaluations", s.evaluations, "pending_compiles", s.pending_compiles, "programs",
                       s.programs, "bytes_live", s.bytes_live, "peak_bytes", s.peak_bytes, "nodes_live", s.nodes_live);
}

PyObject* explain(PyObject*, PyObject*) { return to_python(gcc_graph::lazy::explain()); }
PyObject* operators(PyObject*, PyObject*) { return to_python(gcc_graph::lazy::operators()); }

/// settings() or settings(deterministic, cache_folder, max_programs, max_cache_bytes, threads)
PyObject* settings(PyObject*, PyObject* args) {
  gcc_graph::lazy::Settings s = gcc_graph::lazy::settings();
  if (PyTuple_Size(args) > 0) {
    int deterministic = 0;
    const char* folder = nullptr;
    long long programs = 0, bytes = 0;
    int threads = 0;
    if (PyArg_ParseTuple(args, "psLLi", &deterministic, &folder, &programs, &bytes, &threads) == 0) return nullptr;
    s = {deterministic != 0, folder, programs, bytes, threads};
    gcc_graph::lazy::set(s);
  }
  return Py_BuildValue("isLLi", s.deterministic ? 1 : 0, s.cache_folder.c_str(), static_cast<long long>(s.max_programs),
                       static_cast<long long>(s.max_cache_bytes), s.threads);
}

PyObject* wait(PyObject*, PyObject* args) {
  long long milliseconds = 60000;
  if (PyArg_ParseTuple(args, "|L", &milliseconds) == 0) return nullptr;
  bool done = false;
  Py_BEGIN_ALLOW_THREADS done = gcc_graph::lazy::wait_for_compiler(milliseconds);
  Py_END_ALLOW_THREADS return PyBool_FromLong(done ? 1 : 0);
}

PyObject* stop(PyObject*, PyObject*) {
  Py_BEGIN_ALLOW_THREADS gcc_graph::lazy::stop_compiler();
  Py_END_ALLOW_THREADS Py_RETURN_NONE;
}

PyObject* clear(PyObject*, PyObject*) {
  gcc_graph::lazy::clear_programs();
  Py_RETURN_NONE;
}

/// tape(True) begins one, tape(False) ends the last.
PyObject* tape(PyObject*, PyObject* on) {
  static auto* tapes = new std::vector<gcc_graph::lazy::Tape*>;
  if (PyObject_IsTrue(on) == 1) {
    tapes->push_back(new gcc_graph::lazy::Tape);
  } else if (!tapes->empty()) {
    delete tapes->back();
    tapes->pop_back();
  }
  Py_RETURN_NONE;
}

/// graph(inputs, outputs, input_names, output_names, targets, open_batch) -> an artifact's bytes; for targets of None
/// an ONNX model's
PyObject* graph(PyObject*, PyObject* args) {
  PyObject *inputs = nullptr, *outputs = nullptr, *input_names = nullptr, *output_names = nullptr, *targets = nullptr;
  int open_batch = 0;
  if (PyArg_ParseTuple(args, "OOOOOp", &inputs, &outputs, &input_names, &output_names, &targets, &open_batch) == 0)
    return nullptr;
  return guarded([&] {
    const std::vector<Array> from = arrays_of(inputs), to = arrays_of(outputs);
    gcc_graph::lazy::SaveOptions options{texts_of(input_names), texts_of(output_names), {}, open_batch != 0};
    if (targets != Py_None) options.targets = texts_of(targets);
    const std::vector<uint8_t> bytes =
        targets == Py_None ? gcc_graph::lazy::to_onnx(from, to, options) : gcc_graph::lazy::compile(from, to, options);
    return PyBytes_FromStringAndSize(reinterpret_cast<const char*>(bytes.data()),
                                     static_cast<Py_ssize_t>(bytes.size()));
  });
}

/// connect(error class, fallback, convert, folder of the package)
PyObject* connect(PyObject*, PyObject* args) {
  const char* folder = nullptr;
  if (PyArg_ParseTuple(args, "OOOs", &error_type, &fallback, &convert, &folder) == 0) return nullptr;
  Py_INCREF(error_type);
  Py_INCREF(fallback);
  Py_INCREF(convert);
  own_folder = folder;
  Py_RETURN_NONE;
}

PyMethodDef functions[] = {{"operator", make_operator, METH_VARARGS, "operator(name, operands, attributes, outputs)"},
                           {"record", record, METH_VARARGS, "record(operator, arrays, lists)"},
                           {"placeholder", placeholder, METH_VARARGS, "placeholder(dtype, shape)"},
                           {"recording", make_recording, METH_VARARGS, "recording(placeholders, outputs)"},
                           {"import_function", import_function, METH_VARARGS, "A function of ONNX libraries"},
                           {"functions", functions_of, METH_O, "The names in ONNX libraries"},
                           {"from_bytes", from_bytes, METH_VARARGS, "from_bytes(dtype, shape, buffer)"},
                           {"evaluate", evaluate_all, METH_O, "evaluate(arrays)"},
                           {"stats", stats, METH_NOARGS, "Counters"},
                           {"explain", explain, METH_NOARGS, "A line per compilation"},
                           {"operators", operators, METH_NOARGS, "What can be recorded"},
                           {"settings", settings, METH_VARARGS, "Reads or sets the settings"},
                           {"wait", wait, METH_VARARGS, "Waits for the compiler"},
                           {"stop", stop, METH_NOARGS, "Ends the compiler's thread"},
                           {"clear", clear, METH_NOARGS, "Forgets programs in memory"},
                           {"tape", tape, METH_O, "Begins or ends a tape"},
                           {"graph", graph, METH_VARARGS, "An artifact's bytes, or a model's"},
                           {"connect", connect, METH_VARARGS, "What Python gives"},
                           {nullptr, nullptr, 0, nullptr}};

template <int... which>
bool add_unary_functions(PyObject* module, std::integer_sequence<int, which...>) {
  static PyMethodDef table[] = {{kUnary[which].name, unary_function<which>, METH_O, "Elementwise"}...,
                                {nullptr, nullptr, 0, nullptr}};
  return PyModule_AddFunctions(module, table) == 0;
}

PyModuleDef module_def = {
    PyModuleDef_HEAD_INIT, "_gart_lazy", "Recorder of gart.lazy", -1, functions, nullptr, nullptr, nullptr, nullptr};

}  // namespace

PyMODINIT_FUNC PyInit__gart_lazy() {
  PyObject* module = PyModule_Create(&module_def);
  if (module == nullptr) return nullptr;
  error_type = PyExc_RuntimeError;
  array_type = reinterpret_cast<PyTypeObject*>(PyType_FromSpec(&array_spec));
  operator_type = reinterpret_cast<PyTypeObject*>(PyType_FromSpec(&operator_spec));
  recording_type = reinterpret_cast<PyTypeObject*>(PyType_FromSpec(&recording_spec));
  if (array_type == nullptr || operator_type == nullptr || recording_type == nullptr) return nullptr;
  for (int slot = 0; slot <= kEqual; ++slot) slot_operators[slot] = Operator::make(kSlotOps[slot], "xx");
  for (int i = 0; i < kUnaryCount; ++i) unary_operators[i] = Operator::make(kUnary[i].op, "x");
  Py_INCREF(reinterpret_cast<PyObject*>(array_type));
  PyModule_AddObject(module, "Array", reinterpret_cast<PyObject*>(array_type));
  if (!add_unary_functions(module, std::make_integer_sequence<int, kUnaryCount>())) return nullptr;
  return module;
}
