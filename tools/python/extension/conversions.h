// Converts lists, texts, numbers and attributes to Python and back. Throws gcc_graph::Error for values of other types.
#pragma once

#include <string>
#include <type_traits>
#include <vector>

#include "objects.h"

namespace gart_lazy {

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

PyObject* attributes_to_python(const Attributes& attributes);

std::string text_of(PyObject* object);
int64_t integer_of(PyObject* object);
std::vector<int64_t> integers_of(PyObject* sequence);
std::vector<std::string> texts_of(PyObject* sequence);
std::vector<Array> arrays_of(PyObject* sequence);
Attributes attributes_of(PyObject* dict);

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

}  // namespace gart_lazy
