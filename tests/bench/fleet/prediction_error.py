#!/usr/bin/env python3
"""Error of the simulator against real runs: ninja check_prediction_error

  prediction_error.py [--models DIR] [--placements 10] [--seconds 4] [--budget S] [--json F] [MODEL.onnx...]

The script places groups at random on two pools of one core each and runs them. The predictions come from two kinds of
measured placements: all groups on one pool, and each group on the other pool than the one before it. Bars: the median
error is at most 5 %, and 19 of 20 errors are at most 10 %. Needs both cores, without other load.
Hand-overs dominate the time of small graphs, so models that take less than 100 us are skipped. Some placements are
loaded and measured twice. No prediction can be better than the difference between these two measurements, which the
last line prints. With --json an interrupted run (by --budget or otherwise) continues, and the bars are for all models
in the file."""
import argparse
import glob
import json
import os
import subprocess
import sys
import time

from fleet_speed import ROOT, SYMBOLS, compile_for_pools

MOST, LEAST_US = 20, 100


def measured(artifact, source, feeds, a):
    """[(predicted, measured, measured again or None)] of the random placements, in microseconds, and the report's
    groups."""
    import numpy as np
    inputs = artifact + ".npz"
    np.savez(inputs, **feeds)
    done = subprocess.run([os.environ["GCC_GRAPH"], "bench", artifact, "--placements", str(a.placements), "--seconds", str(a.seconds),
                           "--inputs", inputs, "--json"], capture_output=True, text=True)
    if done.returncode != 0:
        raise RuntimeError(f"{source}: {done.stderr}")
    report = json.loads(done.stdout)
    return [(p["predicted_us"], p["measured_us"], p.get("again_us")) for p in report["placements"]], report["groups"]


def rows_of(name, source, a):
    """The measurements of the model; empty if it is skipped."""
    try:
        artifact, feeds = compile_for_pools(source, a.cache, "support,chains,stages")
        rows, groups = measured(artifact, source, feeds, a)
    except Exception as error:  # this script cannot make the model's inputs
        print(f"{name}: left out, {str(error).splitlines()[0][:400]}")
        return []
    if not rows or min(us for _, us, _ in rows) < LEAST_US:
        return []
    print(f"{name:36} {groups:3} groups, {min(us for _, us, _ in rows):9.0f} us: "
          + " ".join(f"{100 * (predicted - us) / us:+.1f}" for predicted, us, _ in rows)
          + "; again " + " ".join(f"{100 * (again - us) / us:+.1f}" for _, us, again in rows if again), flush=True)
    return rows


def main():
    p = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    p.add_argument("--models", default=os.path.join(ROOT, "build", "zoo"))
    p.add_argument("--cache", default=os.path.join(ROOT, "build", "bench"))
    p.add_argument("--placements", type=int, default=10)
    p.add_argument("--seconds", type=float, default=4)
    p.add_argument("--budget", type=float, default=float("inf"), help="seconds after which no further model is measured")
    p.add_argument("--json", help="results are added to this file, and models that it has are not measured again")
    p.add_argument("sources", nargs="*")
    a = p.parse_args()
    results = json.load(open(a.json)) if a.json and os.path.exists(a.json) else {}
    end = time.monotonic() + a.budget
    for source in a.sources or sorted(glob.glob(os.path.join(a.models, "*.ts.onnx")), key=os.path.getsize):
        name = os.path.basename(source)
        if name in results:
            continue
        if sum(map(bool, results.values())) == MOST or time.monotonic() > end:
            break
        results[name] = rows_of(name, source, a)
        if a.json:
            json.dump(results, open(a.json, "w"), indent=0)
    errors = sorted(abs(predicted - us) / us for rows in results.values() for predicted, us, _ in rows)
    noise = sorted(abs(again - us) / us for rows in results.values() for _, us, again in rows if again)
    if not errors:
        print(f"SKIP: there are no models in {a.models}")
        return 77
    middle_and_most = lambda all: (all[len(all) // 2], all[int(0.95 * len(all))])
    median, most = middle_and_most(errors)
    print(f"{sum(map(bool, results.values()))} models, {len(errors)} placements: median error {100 * median:.1f} %, 95 % are within {100 * most:.1f} %; "
          "of runs and the same again {:.1f} and {:.1f} %".format(*(100 * n for n in middle_and_most(noise))))
    return 0 if median <= 0.05 and most <= 0.10 else 1


if __name__ == "__main__":
    sys.exit(main())
