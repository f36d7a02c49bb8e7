// Where the user's program is, and errors that say it.
#pragma once

#include <exception>
#include <new>
#include <string>

#include "objects.h"

namespace gart_lazy {

/// The innermost frame that is not the package's.
Source here();
/// " (model.py, line 12)"; empty where it is not known.
std::string place_of(Source source);

/// Runs `body`; what it throws is Python's exception.
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
