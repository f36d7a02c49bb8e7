"""Every operator of the standard by its name, as the compiler has it: gl.onnx.Conv(x, w, None, strides=[2, 2]).

Operands are arrays, or numbers and lists of them; None omits an operand. Lists of integers are part of the program if the operator expects a
shape, axes or limits there. So are lists of floats given as onnx.constant([...]). Attributes are keywords; `outputs` says how many results are
wanted. `gl.onnx.operators()` lists the names. An operator of another domain is gl.onnx.operator("com.microsoft::Gelu")(x).
"""
import math

import numpy as np

from ._core import Array, Error, array, core, record

_ARITIES = {}
for _line in core.operators():
    _name, *_numbers = _line.split()
    _ARITIES[_name] = tuple(map(int, _numbers))

# Operands, by operator and position, whose lists of integers are part of the program.
_STATIC = {"Reshape": "1", "Expand": "1", "Tile": "1", "Slice": "1234", "Pad": "13", "Squeeze": "1", "Unsqueeze": "1", "Split": "1",
           "Resize": "3", "TopK": "1", "ConstantOfShape": "0", "OneHot": "1", "CumSum": "1", "Range": "012", "CenterCropPad": "1",
           "Col2Im": "12", "AffineGrid": "1", "Trilu": "1", "Upsample": "", "MaxUnpool": "2", "DFT": "12", "BlackmanWindow": "0", "MelWeightMatrix": "012", "STFT": "13",
           "HannWindow": "0", "HammingWindow": "0", "ReduceSum": "1", "ReduceMean": "1", "ReduceMax": "1", "ReduceMin": "1",
           "ReduceProd": "1", "ReduceL1": "1", "ReduceL2": "1", "ReduceLogSum": "1", "ReduceLogSumExp": "1", "ReduceSumSquare": "1"}
_SCALAR = {("CumSum", 1), ("Range", 0), ("Range", 1), ("Range", 2), ("Trilu", 1), ("OneHot", 1), ("DFT", 1), ("DFT", 2),
           ("BlackmanWindow", 0), ("HannWindow", 0), ("HammingWindow", 0), ("MelWeightMatrix", 0), ("MelWeightMatrix", 1), ("MelWeightMatrix", 2),
           ("STFT", 1), ("STFT", 3)}
# Operands, by operator and position, whose float values are part of the program.
_NUMBERS = {"Resize": "12", "MelWeightMatrix": "34"}


class constant:
    """Numbers that are part of the program."""

    def __init__(self, numbers):
        self.numbers = [float(n) for n in np.asarray(numbers).reshape(-1)]


def operators():
    """The names of all operators."""
    return sorted(_ARITIES)


def _integers(value):
    if isinstance(value, (np.ndarray, np.generic)) and value.dtype.kind == "f" and (value == np.trunc(value)).all():
        value = value.astype(np.int64)
    if isinstance(value, (int, np.integer)) and not isinstance(value, bool):
        return [int(value)]
    values = value.reshape(-1).tolist() if isinstance(value, (np.ndarray, np.generic)) and value.dtype.kind in "iu" else value
    if isinstance(values, (list, tuple)) and all(isinstance(v, (int, np.integer)) for v in values):
        return [int(v) for v in values]
    return None


def operator(name):
    """The operator with this name, as a function."""
    if name not in _ARITIES:
        raise Error(f"there is no operator '{name}'")
    least, most, _, most_outputs = _ARITIES[name]
    static = _STATIC.get(name, "")

    def call(*operands, outputs=1, **attributes):
        if len(operands) < least or 0 <= most < len(operands):
            raise Error(f"{name} takes {least} to {most} operands, not {len(operands)}")
        kinds, arrays, ints, named = "", [], [], dict(attributes)
        for k, value in enumerate(operands):
            if value is not None and str(k) in _NUMBERS.get(name, "") and not isinstance(value, (Array, constant)):
                value = constant(value)
            if value is None:
                kinds += "_"
            elif isinstance(value, constant):
                kinds, named[f"#{k}"] = kinds + "f", value.numbers
            elif str(k) in static and not isinstance(value, Array) and (numbers := _integers(value)) is not None:
                kinds += "s" if (name, k) in _SCALAR else "i"
                ints.append(numbers)
            else:
                kinds += "x"
                arrays.append(array(value))
        return record(name, arrays, named or None, outputs, kinds, ints)
    call.__name__ = call.__qualname__ = name
    call.__doc__ = f"{name}: {least} to {'any number of' if most < 0 else most} operands, up to {most_outputs} results."
    return call


for _name in _ARITIES:
    if "::" not in _name:
        globals()[_name] = operator(_name)


# ---- operators whose attribute is an array

_KINDS = {"value_int": np.int64, "value_ints": np.int64, "value_float": np.float32, "value_floats": np.float32}


def Constant(*, value=None, **numbers):
    """The array `value`, or one of value_int, value_ints, value_float, value_floats."""
    if (value is None) != (len(numbers) == 1) or not numbers.keys() <= _KINDS.keys():
        raise Error(f"Constant takes one of value, {', '.join(_KINDS)}")
    return array(value) if value is not None else next(array(v, _KINDS[k]) for k, v in numbers.items())


def ConstantOfShape(shape, *, value=None):
    """An array filled with the element of `value`, an array of one element. Without `value`, zeros of float32."""
    zeros = operator("ConstantOfShape")(shape)
    return zeros if value is None else operator("Expand")(array(value).reshape(()), shape)


def Range(start, limit, delta):
    """The operator Range. If all arguments are numbers, the result is an array of their type, known now."""
    numbers = [start, limit, delta]
    if any(isinstance(n, Array) for n in numbers):
        return operator("Range")(start, limit, delta)
    dtype = array(start).dtype
    start, limit, delta = (float(n) if dtype.kind != "i" else int(n) for n in numbers)
    return array((start + np.arange(max(0, math.ceil((limit - start) / delta))) * delta).astype(dtype))
