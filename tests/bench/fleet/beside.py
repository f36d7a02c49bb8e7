#!/usr/bin/env python3
"""Cost of concurrent runs: a model on one core alone and on two cores at once, in two processes and as two replicas in
one process, with ours and with onnxruntime.

  beside.py [--models DIR] [--rounds 30] [--seconds 0.08] [MODEL...]

Cores share caches and memory, and a virtual machine shares its processor with other work. Both cost time that no
program can avoid, even in two separate processes. So the script compares the processor time per run, takes the smallest
of all rounds, and measures all variants in each round. The "gain" is the number of runs of two cores, without other
work, divided by the number of runs of one core. Two replicas must gain at least 1.85, or as much as two onnxruntime
processes if that is less; otherwise the exit code is 1. Needs two cores."""
import argparse
import os
import subprocess
import sys
import threading
import time

import numpy as np

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import modes

MODELS = ("minilm_l6", "bert_base", "resnet50", "mobilenet_v2")
BAR, NOISE = 1.85, 0.98  # NOISE: relative difference of a gain between two measurements of the same thing


def call(run, seconds, pin):
    """Smallest processor time, in seconds, of several runs on this thread."""
    if pin is not None:
        os.sched_setaffinity(0, {pin})
    best, end = float("inf"), time.perf_counter() + seconds
    while time.perf_counter() < end or best == float("inf"):
        begin = time.thread_time()
        run()
        best = min(best, time.thread_time() - begin)
    return best


def worker(way, artifact, model, feeds_file):
    """Reads "SECONDS CORES.." and runs one thread per core, all at once. Writes the mean time over the cores."""
    feeds = dict(np.load(feeds_file))
    if way == "onnxruntime":
        runner = modes.open_ort(model, feeds, 1, 1, True)
    else:
        runner = modes.open_ours(artifact, feeds, *((2, {"replicas": 2}) if way == "replicas" else (1, None)))
    runs = [runner() for _ in range(2 if way == "replicas" else 1)]
    for run in runs:
        run()
    print("ready", flush=True)
    for line in sys.stdin:
        seconds, *cores = line.split()
        found = [0.0] * len(cores)

        def of(i):
            found[i] = call(runs[i], float(seconds), int(cores[i]))
        threads = [threading.Thread(target=of, args=(i,)) for i in range(len(cores))]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
        print(sum(found) / len(found), flush=True)


class Worker:
    def __init__(self, way, *files):
        command = [sys.executable, os.path.abspath(__file__), "--worker", way, *files]
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        if self.process.stdout.readline().strip() != "ready":
            raise RuntimeError(f"{way} does not run {files[1]}")

    def begin(self, seconds, *cores):
        self.process.stdin.write(" ".join(map(str, (seconds, *cores))) + "\n")
        self.process.stdin.flush()

    def end(self):
        return float(self.process.stdout.readline())

    def close(self):
        self.process.stdin.close()
        self.process.wait()


def measure(files, a, cores):
    """Returns variant -> [seconds alone, seconds beside another]."""
    workers = {"ours": [Worker("ours", *files) for _ in range(2)], "onnxruntime": [Worker("onnxruntime", *files) for _ in range(2)],
               "replicas": [Worker("replicas", *files)]}
    best = {way: [float("inf")] * 2 for way in workers}
    for _ in range(a.rounds):
        for way, of in workers.items():
            for beside in range(2):
                if way == "replicas":
                    of[0].begin(a.seconds, *cores[:1 + beside])
                    found = of[0].end()
                else:
                    for k in range(1 + beside):
                        of[k].begin(a.seconds, cores[k])
                    times = [of[k].end() for k in range(1 + beside)]
                    found = sum(times) / len(times)
                best[way][beside] = min(best[way][beside], found)
    for of in workers.values():
        for w in of:
            w.close()
    return best


def main():
    if len(sys.argv) > 1 and sys.argv[1] == "--worker":
        return worker(*sys.argv[2:])
    p = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    p.add_argument("--rounds", type=int, default=30)
    p.add_argument("--seconds", type=float, default=0.08)
    p.add_argument("--models", default=os.path.join(modes.ROOT, "build", "zoo"), help="where resnet50.ts.onnx and the like are")
    p.add_argument("--cache", default=os.path.join(modes.ROOT, "build", "bench"))
    p.add_argument("names", nargs="*", default=MODELS)
    a = p.parse_args()
    cores = sorted(os.sched_getaffinity(0))
    if len(cores) < 2:
        print("SKIP: this takes two cores")
        return 77
    os.makedirs(a.cache, exist_ok=True)
    good = True
    for name in a.names:
        source = os.path.join(a.models, name + ".ts.onnx")
        if not os.path.exists(source):
            print(f"{name:14} SKIP: it is not in {a.models}")
            continue
        best = measure(modes.prepare(name, source, a.cache), a, cores)
        gain = {way: 2 * alone / beside for way, (alone, beside) in best.items()}
        reached = gain["replicas"] >= NOISE * min(BAR, gain["onnxruntime"])
        good &= reached
        print(f"{name:14} " + "; ".join(f"{way} {1e3 * alone:.2f} ms alone, {1e3 * beside:.2f} beside another, gain {gain[way]:.2f}"
                                        for way, (alone, beside) in best.items()) + ("" if reached else "  BEHIND"), flush=True)
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
