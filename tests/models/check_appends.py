"""The cost of appending a row in a loop does not depend on the number of rows: no iteration copies the earlier rows."""
import os
import sys
import tempfile
import time

import numpy as np
import onnx
from onnx import parser

from model_check import compile_model

import gart

HEADER = '<ir_version: 8, opset_import: ["": 16]>\n'
ROW = 16

# A loop that collects rows in a scan output and ends by its condition.
UNTIL = HEADER + """m (int64 n, float[16] x) => (float[r,16] y) {
  yes = Constant<value = bool {1}>()
  one = Constant<value_int = 1>()
  zero = Constant<value_int = 0>()
  last, y = Loop(, yes, n) <body = b (int64 i, bool go, int64 left) => (bool more, int64 rest, float[16] row) {
    rest = Sub(left, one)
    more = Greater(rest, zero)
    f = Cast<to = 1>(i)
    row = Add(x, f)
  }>
}"""
# A carried value that grows in each iteration; an input gives the number of iterations.
APPENDED = HEADER + """m (int64 n, float[16] x) => (float[r,16] y) {
  yes = Constant<value = bool {1}>()
  none = Constant<value = float[0,16] {}>()
  axis = Constant<value_ints = [0]>()
  y = Loop(n, yes, none) <body = b (int64 i, bool go, float[s,16] before) => (bool more, float[t,16] after) {
    more = Identity(go)
    f = Cast<to = 1>(i)
    row = Add(x, f)
    wide = Unsqueeze(row, axis)
    after = Concat<axis = 0>(before, wide)
  }>
}"""
FEW, MANY = 2500, 20000
MOST = 4.0  # limit of the ratio of times per row; copying all rows in every iteration makes it 8


def seconds(model, count):
    best = float("inf")
    for _ in range(8):
        begin = time.perf_counter()
        y = model.run({"n": np.int64(count), "x": np.ones(ROW, np.float32)})["y"]
        best = min(best, time.perf_counter() - begin)
    assert y.shape == (count, ROW) and (y == 1 + np.arange(count, dtype=np.float32)[:, None]).all()
    return best


def main():
    failed = False
    with tempfile.TemporaryDirectory(prefix="gcc-graph-appends-") as folder:
        for name, text in (("until", UNTIL), ("appended", APPENDED)):
            path, artifact = (os.path.join(folder, name + end) for end in (".onnx", ".gart"))
            onnx.save(parser.parse_model(text), path)
            compile_model(path, artifact, "--target", "x86-64-v3")
            model = gart.load(artifact, threads=1)
            few, many = seconds(model, FEW) / FEW, seconds(model, MANY) / MANY
            print(f"{name}: {few * 1e6:.2f} us per row of {FEW}, {many * 1e6:.2f} of {MANY}")
            failed |= many > MOST * few
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
