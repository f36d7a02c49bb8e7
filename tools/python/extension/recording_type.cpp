// The class Recording: a graph that is recorded again when it is called.
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

}  // namespace

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
