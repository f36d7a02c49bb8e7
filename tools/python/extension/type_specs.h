// The module's classes, each in a file of its own.
#pragma once

#include "objects.h"

namespace gart_lazy {

extern PyType_Spec array_spec;      // array_type.cpp
extern PyType_Spec recording_spec;  // recording_type.cpp

/// recording(placeholders, outputs): called with a list of arrays it gives one of results
PyObject* make_recording(PyObject* module, PyObject* args);
/// structure_of(value) -> (bytes that say lists, tuples, dicts and types of arrays, list of these arrays); None where
/// anything else is in it
PyObject* structure_of(PyObject* module, PyObject* value);
/// import_function(name, arrays of its inputs' types, libraries) -> a recording
PyObject* import_function(PyObject* module, PyObject* args);

}  // namespace gart_lazy
