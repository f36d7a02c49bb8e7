// The module's classes, each in a file of its own.
#pragma once

#include "objects.h"

namespace gart_lazy {

extern PyType_Spec array_spec;      // array_type.cpp
extern PyType_Spec recording_spec;  // recording_type.cpp

/// recording(placeholders, outputs): a callable that takes a list of arrays and returns a list of results
PyObject* make_recording(PyObject* module, PyObject* args);
/// structure_of(value) -> (bytes that describe lists, tuples, dicts and types of arrays, list of these arrays); None if
/// the value contains anything else
PyObject* structure_of(PyObject* module, PyObject* value);
/// import_function(name, arrays of its inputs' types, libraries) -> a recording
PyObject* import_function(PyObject* module, PyObject* args);

}  // namespace gart_lazy
