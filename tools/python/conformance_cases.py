"""The cases of the ONNX backend suite as the package `onnx` carries them, and the suite's own rules for comparing.

A case is a model with one or more data sets of inputs and expected outputs. The models of `light` are whole networks whose
weights are made by operators; their one input is a ramp from 0 to 1 and only outputs are stored, as in onnx's own runner.
"""
import glob
import json
import os
from dataclasses import dataclass

import numpy as np
import onnx
from onnx import numpy_helper

VERSION = "1.22.0"
TOTAL = 1914
KINDS = ("node", "simple", "pytorch-converted", "pytorch-operator", "light")
_DATA = os.path.join(os.path.dirname(onnx.__file__), "backend", "test", "data")
_DEFAULT_RTOL, _DEFAULT_ATOL = 1e-3, 1e-7

# Absolute tolerances raised above the suite's, each with the value that forced it.
RAISED_ATOL = {
    # The stored outputs were computed in f32: they contain 1.9e-7 where a sum over elements up to 50 is exactly 0.
    "test_dft_inverse_opset19": 1e-6,
    # The stored output is one draw of another generator; tests/models/check_random.py checks how numbers are distributed.
    **{f"test_bernoulli{which}": 1.0 for which in ("", "_double", "_double_expanded", "_expanded", "_seed", "_seed_expanded")},
}


@dataclass(frozen=True)
class Case:
    kind: str
    name: str
    model: str  # path of the .onnx file
    rtol: float = _DEFAULT_RTOL
    atol: float = _DEFAULT_ATOL

    def data_sets(self):
        """Yields ({input name: array}, [expected output]) for each data set."""
        graph = onnx.load(self.model, load_external_data=False).graph
        if self.kind == "light":
            yield _ramps(graph), [_read(self.model[:-len(".onnx")] + f"_output_{i}.pb", value)
                                  for i, value in enumerate(graph.output)]
            return
        for folder in sorted(glob.glob(os.path.join(os.path.dirname(self.model), "test_data_set*"))):
            feeds = {}
            for value, array in zip(graph.input, _read_all(folder, "input", graph.input)):
                feeds.update({f"{value.name}.{k}": a for k, a in enumerate(array)} if isinstance(array, list) else
                             {value.name: array})
            expected = []  # the compiler turns each element of a sequence into an output
            for array in _read_all(folder, "output", graph.output):
                expected += array if isinstance(array, list) else [array]
            yield feeds, expected

    def lengths(self):
        """{input that is a sequence or an optional: its number of elements in the first data set}."""
        graph = onnx.load(self.model, load_external_data=False).graph
        folders = sorted(glob.glob(os.path.join(os.path.dirname(self.model), "test_data_set*")))
        if self.kind == "light" or not folders:
            return {}
        return {value.name: len(array) for value, array in zip(graph.input, _read_all(folders[0], "input", graph.input))
                if isinstance(array, list)}


def all_cases():
    """Every case, in the order of KINDS and then by name."""
    cases = []
    for kind in KINDS:
        folder = os.path.join(_DATA, kind)
        if kind == "light":
            cases += [Case(kind, os.path.basename(path)[:-len(".onnx")], path)
                      for path in sorted(glob.glob(os.path.join(folder, "*.onnx")))]
        elif os.path.isdir(folder):
            cases += [_case_in(kind, os.path.join(folder, name)) for name in sorted(os.listdir(folder))
                      if os.path.exists(os.path.join(folder, name, "model.onnx"))]
    return cases


def _case_in(kind, folder):
    limits = {}
    if os.path.exists(os.path.join(folder, "data.json")):
        with open(os.path.join(folder, "data.json"), encoding="utf-8") as file:
            limits = json.load(file)
    return Case(kind, os.path.basename(folder), os.path.join(folder, "model.onnx"),
                limits.get("rtol", _DEFAULT_RTOL),
                RAISED_ATOL.get(os.path.basename(folder), limits.get("atol", _DEFAULT_ATOL)))


def _ramps(graph):
    stored = {tensor.name for tensor in graph.initializer}
    feeds = {}
    for value in graph.input:
        if value.name not in stored:
            shape = [d.dim_value if d.HasField("dim_value") else 1 for d in value.type.tensor_type.shape.dim]
            count = int(np.prod(shape))
            feeds[value.name] = (np.arange(count).reshape(shape) / count).astype(np.float32)
    return feeds


def _read_all(folder, what, values):
    return [_read(os.path.join(folder, f"{what}_{i}.pb"), value) for i, value in enumerate(values)
            if os.path.exists(os.path.join(folder, f"{what}_{i}.pb"))]


def _read(path, value):
    """The array in a file. A list of arrays if the graph's value is a sequence or an optional of tensors, else None."""
    kind = value.type.WhichOneof("value")
    with open(path, "rb") as file:
        data = file.read()
    if kind == "tensor_type":
        return numpy_helper.to_array(onnx.TensorProto.FromString(data))
    if kind == "sequence_type":
        return numpy_helper.to_list(onnx.SequenceProto.FromString(data))
    if kind == "optional_type":
        element = numpy_helper.to_optional(onnx.OptionalProto.FromString(data))
        return [] if element is None else element if isinstance(element, list) else [element]
    return None


def op_of(case):
    """The operator that a case tests: that of its only node; else the longest operator name that the case's name begins
    with (test_layer_normalization_2d_expanded); else the kind of the case."""
    nodes = onnx.load(case.model, load_external_data=False).graph.node
    if case.kind == "node":
        if len(nodes) == 1:
            return nodes[0].op_type
        text = case.name[len("test_"):].replace("_", "")
        names = [name for name in _schema_names() if text.startswith(name.lower())]
        if names:
            return max(names, key=len)
    return f"({case.kind})"


def _schema_names():
    return {schema.name for schema in onnx.defs.get_all_schemas()} | {"Reduce", "Cast"}


def difference(got, expected, rtol, atol):
    """None if the outputs are as expected, otherwise a description of the fault. Floats agree within rtol and atol, NaN with
    NaN. Everything else must be exact, shapes and dtypes included."""
    if expected is None:
        return "a tensor where a sequence or an optional is expected"
    if got.shape != expected.shape:
        return f"shape {list(got.shape)}, expected {list(expected.shape)}"
    if got.dtype != expected.dtype:
        return f"dtype {got.dtype}, expected {expected.dtype}"
    if got.dtype.kind in "biu":
        bad = got != expected
    else:
        a, b = got.astype(np.float64), expected.astype(np.float64)
        bad = ~np.isclose(a, b, rtol=rtol, atol=atol, equal_nan=True)
    if not np.any(bad):
        return None
    at = tuple(int(i) for i in np.argwhere(bad)[0])
    return f"{int(np.sum(bad))} of {bad.size} elements differ, first at {list(at)}: {got[at]}, expected {expected[at]}"
