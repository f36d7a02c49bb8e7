"""A function as a file that runs without the compiler."""
import os

from ._core import Array, array, core


def _flat(results):
    if isinstance(results, Array):
        return [results], ["out0"]
    if isinstance(results, dict):
        return [array(v) for v in results.values()], [str(k) for k in results]
    return [array(v) for v in results], [f"out{i}" for i in range(len(results))]


def _bytes(function, examples, targets, open_batch, folds=False):
    named = examples if isinstance(examples, dict) else {f"in{i}": v for i, v in enumerate(examples)}
    inputs = [_fresh(v) for v in named.values()]
    core.tape(True)
    try:
        results = function(**dict(zip(named, inputs))) if isinstance(examples, dict) else function(*inputs)
        outputs, names = _flat(results)
        return core.graph(inputs, outputs, list(named), names, targets, open_batch, folds)
    finally:
        core.tape(False)


def _write(path, content):
    beside = f"{os.fspath(path)}.{os.getpid()}"
    try:
        with open(beside, "wb") as file:
            file.write(content)
        os.replace(beside, path)
    except OSError:
        if os.path.exists(beside):
            os.remove(beside)
        raise


def save(function, examples, path, targets=(), open_batch=False, folds=False):
    """Calls `function` on arrays of the examples' types, and writes the graph from these arrays to its results as an artifact, for gart.load.

    `examples`: a list of arrays, or a dict that also names the inputs. Other arrays that the function uses become its
    weights. `targets`: the same as gcc-graph compile --target; by default this machine's CPU. `open_batch`: the first extent of each input
    stays symbolic. The file's results equal the results of compiled code here, to the last bit (docs/lazy.md). With
    `folds`, factors and offsets are multiplied into weights, and filters are transformed, ahead of time. This is faster
    for convolutional networks, but rounds differently.
    """
    _write(path, _bytes(function, examples, list(targets), open_batch, folds))


def to_onnx(function, examples, path, open_batch=False):
    """Writes the same graph as an ONNX model."""
    _write(path, _bytes(function, examples, None, open_batch))


def _fresh(value):
    """A new array with the same elements, so that its identity differs from all other arrays."""
    value = array(value)
    return array(value.numpy())
