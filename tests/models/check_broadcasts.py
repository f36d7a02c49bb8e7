"""Compares with onnxruntime: broadcasts of symbolic extents that are equal in some runs and 1 in others, and dimensions
that have one name but different sizes in a run."""
import itertools
import os
import sys
import tempfile

import numpy as np
import onnx
from onnx import parser

from model_check import compile_model, plans, targets_here

import gart
import onnxruntime

HEADER = '<ir_version: 10, opset_import: ["": 20]>\n'


def pairs(*names, equal=5, least=1):
    """All combinations of the sizes `least` and `equal` for these symbols."""
    return [dict(zip(names, sizes)) for sizes in itertools.product((least, equal), repeat=len(names))]


# name -> (text, sizes of the symbols in each run)
MODELS = {
    "rows": ("(float[n,3] x, float[m,3] z) => (float[k,3] y) { y = Add(x, z) }", pairs("n", "m") + [{"n": 0, "m": 1}, {"n": 0, "m": 0}, {"n": 1, "m": 0}]),
    "columns": ("(float[4,n] x, float[m] z) => (float[4,k] y) { y = Mul(x, z) }", pairs("n", "m", equal=67)),
    "number": ("(float[n,3] x, float[4,3] z) => (float[4,3] y) { y = Sub(x, z) }", [{"n": 1}, {"n": 4}]),
    "three": ("(float[a,1,7] x, float[b,c,1] y, float[d] z) => (float[p,q,r] w) { w = Max(x, y, z) }", [dict(s, d=7) for s in pairs("a", "b", "c")]),
    "chosen": ("(bool[n,m] c, float[a,b] x, float[m] z) => (float[p,q] y) { y = Where(c, x, z) }", pairs("n", "m", "a", "b")),
    "batches": ("(float[b,h,5,6] x, float[c,g,6,7] z) => (float[p,q,5,7] y) { y = MatMul(x, z) }", pairs("b", "h", "c", "g", equal=3)),
    "bytes": ("(uint8[b,5,6] x, int8[c,6,7] z) => (int32[p,5,7] y) { y = MatMulInteger(x, z) }", pairs("b", "c", equal=3)),
    "expanded": ("(float[n,3] x, float[m,3] z) => (float[k,3] y) { s = Shape(z) y = Expand(x, s) }", pairs("n", "m")),
    "addend": ("(float[n,8] x, float[8,9] w, float[m,k] c) => (float[n,9] y) { y = Gemm(x, w, c) }",
               [{"n": 5, "m": 5, "k": 9}, {"n": 5, "m": 1, "k": 9}, {"n": 1, "m": 1, "k": 1}, {"n": 5, "m": 5, "k": 1}]),
    "slopes": ("(float[n,c,5] x, float[d,1] s) => (float[n,c,5] y) { y = PRelu(x, s) }", [dict(n=2, c=6, d=6), dict(n=2, c=6, d=1)]),
    "masked": ("""(float[b,2,s,8] q, float[b,2,t,8] k, float[b,2,t,8] v, float[a,1,r,u] mask) => (float[b,2,s,8] y) {
       kt = Transpose<perm = [0,1,3,2]>(k) scores = MatMul(q, kt) sum = Add(scores, mask) p = Softmax<axis = -1>(sum) y = MatMul(p, v) }""",
               [dict(b=2, s=3, t=6, a=a, r=r, u=u) for a in (1, 2) for r in (1, 3) for u in (1, 6)]),
    "again": ("""(float[n,4] x, float[m,4] z) => (float[p,4] y, float[q,4] w, float[4] s) {
       t = Add(x, z) u = Exp(t) y = Mul(u, x) w = Add(y, z) axes = Constant<value_ints = [0]>() s = ReduceSum<keepdims = 0>(w, axes) }""", pairs("n", "m")),
    "shaped": ("""(float[n,6] x, float[m,6] z) => (float[p,2,3] y) {
       t = Add(x, z) i = Constant<value_ints = [0]>() d = Shape<start = 0, end = 1>(t) r = Constant<value_ints = [2,3]>() s = Concat<axis = 0>(d, r)
       y = Reshape(t, s) }""", pairs("n", "m")),
    "normal": ("""(float[n,s,16] x, float[m,t,16] z, float[16] g, float[16] b) => (float[p,q,16] y) {
       t = Add(x, z) y = LayerNormalization<axis = -1>(t, g, b) }""", pairs("n", "m", "s", "t", equal=3)),
    "image": ("""(float[n,3,8,8] x, float[m,3,8,8] z, float[4,3,3,3] w) => (float[p,4,8,8] y) { t = Mul(x, z) y = Conv<pads = [1,1,1,1]>(t, w) }""",
              pairs("n", "m", equal=2)),
    # One name for two dimensions that are never combined.
    "strangers": ("""(float[b,n] x, float[b,n] mask) => (float[b] y) { axes = Constant<value_ints = [1]>() s = ReduceSum<keepdims = 0>(x, axes)
       t = ReduceSum<keepdims = 0>(mask, axes) y = Add(s, t) }""", [{"b": 2, "n": (5, 5)}, {"b": 2, "n": (5, 9)}]),
    # A decoder with and without its past: the input of the other branch has different extents.
    "past": ("""(float[b,s,4] states, float[b,s,4] past, bool use) => (float[b,4] y, float[b,s,4] present) {
       axes = Constant<value_ints = [1]>()
       y, present = If(use) <then_branch = t () => (float[b,4] u, float[b,s,4] p) { u = ReduceSum<keepdims = 0>(past, axes) p = Identity(past) },
                             else_branch = e () => (float[b,4] v, float[b,s,4] q) { v = ReduceSum<keepdims = 0>(states, axes) q = Exp(states) }> }""",
             [{"b": 2, "s": (7, 0), "use": False}, {"b": 2, "s": (7, 7), "use": True}]),
}

# name -> (text, refused sizes, words of the error)
REFUSED = {
    "rows": ({"n": 5, "m": 4}, "'n' = 5 (axis 0 of input 'x') must equal 'm' = 4 (axis 0 of input 'z'), or one of them must be 1: Add 'y': broadcasting"),
    "number": ({"n": 3}, "must equal 4, or one of them must be 1"),
    "addend": ({"n": 1, "m": 5, "k": 9}, "must equal"),
    "past": ({"b": 2, "s": (7, 6), "use": True}, "extents of one name"),
}


def feeds(model, sizes, random):
    """Arrays for all inputs. If a symbol has a tuple of sizes, each input that names the symbol takes the next size."""
    seen, values = {}, {}
    for info in model.graph.input:
        shape = []
        for dim in info.type.tensor_type.shape.dim:
            size = sizes[dim.dim_param] if dim.dim_param else dim.dim_value
            if isinstance(size, tuple):
                size, seen[dim.dim_param] = size[seen.get(dim.dim_param, 0)], seen.get(dim.dim_param, 0) + 1
            shape.append(size)
        dtype = onnx.helper.tensor_dtype_to_np_dtype(info.type.tensor_type.elem_type)
        if info.name in sizes:
            values[info.name] = np.array(sizes[info.name], dtype)
        elif dtype == np.float32:
            values[info.name] = random.standard_normal(shape).astype(dtype)
        else:
            values[info.name] = random.integers(0, 2 if dtype == bool else 100, shape).astype(dtype)
    return values


def different(name, outputs, ours, theirs):
    for output, expected in zip(outputs, theirs):
        got = ours[output]
        if got.shape != expected.shape or not np.allclose(got, expected, 1e-4, 1e-5):
            return f"{name}: {output} {got.shape} is not {expected.shape}, or has other numbers"
    return None


def check(name, folder, random):
    text, runs = MODELS[name]
    model = parser.parse_model(HEADER + "m " + text)
    path, artifact = (os.path.join(folder, name + end) for end in (".onnx", ".gart"))
    onnx.save(model, path)
    compile_model(path, artifact)
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4  # hides onnxruntime's warnings about names
    session = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    outputs = [o.name for o in session.get_outputs()]
    failures = []
    for target in targets_here(artifact):
        ours = gart.load(artifact, threads=1, target=target)
        for sizes in runs:
            given = feeds(model, sizes, random)
            try:
                failures.append(different(f"{name} {target} {sizes}", outputs, ours.run(given), session.run(None, given)))
            except gart.GartError as error:
                failures.append(f"{name} {target} {sizes}: {error}")
        if name in REFUSED:
            sizes, words = REFUSED[name]
            try:
                ours.run(feeds(model, sizes, random))
                failures.append(f"{name} {sizes} is not refused")
            except gart.GartError as error:
                failures.append(None if words in str(error) else f"{name}: '{words}' is not in '{error}'")
    return [f for f in failures if f]


def check_fixed(folder, random):
    """--dim n=1 makes a plan for runs in which n broadcasts."""
    path, artifact = (os.path.join(folder, "rows" + end) for end in (".onnx", ".fixed.gart"))
    compile_model(path, artifact, "--dim", "n=1", "--dim", "m=1,5", "--target", "x86-64-v3")
    shapes = [p["shapes"] for p in plans(artifact)]
    failures = [] if shapes[:2] == ["n=1,m=1", "n=1,m=5"] else [f"fixed: the plans are {shapes}"]
    model = gart.load(artifact, threads=1)
    for n, m in ((1, 1), (1, 5), (5, 1), (5, 5), (4, 1)):
        x, z = random.standard_normal((n, 3)).astype(np.float32), random.standard_normal((m, 3)).astype(np.float32)
        if not np.allclose(model.run({"x": x, "z": z})["y"], x + z):
            failures.append(f"fixed: n={n}, m={m}")
    return failures


def main():
    random = np.random.default_rng(1)
    failures = []
    with tempfile.TemporaryDirectory(prefix="gcc-graph-broadcasts-") as folder:
        for name in sys.argv[1:] or MODELS:
            failures += check(name, folder, random)
        if not sys.argv[1:]:
            failures += check_fixed(folder, random)
    print("\n".join(failures) or f"{len(MODELS)} models agree with onnxruntime")
    return int(bool(failures))


if __name__ == "__main__":
    sys.exit(main())
