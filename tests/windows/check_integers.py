#!/usr/bin/env python3
"""Div, Mod and BitShift on the extremes of every integer type: no run may crash, folded results must equal computed
ones, and defined results must be correct. ONNX does not define division by zero, the lowest number divided by -1, and
shifts by the type's width or more."""
import os
import sys
import tempfile

import numpy as np
import onnx
from onnx import helper, numpy_helper

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "models"))
import model_check

TYPES = (np.int8, np.int16, np.int32, np.int64, np.uint8, np.uint16, np.uint32, np.uint64)


def operands(dtype):
    info = np.iinfo(dtype)
    special = np.array(sorted({info.min, info.min + 1, 0, 1, 2, 3, 7, info.bits - 1, info.bits, info.max - 1, info.max}
                              | ({-1, -2, -7} if info.min else set())), dtype)
    a, b = np.meshgrid(special, special)
    return a.reshape(-1), b.reshape(-1)


def truncated(a, b):
    """a / b rounded towards zero, in Python's integers."""
    q = abs(a) // abs(b)
    return q if (a < 0) == (b < 0) else -q


def wanted(op, attributes, a, b, info):
    """The expected result, or None if ONNX does not define it."""
    if op == "BitShift":
        if b >= info.bits:
            return None
        return (a << b) & int(info.max) if attributes["direction"] == "LEFT" else a >> b
    if b == 0 or (b == -1 and a == info.min):
        return None
    return truncated(a, b) if op == "Div" else a - truncated(a, b) * b if attributes["fmod"] else a % b


def model(dtype, a, b):
    nodes, ops = [], [("Div", {}), ("Mod", {"fmod": 0}), ("Mod", {"fmod": 1})]
    if np.iinfo(dtype).min == 0:
        ops += [("BitShift", {"direction": d}) for d in ("LEFT", "RIGHT")]
    forms = {"run": ("a", "b"), "by": ("a", "known_b"), "folded": ("known_a", "known_b")}
    for i, (op, attributes) in enumerate(ops):
        for form, inputs in forms.items():
            nodes.append(helper.make_node(op, inputs, [f"{form}{i}"], **attributes))
    code = helper.np_dtype_to_tensor_dtype(np.dtype(dtype))
    graph = helper.make_graph(nodes, "g", [helper.make_tensor_value_info(n, code, ["n"]) for n in "ab"],
                              [onnx.ValueInfoProto(name=n.output[0]) for n in nodes],
                              [numpy_helper.from_array(a, "known_a"), numpy_helper.from_array(b, "known_b")])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=10), ops, forms


def check(folder, dtype):
    a, b = operands(dtype)
    made, ops, forms = model(dtype, a, b)
    path = os.path.join(folder, "integers.onnx")
    onnx.save(made, path)
    artifact = model_check.compile_model(path, os.path.join(folder, "integers.gart"), "--target", "x86-64-v3,x86-64-v4")
    import gart
    failures, name, info = 0, np.dtype(dtype).name, np.iinfo(dtype)
    for target in model_check.targets_here(artifact):
        got = gart.load(artifact, target=target).run({"a": a, "b": b})
        for i, (op, attributes) in enumerate(ops):
            for form in forms:
                for x, y, ours, run in zip(a.tolist(), b.tolist(), got[f"{form}{i}"].tolist(), got[f"run{i}"].tolist()):
                    want = wanted(op, attributes, x, y, info)
                    if ours != (run if want is None else want):
                        print(f"{name} {op} {attributes}, {form} ({target}): {x}, {y} -> {ours}, expected {run if want is None else want}")
                        failures += 1
    return failures


def check_of_shapes(folder):
    """The same operators on extents, with which the compiler computes."""
    graph = """<ir_version: 8, opset_import: ["": 17]>
        g (float[n, 3] x) => (int64[2] q, int64[2] r, int64[1] least, int64[1] m) {
          s = Shape(x)
          zeros = Constant<value_ints = [0, 0]>()
          q = Div(s, zeros)
          r = Mod(s, zeros)
          low = Constant<value_ints = [-9223372036854775808]>()
          minus = Constant<value_ints = [-1]>()
          least = Div(low, minus)
          m = Mod(low, minus)
        }"""
    path = os.path.join(folder, "shapes.onnx")
    onnx.save(onnx.parser.parse_model(graph), path)
    import subprocess
    done = subprocess.run([os.environ["GCC_GRAPH"], "compile", path, "-o", os.path.join(folder, "shapes.gart"), "--target", "x86-64-v3"],
                          capture_output=True, text=True)
    if done.returncode not in (0, 2):
        print(f"extents: exit code {done.returncode}: {done.stderr}")
        return 1
    if done.returncode == 0:
        import gart
        gart.load(os.path.join(folder, "shapes.gart")).run({"x": np.zeros((2, 3), np.float32)})
    return 0


def main():
    with tempfile.TemporaryDirectory(prefix="gcc-graph-integers-") as folder:
        failures = sum(check(folder, t) for t in TYPES) + check_of_shapes(folder)
    print(f"{len(TYPES)} types, {failures} failures")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
