"""Inputs for a model's file. The zoo's own maker, which knows the meaning of each input, makes the inputs of zoo
models. Other models get random inputs."""
import importlib
import os
import sys

import numpy as np

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")


def zoo_of(path):
    """The zoo's input maker, and its entry for the model. None if the model is not in the zoo, or the zoo is missing.
    """
    home = os.path.join(os.environ.get("GCC_GRAPH_MODELS") or os.path.join(ROOT, "..", "shared", "models"), "zoo")
    if not os.path.isdir(home):
        return None
    if home not in sys.path:
        sys.path.insert(0, home)
    zoo = importlib.import_module("zoo")
    entry = zoo.load_zoo(home).get(os.path.basename(path).removesuffix(".onnx"))
    return entry and (zoo, entry)


def random_inputs(graph, symbols):
    """Seeded random inputs of the declared types."""
    import onnx
    random = np.random.Generator(np.random.PCG64(7))
    feeds = {}
    for i in graph.input:
        t = i.type.tensor_type
        shape = [d.dim_value if d.HasField("dim_value") else eval(d.dim_param, {}, symbols) for d in t.shape.dim]
        if t.elem_type == onnx.TensorProto.INT64:
            feeds[i.name] = np.ones(shape, np.int64) if "mask" in i.name else random.integers(0, 500, shape)
        else:
            feeds[i.name] = random.standard_normal(shape, dtype=np.float32)
    return feeds


def make_inputs(path, symbols):
    """Arrays by name, and the options that fix the model's open extents to those of the arrays. `symbols`: wanted
    extents. The other extents of a zoo model are those of its first example."""
    import onnx
    found = zoo_of(path)
    graph = onnx.load(path, load_external_data=False).graph
    if found is None:
        feeds = random_inputs(graph, symbols)
    else:
        zoo, entry = found
        symbols = {k: symbols.get(k, v) for k, v in entry["sizes"][0].items()}
        feeds = zoo.make_inputs({**entry, "sizes": [symbols]}, 0)
    known = {d.dim_param for i in graph.input for d in i.type.tensor_type.shape.dim}
    return feeds, [o for k, v in symbols.items() if k in known for o in ("--dim", f"{k}={v}")]
