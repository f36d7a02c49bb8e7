#!/usr/bin/env python3
"""Runs small models on fleets. The results must equal those of the whole model, and have the same bits for every placement of the groups. check_fleet.py [NAME...]

Each model is compiled for two fleets of CPU pools: one that denies operators to an accelerator, and one of three equal
pools whose cut suits pipelines. The parts' results must equal the whole model's for both sizes of its inputs, within
rounding, because fusion may differ. They must have the same bits for every placement that `place` finds when pools
become faster and slower. NAME: patterns of models.
"""
import fnmatch
import json
import os
import subprocess
import sys
import tempfile

import numpy as np
import onnx

from model_check import relative_error, tool
import small_models

ROUNDING = 1e-5
DENIED = ["Softmax", "Relu", "Tanh", "Transpose", "MaxPool", "If", "Loop", "Scan", "LSTM", "GRU", "Reshape", "Add"]


def fleets():
    cores = sorted(os.sched_getaffinity(0))
    pool = lambda name, core, **more: {"name": name, "kind": "cpu", "cores": [core], **more}
    yield "denied", {"devices": [pool("acc", cores[0], denies=DENIED), pool("cpu", cores[-1])]}, []
    yield "pipeline", {"devices": [pool(f"pool{i}", cores[i % len(cores)]) for i in range(3)]}, ["--cut", "support,chains,stages"]


def call(*arguments):
    done = subprocess.run([tool(), *arguments], capture_output=True, text=True)
    if done.returncode != 0:
        raise RuntimeError(f"{' '.join(arguments)}: {done.stderr.strip()}")
    return done.stdout


def run(folder, artifact, inputs, *options):
    path = os.path.join(folder, "out.npz")
    call("run", artifact, "--inputs", inputs, "--outputs", path, *options)
    with np.load(path) as file:
        return dict(file)


def check(folder, name, make, sizes):
    model, artifact = os.path.join(folder, name + ".onnx"), os.path.join(folder, name + ".gart")
    onnx.save(make(), model)
    groups, placements = [], set()
    for kind, fleet, options in fleets():
        description = os.path.join(folder, kind + ".json")
        with open(description, "w") as f:
            json.dump(fleet, f)
        call("compile", model, "-o", artifact, "--fleet", description, *options)
        placed = json.loads(call("inspect", artifact, "--json"))["groups"]
        groups.append(len(placed))
        inputs = []
        for i, size in enumerate(sizes):
            inputs.append(os.path.join(folder, f"in{i}.npz"))
            np.savez(inputs[-1], **small_models.make_feeds(onnx.load(model), size))
        whole = [run(folder, artifact, i, "--threads", "1") for i in inputs]
        parts = [run(folder, artifact, i, "--fleet", description) for i in inputs]
        for ours, theirs in zip(parts, whole):
            error = relative_error(ours, theirs)
            if error > ROUNDING:
                raise RuntimeError(f"{kind}: parts differ from the whole by {error:.1e}")
        names = [d["name"] for d in fleet["devices"]]
        for fast in names:
            for device in fleet["devices"]:
                device["gflops"] = 1e5 if device["name"] == fast else 1
            with open(description, "w") as f:
                json.dump(fleet, f)
            call("place", artifact, "--fleet", description)
            placed = json.loads(call("inspect", artifact, "--json"))["groups"]
            placements.add((kind, tuple(g["device"] for g in placed)))
            for i, expected in zip(inputs, parts):
                for output, value in run(folder, artifact, i, "--fleet", description).items():
                    if value.tobytes() != expected[output].tobytes():
                        raise RuntimeError(f"{kind}, placed for a fast {fast}: other bits in '{output}'")
    return f"{groups[0]} and {groups[1]} groups, {len(placements)} placements"


def main():
    patterns = sys.argv[1:] or ["*"]
    failures = 0
    for name, (make, sizes) in small_models.MODELS.items():
        if not any(fnmatch.fnmatch(name, p) for p in patterns):
            continue
        with tempfile.TemporaryDirectory(prefix="gcc-graph-fleet-") as folder:
            try:
                print(f"{name}: {check(folder, name, make, sizes)}", flush=True)
            except (RuntimeError, KeyError) as error:
                print(f"{name}: FAILED: {error}", flush=True)
                failures += 1
    print(f"{failures} failed")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
