#!/usr/bin/env python3
"""Speed of 8-bit integer models compared with onnxruntime and with their f32 form: ninja bench_quantised

  quantised.py [--rounds 5] [--seconds 0.2] [--cache FOLDER] [ROW..]

onnxruntime's own tools make the models. They run on one thread with default flags and open dims, in turns in one
process. These fail: a model in QDQ form under 2 x our f32 or under 1 x onnxruntime; a dynamically quantised model under
1 x onnxruntime; outputs whose difference from onnxruntime's exceeds what quantisation steps explain. The bars are for
large models. MobileNetV2 spends most of its time outside products, so only the bar against onnxruntime applies.
"""
import argparse
import os
import subprocess
import sys

import numpy as np
import onnx

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.join(HERE, "..", "..")
sys.path[:0] = [HERE, os.path.join(ROOT, "tests", "models"), os.path.join(ROOT, "tools", "python")]

from apart import run_apart
from cliffs import compile_form, in_form, open_onnxruntime, time_in_turns
from compare import ROWS as MODELS
from model_check import relative_error
from model_inputs import make_inputs

ROWS = {  # name: (row of compare.py, form, minimum speed relative to our f32)
    "resnet50 QDQ": ("resnet50 b1", "qdq", 2.0),
    "bert_base QDQ": ("bert_base s128 b1", "qdq", 2.0),
    "bert_base dynamic": ("bert_base s128 b1", "dynamic", 0.0),
    "minilm_l6 dynamic": ("minilm_l6 s128 b1", "dynamic", 0.0),
    "mobilenet_v2 QDQ": ("mobilenet_v2 b1", "qdq", 0.0),
}
DIFFERENCE = 0.1  # relative to the largest output; in every layer, a value halfway between two quanta may be rounded up or down
LIMIT_S = 900


def open_ours(path, artifact, feeds):
    import gart
    compile_form(path, artifact)
    model = gart.load(artifact, threads=1)
    model.set_inputs(feeds)
    model.run_bound()
    return model


def measure(row, a):
    model, form, _ = ROWS[row]
    name, symbols = MODELS[model]
    at = lambda end: os.path.join(a.cache, name + end)
    if not os.path.exists(at(".onnx")):
        subprocess.run([sys.executable, os.path.join(ROOT, "tools", "models", "make_model.py"), name, at(".onnx")], check=True,
                       stdout=subprocess.DEVNULL)
    feeds = make_inputs(at(".onnx"), symbols)[0]
    onnx.save(in_form(form, onnx.load(at(".onnx")), (feeds, feeds))[0], at(f".{form}.onnx"))
    quantised = open_ours(at(f".{form}.onnx"), at(f".{form}.gart"), feeds)
    floats = open_ours(at(".onnx"), at(".f32.gart"), feeds)
    theirs, expected = open_onnxruntime(at(f".{form}.onnx"), feeds)
    ours = {n: quantised.output(n) for n in quantised.outputs}
    ms, ort, f32 = (1e3 * min(t) for t in time_in_turns([quantised.run_bound, theirs, floats.run_bound], a.rounds, a.seconds))
    return {"ms": ms, "ort": ort / ms, "f32": f32 / ms, "error": relative_error(ours, expected)}


def complaint(row, r):
    if "failed" in r:
        return r["failed"]
    if not r["error"] <= DIFFERENCE:
        return f"differs by {r['error']:.1e}"
    least = ROWS[row][2]
    if r["f32"] < least:
        return f"less than {least} x f32"
    return "slower than onnxruntime" if r["ort"] < 1 else None


def main():
    p = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    p.add_argument("--rounds", type=int, default=5)
    p.add_argument("--seconds", type=float, default=0.2)
    p.add_argument("--cache", default=os.path.join(ROOT, "build", "bench"), help="folder of models, which are kept there")
    p.add_argument("rows", nargs="*", default=list(ROWS))
    a = p.parse_args()
    os.makedirs(a.cache, exist_ok=True)
    failures = 0
    print(f"{'model':20} {'ours ms':>8} {'x onnxruntime':>14} {'x our f32':>10} {'difference':>11}")
    for row in a.rows or ROWS:
        r = run_apart(measure, (row, a), LIMIT_S)
        bad = complaint(row, r)
        failures += bad is not None
        figures = f"{r['ms']:8.2f} {r['ort']:14.2f} {r['f32']:10.2f} {r['error']:11.1e}" if "ms" in r else ""
        print(f"{row:20} {figures}{'  FAIL ' + bad if bad else ''}", flush=True)
    print(f"{len(a.rows or ROWS) - failures} passed, {failures} failed")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
