#include "source_lines.h"

#include <cstdint>
#include <unordered_map>
#include <vector>

namespace gart_lazy {
namespace {

struct Codes {
  std::vector<PyObject*> all = {nullptr};  // number 0: unknown; entries are never removed
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
      is_own.push_back(text != nullptr && !package.folder.empty() && std::string(text).starts_with(package.folder));
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

}  // namespace

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

}  // namespace gart_lazy
