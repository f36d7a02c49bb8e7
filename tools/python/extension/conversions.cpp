#include "conversions.h"

namespace gart_lazy {

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
    throw gcc_graph::Error("expected a 64-bit integer");
  }
  return value;
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
    if (!is_array(item)) throw gcc_graph::Error("expected a gart.lazy array");
    out.push_back(array_of(item));
  });
  return out;
}

namespace {

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

}  // namespace

Attributes attributes_of(PyObject* dict) {
  Attributes out;
  PyObject *key = nullptr, *value = nullptr;
  for (Py_ssize_t at = 0; dict != Py_None && PyDict_Next(dict, &at, &key, &value) != 0;) {
    const std::string name = text_of(key);
    out[name] = attribute_of(value, name[0] == '#');
  }
  return out;
}

}  // namespace gart_lazy
