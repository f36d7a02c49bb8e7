#!/usr/bin/env python3
"""Time of a language model's step with its caches in a session, and with caches that the caller feeds.

  states.py STEP.onnx [--past 1024] [--threads 1] [--rounds 3]

The model's caches are inputs "past..." with outputs "present...", and its other inputs are integers whose extents are 1, or
the number of past tokens and 1 (the zoo's gpt2_step and llama_tiny_step). Both forms run in turns in one process, so
that a drift of the machine affects both. Every step of a session has a new shape. The form whose caches the caller
feeds uses four shapes in turn, which stay bound. So the time to grow the caller's arrays is not counted.
"""
import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time

import numpy as np
import onnx

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
sys.path.insert(0, os.path.join(ROOT, "tools", "python"))
import gart

STEPS = 30
SHAPES = 4


def compiled(model, artifact, *options):
    tool = os.environ.get("GCC_GRAPH", os.path.join(ROOT, "build", "release", "bin", "gcc-graph"))
    subprocess.run([tool, "compile", model, "-o", artifact, "-q", *options], check=True)
    return artifact


def extents(value, past):
    """The input's extents with `past` tokens in the caches, batch 1."""
    dims = value.type.tensor_type.shape.dim
    known = {"past": past, "past_plus_1": past + 1}
    return [d.dim_value if d.HasField("dim_value") else known.get(d.dim_param, 1) for d in dims]


def median_ms(run, prepare):
    times = []
    for step in range(STEPS):
        prepare(step)
        begin = time.perf_counter()
        run()
        times.append(time.perf_counter() - begin)
    return 1e3 * statistics.median(times)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model")
    parser.add_argument("--past", type=int, default=1024)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    inputs = onnx.load(options.model, load_external_data=False).graph.input
    caches = {i.name: i for i in inputs if i.name.startswith("past")}
    others = {i.name: i for i in inputs if i.name not in caches}
    random = np.random.default_rng(1)
    with tempfile.TemporaryDirectory() as folder:
        fed = gart.load(compiled(options.model, os.path.join(folder, "fed.gart")), threads=options.threads)
        kept = gart.load(compiled(options.model, os.path.join(folder, "kept.gart"), "--state", "auto"), threads=options.threads)
        session = kept.session()

        def tokens(past):
            return {name: np.ones(extents(i, past), np.int64) for name, i in others.items()}

        feeds = [tokens(options.past + s) | {name: random.standard_normal(extents(i, options.past + s)).astype(np.float32)
                                             for name, i in caches.items()} for s in range(SHAPES)]
        for _ in range(options.rounds):
            fed_ms = median_ms(fed.run_bound, lambda step: fed.set_inputs(feeds[step % SHAPES]))
            for name in caches:
                session.set_state(name, feeds[0][name])
            kept_ms = median_ms(session.run_bound, lambda step: session.set_inputs(tokens(options.past + step)))
            print(f"{os.path.basename(options.model)}, {options.past} past tokens, {options.threads} threads: fed {fed_ms:.3f} ms, "
                  f"session {kept_ms:.3f} ms, ratio {fed_ms / kept_ms:.2f}")


if __name__ == "__main__":
    main()
