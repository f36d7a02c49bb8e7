"""Functions with a name, whose graph is recorded once and then used as often as they are called."""
import functools
import os
import threading

import numpy as np

from ._core import Array, Error, array, core

_MOST_FORMS = 256  # per function; above this number, the oldest is dropped
_being_recorded = threading.local()


def is_recording():
    """True while this thread records the body of a function."""
    return bool(_being_recorded.__dict__.get("functions"))


def _parts(value, name, arrays):
    """The part of an argument that determines the graph, as a key. Appends the argument's arrays to `arrays`."""
    if isinstance(value, (Array, np.ndarray, np.generic)):
        arrays.append(array(value))
        return Array, arrays[-1]._code, arrays[-1].shape
    if isinstance(value, (list, tuple)):
        return (type(value), *[_parts(v, name, arrays) for v in value])
    if isinstance(value, dict):
        return (dict, *[(k, _parts(v, name, arrays)) for k, v in value.items()])
    if isinstance(value, float):
        return float, value.hex()
    try:
        hash(value)
    except TypeError:
        raise Error(f"the function '{name}' takes arrays, hashable values, and lists, tuples and dicts of these; not a {type(value).__name__}") from None
    return type(value), value


def _with_arrays(value, change):
    """Copies lists, tuples and dicts with each array replaced; NumPy's arrays are converted first."""
    if isinstance(value, (Array, np.ndarray, np.generic)):
        return change(array(value))
    if isinstance(value, dict):
        return {k: _with_arrays(v, change) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        changed = [_with_arrays(v, change) for v in value]
        return type(value)(*changed) if hasattr(value, "_fields") else type(value)(changed)
    return value


class Function:
    """A function made by gl.function. `recordings` counts the runs of its body; errors call it `name`."""

    def __init__(self, body, name):
        functools.update_wrapper(self, body)
        self._body, self.name, self._forms, self.recordings = body, name, {}, 0

    def __repr__(self):
        return f"<gart.lazy function {self.name}>"

    def __get__(self, instance, _=None):
        return self if instance is None else functools.partial(self, instance)

    def __call__(self, *arguments, **named):
        known = core.structure_of((arguments, named))  # a fast path, if all arguments are arrays
        if known is None:
            arguments, named = _with_arrays((arguments, named), lambda x: x)  # NumPy's arrays count as arrays, too
            known = core.structure_of((arguments, named))
        if known is not None:
            key, arrays = known
        else:
            arrays = []
            key = _parts((arguments, named), self.name, arrays)
        entry = self._forms.get(key)
        if entry is None:
            entry = self._forms[key] = self._record(arguments, named)
            while len(self._forms) > _MOST_FORMS:
                self._forms.pop(next(iter(self._forms)), None)
        recording, result, is_tuple = entry
        results = recording(arrays)
        if is_tuple:
            return tuple(results)
        if isinstance(result, Array):
            return results[0]
        results = iter(results)
        return _with_arrays(result, lambda _: next(results))

    def _record(self, arguments, named):
        active = _being_recorded.__dict__.setdefault("functions", [])
        if self in active:
            raise Error(f"the function '{self.name}' calls itself ({' -> '.join(f.name for f in [*active, self])}): a recursive "
                        "function has no finite graph; call it in a loop outside")
        placeholders = []

        def placed(x):
            placeholders.append(core.placeholder(x._code, x.shape))
            return placeholders[-1]
        active.append(self)
        try:
            arguments, named = _with_arrays((arguments, named), placed)
            result = _with_arrays(self._body(*arguments, **named), lambda x: x)
        finally:
            active.pop()
        outputs = []
        _with_arrays(result, outputs.append)
        if not outputs:
            raise Error(f"the function '{self.name}' gives no array")
        self.recordings += 1
        is_tuple = type(result) is tuple and all(isinstance(r, Array) for r in result)
        return core.recording(placeholders, outputs), _with_arrays(result, lambda x: core.placeholder(x._code, ())), is_tuple


def function(body=None, *, name=None):
    """Makes a named function of `body`. Its Python code runs once for each combination of array types and values of
    other arguments. Each further call records the same operators again, without Python.

        @gl.function
        def block(x, w):
            return gl.tanh(x @ w)

    Arguments and results are arrays, and lists, tuples and dicts of them; NumPy's arrays count as arrays. Numbers, texts and other values
    are part of the recording. The body may not read values of its arguments, use arrays that are not arguments, or call the function itself.
    """
    if body is None:
        return functools.partial(function, name=name)
    return Function(body, name or body.__name__)


class _Imported:
    """A function of a library."""

    def __init__(self, name, libraries):
        self.name, self._libraries, self._forms = name, libraries, {}

    def __repr__(self):
        return f"<gart.lazy function {self.name} of {', '.join(self._libraries)}>"

    def __call__(self, *arguments):
        arrays = [array(a) for a in arguments]
        key = tuple((a._code, a.shape) for a in arrays)
        recording = self._forms.get(key)
        if recording is None:
            recording = self._forms[key] = core.import_function(self.name, arrays, self._libraries)
        results = recording(arrays)
        return results[0] if len(results) == 1 else tuple(results)


class Library:
    """The functions of ONNX libraries by name: lib.Block, or lib["acme::Block"]."""

    def __init__(self, paths):
        self._paths = [os.fspath(p) for p in paths]
        self._functions = {name: _Imported(name, self._paths) for name in core.functions(self._paths)}

    def __dir__(self):
        return [name.rpartition("::")[2] for name in self._functions]

    def __iter__(self):
        return iter(self._functions)

    def __getitem__(self, name):
        found = self._functions.get(name if "::" in name else f"functions::{name}")
        if found is None:
            core.import_function(name, [], self._paths)  # the error lists the nearest names
        return found

    def __getattr__(self, name):
        if name.startswith("_"):
            raise AttributeError(name)
        fits = [f for full, f in self._functions.items() if full.rpartition("::")[2] == name]
        return fits[0] if len(fits) == 1 else self[name]


def library(*paths):
    """The functions in these files of gcc-graph function. No two files may have a function of the same name."""
    return Library(paths)
