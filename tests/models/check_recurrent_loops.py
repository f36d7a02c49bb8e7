"""A recurrent layer in the form of a Loop or a Scan must compile like the operator. Its iterations have the same steps, the input's product is computed once
before the loop, the values equal onnxruntime's, and a run takes as long as the operator's. check_recurrent_loops.py [--time] also prints both times
(microseconds, the smallest of many runs in turns, one thread)
"""
import os
import re
import subprocess
import sys
import tempfile
import time

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

import model_check
from model_check import Reference, compile_model

INPUT, HIDDEN, SIZES = 64, 128, ((20, 1), (50, 8))  # steps, batch
GATES = {"LSTM": 4, "GRU": 3, "RNN": 1}
SLOWEST = 1.3  # limit of the ratio to the operator's smallest time; it is 1.0 on an idle machine


def tensor(name, *shape, dtype=TensorProto.FLOAT):
    return helper.make_tensor_value_info(name, dtype, shape)


def rows(name):
    return tensor(name, "b", HIDDEN)


def one_step(cell):
    """(nodes, next state) of a step in the form that exporters write: x [b, INPUT], h and c [b, HIDDEN]."""
    n = helper.make_node
    nodes = [n("Gemm", ["x_t", "W", "W_b"], ["of_x"], transB=1), n("Gemm", ["h", "R", "R_b"], ["of_h"], transB=1)]
    if cell == "RNN":
        return nodes + [n("Add", ["of_x", "of_h"], ["sum"]), n("Tanh", ["sum"], ["h_next"])], ["h_next"]
    if cell == "LSTM":
        nodes += [n("Add", ["of_x", "of_h"], ["sum"]), n("Split", ["sum"], ["i", "o", "f", "g"], axis=1, num_outputs=4)]
        nodes += [n("Sigmoid", [gate], [gate + "_open"]) for gate in "iof"]
        return nodes + [n("Tanh", ["g"], ["new"]), n("Mul", ["f_open", "c"], ["kept"]), n("Mul", ["i_open", "new"], ["added"]),
                        n("Add", ["kept", "added"], ["c_next"]), n("Tanh", ["c_next"], ["shown"]),
                        n("Mul", ["o_open", "shown"], ["h_next"])], ["h_next", "c_next"]
    nodes += [n("Split", ["of_" + s], [gate + s for gate in "zrn"], axis=1, num_outputs=3) for s in "xh"]
    for gate in "zr":
        nodes += [n("Add", [gate + "x", gate + "h"], [gate + "_sum"]), n("Sigmoid", [gate + "_sum"], [gate])]
    return nodes + [n("Mul", ["r", "nh"], ["reset"]), n("Add", ["nx", "reset"], ["n_sum"]), n("Tanh", ["n_sum"], ["n"]), n("Sub", ["h", "n"], ["away"]),
                    n("Mul", ["z", "away"], ["back"]), n("Add", ["n", "back"], ["h_next"])], ["h_next"]


def as_operator(cell, w, r, b):
    more = {"linear_before_reset": 1} if cell == "GRU" else {}
    nodes = [helper.make_node(cell, ["x", "W", "R", "B"], ["y_by_direction"], hidden_size=HIDDEN, **more),
             helper.make_node("Squeeze", ["y_by_direction", "one"], ["y"])]
    return nodes, {"W": w[None], "R": r[None], "B": b[None], "one": np.array([1])}


def as_body(cell, w, r, b, loop):
    nodes, after = one_step(cell)
    nodes.append(helper.make_node("Identity", ["h_next"], ["row"]))
    state, outputs = ["h", "c"][:len(after)], [rows(v) for v in [*after, "row"]]
    turn = [tensor("t", dtype=TensorProto.INT64), tensor("go", dtype=TensorProto.BOOL)]
    if loop:
        nodes = [helper.make_node("Gather", ["x", "t"], ["x_t"]), helper.make_node("Identity", ["go"], ["goes"])] + nodes
        body = helper.make_graph(nodes, "body", turn + [rows(v) for v in state], [tensor("goes", dtype=TensorProto.BOOL)] + outputs)
    else:
        body = helper.make_graph(nodes, "body", [rows(v) for v in state] + [tensor("x_t", "b", INPUT)], outputs)
    make = helper.make_node
    outside = [make("Shape", ["x"], ["batch"], start=1, end=2), make("Concat", ["batch", "hidden"], ["extents"], axis=0),
               make("ConstantOfShape", ["extents"], ["zeros"]), make("Shape", ["x"], ["steps"], end=1), make("Squeeze", ["steps"], ["turns"])]
    zeros, last = ["zeros"] * len(state), [v + "_last" for v in state] + ["y"]
    outside.append(make("Loop", ["turns", "", *zeros], last, body=body) if loop
                   else make("Scan", [*zeros, "x"], last, body=body, num_scan_inputs=1))
    half = GATES[cell] * HIDDEN
    return outside, {"W": w, "R": r, "W_b": b[:half], "R_b": b[half:], "hidden": np.array([HIDDEN])}


def model(cell, variant):
    random, size = np.random.default_rng(0), GATES[cell] * HIDDEN
    weights = [random.normal(0, 0.08, shape).astype(np.float32) for shape in ((size, INPUT), (size, HIDDEN), (2 * size,))]
    nodes, constants = as_operator(cell, *weights) if variant == "operator" else as_body(cell, *weights, variant == "Loop")
    graph = helper.make_graph(nodes, cell, [tensor("x", "s", "b", INPUT)], [tensor("y", "s", "b", HIDDEN)],
                              [numpy_helper.from_array(np.asarray(a), name) for name, a in constants.items()])
    made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9)
    onnx.checker.check_model(made)
    return made


def sequences(artifact):
    """The kernels (by their first operator) and other steps inside the loop, and those outside of it."""
    output = subprocess.run([model_check.tool(), "inspect", artifact, "--steps"], capture_output=True, text=True, check=True).stdout
    parts = output.split("    sequence ")[1:]
    return [[kernel or other for kernel, other in re.findall(r"^      (?:launch ([a-z]+)\S*|(\w+)) ", part, re.M)] for part in parts]


def least_times(models, feed):
    for m in models:
        m.set_inputs(feed)
    best = [float("inf")] * len(models)
    for _ in range(200):
        for i, m in enumerate(models):
            begin = time.perf_counter()
            m.run_bound()
            best[i] = min(best[i], time.perf_counter() - begin)
    return best


def check(cell, folder, timed):
    """Yields a line for each fault."""
    import gart
    forms, loaded, steps = ("operator", "Loop", "Scan"), [], []
    for variant in forms:
        path = os.path.join(folder, f"{cell}_{variant}.onnx")
        onnx.save(model(cell, variant), path)
        artifact = compile_model(path, path[:-len("onnx")] + "gart", "--target", "x86-64-v3,x86-64-v4", "--threads", "1")
        loaded.append(gart.load(artifact, threads=1))
        steps.append(sequences(artifact))
        for extents in SIZES:
            feed = {"x": np.random.default_rng(1).normal(0, 1, (*extents, INPUT)).astype(np.float32)}
            error = model_check.relative_error(loaded[-1].run(feed), Reference(path).run(feed))
            if not error <= model_check.TOLERANCE:
                yield f"{cell} as {variant}, {extents}: off by {error:.1e}"
    for variant, own in zip(forms[1:], steps[1:]):
        if own[0] != steps[0][0]:
            yield f"{cell} as {variant}: a turn is {own[0]}, the operator's is {steps[0][0]}"
        if own[1].count("packedmatmul") != 1:
            yield f"{cell} as {variant}: the product of its input is not one before the turns: {own[1]}"
    for extents in SIZES:
        feed = {"x": np.ones((*extents, INPUT), np.float32)}
        times = least_times(loaded, feed)
        if timed:
            print(f"{cell:5} {extents}: " + ", ".join(f"{variant} {t * 1e6:.1f} us" for variant, t in zip(forms, times)), flush=True)
        for variant, t in zip(forms[1:], times[1:]):
            if t > SLOWEST * times[0]:
                yield f"{cell} as {variant}, {extents}: {t * 1e6:.1f} us, the operator takes {times[0] * 1e6:.1f}"


def main():
    with tempfile.TemporaryDirectory(prefix="gcc-graph-recurrent-") as folder:
        found = [line for cell in GATES for line in check(cell, folder, "--time" in sys.argv)]
    print("\n".join(found) or "3 cells in 2 other forms are their operators")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
