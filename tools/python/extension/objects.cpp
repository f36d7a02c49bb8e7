#include "objects.h"

#include "source_lines.h"

namespace gart_lazy {

PythonTypes types;
Package package;

PyObject* wrap(Array&& array) {
  auto* object = reinterpret_cast<PyArray*>(PyType_GenericAlloc(types.array, 0));
  if (object == nullptr) return nullptr;
  new (&object->array) Array(std::move(array));
  return reinterpret_cast<PyObject*>(object);
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

}  // namespace gart_lazy
