#!/usr/bin/env python3
"""Cost of handing a part over to a device, compared with StarPU on the same graphs: ninja check_hand_over

  hand_over.py [--work DIR]

The graphs have a thousand parts that do nothing (hand_over_bench.cpp): a chain on one device, a chain alternating
between two, and independent parts on two. StarPU (Debian: libstarpu-dev) runs the same graphs as tasks on two CPU
workers (hand_over_starpu.c, compiled here), with its schedulers eager and dmda. A part may take at most 2 us, and no
more than with StarPU's better scheduler. Exit code 1 beyond that. StarPU is skipped if it is not installed. Needs two
cores without other load."""
import argparse
import os
import re
import shutil
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.join(HERE, "..", "..", "..")
LIMIT_US = 2.0
SCHEDULERS = ("eager", "dmda")


def times(command, **more):
    """{graph: microseconds per part}"""
    done = subprocess.run(command, capture_output=True, text=True, timeout=600, env={**os.environ, **more})
    if done.returncode != 0:
        sys.exit(f"{command[0]} ended with status {done.returncode}: {done.stderr.strip()}")
    return {graph: float(us) for graph, us in re.findall(r"^(.+): (\d+\.\d+) us per part$", done.stdout, re.M)}


def starpu(work):
    """{scheduler: times}; empty if StarPU is not installed."""
    flags = subprocess.run(["pkg-config", "--cflags", "--libs", "starpu-1.3"], capture_output=True, text=True) if shutil.which("pkg-config") else None
    compiler = shutil.which("cc") or shutil.which("gcc")
    if flags is None or flags.returncode != 0 or compiler is None:
        print("SKIP: StarPU is not installed (Debian: libstarpu-dev, pkg-config)")
        return {}
    os.makedirs(work, exist_ok=True)
    program = os.path.join(work, "hand_over_starpu")
    subprocess.run([compiler, "-O2", os.path.join(HERE, "hand_over_starpu.c"), "-o", program, *flags.stdout.split()], check=True)
    settings = {"STARPU_NCPU": "2", "STARPU_SILENT": "1", "STARPU_HOME": work, "STARPU_NCUDA": "0", "STARPU_NOPENCL": "0"}
    return {s: times([program], STARPU_SCHED=s, **settings) for s in SCHEDULERS}


def main():
    options = argparse.ArgumentParser()
    options.add_argument("--work", default=os.path.join(ROOT, "build", "bench"), help="where StarPU's program and its models of times go")
    asked = options.parse_args()
    if len(os.sched_getaffinity(0)) < 2:
        print("SKIP: this takes two cores")
        return 77
    ours = times([os.environ["HAND_OVER_BENCH"]])
    theirs = starpu(asked.work)
    print(f"{'us per part':28} {'ours':>7}" + "".join(f" {'StarPU ' + s:>13}" for s in theirs))
    behind = 0
    for graph, us in ours.items():
        beside = [found.get(graph) for found in theirs.values()]
        bad = us > min([LIMIT_US, *(them for them in beside if them is not None)])
        behind += bad
        print(f"{graph:28} {us:7.3f}" + "".join(f" {'' if them is None else f'{them:.3f}':>13}" for them in beside) + ("  BEHIND" if bad else ""))
    print(f"at most {LIMIT_US} us, and StarPU's: {behind} behind")
    return 1 if behind else 0


if __name__ == "__main__":
    sys.exit(main())
