#!/usr/bin/env python3
"""Assigns nodes of small models to two devices at random; the results must equal those of the whole model. check_assignments.py [NAME...] [--assignments N] [--first SEED]

The models are those of small_sequences.py (appending loops, growing values, extents known only at run time) and those of small_models.py with control flow;
check_fleet.py tests the others. Nodes are assigned to two pools of CPU cores: one by one, in runs of neighbours, or a single node apart from all others. The
rules of the cut are random, too. Parts must give the results of the whole model, within rounding, because fusion may differ. The models run at all sizes in
turn, and again at the first one. A run must fail if the whole model fails, with the same message. NAME: patterns of models.
"""
import argparse
import fnmatch
import json
import os
import subprocess
import sys
import tempfile

import numpy as np
import onnx
import onnx.parser

from check_sequences import feeds_of
from model_check import relative_error, tool
import small_models
import small_sequences

ROUNDING = 1e-5
CONTROL_FLOW = ("branches", "loop", "scan")
DEVICES = ("here", "there")
RULES = ("support", "fewest", "support,chains", "support,chains,stages", "support,shared")


def models():
    """name -> (model, feeds per run, [(feeds with which a run must fail, words of the message)])"""
    for name in CONTROL_FLOW:
        make, sizes = small_models.MODELS[name]
        yield name, lambda make=make, sizes=sizes: (model := make(), [small_models.make_feeds(model, s) for s in sizes], [])
    for name, (text, sizes) in small_sequences.MODELS.items():
        yield name, lambda name=name, text=text, sizes=sizes: from_text(text, sizes, small_sequences.FAILING.get(name, ()))


def from_text(text, sizes, failing):
    model = onnx.parser.parse_model(text)
    for node in model.graph.node:  # the parser drops a last input that is omitted
        if node.op_type == "Loop" and len(node.input) == 1:
            node.input.append("")
    return (model, [feeds_of(model, size, seed) for seed, size in enumerate(sizes)],
            [(feeds_of(model, size, 0), words.split("failed: ")[-1]) for size, words in failing])


def draw(count, random):
    """A device per node."""
    kind = random.integers(3)
    if kind == 0:
        return random.integers(2, size=count)
    if kind == 1:  # runs of neighbouring nodes
        return np.cumsum(random.random(count) < 0.3) % 2
    return (np.arange(count) == random.integers(count)).astype(int)


def fleet(folder):
    cores = sorted(os.sched_getaffinity(0))
    path = os.path.join(folder, "fleet.json")
    with open(path, "w") as f:
        json.dump({"devices": [{"name": name, "kind": "cpu", "cores": [cores[i % len(cores)]]} for i, name in enumerate(DEVICES)]}, f)
    return path


def outcome(model, feeds):
    """The outputs, or the message if the run fails."""
    import gart
    try:
        return model.run({k: v for k, v in feeds.items() if k in model.inputs})
    except gart.GartError as error:
        return str(error)


def compare(whole, parts, runs, failing):
    for feeds in runs + runs[:1]:
        ours, theirs = outcome(parts, feeds), outcome(whole, feeds)
        if isinstance(ours, str) or isinstance(theirs, str):
            raise RuntimeError(f"parts: {ours}, whole: {theirs}")
        error = relative_error(ours, theirs)
        if not error <= ROUNDING:
            raise RuntimeError(f"parts differ from the whole by {error:.1e}")
    for feeds, words in failing:
        for model in (whole, parts):
            if not isinstance(said := outcome(model, feeds), str) or words not in said:
                raise RuntimeError(f"a run must fail with '{words}', and gave {said}")


def check(folder, fleet_path, made, seeds):
    """Returns the largest number of groups in any assignment."""
    import gart
    import gart.fleet
    model, runs, failing = made
    path, artifact = (os.path.join(folder, "model" + end) for end in (".onnx", ".gart"))
    for i, node in enumerate(model.graph.node):
        node.name = f"n{i}."
    onnx.save(model, path)
    most = 0
    for seed in seeds:
        random = np.random.default_rng(seed)
        nodes = [n for n in model.graph.node if n.op_type != "Constant"]  # which are weights
        options = ["--cut", RULES[random.integers(len(RULES))]]
        for node, device in zip(nodes, draw(len(nodes), random)):
            options += ["--assign", f"{node.name}={DEVICES[device]}"]
        done = subprocess.run([tool(), "compile", path, "-o", artifact, "--fleet", fleet_path, "--target", "x86-64-v3", *options],
                              capture_output=True, text=True)
        words = f"seed {seed}: {' '.join(options)}: "
        if done.returncode != 0:
            raise RuntimeError(words + done.stderr.strip())
        parts = gart.fleet.load(artifact)
        try:
            compare(gart.load(artifact, threads=1, device="cpu"), parts, runs, failing)
        except RuntimeError as error:
            raise RuntimeError(words + str(error)) from None
        most = max(most, len(parts.placement()))
    return most


def main():
    options = argparse.ArgumentParser()
    options.add_argument("names", nargs="*", default=["*"])
    options.add_argument("--assignments", type=int, default=30)
    options.add_argument("--first", type=int, default=0)
    asked = options.parse_args()
    failed = []
    with tempfile.TemporaryDirectory(prefix="gcc-graph-assignments-") as folder:
        fleet_path = fleet(folder)
        for name, make in models():
            if not any(fnmatch.fnmatch(name, p) for p in asked.names):
                continue
            try:
                groups = check(folder, fleet_path, make(), range(asked.first, asked.first + asked.assignments))
                print(f"{name}: up to {groups} groups", flush=True)
            except RuntimeError as error:
                print(f"{name}: FAILED: {error}", flush=True)
                failed.append(name)
    print(f"{len(failed)} failed {' '.join(failed)}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
