// Python objects that hold recorded values, and the objects that the package registers. Uses Python's stable ABI of
// 3.11.
#pragma once

#define PY_SSIZE_T_CLEAN
#define Py_LIMITED_API 0x030B0000
#include <Python.h>

#include <string>
#include <vector>

#include "gcc_graph/lazy.h"

namespace gart_lazy {

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

struct PythonTypes {
  PyTypeObject *array = nullptr, *operator_ = nullptr, *recording = nullptr;
};
extern PythonTypes types;
/// The objects that the package registers: the error class; fallback(name, a, b), which handles operands of different
/// types; a converter from anything else to arrays; the package's functions by name, for forms that are not recorded
/// here; the package's folder, so that its frames do not count as the user's lines.
struct Package {
  PyObject *error = nullptr, *fallback = nullptr, *convert = nullptr, *forms = nullptr;
  std::string folder;
};
extern Package package;

inline Array& array_of(PyObject* object) { return reinterpret_cast<PyArray*>(object)->array; }
inline bool is_array(PyObject* object) { return Py_TYPE(object) == types.array; }
/// A new reference; null with an exception set if there is no memory.
PyObject* wrap(Array&& array);

/// Runs without the interpreter's lock. False with an exception set.
bool evaluate(std::vector<Array> arrays);
bool ensure_ready(PyObject* array);

}  // namespace gart_lazy

#define SLOT(id, function) {id, reinterpret_cast<void*>(function)}
