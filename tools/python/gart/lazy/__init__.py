"""gart.lazy: arrays like NumPy's. Operators are recorded, and run as whole compiled graphs when a value is needed.

    import gart.lazy as gl
    x = gl.array([[1.0, 2.0], [3.0, 4.0]])
    y = gl.tanh(x @ x.T + 1)          # typed now: a wrong shape fails on this line; nothing is computed
    print(y)                          # computed now: the subgraph that y needs, as one graph

These need a value: print, .numpy(), .item(), bool(), float(), int(), np.asarray() and DLPack. A computed value is kept
while you hold it. The interpreter computes the first value of a new graph, while a thread of low priority compiles the
graph. From then on compiled code runs, whatever the numbers are. gl.explain() has a line for each compilation;
gl.stats() returns counters.

Types follow NumPy with one exception: where NumPy converts other types to float64, the result is float32 here. This
holds for Python's floats, and for integers in divisions, means and functions. Arrays are immutable: x[i] = v is not
supported; gl.where and gl.concatenate make new arrays.
"""
from . import nn, onnx, random
from ._core import (Array, Error, array, asarray, bfloat16, bool_, clear, deterministic, evaluate, explain, float16, float32, float64,
                    int8, int16, int32, int64, settings, stats, uint8, uint16, uint32, uint64, wait)
from ._functions import *  # noqa: F401,F403 - all that its __all__ names
from ._grad import grad, value_and_grad
from ._named import function, library
from ._save import save, to_onnx
