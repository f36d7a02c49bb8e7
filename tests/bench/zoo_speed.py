#!/usr/bin/env python3
"""Every file of the model zoo compared with onnxruntime: compile time and memory, error, latency with open and with
fixed dims.

  zoo_speed.py [--models DIR] [--json F] [--svg F] [--rounds N] [--seconds S] [NAME...]

NAME: patterns of zoo names, '*' without. Each file is compiled with default flags (both CPU targets, dims open), and
again with its dims fixed. It is measured at the exporter's size and at batch one, on 1 thread, in turns with
onnxruntime in one process. `x` is onnxruntime's time over ours with open dims. Bars: every output within the tolerance;
no file under 0.9x and a geometric mean of 1.3x; open over fixed at most 1.15, geometric mean 1.03; at most 20 s and 3 x
the file + 500 MB to compile.

--json adds results to F, and skips zoo files whose results F already has. --svg draws the results.
"""
import argparse
import datetime
import fnmatch
import importlib
import json
import os
import platform
import resource
import shutil
import subprocess
import sys
import tempfile
import time

import numpy as np

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.join(HERE, "..", "..")
sys.path[:0] = [HERE, os.path.join(ROOT, "tests", "models"), os.path.join(ROOT, "tools", "python")]

from apart import run_apart
from check_zoo import score_error
from cliffs import open_onnxruntime, time_in_turns
from model_check import SKIP, TOLERANCE, dim_options, relative_error, tool

LEAST, MEAN, OPEN_OVER_FIXED, MEAN_OPEN_OVER_FIXED, COMPILE_S = 0.9, 1.3, 1.15, 1.03, 20.0
LIMIT_S = 600


def bytes_allowed(model_bytes):
    return 3 * model_bytes + (500 << 20)


def compile_measured(path, artifact, *options):
    """Seconds of wall time and peak bytes of the compiler."""
    begin, before = time.perf_counter(), resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
    done = subprocess.run([tool(), "compile", path, "-o", artifact, *options], capture_output=True, text=True, timeout=LIMIT_S)
    if done.returncode != 0:
        raise RuntimeError(done.stderr.strip().splitlines()[-1])
    return time.perf_counter() - begin, max(before, resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss) << 10


def measure(zoo, entry, path, rounds, seconds):
    import gart
    row = {"bytes": entry["bytes"], "sizes": {}}
    sizes = [entry["sizes"][0], *entry["sizes"][2:3]]
    error = score_error if entry["ort_diff"] > 0.1 else relative_error
    with tempfile.TemporaryDirectory() as folder:
        forms = {}
        for form, options in (("open", []), ("fixed", dim_options(sizes))):
            if form == "fixed" and not options:
                continue
            artifact = os.path.join(folder, form + ".gart")
            took, peak = compile_measured(path, artifact, *options)
            row.update({f"{form}_compile_s": round(took, 2), f"{form}_compile_bytes": peak})
            forms[form] = gart.load(artifact, threads=1)
        for index, size in enumerate(sizes):
            feeds = zoo.make_inputs(entry, 0 if index == 0 else 2)
            call, expected = open_onnxruntime(path, feeds)
            for model in forms.values():
                model.set_inputs(feeds)
                model.run_bound()
            errors = {form: error({n: m.output(n) for n in m.outputs}, expected) for form, m in forms.items()}
            times = [min(t) for t in time_in_turns([call, *(m.run_bound for m in forms.values())], rounds, seconds)]
            label = " ".join(f"{k}={v}" for k, v in size.items()) or "fixed"
            row["sizes"][label] = {"ort_ms": times[0] * 1e3, "error": max(errors.values()),
                                   **{f"{form}_ms": t * 1e3 for form, t in zip(forms, times[1:])}}
    return row


# ---------------------------------------------------------------- report

def geometric_mean(values):
    return float(np.exp(np.mean(np.log(values)))) if values else float("nan")


def ratios(row):
    return [s["ort_ms"] / s["open_ms"] for s in row["sizes"].values()]


def openness(row):
    return [s["open_ms"] / s["fixed_ms"] for s in row["sizes"].values() if "fixed_ms" in s]


def complaints(row):
    """A message for each bar that the row misses."""
    if "failed" in row:
        return [row["failed"]]
    said = []
    worst = max(s["error"] for s in row["sizes"].values())
    if not worst <= TOLERANCE:
        said.append(f"error {worst:.1e}")
    if min(ratios(row)) < LEAST:
        said.append(f"{min(ratios(row)):.2f}x onnxruntime")
    if max(openness(row), default=0) > OPEN_OVER_FIXED:
        said.append(f"open {max(openness(row)):.2f} of fixed")
    if row["open_compile_s"] > COMPILE_S:
        said.append(f"{row['open_compile_s']:.0f} s to compile")
    if row["open_compile_bytes"] > bytes_allowed(row["bytes"]):
        said.append(f"{row['open_compile_bytes'] >> 20} MB to compile, {bytes_allowed(row['bytes']) >> 20} allowed")
    return said


def line(name, row):
    if "failed" in row:
        return f"{name:32} FAIL {row['failed']}"
    parts = "  ".join(f"{s['ort_ms']:8.2f} {s['open_ms']:8.2f} {s.get('fixed_ms', s['open_ms']):8.2f} {s['ort_ms'] / s['open_ms']:5.2f}x"
                      for s in row["sizes"].values())
    said = complaints(row)
    return f"{name:32} {row['open_compile_s']:6.1f} {row['open_compile_bytes'] >> 20:6} {parts}{'  FAIL ' + ', '.join(said) if said else ''}"


def summary(rows):
    done = [r for r in rows.values() if "failed" not in r]
    speed, opened = [x for r in done for x in ratios(r)], [x for r in done for x in openness(r)]
    print(f"\nonnxruntime over ours: geometric mean {geometric_mean(speed):.2f} (bar {MEAN}), least {min(speed, default=0):.2f} (bar {LEAST}); "
          f"open over fixed: geometric mean {geometric_mean(opened):.3f} (bar {MEAN_OPEN_OVER_FIXED}), most {max(opened, default=0):.2f} (bar {OPEN_OVER_FIXED}); "
          f"most seconds to compile {max((r['open_compile_s'] for r in done), default=0):.1f} (bar {COMPILE_S:.0f})")
    return (geometric_mean(speed) < MEAN) + (geometric_mean(opened) > MEAN_OPEN_OVER_FIXED)


def draw(rows, path):
    """A bar per file, onnxruntime's time over ours on a logarithmic axis; the line is onnxruntime."""
    bars = sorted(((geometric_mean(ratios(r)), n) for n, r in rows.items() if "failed" not in r), reverse=True)
    high, width, left, top = 12, 420, 250, 24
    x = lambda ratio: left + width * (np.log2(min(max(ratio, 0.5), 16.0)) + 1) / 5
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{left + width + 60}" height="{top + high * len(bars) + 10}" font-family="sans-serif" font-size="10">',
           f'<text x="{left}" y="12">time of onnxruntime over ours, 1 thread, dims open</text>']
    for i, (ratio, name) in enumerate(bars):
        y = top + high * i
        begin, end = sorted((x(1.0), x(ratio)))
        out.append(f'<text x="{left - 6}" y="{y + 9}" text-anchor="end">{name}</text><rect x="{begin:.1f}" y="{y + 1}" width="{end - begin:.1f}" '
                   f'height="{high - 2}" fill="{"#2b7a4b" if ratio >= 1 else "#b4472f"}"/><text x="{end + 4:.1f}" y="{y + 9}">{ratio:.2f}</text>')
    out.append(f'<line x1="{x(1.0):.1f}" x2="{x(1.0):.1f}" y1="{top - 4}" y2="{top + high * len(bars)}" stroke="#444"/></svg>')
    with open(path, "w") as f:
        f.write("\n".join(out) + "\n")


def machine():
    import onnxruntime
    cpu = open("/proc/cpuinfo").read().split("model name")[1].split(":")[1].splitlines()[0].strip()
    flags = open("/proc/cpuinfo").read().split("flags")[1].splitlines()[0].split()
    level = "AVX-512" if "avx512f" in flags else "AVX2"
    return {"date": datetime.date.today().isoformat(), "cpu": f"{cpu}, {level}", "system": platform.platform(), "onnxruntime": onnxruntime.__version__}


def main():
    p = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    p.add_argument("--models", default=os.environ.get("GCC_GRAPH_MODELS") or os.path.join(ROOT, "..", "shared", "models"))
    p.add_argument("--work", help="a folder of models made before; what is made is kept there")
    p.add_argument("--json")
    p.add_argument("--svg")
    p.add_argument("--rounds", type=int, default=5)
    p.add_argument("--seconds", type=float, default=0.3)
    p.add_argument("names", nargs="*", default=["*"])
    a = p.parse_args()
    home = os.path.join(a.models, "zoo")
    if not os.path.isdir(home):
        print(f"SKIP: no models in {os.path.relpath(a.models, ROOT)}")
        return SKIP
    sys.path.insert(0, home)
    zoo = importlib.import_module("zoo")
    kept = json.load(open(a.json)) if a.json and os.path.exists(a.json) else {"machine": machine(), "rows": {}}
    rows = {}
    print(f"{'file':32} {'comp s':>6} {'MB':>6}  then per size: onnxruntime, open, fixed in ms, x")
    for name, entry in zoo.load_zoo(home).items():
        if not any(fnmatch.fnmatch(name, pattern) for pattern in a.names or ["*"]):
            continue
        if name not in kept["rows"]:
            folder = a.work or tempfile.mkdtemp(prefix="gcc-graph-zoo-")
            path = os.path.join(folder, name + ".onnx")
            zoo.materialise(home, name, folder)
            kept["rows"][name] = run_apart(measure, (zoo, entry, path, a.rounds, a.seconds), 2 * LIMIT_S)
            if not a.work:
                shutil.rmtree(folder)
            if a.json:
                json.dump(kept, open(a.json, "w"), indent=1)
        rows[name] = kept["rows"][name]
        print(line(name, rows[name]), flush=True)
    failures = sum(bool(complaints(r)) for r in rows.values())
    missed = summary(rows)
    if a.svg:
        draw(rows, a.svg)
    print(f"{len(rows) - failures} passed, {failures + missed} failed")
    return 1 if failures + missed else 0


if __name__ == "__main__":
    sys.exit(main())
