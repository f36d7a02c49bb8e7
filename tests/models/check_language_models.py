#!/usr/bin/env python3
"""Exports language models with several exporters (language/make_export.py), compiles them and compares them with
onnxruntime.

  check_language_models.py [--envs DIR] [--python ENV=PYTHON ...] [--work DIR] [CASE...]        CASE may have * and ?

Each case generates 40 tokens after a prompt of 7. The tokens must be those of onnxruntime in f32, except where two
logits are so close that onnxruntime's own error decides. The logits' largest error must be at most 1e-5 of the largest
logit, or onnxruntime's own error if the export's accuracy_level lets onnxruntime round. The environments (`language`,
`language_optimum`: exports/ENV.txt, about 6 GB from PyPI) are made in DIR if they are missing; without a network the
check is skipped. The last line is `N passed, N failed`."""
import argparse
import fnmatch
import json
import os
import shutil
import subprocess
import sys

import numpy as np
import onnx
import onnxruntime

from check_exports import environment

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "..", "tools", "python"))
import gart  # noqa: E402

MAKER = os.path.join(HERE, "language", "make_export.py")
PROMPT = [5, 170, 36, 1604, 222, 9, 410]
COUNT = 40
LEAST = 1e-5  # relative error of f32 sums in another order
LEAST_OF_STATES = 2e-5  # the same in models whose states keep the rounding of all earlier steps
TYPES = {"tensor(float)": np.float32, "tensor(float16)": np.float16, "tensor(int64)": np.int64, "tensor(int32)": np.int32}


class Engine:
    """Runs a model in onnxruntime and feeds it with its own caches."""

    def __init__(self, path):
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads, options.log_severity_level = 1, 4
        self.session = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
        self.outputs = [o.name for o in self.session.get_outputs()]
        self.width, self.windows = cache_width(os.path.dirname(path)), windows(path)
        self.states = {i.name: self.first(i) for i in self.session.get_inputs() if i.name.startswith("past")}
        self.length = 0

    def first(self, value):
        # Extents that genai leaves open: the batch, the rows of a cache that keeps a window, and the width of a head.
        opened = {0: 1, 2: self.windows.get(value.name, 0), 3: self.width}
        extents = [extent if isinstance(extent, int) else opened.get(axis, 0) for axis, extent in enumerate(value.shape)]
        return np.zeros(extents, TYPES[value.type])

    def logits(self, ids):
        """Feeds `ids` after those of earlier calls, and returns the logits of the last id."""
        total = self.length + len(ids)
        feeds = dict(self.states)
        for value in self.session.get_inputs():
            if value.name not in feeds:
                feeds[value.name] = own_input(value, ids, self.length).astype(TYPES[value.type])
        got = dict(zip(self.outputs, self.session.run(None, feeds)))
        self.states = {name: got[present_of(name, got)] for name in self.states}
        self.length = total
        return got["logits"][0, -1].astype(np.float64)


def windows(path):
    """The window of each cache that keeps only a window, by the cache's name."""
    out = {}
    for node in onnx.load(path, load_external_data=False).graph.node:
        attributes = {a.name: a.i for a in node.attribute}
        if attributes.get("sliding_window_cache"):
            out.update({name: attributes["local_window_size"] for name in node.input[3:5]})
    return out


def cache_width(folder):
    path = os.path.join(folder, "genai_config.json")
    if not os.path.exists(path):
        return 0
    with open(path, encoding="utf-8") as file:
        return json.load(file)["model"]["decoder"]["head_size"]


def present_of(past, outputs):
    return next(n for n in (past.replace("past_key_values", "present"), past.replace("past", "present", 1)) if n in outputs)


def own_input(value, ids, length):
    total = length + len(ids)
    places = np.arange(length, total)[None]
    if len(value.shape) == 3:  # of time, height and width, which are equal in a text
        places = np.stack([places] * 3)
    return {"input_ids": np.array([ids]), "attention_mask": np.ones((1, total)), "position_ids": places}[value.name]


def with_exact_products(path):
    """A copy of the model in which onnxruntime computes MatMulNBits in f32; None if the model itself makes onnxruntime
    do so."""
    model = onnx.load(path, load_external_data=False)
    rounded = [(node, a) for node in model.graph.node for a in node.attribute if a.name == "accuracy_level" and a.i > 1]
    for _, attribute in rounded:
        attribute.i = 1
    if not rounded:
        return None
    exact = path.replace("model.onnx", "exact.onnx")
    onnx.save(model, exact)
    return exact


def greedy(engine):
    """The tokens, and for each token the logits from which it was chosen."""
    ids, tokens, rows = PROMPT, [], []
    while len(tokens) < COUNT:
        rows.append(engine.logits(ids))
        tokens.append(int(rows[-1].argmax()))
        ids = tokens[-1:]
    return tokens, rows


def forced(logits, tokens):
    """The logits at each step if the model reads the given tokens."""
    return [logits(ids) for ids in [PROMPT] + [[token] for token in tokens[:-1]]]


def largest_error(rows, exact):
    return max(float(np.abs(a - b).max() / np.abs(b).max()) for a, b in zip(rows, exact))


def own_logits(artifact, inputs):
    session = gart.load(artifact, threads=1).session()
    length = 0

    def run(ids):
        nonlocal length
        feeds = {value.name: own_input(value, ids, length).astype(np.int64) for value in inputs}
        length += len(ids)
        return np.asarray(session.run(feeds)["logits"])[0, -1].astype(np.float64)
    return run


def compare(folder):
    """Returns a sentence with the errors. Raises AssertionError with the fault."""
    path, artifact = os.path.join(folder, "model.onnx"), os.path.join(folder, "model.gart")
    done = subprocess.run([os.environ["GCC_GRAPH"], "compile", path, "-o", artifact, "--generate", "-q"], capture_output=True, text=True)
    assert done.returncode == 0, "refused: " + done.stderr.strip()
    rounding = Engine(path)
    exact_path = with_exact_products(path)
    tokens, exact = greedy(Engine(exact_path) if exact_path else rounding)
    mixed = [int(token) for token in np.random.default_rng(3).integers(4, 2000, COUNT)]  # random tokens, because a model may repeat one token
    right = forced(Engine(exact_path or path).logits, mixed)
    allowed = LEAST_OF_STATES if any(name.endswith("recurrent") for name in rounding.states) else LEAST
    if exact_path:
        allowed = max(allowed, largest_error(forced(Engine(path).logits, mixed), right))
    inputs = [i for i in rounding.session.get_inputs() if not i.name.startswith("past")]
    error = largest_error(forced(own_logits(artifact, inputs), mixed), right)
    assert error <= allowed, f"logits differ by {error:.1e} of the largest; onnxruntime's own error is {allowed:.1e}"
    model = gart.load(artifact, threads=1)
    for options in ({}, {"chunk": 3}, {"lookup": 4}):
        check_tokens(generated(model, options), tokens, exact, allowed, options)
    return f"error {error:.1e}, onnxruntime's {allowed:.1e}, {len(set(tokens))} different tokens"


def generated(model, options):
    try:
        return model.session().generate(PROMPT, max_tokens=COUNT, **options)
    except gart.GartError as error:
        if "lookup" in options and "lookup needs" in str(error):
            return None
        raise AssertionError(f"{options}: {error}") from error


def check_tokens(got, want, exact, allowed, options):
    for at, (a, b) in enumerate(zip(got or (), want)):
        if a == b:
            continue
        gap = float((exact[at][b] - exact[at][a]) / np.abs(exact[at]).max())
        assert gap <= 2 * allowed, f"{options}: token {at} is {a}, not {b}, whose logit is larger by {gap:.1e} of the largest"
        return  # a tie: all later tokens may differ


def check(case, python, work):
    folder = os.path.join(work, case)
    if not os.path.exists(os.path.join(folder, "model.onnx")):
        made = subprocess.run([python, MAKER, case, folder], capture_output=True, text=True)
        if made.returncode != 0:
            return False, "its exporter fails: " + made.stderr.strip().splitlines()[-1][:200]
    try:
        return True, compare(folder)
    except AssertionError as fault:
        return False, str(fault)
    except Exception as fault:  # noqa: BLE001: one case of many
        return False, f"{type(fault).__name__}: {' '.join(str(fault).split())[:300]}"


def environments(a, cases):
    """The Python of each environment that the cases need. Ends the program if one cannot be made."""
    interpreters = dict(entry.split("=", 1) for entry in a.python)
    out = {}
    for name in sorted({environment_of(case) for case in cases}):
        try:
            out[name] = interpreters.get(name) or environment(name, a.envs)
        except (subprocess.CalledProcessError, OSError) as error:
            print(f"SKIP: the environment '{name}' cannot be made: {error}")
            sys.exit(77)
    return out


def environment_of(case):
    return "language_optimum" if case.startswith("optimum") else "language"


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--envs", default="exports_envs", help="where the virtual environments are (default: exports_envs here)")
    p.add_argument("--python", action="append", default=[], metavar="ENV=PYTHON")
    p.add_argument("--work", default="language_models", help="where the exports are kept (default: language_models here)")
    p.add_argument("--once", action="store_true", help="remove each export after its check")
    p.add_argument("cases", nargs="*", metavar="CASE")
    a = p.parse_args()
    known = subprocess.run([sys.executable, MAKER, "--list"], capture_output=True, text=True, check=True).stdout.split()
    cases = [case for case in known if not a.cases or any(fnmatch.fnmatch(case, wanted) for wanted in a.cases)]
    pythons = environments(a, cases)
    passed = set()
    for case in cases:
        good, summary = check(case, pythons[environment_of(case)], a.work)
        print(f"{'ok    ' if good else 'FAILED'} {case}: {summary}", flush=True)
        if good:
            passed.add(case)
        if a.once:
            shutil.rmtree(os.path.join(a.work, case), ignore_errors=True)
    print("families: " + ", ".join(sorted({case.split("-")[1] for case in passed})))
    print(f"{len(passed)} passed, {len(cases) - len(passed)} failed")
    return 0 if len(passed) == len(cases) else 1


if __name__ == "__main__":
    sys.exit(main())
