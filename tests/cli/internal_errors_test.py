#!/usr/bin/env python3
"""internal_errors_test.py [SECONDS [SEED]]: compiles valid small models with random changes (attributes, constants,
extents, types, names, opsets) and unusual options. The compiler must never report a bug of its own. An error is one
sentence for the user. An artifact is valid, and runs or gives an error. A failure prints the seed, which gives the same
model again."""
import copy
import json
import os
import random
import re
import subprocess
import sys
import tempfile
import time

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
sys.path[:0] = [os.path.join(ROOT, "tests", "models"), os.path.join(ROOT, "tools", "models")]
import small_models  # noqa: E402

TOOL = os.environ["GCC_GRAPH"]
BUG = re.compile(r"internal error|std::|vector::|basic_string|what\(\)|terminate|json\.exception|Assertion")
LIMIT_S = 60  # seconds for one command: the machine may be busy
INTEGERS = [-(1 << 63), -(1 << 46), -2, -1, 0, 1, 2, 3, 7, 64, 65, 1 << 31, 1 << 46, (1 << 63) - 1]
FLOATS = [0.0, -0.0, 1.0, -1.0, 1e-45, 1e38, float("inf"), float("nan"), 0.5]
NAMES = ["", "a\0b", "n" * 5000, "g0: a..b", "a,b", "x=y", "max", "\u00e9\u4e2d", "n + 1", "*"]


def graphs_of(graph):
    """The graph and the graphs in its nodes' attributes."""
    yield graph
    for node in graph.node:
        for attribute in node.attribute:
            if attribute.type == onnx.AttributeProto.GRAPH:
                yield from graphs_of(attribute.g)


def change_attribute(r, model):
    holders = [n for g in graphs_of(model.graph) for n in g.node if any(a.type != onnx.AttributeProto.GRAPH for a in n.attribute)]
    if not holders:
        return
    a = r.choice([a for a in r.choice(holders).attribute if a.type != onnx.AttributeProto.GRAPH])
    if a.type == onnx.AttributeProto.INT:
        a.i = r.choice(INTEGERS)
    elif a.type == onnx.AttributeProto.FLOAT:
        a.f = r.choice(FLOATS)
    elif a.type == onnx.AttributeProto.INTS and a.ints:
        a.ints[r.randrange(len(a.ints))] = r.choice(INTEGERS)
    elif a.type == onnx.AttributeProto.INTS:
        a.ints.append(r.choice(INTEGERS))
    elif a.type == onnx.AttributeProto.STRING:
        a.s = r.choice(NAMES).encode()
    elif a.type == onnx.AttributeProto.TENSOR:
        change_tensor(r, a.t)


def change_tensor(r, tensor):
    array = numpy_helper.to_array(tensor).copy()
    if not array.size:
        return
    if r.random() < 0.3:
        array = array.reshape(-1)[:r.randrange(array.size + 1)]
    elif array.dtype.kind in "iu":
        info = np.iinfo(array.dtype)
        array.reshape(-1)[r.randrange(array.size)] = min(max(r.choice(INTEGERS), info.min), info.max)
    elif array.dtype.kind == "f":
        array.reshape(-1)[r.randrange(array.size)] = np.clip(r.choice(FLOATS), -6e4, 6e4)
    tensor.CopyFrom(numpy_helper.from_array(np.ascontiguousarray(array), tensor.name))


def change_constant(r, model):
    tensors = [t for g in graphs_of(model.graph) for t in g.initializer]
    if tensors:
        change_tensor(r, r.choice(tensors))


def change_extent(r, model):
    dims = [d for i in model.graph.input for d in i.type.tensor_type.shape.dim]
    if not dims:
        return
    dim = r.choice(dims)
    if r.random() < 0.5:
        dim.dim_value = r.choice([0, 1, 2, 3, 5, 8, 64, 1 << 31, 1 << 46, (1 << 63) - 1])
    else:
        dim.dim_param = r.choice(NAMES[1:] + ["k"])


def change_type(r, model):
    value = r.choice(model.graph.input)
    value.type.tensor_type.elem_type = r.choice([TensorProto.FLOAT, TensorProto.INT64, TensorProto.BOOL, TensorProto.FLOAT16, TensorProto.UINT8,
                                                 TensorProto.DOUBLE, TensorProto.STRING, TensorProto.UINT64])


def change_rank(r, model):
    dims = r.choice(model.graph.input).type.tensor_type.shape.dim
    if dims and r.random() < 0.5:
        del dims[r.randrange(len(dims))]
    else:
        dims.add().dim_value = r.choice([0, 1, 4])


def change_name(r, model):
    node = r.choice(r.choice([g for g in graphs_of(model.graph) if g.node]).node)
    if r.random() < 0.5:
        node.name = r.choice(NAMES)
        return
    if not node.output:
        return
    old, new = r.choice(node.output), r.choice(NAMES[1:])
    for graph in graphs_of(model.graph):
        for n in graph.node:
            for names in (n.input, n.output):
                names[:] = [new if name == old else name for name in names]
        for output in graph.output:
            output.name = new if output.name == old else output.name


def change_inputs(r, model):
    node = r.choice(model.graph.node)
    if not node.input:
        return
    if r.random() < 0.5:
        node.input[r.randrange(len(node.input))] = ""
    else:
        node.input.append(r.choice(node.input))


def change_opset(r, model):
    model.opset_import[0].version = r.choice([1, 6, 9, 11, 12, 13, 17, 18, 21, 25, 99])


def add_output(r, model):
    made = [o for n in model.graph.node for o in n.output if o]
    if made:
        model.graph.output.append(onnx.ValueInfoProto(name=r.choice(made)))


CHANGES = [change_attribute, change_attribute, change_constant, change_constant, change_extent, change_type, change_rank, change_name, change_inputs,
           change_opset, add_output]


def odd_options(r, folder):
    """Options for compile, mostly none."""
    options = []
    choice = r.random()
    if choice < 0.25:
        devices = [{"name": n, "kind": "cpu", **r.choice([{}, {"gflops": r.choice([1e-6, 1, 1e9])}, {"memory_bytes": r.choice([1, 10_000, 1 << 62])},
                                                          {"denies": [r.choice(["MatMul", "T*", "f32", "Add"])]}])} for n in ("p", "q")]
        with open(os.path.join(folder, "fleet.json"), "w", encoding="utf-8") as f:
            json.dump({"devices": devices}, f)
        options += ["--fleet", "fleet.json"]
        options += r.choice([[], ["--cut", r.choice(["support", "fewest", "chains", "stages,shared"])], ["--label", r.choice(["*", "A*", "M*"]) + "=g0: a..b"],
                             ["--assign", r.choice(["*", "Add", "M*"]) + "=q"]])
    elif choice < 0.4:
        options += ["--dim", r.choice(["batch", "n", "steps", "k"]) + "=" + r.choice(["0", "1", "3", "1,2", str(1 << 40), str((1 << 63) - 1), "-1"])]
    elif choice < 0.5:
        options += r.choice([["--precision", "bf16"], ["--precision", "fp16"], ["--memory-limit", "1"], ["--memory-limit", "1000"]])
    return options


def said(folder, *arguments):
    try:
        return subprocess.run([TOOL, *arguments], cwd=folder, capture_output=True, text=True, errors="replace", timeout=LIMIT_S)
    except subprocess.TimeoutExpired:
        return subprocess.CompletedProcess(arguments, -1, "", f"it takes over {LIMIT_S} s")


def try_one(seed, models, folder):
    """Returns a description of the failure; empty if there is none."""
    r = random.Random(seed)
    name = r.choice(sorted(models))
    model = copy.deepcopy(models[name])
    for _ in range(r.choice([0, 1, 1, 1, 2, 3])):
        r.choice(CHANGES)(r, model)
    with open(os.path.join(folder, "m.onnx"), "wb") as f:
        f.write(model.SerializeToString())
    for file in ("m.gart",):
        if os.path.exists(os.path.join(folder, file)):
            os.remove(os.path.join(folder, file))
    options = odd_options(r, folder)
    commands = [["compile", "m.onnx", "-o", "m.gart", "--target", "x86-64-v3", *options]]
    commands += [["check", "m.gart"], ["inspect", "m.gart", "--json"], ["run", "m.gart", "--random", "1"]]
    if "--fleet" in options:
        commands.append(["place", "m.gart", "--fleet", "fleet.json", "-o", "p.gart"])
    for command in commands:
        done = said(folder, *command)
        text = done.stdout + done.stderr
        if done.returncode not in (0, 1, 2) or BUG.search(text):
            return f"seed {seed} ({name}), {' '.join(command)!r}: exit code {done.returncode}: {text[-600:]}"
        if done.returncode != 0 and command[0] != "run":
            return f"seed {seed} ({name}), {command}: {text[-600:]}" if command[0] in ("check", "inspect") else ""
    return ""


def main():
    seconds = float(sys.argv[1]) if len(sys.argv) > 1 else 45
    seeds = [int(sys.argv[2])] if len(sys.argv) > 2 else range(10**9)
    models = {name: make() for name, (make, *_) in small_models.MODELS.items()}
    begin, tried, wrong = time.monotonic(), 0, []
    with tempfile.TemporaryDirectory(prefix="gcc-graph-internal-") as folder:
        for seed in seeds:
            if tried > 0 and time.monotonic() - begin > seconds:
                break
            tried += 1
            if found := try_one(seed, models, folder):
                wrong.append(found)
                print(found)
    print(f"{tried} models, {len(wrong)} wrong")
    return 1 if wrong or tried == 0 else 0


if __name__ == "__main__":
    sys.exit(main())
