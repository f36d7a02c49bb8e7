#!/usr/bin/env python3
"""Parallel modes on one machine: the default mode of a file compared with each explicit mode, and with the modes of
onnxruntime.

  modes.py [--threads 2] [--starts 4] [--rounds 16] [--seconds 0.06] [--models DIR] [--json F] [CASE...]      (ninja check_modes)

Latency of one caller: our default, our explicit modes, onnxruntime's sequential and parallel execution. Throughput of
two callers: our default, two replicas, two sessions of onnxruntime with one thread each, and one session for both.

Each variant is a process of its own. Rounds measure the variants in turn, one at a time. The smallest time (the largest
rate) of all rounds of a process counts. Rounds are short, because other load on a virtual machine's cores comes and
goes. Each process places its memory differently, and so differs in speed. So each variant starts several times, and the
median of its processes counts.

"of best": the time of the best explicit mode over that of our default. "of ORT": the best onnxruntime time over that of
our default; more than 1 is faster. Exit code 1 if our default is more than 5 % from our best. Exit code 1 also if a
variant of onnxruntime is faster in more rounds than chance explains (1 in 100 for equal variants). Needs a machine
without other load.
"""
import argparse
import json
import math
import os
import statistics
import subprocess
import sys
import threading
import time

import numpy as np
import onnx

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.join(HERE, "..", "..")
sys.path[:0] = [HERE, os.path.join(ROOT, "tools", "python"), os.path.join(ROOT, "tests", "models")]

WAYS = {  # for one caller: the mode that gart.load gets, or onnxruntime's (intra, inter)
    "auto": None, "intra=1,inter=1": (1, 1), "intra=N,inter=1": ("N", 1), "intra=1,inter=N": (1, "N"), "intra=N,inter=N": ("N", "N"),
    "ort sequential": ("N", 1), "ort parallel": (1, "N"), "ort both": ("N", "N"),
}
CALLERS = ("auto x2", "replicas=2", "ort one session x2", "ort two sessions")
TOLERANCE = 1.05  # ratio of times
CHANCE = 0.01
LEAST_RUNS = 3  # in a round
PAUSE = 0.15  # seconds: onnxruntime's threads spin for up to 50 ms after its last run


def open_ours(path, feeds, threads, parallel):
    import gart
    model = gart.load(path, device="cpu", threads=threads, parallel=parallel)

    def runner():
        invocation = model.new_invocation()
        invocation.set_inputs(feeds)
        return invocation.run_bound
    return runner


def open_ort(path, feeds, intra, inter, sessions):
    import onnxruntime as ort

    def session():
        options = ort.SessionOptions()
        options.intra_op_num_threads, options.inter_op_num_threads, options.log_severity_level = intra, inter, 4
        if inter > 1:
            options.execution_mode = ort.ExecutionMode.ORT_PARALLEL
        return ort.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    shared = None if sessions else session()

    def runner():
        own = shared or session()
        binding = own.io_binding()
        for name, array in feeds.items():
            binding.bind_cpu_input(name, array)
        for o in own.get_outputs():
            binding.bind_output(o.name)
        return lambda: own.run_with_iobinding(binding)
    return runner


def open_way(way, artifact, model, feeds, threads):
    if way.startswith("ort"):
        if way in CALLERS:
            return open_ort(model, feeds, 1 if "two" in way else threads, 1, "two" in way)
        intra, inter = (threads if n == "N" else n for n in WAYS[way])
        return open_ort(model, feeds, intra, inter, False)
    if way == "replicas=2":
        return open_ours(artifact, feeds, threads, {"replicas": 2})
    counts = WAYS.get(way)
    parallel = counts and dict(zip(("intra", "inter"), (threads if n == "N" else n for n in counts)))
    return open_ours(artifact, feeds, threads, parallel)


def measure_latency(run, seconds):
    end, best = time.perf_counter() + seconds, float("inf")
    run()
    while best == float("inf") or time.perf_counter() < end:
        begin = time.perf_counter()
        run()
        best = min(best, time.perf_counter() - begin)
    return best


def measure_callers(runs, seconds):
    """Seconds per run of all callers together. They start together, each after one run that does not count."""
    counts, start = [0] * len(runs), threading.Barrier(len(runs))

    def call(i):
        start.wait()
        runs[i]()
        start.wait()
        begin = now = time.perf_counter()
        while now < begin + seconds:
            runs[i]()
            counts[i] += 1
            now = time.perf_counter()
        counts[i] /= now - begin
    callers = [threading.Thread(target=call, args=(i,)) for i in range(len(runs))]
    for caller in callers:
        caller.start()
    for caller in callers:
        caller.join()
    return 1 / sum(counts)


def worker(way, artifact, model, feeds_file, threads):
    feeds = dict(np.load(feeds_file))
    runner = open_way(way, artifact, model, feeds, threads)
    runs = [runner() for _ in range(2 if way in CALLERS else 1)]
    for run in runs:
        run()
    print("ready", flush=True)
    least = LEAST_RUNS * measure_latency(runs[0], 0)
    for line in sys.stdin:
        seconds = max(float(line), least)
        print(measure_callers(runs, seconds) if way in CALLERS else measure_latency(runs[0], seconds), flush=True)


class Way:
    def __init__(self, name, artifact, model, feeds, threads):
        self.times, self.spins = [], name.startswith("ort")
        command = [sys.executable, os.path.abspath(__file__), "--worker", name, artifact, model, feeds, str(threads)]
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        if self.process.stdout.readline().strip() != "ready":
            raise RuntimeError(f"{name} does not run {model}")

    def measure(self, seconds):
        self.process.stdin.write(f"{seconds}\n")
        self.process.stdin.flush()
        self.times.append(float(self.process.stdout.readline()))
        if self.spins:
            time.sleep(PAUSE)

    def close(self):
        self.process.stdin.close()
        self.process.wait()


def is_slower(ours, theirs):
    """True if ours is significantly slower than theirs in the paired rounds, by the sign test."""
    lost = sum(t < o for o, t in zip(ours, theirs))
    return sum(math.comb(len(ours), k) for k in range(lost, len(ours) + 1)) < CHANCE * 2 ** len(ours)


def models_of(a):
    """{case: function that makes its model, or the model's file, or None if that file is missing}"""
    import parallel_graphs
    cases = {name: make for name, make in parallel_graphs.CASES.items()}
    cases["googlenet"] = parallel_graphs.googlenet
    for name in ("resnet50", "bert_base", "minilm_l6"):
        path = os.path.join(a.models, name + ".ts.onnx")
        cases[name] = path if os.path.exists(path) else None
    return cases


def prepare(name, source, cache):
    from model_check import compile_once
    from model_inputs import make_inputs
    model, artifact, feeds = (os.path.join(cache, name + end) for end in (".onnx", ".gart", ".npz"))
    if callable(source):
        onnx.save(source(), model)
    else:
        model = source
    found, dims = make_inputs(model, {"batch": 1, "sequence": 128})
    compile_once(model, artifact, *dims)
    np.savez(feeds, **found)
    return artifact, model, feeds


def measure_once(files, a):
    """Starts new processes; returns {variant: seconds per round}."""
    ways = {way: Way(way, *files, a.threads) for way in (*WAYS, *CALLERS)}
    try:
        for _ in range(-(-a.rounds // a.starts)):
            for way in ways.values():
                way.measure(a.seconds)
    finally:
        for way in ways.values():
            way.close()
    return {way: found.times for way, found in ways.items()}


def measure(name, source, a):
    files = prepare(name, source, a.cache)
    starts = [measure_once(files, a) for _ in range(a.starts)]
    times = {way: [t for start in starts for t in start[way]] for way in starts[0]}
    best = {way: statistics.median(min(start[way]) for start in starts) * 1e3 for way in times}
    slower = [way for way in times if way.startswith("ort") and is_slower(times["auto x2" if way in CALLERS else "auto"], times[way])]
    ours = min(best[way] for way in WAYS if not way.startswith("ort"))
    theirs = min(best[way] for way in WAYS if way.startswith("ort"))
    return {"case": name, "ms": {k: round(v, 5) for k, v in best.items()}, "slower_than": slower,
            "latency": {"of_best": ours / best["auto"], "of_ort": theirs / best["auto"]},
            "throughput": {"of_best": min(best["auto x2"], best["replicas=2"]) / best["auto x2"],
                           "of_ort": min(best["ort one session x2"], best["ort two sessions"]) / best["auto x2"],
                           "replicas": best["intra=1,inter=1"] / best["replicas=2"]}}


def is_behind(r):
    return min(r["latency"]["of_best"], r["throughput"]["of_best"]) < 1 / TOLERANCE or bool(r["slower_than"])


def main():
    if len(sys.argv) > 1 and sys.argv[1] == "--worker":
        return worker(*sys.argv[2:6], int(sys.argv[6]))
    p = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    p.add_argument("--threads", type=int, default=2)
    p.add_argument("--starts", type=int, default=4, help="processes per way, one after the other")
    p.add_argument("--rounds", type=int, default=16, help="of all processes of a way together")
    p.add_argument("--seconds", type=float, default=0.06)
    p.add_argument("--models", default=os.path.join(ROOT, "build", "zoo"), help="where resnet50.ts.onnx and the like are")
    p.add_argument("--cache", default=os.path.join(ROOT, "build", "bench"))
    p.add_argument("--json", help="results take the places of those of the same cases in this file; the exit code is that of all it has")
    p.add_argument("cases", nargs="*")
    a = p.parse_args()
    os.makedirs(a.cache, exist_ok=True)
    print(f"{'case':20} {'auto ms':>9} {'of best':>8} {'of ORT':>7}   two callers: {'auto ms':>8} {'of best':>8} {'of ORT':>7} "
          f"{'replicas':>9}   our ways, and ORT's")
    results = {r["case"]: r for r in json.load(open(a.json))} if a.json and os.path.exists(a.json) else {}
    for name, source in models_of(a).items():
        if a.cases and name not in a.cases:
            continue
        if source is None:
            print(f"{name:20} SKIP: it is not in {a.models}")
            continue
        r = measure(name, source, a)
        results[name] = r
        low, high, ms = r["latency"], r["throughput"], r["ms"]
        print(f"{name:20} {ms['auto']:9.4f} {low['of_best']:8.3f} {low['of_ort']:7.2f}   {'':12} {ms['auto x2']:8.4f} "
              f"{high['of_best']:8.3f} {high['of_ort']:7.2f} {high['replicas']:9.2f}   "
              + ", ".join(f"{way} {ms[way]:.4f}" for way in (*list(WAYS)[1:], *CALLERS[1:])) + ("  BEHIND " + ", ".join(r["slower_than"]) if is_behind(r) else ""), flush=True)
        if a.json:
            with open(a.json, "w") as f:
                json.dump(list(results.values()), f, indent=1)
    return 1 if any(map(is_behind, results.values())) else 0


if __name__ == "__main__":
    sys.exit(main())
