// The class Recording: a graph that is recorded again when it is called.
#include <string>

#include "conversions.h"
#include "source_lines.h"
#include "type_specs.h"

namespace gart_lazy {
namespace {

PyObject* wrap_recording(Recording&& recording) {
  auto* object = reinterpret_cast<PyRecording*>(PyType_GenericAlloc(types.recording, 0));
  if (object == nullptr) return nullptr;
  new (&object->recording) Recording(std::move(recording));
  return reinterpret_cast<PyObject*>(object);
}

PyObject* call_recording(PyObject* self, PyObject* args, PyObject*) {
  PyObject* inputs = nullptr;
  if (PyArg_ParseTuple(args, "O", &inputs) == 0) return nullptr;
  return guarded([&]() -> PyObject* {
    std::vector<Array> results = reinterpret_cast<PyRecording*>(self)->recording.record(arrays_of(inputs));
    PyObject* list = PyList_New(static_cast<Py_ssize_t>(results.size()));
    for (size_t i = 0; list != nullptr && i < results.size(); ++i)
      PyList_SetItem(list, static_cast<Py_ssize_t>(i), wrap(std::move(results[i])));
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

/// Describes the structure of lists, tuples and dicts, and the types of their arrays, which are appended to `arrays`.
/// Returns false if they contain anything else.
bool read_structure(PyObject* value, std::string& text, PyObject* arrays, int depth) {
  constexpr int kDeepest = 64;
  const auto append = [&](char kind, int64_t count) {
    text.push_back(kind);
    text.append(reinterpret_cast<const char*>(&count), sizeof count);
  };
  if (is_array(value)) {
    const auto shape = array_of(value).shape();
    append('a', static_cast<int64_t>(shape.size()) * 256 + static_cast<int64_t>(array_of(value).dtype()));
    text.append(reinterpret_cast<const char*>(shape.data()), shape.size_bytes());
    return PyList_Append(arrays, value) == 0;
  }
  if (depth > kDeepest) return false;
  if (PyDict_CheckExact(value) != 0) {
    append('d', PyDict_Size(value));
    PyObject *key = nullptr, *item = nullptr;
    for (Py_ssize_t at = 0; PyDict_Next(value, &at, &key, &item) != 0;) {
      Py_ssize_t length = 0;
      const char* name = PyUnicode_CheckExact(key) != 0 ? PyUnicode_AsUTF8AndSize(key, &length) : nullptr;
      if (name == nullptr) return false;
      append('k', length);
      text.append(name, static_cast<size_t>(length));
      if (!read_structure(item, text, arrays, depth + 1)) return false;
    }
    return true;
  }
  const bool is_list = PyList_CheckExact(value) != 0;
  if (!is_list && PyTuple_CheckExact(value) == 0) return false;
  const Py_ssize_t count = PyObject_Size(value);
  append(is_list ? 'l' : 't', count);
  for (Py_ssize_t i = 0; i < count; ++i)
    if (!read_structure(is_list ? PyList_GetItem(value, i) : PyTuple_GetItem(value, i), text, arrays, depth + 1))
      return false;
  return true;
}

}  // namespace

PyObject* structure_of(PyObject*, PyObject* value) {
  std::string text;
  PyObject* arrays = PyList_New(0);
  if (arrays == nullptr) return nullptr;
  if (!read_structure(value, text, arrays, 0)) {
    Py_DECREF(arrays);
    PyErr_Clear();
    Py_RETURN_NONE;
  }
  return Py_BuildValue("y#N", text.data(), static_cast<Py_ssize_t>(text.size()), arrays);
}

PyType_Spec recording_spec = {"gart.lazy.Recording", sizeof(PyRecording), 0,
                              Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION, recording_slots};

PyObject* make_recording(PyObject*, PyObject* args) {
  PyObject *placeholders = nullptr, *outputs = nullptr;
  if (PyArg_ParseTuple(args, "OO", &placeholders, &outputs) == 0) return nullptr;
  return guarded([&] { return wrap_recording(Recording(arrays_of(placeholders), arrays_of(outputs))); });
}

PyObject* import_function(PyObject*, PyObject* args) {
  const char* name = nullptr;
  PyObject *like = nullptr, *libraries = nullptr;
  if (PyArg_ParseTuple(args, "sOO", &name, &like, &libraries) == 0) return nullptr;
  return guarded(
      [&] { return wrap_recording(gcc_graph::lazy::import_function(name, arrays_of(like), texts_of(libraries))); });
}

}  // namespace gart_lazy
