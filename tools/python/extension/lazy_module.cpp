// gart.lazy's recorder for Python: the module and its functions. Functions that do not need to be fast are written in
// Python (tools/python/gart/lazy).
#include <string>
#include <vector>

#include "arithmetic.h"
#include "conversions.h"
#include "forms.h"
#include "source_lines.h"
#include "type_specs.h"

namespace gart_lazy {
namespace {

void dealloc_operator(PyObject* self) {
  PyTypeObject* type = Py_TYPE(self);
  PyObject_Free(self);
  Py_DECREF(type);
}
PyType_Slot operator_slots[] = {SLOT(Py_tp_dealloc, dealloc_operator), {0, nullptr}};
PyType_Spec operator_spec = {"gart.lazy.Operator", sizeof(PyOperator), 0,
                             Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION, operator_slots};

/// operator(name, operands, attributes, outputs)
PyObject* make_operator(PyObject*, PyObject* args) {
  const char *name = nullptr, *operands = nullptr;
  PyObject* attributes = nullptr;
  int outputs = 1;
  if (PyArg_ParseTuple(args, "ssOi", &name, &operands, &attributes, &outputs) == 0) return nullptr;
  return guarded([&]() -> PyObject* {
    const Operator op = Operator::make(name, operands, attributes_of(attributes), outputs);
    auto* object = reinterpret_cast<PyOperator*>(PyType_GenericAlloc(types.operator_, 0));
    if (object == nullptr) return nullptr;
    object->op = op;
    return reinterpret_cast<PyObject*>(object);
  });
}

/// record(operator, arrays, lists) -> one array, or a tuple of several
PyObject* record(PyObject*, PyObject* args) {
  PyObject *op = nullptr, *arrays = nullptr, *lists = nullptr;
  if (PyArg_ParseTuple(args, "O!OO", types.operator_, &op, &arrays, &lists) == 0) return nullptr;
  return guarded([&]() -> PyObject* {
    std::vector<std::vector<int64_t>> ints;
    for_each(lists, [&](PyObject* list) { ints.push_back(integers_of(list)); });
    std::vector<Array> results =
        gcc_graph::lazy::record(reinterpret_cast<PyOperator*>(op)->op, arrays_of(arrays), ints, here());
    if (results.size() == 1) return wrap(std::move(results[0]));
    PyObject* tuple = PyTuple_New(static_cast<Py_ssize_t>(results.size()));
    for (size_t i = 0; i < results.size(); ++i)
      PyTuple_SetItem(tuple, static_cast<Py_ssize_t>(i), wrap(std::move(results[i])));
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

PyObject* functions_of(PyObject*, PyObject* libraries) {
  return guarded([&] { return to_python(gcc_graph::lazy::functions(texts_of(libraries))); });
}

/// from_bytes(dtype, shape, buffer): a copy
PyObject* from_bytes(PyObject*, PyObject* args) {
  int dtype = 0;
  PyObject *shape = nullptr, *data = nullptr;
  if (PyArg_ParseTuple(args, "iOO", &dtype, &shape, &data) == 0) return nullptr;
  Py_buffer view;
  if (PyObject_GetBuffer(data, &view, PyBUF_SIMPLE) != 0) return nullptr;
  PyObject* results = guarded([&] {
    const std::vector<int64_t> extents = integers_of(shape);
    int64_t bytes = gcc_graph::size_of(static_cast<DType>(dtype));
    for (const int64_t e : extents) bytes *= e;
    if (bytes != view.len) throw gcc_graph::Error("the size of the data does not match its shape");
    if (extents.empty()) return wrap(Array::scalar(static_cast<DType>(dtype), view.buf));
    return wrap(Array(static_cast<DType>(dtype), extents, view.buf));
  });
  PyBuffer_Release(&view);
  return results;
}

/// Collects the arrays in nested lists, tuples and dicts; ignores other contents. False with an exception set.
bool collect(PyObject* value, std::vector<Array>& arrays) {
  if (is_array(value)) {
    arrays.push_back(array_of(value));
    return true;
  }
  if (PyDict_Check(value) != 0) {
    PyObject *key = nullptr, *item = nullptr;
    for (Py_ssize_t at = 0; PyDict_Next(value, &at, &key, &item) != 0;)
      if (!collect(item, arrays)) return false;
    return true;
  }
  const bool is_list = PyList_Check(value) != 0;
  if (!is_list && PyTuple_Check(value) == 0) return true;
  if (Py_EnterRecursiveCall(" in the values to be computed") != 0) return false;
  bool good = true;
  for (Py_ssize_t i = 0; good && i < PyObject_Size(value); ++i)
    good = collect(is_list ? PyList_GetItem(value, i) : PyTuple_GetItem(value, i), arrays);
  Py_LeaveRecursiveCall();
  return good;
}

/// evaluate(*values)
PyObject* evaluate_all(PyObject*, PyObject* values) {
  std::vector<Array> arrays;
  if (!collect(values, arrays) || !evaluate(std::move(arrays))) return nullptr;
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

/// tape(True) begins a tape, tape(False) ends the last one.
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

/// graph(inputs, outputs, input_names, output_names, targets, open_batch, folds) -> an artifact's bytes. If targets is
/// None: an ONNX model's bytes.
PyObject* graph(PyObject*, PyObject* args) {
  PyObject *inputs = nullptr, *outputs = nullptr, *input_names = nullptr, *output_names = nullptr, *targets = nullptr;
  int open_batch = 0, folds = 0;
  if (PyArg_ParseTuple(args, "OOOOOpp", &inputs, &outputs, &input_names, &output_names, &targets, &open_batch,
                       &folds) == 0)
    return nullptr;
  return guarded([&] {
    const std::vector<Array> from = arrays_of(inputs), to = arrays_of(outputs);
    gcc_graph::lazy::SaveOptions options{
        texts_of(input_names), texts_of(output_names), {}, open_batch != 0, folds != 0};
    if (targets != Py_None) options.targets = texts_of(targets);
    const std::vector<uint8_t> bytes =
        targets == Py_None ? gcc_graph::lazy::to_onnx(from, to, options) : gcc_graph::lazy::compile(from, to, options);
    return PyBytes_FromStringAndSize(reinterpret_cast<const char*>(bytes.data()),
                                     static_cast<Py_ssize_t>(bytes.size()));
  });
}

/// connect(error class, package.fallback, package.convert, package.forms, folder of the package)
PyObject* connect(PyObject*, PyObject* args) {
  const char* folder = nullptr;
  if (PyArg_ParseTuple(args, "OOOOs", &package.error, &package.fallback, &package.convert, &package.forms, &folder) ==
      0)
    return nullptr;
  Py_INCREF(package.error);
  Py_INCREF(package.fallback);
  Py_INCREF(package.convert);
  Py_INCREF(package.forms);
  package.folder = folder;
  Py_RETURN_NONE;
}

PyMethodDef functions[] = {
    {"operator", make_operator, METH_VARARGS, "operator(name, operands, attributes, outputs)"},
    {"record", record, METH_VARARGS, "record(operator, arrays, lists)"},
    {"placeholder", placeholder, METH_VARARGS, "placeholder(dtype, shape)"},
    {"recording", make_recording, METH_VARARGS, "recording(placeholders, outputs)"},
    {"import_function", import_function, METH_VARARGS, "A function of ONNX libraries"},
    {"structure_of", structure_of, METH_O, "The part of the arguments that selects a graph, and their arrays"},
    {"functions", functions_of, METH_O, "The names in ONNX libraries"},
    {"from_bytes", from_bytes, METH_VARARGS, "from_bytes(dtype, shape, buffer)"},
    {"evaluate", evaluate_all, METH_VARARGS,
     "Computes values now, together: arrays, or lists, tuples and dicts of them."},
    {"stats", stats, METH_NOARGS, "Counters"},
    {"explain", explain, METH_NOARGS, "A line per compilation"},
    {"operators", operators, METH_NOARGS, "Operators that can be recorded"},
    {"settings", settings, METH_VARARGS, "Reads or sets the settings"},
    {"wait", wait, METH_VARARGS, "Waits for the compiler"},
    {"stop", stop, METH_NOARGS, "Ends the compiler's thread"},
    {"clear", clear, METH_NOARGS, "Forgets programs in memory"},
    {"tape", tape, METH_O, "Begins or ends a tape"},
    {"graph", graph, METH_VARARGS, "An artifact's bytes, or a model's"},
    {"connect", connect, METH_VARARGS, "Functions that Python provides"},
    {nullptr, nullptr, 0, nullptr}};

PyModuleDef module_def = {
    PyModuleDef_HEAD_INIT, "_gart_lazy", "Recorder of gart.lazy", -1, functions, nullptr, nullptr, nullptr, nullptr};

}  // namespace

}  // namespace gart_lazy

PyMODINIT_FUNC PyInit__gart_lazy() {
  using namespace gart_lazy;
  PyObject* module = PyModule_Create(&module_def);
  if (module == nullptr) return nullptr;
  package.error = PyExc_RuntimeError;
  types.array = reinterpret_cast<PyTypeObject*>(PyType_FromSpec(&array_spec));
  types.operator_ = reinterpret_cast<PyTypeObject*>(PyType_FromSpec(&operator_spec));
  types.recording = reinterpret_cast<PyTypeObject*>(PyType_FromSpec(&recording_spec));
  if (types.array == nullptr || types.operator_ == nullptr || types.recording == nullptr) return nullptr;
  make_operators();
  Py_INCREF(reinterpret_cast<PyObject*>(types.array));
  PyModule_AddObject(module, "Array", reinterpret_cast<PyObject*>(types.array));
  if (!add_unary_functions(module) || !add_form_functions(module)) return nullptr;
  return module;
}
