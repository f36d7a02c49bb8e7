// The class Array: its operators, its buffers, and access to the operator that made it.
#include "arithmetic.h"
#include "conversions.h"
#include "forms.h"
#include "source_lines.h"
#include "type_specs.h"

namespace gart_lazy {
namespace {

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

/// The type's format character in Python's struct module; null: there is none.
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

/// (operator, index of the result, attributes, operands, lists, serial), or None for a given array.
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

PyGetSetDef array_getset[] = {{"shape", get_shape, nullptr, "The extents, as a tuple", nullptr},
                              {"ndim", get_ndim, nullptr, "Rank", nullptr},
                              {"size", get_size, nullptr, "Number of elements", nullptr},
                              {"T", transposed, nullptr, "Axes in reverse", nullptr},
                              {"_code", get_code, nullptr, "The number that stands for the element type", nullptr},
                              {"is_ready", get_ready, nullptr, "True if the value is computed", nullptr},
                              {nullptr, nullptr, nullptr, nullptr, nullptr}};
PyMethodDef* array_methods() {
  static auto* all = [] {
    const auto forms = form_methods();
    auto* table = new std::vector<PyMethodDef>(forms.begin(), forms.end());
    table->push_back({"_made_by", made_by, METH_NOARGS, "The operator that made the value"});
    table->push_back({"_identity", identity, METH_NOARGS, "A number that is equal for all handles to one value"});
    table->push_back({nullptr, nullptr, 0, nullptr});
    return table;
  }();
  return all->data();
}

PyType_Slot array_slots[] = {SLOT(Py_tp_dealloc, dealloc_array),
                             SLOT(Py_tp_getset, array_getset),
                             SLOT(Py_tp_methods, array_methods()),
                             SLOT(Py_tp_richcompare, compare),
                             SLOT(Py_mp_subscript, subscript),
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

}  // namespace

PyType_Spec array_spec = {"gart.lazy.Array", sizeof(PyArray), 0, Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION,
                          array_slots};

}  // namespace gart_lazy
