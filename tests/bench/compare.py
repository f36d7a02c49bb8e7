#!/usr/bin/env python3
"""Latency of gcc-graph with dims open and fixed, compared with onnxruntime and OpenVINO.

  compare.py [--threads 1,2] [--rounds 7] [--seconds 0.4] [--cache DIR] [--only NAME,...] [--forms open,fixed]
             [--before TREE] [--json F] [ROW...]

--before: another checkout with its own build/release. Its compiler and runtime are measured as one more engine for each form.

Each engine is a process of its own that loads the model once. In each round the engines run one after the other, so a
drift of the machine affects all in the same way. A round's latency of an engine is its minimum. The printed ratio is
the median over the rounds of an engine's latency divided by ours, once with dims open and once with dims fixed. A row
counts only if our outputs agree with onnxruntime's (largest error relative to the largest element <= 1e-3). Models are
made by tools/models/make_model.py.
"""
import argparse
import json
import os
import platform
import resource
import statistics
import subprocess
import sys
import time

import numpy as np

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.join(HERE, "..", "..")
sys.path[:0] = [HERE]
sys.path.append(os.path.join(ROOT, "tools", "python"))  # after PYTHONPATH: a worker's is its tree's

from model_inputs import make_inputs  # noqa: E402

ROWS = {  # name: (model, symbols)
    "resnet50 b1": ("resnet50", {"batch": 1}),
    "mobilenet_v2 b1": ("mobilenet_v2", {"batch": 1}),
    "bert_base s128 b1": ("bert_base", {"batch": 1, "sequence": 128}),
    "minilm_l6 s128 b1": ("minilm_l6", {"batch": 1, "sequence": 128}),
    "vit_b_16 b1": ("vit_b_16", {"batch": 1}),
    "gpt2_step past 128": ("gpt2_step", {"batch": 1, "past": 128}),
    "mlp b1": ("mlp", {"batch": 1}),
}
OTHERS = ("onnxruntime", "openvino")
FORMS = ("open", "fixed")


# ---------------------------------------------------------------- engines, each in a process of its own

def open_gart(path, feeds, threads):
    import gart
    model = gart.load(path, threads=threads)
    model.set_inputs(feeds)
    return model.run_bound, lambda: [model.output(i) for i in range(len(model.outputs))]


def open_onnxruntime(path, feeds, threads):
    import onnxruntime as ort
    options = ort.SessionOptions()
    options.intra_op_num_threads, options.inter_op_num_threads, options.log_severity_level = threads, 1, 4
    session = ort.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    binding = session.io_binding()
    for name, array in feeds.items():
        binding.bind_cpu_input(name, array)
    for o in session.get_outputs():
        binding.bind_output(o.name)
    return lambda: session.run_with_iobinding(binding), lambda: [v.numpy() for v in binding.get_outputs()]


def open_openvino(path, feeds, threads):
    import openvino as ov
    core = ov.Core()
    model = core.read_model(path)
    model.reshape({i.get_any_name(): list(feeds[i.get_any_name()].shape) for i in model.inputs})
    compiled = core.compile_model(model, "CPU", {"INFERENCE_NUM_THREADS": threads, "PERFORMANCE_HINT": "LATENCY",
                                                 "INFERENCE_PRECISION_HINT": "f32", "NUM_STREAMS": 1})
    request = compiled.create_infer_request()
    for name, array in feeds.items():
        request.set_tensor(name, ov.Tensor(array, shared_memory=True))
    return request.infer, lambda: [np.array(o.data) for o in request.output_tensors]


def worker(engine, path, feeds_file, threads, outputs_file):
    feeds = dict(np.load(feeds_file))
    run, outputs = {"onnxruntime": open_onnxruntime, "openvino": open_openvino}.get(engine, open_gart)(path, feeds, threads)
    run()
    np.savez(outputs_file, *outputs())
    print("ready", flush=True)
    for line in sys.stdin:  # reads the time to measure, and answers with the smallest and the median latency in ms
        end, times = time.perf_counter() + float(line), []
        run()
        while time.perf_counter() < end or len(times) < 3:
            t = time.perf_counter()
            run()
            times.append(time.perf_counter() - t)
        print(f"{min(times) * 1e3} {statistics.median(times) * 1e3}", flush=True)


class Engine:
    def __init__(self, name, path, feeds, threads, scratch, tree=ROOT):
        self.name, self.minima, self.medians = name, [], []
        self.outputs = os.path.join(scratch, f"{name.replace(' ', '_')}.outputs.npz")
        command = [sys.executable, os.path.abspath(__file__), "--worker", name, path, feeds, str(threads), self.outputs]
        environment = {**os.environ, "PYTHONPATH": os.path.join(tree, "tools", "python"),
                       "GART_LIBRARY": os.path.join(tree, "build", "release", "lib", "libgart.so")}
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        stderr=subprocess.DEVNULL, text=True, env=environment)
        self.ok = self.process.stdout.readline().strip() == "ready"

    def measure(self, seconds):
        self.process.stdin.write(f"{seconds}\n")
        self.process.stdin.flush()
        low, mid = map(float, self.process.stdout.readline().split())
        self.minima.append(low)
        self.medians.append(mid)

    def close(self):
        self.process.stdin.close()
        self.process.wait()


def relative_error(ours, theirs):
    """Largest over the outputs of max |a - b| / max |b|."""
    a, b = np.load(ours), np.load(theirs)
    worst = 0.0
    for k in b.files:
        x, y = a[k].astype(np.float64), b[k].astype(np.float64)
        if x.shape != y.shape:
            return float("inf")
        worst = max(worst, float(np.abs(x - y).max() / max(np.abs(y).max(), 1e-30)) if y.size else 0.0)
    return worst


def compile_form(tree, model, artifact, symbols, dims):
    """Processor seconds of the tree's compiler, over all its threads."""
    command = [os.path.join(tree, "build", "release", "bin", "gcc-graph"), "compile", model, "-o", artifact]
    if dims == "fixed":
        for k, v in symbols.items():
            command += ["--dim", f"{k}={v}"]
    begin = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    return resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - begin


def measure(row, threads, options):
    """One result for each of our forms, with open and with fixed dims."""
    name, symbols = ROWS[row]
    model, feeds = (os.path.join(options.cache, name + end) for end in (".onnx", ".feeds.npz"))
    subprocess.run([sys.executable, os.path.join(ROOT, "tools", "models", "make_model.py"), name, model],
                   check=True, stdout=subprocess.DEVNULL)
    np.savez(feeds, **make_inputs(model, symbols)[0])
    trees = {"gart": ROOT, **({"before": options.before} if options.before else {})}
    running, seconds = {}, {}
    try:
        for engine, tree in trees.items():
            for dims in options.forms:
                artifact = os.path.join(options.cache, f"{name}.{engine}.{dims}.gart")
                seconds[engine, dims] = compile_form(tree, model, artifact, symbols, dims)
                running[engine, dims] = Engine(f"{engine} {dims}", artifact, feeds, threads, options.cache, tree)
        for engine in options.others:
            running[engine, ""] = Engine(engine, model, feeds, threads, options.cache)
        running = {k: e for k, e in running.items() if e.ok}
        for _ in range(options.rounds):
            for e in running.values():
                e.measure(options.seconds)
        return [result_of(row, threads, dims, running, seconds) for dims in options.forms]
    finally:
        for e in running.values():
            e.close()


def result_of(row, threads, dims, running, seconds):
    ours = running["gart", dims]
    result = {"row": row, "threads": threads, "dims": dims, "compile_s": round(seconds["gart", dims], 2),
              "min_ms": round(min(ours.minima), 4)}
    for (engine, of_form), e in running.items():
        if engine == "gart" or of_form not in ("", dims):
            continue
        result[engine] = {"ratio": round(statistics.median(t / o for t, o in zip(e.minima, ours.minima)), 3),
                          "min_ms": round(min(e.minima), 4)}
        if engine == "onnxruntime":
            result["error"] = relative_error(ours.outputs, e.outputs)
        if engine == "before":
            result[engine]["compile_s"] = round(seconds[engine, dims], 2)
    return result


def print_row(r, bad):
    cell = lambda e: f"{r[e]['ratio']:.2f}" if e in r else "-"
    compiled = f"{r['compile_s']:.2f}" + (f" ({r['before']['compile_s']:.2f})" if "before" in r else "")
    print(f"{r['row']:22} {r['threads']:7} {r['dims']:>5} {r['min_ms']:10.3f} {cell('onnxruntime'):>14} "
          f"{cell('openvino'):>11} {cell('before'):>9} {r.get('error', float('nan')):9.1e} {compiled}"
          f"{'  WRONG' if bad else ''}", flush=True)


def main():
    if len(sys.argv) > 1 and sys.argv[1] == "--worker":
        return worker(sys.argv[2], sys.argv[3], sys.argv[4], int(sys.argv[5]), sys.argv[6])
    p = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    p.add_argument("--threads", default="1,2")
    p.add_argument("--rounds", type=int, default=7)
    p.add_argument("--seconds", type=float, default=0.4)
    p.add_argument("--cache", default=os.path.join(ROOT, "build", "bench"))
    p.add_argument("--only", default=",".join(OTHERS), help="the engines to compare with")
    p.add_argument("--forms", default=",".join(FORMS), help="are the model's symbols left open, or given by --dim?")
    p.add_argument("--before", help="another checkout, built")
    p.add_argument("--json")
    p.add_argument("rows", nargs="*", default=list(ROWS))
    a = p.parse_args()
    os.makedirs(a.cache, exist_ok=True)
    a.others = [e for e in OTHERS if e in a.only.split(",")]
    a.forms = [f for f in FORMS if f in a.forms.split(",")]
    print(f"{platform.machine()}, {open('/proc/cpuinfo').read().split('model name')[1].split(':')[1].splitlines()[0].strip()}")
    print(f"{'row':22} threads  dims {'ours ms':>10} {'x onnxruntime':>14} {'x openvino':>11} {'x before':>9} {'error':>9} compile s")
    results, failed = [], False
    for row in a.rows or ROWS:
        names = [n for n in ROWS if n == row or ROWS[n][0] == row]
        for name in names:
            for threads in map(int, a.threads.split(",")):
                for r in measure(name, threads, a):
                    results.append(r)
                    bad = r.get("error", 0) > 1e-3
                    failed |= bad
                    print_row(r, bad)
    if a.json:
        with open(a.json, "w") as f:
            json.dump(results, f, indent=1)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
