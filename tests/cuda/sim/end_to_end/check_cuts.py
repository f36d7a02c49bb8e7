#!/usr/bin/env python3
"""Compiles small models with some of their nodes assigned to the CPU, and compares their common results with those of
the whole model on the CPU.

  run_sim.sh --sm 80 check_cuts.py [NAME...]      NAME: of tests/models/small_models.py (default: all)

Run within run_sim.sh. In one compilation, each model's first, third, ... operators go to the CPU, in another the
remaining ones. If both devices have parts, `run` uses them, and its results equal the CPU's at both sizes. If the CPU
has all operators or none, `run` uses the whole model.
"""
import json
import os
import subprocess
import sys
import tempfile

import check_models  # sets the paths
import model_check
import numpy as np
import onnx
import small_models


def operators(model):
    """The model's operators in the order of their first use. Operators in subgraphs belong to the node of the
    subgraph."""
    return list(dict.fromkeys(n.op_type for n in model.graph.node if n.op_type != "Constant"))


def tool(*arguments):
    done = subprocess.run([model_check.tool(), *arguments], capture_output=True, text=True)
    if done.returncode != 0 or done.stderr:
        raise RuntimeError(f"{' '.join(arguments)}: {done.stderr.strip()}")
    return done.stdout


def run(folder, artifact, inputs, *options):
    path = os.path.join(folder, "out.npz")
    tool("run", artifact, "--inputs", inputs, "--outputs", path, *options)
    with np.load(path) as file:
        return dict(file)


def check(name, model, sizes, assigned, folder):
    """Prints a row; returns True if it is good."""
    path = os.path.join(folder, name + ".onnx")
    onnx.save(model, path)
    artifact = path.replace(".onnx", ".gart")
    options = [o for a in assigned for o in ("--assign", a + "=cpu")]
    said = tool("compile", path, "-o", artifact, "--target", "sm_80,x86-64-v3", *options)
    groups = json.loads(tool("inspect", artifact, "--json"))["groups"]
    devices = [g["device"] for g in groups]
    problems = []
    if not set(devices) <= {"cuda:0", "cpu"}:
        problems.append("groups on " + ", ".join(devices))
    if "cpu" not in devices and "has no effect" not in said:
        problems.append("nothing runs on the CPU")
    worst = 0.0
    for seed, size in enumerate(sizes):
        inputs = os.path.join(folder, f"in{seed}.npz")
        np.savez(inputs, **small_models.make_feeds(model, size, seed))
        whole = run(folder, artifact, inputs, "--target", "x86-64-v3")
        worst = max(worst, check_models.relative_error(run(folder, artifact, inputs), whole))
    if not worst <= check_models.TOLERANCE["fp32"]:
        problems.append("wrong values")
    shown = assigned if len(assigned) < 4 else assigned[:3] + ["..."]
    print(f"{name:18} {worst:9.1e}  {devices.count('cuda:0')} groups on the GPU, {devices.count('cpu')} on the CPU "
          f"({', '.join(shown)}): {'; '.join(problems) or 'ok'}", flush=True)
    return not problems


def main():
    failed = 0
    with tempfile.TemporaryDirectory(prefix="gcc-graph-sim-") as folder:
        for name in sys.argv[1:] or small_models.MODELS:
            make, sizes = small_models.MODELS[name]
            model = make()
            names = operators(model)
            for assigned in (names[::2], names[1::2]):
                failed += bool(assigned) and not check(name, model, sizes, assigned, folder)
    print("all passed" if not failed else f"{failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
