#!/usr/bin/env python3
"""Compiles small models for a simulated GPU and for the CPU, and compares their results.

  run_sim.sh --sm 80 check_models.py [--sm N] [--precision P] [--libraries LIST] [NAME...]      NAME: of tests/models/small_models.py (default: all)

Run within run_sim.sh. Each model runs at its two sizes, and at each size twice. The second, warm run must launch one
graph (branches and loops are nodes of it), allocate nothing and give the same bytes. Every output must have a relative
error <= 1e-4 (tf32, fp16: 2e-3, bf16: 2e-2) against the CPU's. If the target lets launches overlap, some of them must
overlap. The simulation must report nothing, and no driver object may be live at the end.
"""
import argparse
import ctypes
import json
import os
import subprocess
import sys
import tempfile

ROOT = os.path.abspath(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "..", ".."))
sys.path[:0] = [os.path.join(ROOT, "tests", "models"), os.path.join(ROOT, "tools", "models"),
                os.path.join(ROOT, "tools", "python")]

import numpy as np
import onnx

import gart
import model_check
import small_models

TOLERANCE = {"fp32": 1e-4, "tf32": 2e-3, "fp16": 2e-3, "bf16": 2e-2}


class Simulation:
    """The control functions of the simulated driver (driver/gart_sim.h)."""

    def __init__(self):
        self._library = ctypes.CDLL("libcuda.so.1")
        self._library.gart_sim_count.restype = ctypes.c_uint64
        self._library.gart_sim_take_report.restype = ctypes.c_char_p
        self._library.gart_sim_alive.restype = ctypes.c_char_p

    def count(self, name):
        return self._library.gart_sim_count(name.encode())

    def forget_counts(self):
        self._library.gart_sim_forget_counts()

    def reports(self):
        return [r.decode() for r in iter(self._library.gart_sim_take_report, None)]

    def alive(self):
        return self._library.gart_sim_alive().decode()


def relative_error(got, want):
    worst = 0.0
    for name, reference in want.items():
        value = got[name]
        if value.shape != reference.shape or value.dtype != reference.dtype:
            return float("inf")
        a, b = value.astype(np.float64), reference.astype(np.float64)
        if a.size and not np.array_equal(np.isnan(a), np.isnan(b)):
            return float("inf")
        if a.size:
            worst = max(worst, float(np.nanmax(np.abs(a - b)) / max(1e-30, float(np.nanmax(np.abs(b))))))
    return worst


def problems_of_warm_run(simulation, model, feeds, first):
    """The faults in a second run with the same inputs, as a list of texts."""
    simulation.forget_counts()
    again = model.run(feeds)
    problems = []
    if any(first[o].tobytes() != again[o].tobytes() for o in first):
        problems.append("another run gives other bytes")
    launches = simulation.count("graph_launches")
    if launches != 1:
        problems.append(f"{launches} graph launches")
    for counter in ("allocations", "host_allocations", "graph_instantiations", "graph_updates", "pageable_memcpys"):
        if simulation.count(counter):
            problems.append(f"{simulation.count(counter)} {counter} in a warm run")
    return problems


def overlapping_launches(artifact, target):
    """Number of launches outside of branches and loops that may overlap the previous one."""
    text = subprocess.run([model_check.tool(), "inspect", "--json", "--steps", artifact], check=True, capture_output=True).stdout
    plans = [p for entry in json.loads(text)["entry_points"] for p in entry["plans"] if p["target"] == target]
    return sum(step.get("overlaps", False) for p in plans for step in p["sequences"][-1])


def check(simulation, name, folder, sm, precision, libraries):
    """Prints a row. Returns True if it is good, and the number of launches that overlapped another."""
    make, sizes = small_models.MODELS[name]
    model, path = make(), os.path.join(folder, name + ".onnx")
    onnx.save(model, path)
    artifact = path.replace(".onnx", ".gart")
    model_check.compile_model(path, artifact, "--target", f"{sm},x86-64-v3", "--precision", precision,
                              "--libraries", libraries)
    on_cpu, on_gpu = gart.load(artifact, threads=1, target="x86-64-v3"), gart.load(artifact, target=sm)
    worst, problems, calls, overlaps, edges = 0.0, [], 0, overlapping_launches(artifact, sm), 0
    simulation.forget_counts()
    for seed, size in enumerate(sizes):
        feeds = small_models.make_feeds(model, size, seed)
        first = on_gpu.run(feeds)
        calls += simulation.count("cublasLtMatmul") + simulation.count("cudnnBackendPopulateCudaGraph")
        edges += simulation.count("programmatic_edges")
        worst = max(worst, relative_error(first, on_cpu.run(feeds)))
        problems += problems_of_warm_run(simulation, on_gpu, feeds, first)
    del on_gpu
    # A launch that reads a copied input does not overlap another one, though the artifact permits this.
    if edges > overlaps * len(sizes):
        problems.append(f"{edges} launches of {len(sizes)} graphs overlap, {overlaps} of the artifact may")
    problems += simulation.reports()
    if simulation.alive():
        problems.append("alive at the end: " + simulation.alive())
    if not worst <= TOLERANCE[precision]:
        problems.append("wrong values")
    print(f"{name:18} {worst:9.1e}  {'; '.join(problems) or 'ok'}{f', {calls} library calls' if calls else ''}"
          f"{f', {overlaps} launches overlap' if overlaps else ''}", flush=True)
    return not problems, edges


def main():
    p = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    p.add_argument("--sm", default="80")
    p.add_argument("--precision", default="fp32", choices=TOLERANCE)
    p.add_argument("--libraries", default="none")
    p.add_argument("names", nargs="*")
    a = p.parse_args()
    simulation = Simulation()
    failed = overlapped = 0
    with tempfile.TemporaryDirectory(prefix="gcc-graph-sim-") as folder:
        for name in a.names or small_models.MODELS:
            good, edges = check(simulation, name, folder, "sm_" + a.sm, a.precision, a.libraries)
            failed += not good
            overlapped += edges > 0
    if a.sm.startswith("9") and len(a.names) > 5 and not overlapped:
        print("no launch of any model overlaps another")
        failed += 1
    print("all passed" if not failed else f"{failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
