"""gart.lazy: arrays like NumPy's. Operators are recorded, and run as whole compiled graphs when a value is needed.

    import gart.lazy as gl
    x = gl.array([[1.0, 2.0], [3.0, 4.0]])
    y = gl.tanh(x @ x.T + 1)          # typed now: a wrong shape fails on this line; nothing is computed
    print(y)                          # computed now: what y needs, as one graph

These need a value: print, .numpy(), .item(), bool(), float(), int(), np.asarray() and DLPack. A computed value is kept while you hold it.
The first value of a new graph comes from the interpreter, while a thread of low priority compiles the graph; from then on compiled code
answers, whatever the numbers are. gl.explain() has a line for each compilation, gl.stats() counts.

Types follow NumPy, but where NumPy makes float64 of what is none, it is float32 here: of Python's floats, of integers in divisions, means and
functions. Arrays do not change: x[i] = v has no meaning, gl.where and gl.concatenate make new ones.
"""
from . import nn, onnx, random
from ._core import (Array, Error, array, asarray, bfloat16, bool_, clear, deterministic, evaluate, explain, float16, float32, float64,
                    int8, int16, int32, int64, settings, stats, uint8, uint16, uint32, uint64, wait)
from ._functions import *  # noqa: F401,F403 - all that its __all__ names
from ._grad import grad, value_and_grad
from ._named import function, library
from ._save import save, to_onnx
