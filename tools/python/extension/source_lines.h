// Finds the current line of the user's program, and adds it to errors.
#pragma once

#include <exception>
#include <new>
#include <string>

#include "objects.h"

namespace gart_lazy {

/// The innermost frame outside the package.
Source here();
/// " (model.py, line 12)"; empty if unknown.
std::string place_of(Source source);

/// Runs `body` and converts its exceptions to Python's.
template <class Body>
PyObject* guarded(Body body) {
  try {
    return body();
  } catch (const gcc_graph::lazy::Failure& failure) {
    PyErr_SetString(package.error, (failure.what() + place_of(failure.source)).c_str());
  } catch (const gcc_graph::Error& error) {
    PyErr_SetString(package.error, (error.what() + place_of(here())).c_str());
  } catch (const std::bad_alloc&) {
    PyErr_NoMemory();
  } catch (const std::exception& error) {
    PyErr_SetString(PyExc_RuntimeError, error.what());
  }
  return nullptr;
}

}  // namespace gart_lazy
