#!/usr/bin/env python3
"""Compiles small models for a GPU with some of their nodes on the CPU, and compares with the CPU alone, the GPU simulated.

  run_sim.sh --sm 80 check_hosts.py [NAME...]      NAME: of tests/models/small_models.py (default: all)

Run within run_sim.sh. Of each model's operators, the first, third, ... go to the CPU, then the others, then all of them. Each
runs at its two sizes, twice each: the second, warm run must allocate nothing and give the same bytes. The compiler must say what
runs on the CPU.
"""
import os
import subprocess
import sys
import tempfile

import check_models  # sets the paths
import gart
import model_check
import onnx
import small_models


def operators(graph):
    """In the order of their first use, those of bodies included."""
    found = []
    for node in graph.node:
        bodies = [a.g for a in node.attribute if a.type == onnx.AttributeProto.GRAPH]
        for name in ([] if bodies or node.op_type == "Constant" else [node.op_type]) + sum(map(operators, bodies), []):
            if name not in found:
                found.append(name)
    return found


def compiler_says(*arguments):
    done = subprocess.run([model_check.tool(), *arguments], capture_output=True, text=True)
    if done.returncode != 0:
        raise RuntimeError(done.stderr.strip())
    return done.stdout


def warm_run_problems(simulation, model, feeds, first):
    simulation.forget_counts()
    again = model.run(feeds)
    problems = [f"{simulation.count(c)} {c} in a warm run"
                for c in ("allocations", "host_allocations", "graph_instantiations", "pageable_memcpys")
                if simulation.count(c)]
    if any(first[o].tobytes() != again[o].tobytes() for o in first):
        problems.append("another run gives other bytes")
    return problems


def check(simulation, name, model, sizes, assignments, folder):
    """Prints a row; returns whether it is good."""
    path = os.path.join(folder, name + ".onnx")
    onnx.save(model, path)
    artifact = path.replace(".onnx", ".gart")
    options = [o for a in assignments for o in ("--assign", a + "=cpu")]
    report = compiler_says("compile", path, "-o", artifact, "--target", "sm_80,x86-64-v3", *options)
    on_host = report.count("runs on the CPU")
    problems = [] if on_host or "has no effect" in report else ["nothing runs on the CPU"]
    on_cpu, on_gpu = gart.load(artifact, threads=1, target="x86-64-v3"), gart.load(artifact, threads=2, target="sm_80")
    worst = 0.0
    for seed, size in enumerate(sizes):
        feeds = small_models.make_feeds(model, size, seed)
        first = on_gpu.run(feeds)
        worst = max(worst, check_models.relative_error(first, on_cpu.run(feeds)))
        problems += warm_run_problems(simulation, on_gpu, feeds, first)
    del on_gpu
    problems += simulation.reports()
    if simulation.alive():
        problems.append("alive at the end: " + simulation.alive())
    if not worst <= check_models.TOLERANCE["fp32"]:
        problems.append("wrong values")
    shown = assignments if len(assignments) < 4 else assignments[:3] + ["..."]
    print(f"{name:18} {worst:9.1e}  {on_host} steps on the CPU ({', '.join(shown)}): {'; '.join(problems) or 'ok'}", flush=True)
    return not problems


def main():
    simulation = check_models.Simulation()
    failed = 0
    with tempfile.TemporaryDirectory(prefix="gcc-graph-sim-") as folder:
        for name in sys.argv[1:] or small_models.MODELS:
            make, sizes = small_models.MODELS[name]
            model = make()
            names = operators(model.graph)
            for assignments in (names[::2], names[1::2], ["*"]):
                failed += bool(assignments) and not check(simulation, name, model, sizes, assignments, folder)
    print("all passed" if not failed else f"{failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
