// array[index] with numbers, slices, None and Ellipsis. The package's Python function handles other indices.
#include <algorithm>
#include <map>
#include <optional>
#include <vector>

#include "forms.h"
#include "source_lines.h"

namespace gart_lazy {
namespace {

using Ints = std::vector<int64_t>;

struct Index {
  std::vector<PyObject*> parts;    // borrowed references; there is no Ellipsis among them
  Ints starts, ends, axes, steps;  // one entry per slice that leaves elements out
};

bool is_basic(PyObject* part) {
  return part == Py_None || part == Py_Ellipsis || PySlice_Check(part) != 0 || PyLong_CheckExact(part) != 0;
}

/// Adds a full slice for each dimension without an index. Nullopt: the index is invalid, or it is not a basic index.
std::optional<Index> parts_of(PyObject* index, size_t rank) {
  Index out;
  const bool is_tuple = PyTuple_CheckExact(index) != 0;
  const Py_ssize_t count = is_tuple ? PyTuple_Size(index) : 1;
  size_t used = 0;
  std::optional<size_t> ellipsis;
  for (Py_ssize_t i = 0; i < count; ++i) {
    PyObject* part = is_tuple ? PyTuple_GetItem(index, i) : index;
    if (!is_basic(part) || (part == Py_Ellipsis && ellipsis)) return std::nullopt;
    if (part == Py_Ellipsis) {
      ellipsis = out.parts.size();
      continue;
    }
    used += part != Py_None ? 1 : 0;
    out.parts.push_back(part);
  }
  if (used > rank) return std::nullopt;
  static PyObject* const all = PySlice_New(nullptr, nullptr, nullptr);
  const auto at = out.parts.begin() + static_cast<std::ptrdiff_t>(ellipsis.value_or(out.parts.size()));
  out.parts.insert(at, rank - used, all);
  return out;
}

/// Returns false with an exception set, or without one if the Python code must handle the index.
bool read_limits(Index& index, std::span<const int64_t> shape) {
  size_t axis = 0;
  for (PyObject* part : index.parts) {
    if (part == Py_None) continue;
    const auto extent = static_cast<Py_ssize_t>(shape[axis++]);
    if (PySlice_Check(part) == 0) {
      int overflow = 0;
      const long long place = PyLong_AsLongLongAndOverflow(part, &overflow);
      if (overflow != 0 || place < -extent || place >= extent) return false;
      continue;
    }
    Py_ssize_t start = 0, stop = 0, step = 0;
    if (PySlice_Unpack(part, &start, &stop, &step) != 0) return false;
    PySlice_AdjustIndices(extent, &start, &stop, step);
    if (start == 0 && stop == extent && step == 1) continue;
    index.starts.push_back(start);
    index.ends.push_back(stop >= 0 ? stop : -extent - 1);
    index.axes.push_back(static_cast<int64_t>(axis) - 1);
    index.steps.push_back(step);
  }
  return true;
}

Array sliced(const Array& x, const Index& index) {
  static const gcc_graph::lazy::Operator op = Operator::make("Slice", "xiiii");
  if (index.axes.empty()) return x;
  Ints all;
  for (const Ints* list : {&index.starts, &index.ends, &index.axes, &index.steps})
    all.insert(all.end(), list->begin(), list->end());
  const auto length = static_cast<uint32_t>(index.axes.size());
  const uint32_t lengths[] = {length, length, length, length};
  return gcc_graph::lazy::record(op, x, all, lengths, here());
}

/// One element along the axis. The position is an operand, so another position needs no new compilation.
Array taken(const Array& x, int64_t axis, PyObject* place) {
  static auto* known = new std::map<int64_t, Operator>;
  auto it = known->find(axis);
  if (it == known->end()) it = known->emplace(axis, Operator::make("Gather", "xx", {{"axis", axis}})).first;
  const int64_t number = PyLong_AsLongLong(place);
  return gcc_graph::lazy::record(it->second, x, Array::scalar(DType::i64, &number), here());
}

Array widened(const Array& x, int64_t axis) {
  static const Operator op = Operator::make("Unsqueeze", "xi");
  const uint32_t length[] = {1};
  return gcc_graph::lazy::record(op, x, {&axis, 1}, length, here());
}

PyObject* indexed(PyObject* self, const Index& index) {
  Array out = sliced(array_of(self), index);
  int64_t axis = 0;
  for (PyObject* part : index.parts) {
    if (part == Py_None) {
      out = widened(out, axis++);
    } else if (PySlice_Check(part) != 0) {
      ++axis;
    } else {
      out = taken(out, axis, part);
    }
  }
  return out.identity() == array_of(self).identity() ? Py_NewRef(self) : wrap(std::move(out));
}

}  // namespace

PyObject* subscript(PyObject* self, PyObject* key) {
  const auto shape = array_of(self).shape();
  if (std::optional<Index> index = parts_of(key, shape.size())) {
    if (read_limits(*index, shape)) return guarded([&] { return indexed(self, *index); });
    if (PyErr_Occurred() != nullptr) return nullptr;
  }
  return PyObject_CallFunctionObjArgs(PyDict_GetItemString(package.forms, "__getitem__"), self, key, nullptr);
}

}  // namespace gart_lazy
