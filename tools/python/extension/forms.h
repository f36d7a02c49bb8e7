// The most frequent functions, with their most frequent arguments: reductions, shapes, choices, basic indices. They are
// recorded without running Python code. Calls with other arguments go to the Python function of the same name.
#pragma once

#include <span>

#include "objects.h"

namespace gart_lazy {

/// Adds the forms as functions of the module, and `forms`, a tuple of their names. False with an exception set.
bool add_form_functions(PyObject* module);
/// The forms that are also methods of arrays.
std::span<const PyMethodDef> form_methods();

/// array[index], in subscript.cpp
PyObject* subscript(PyObject* array, PyObject* index);
/// array.T
PyObject* transposed(PyObject* array, void*);

}  // namespace gart_lazy
