"""The outputs must have the same bytes, however threads share the work. Runs graphs of parallel_graphs.py and random ones on 1 to 8 threads in all modes, and
by concurrent callers. Also compares the results with onnxruntime, and checks the modes in the file.

  check_parallel.py [--graphs N] [--first SEED]
"""
import argparse
import itertools
import os
import sys
import tempfile
import threading

import onnx

import model_check
import parallel_graphs
from model_check import Reference, compile_model, plans

MODES = [None] + [dict(intra=a, inter=b) for a, b in ((1, 2), (2, 1), (3, 2))]
THREADS = (2, 3, 8)
EXPECTED = {  # case: function that tells whether (intra, inter) may be the mode for two threads
    "wide": lambda intra, inter: inter == 2,
    "uneven": lambda intra, inter: inter == 2,
    "two_producers": lambda intra, inter: inter == 2,
    "chain": lambda intra, inter: (intra, inter) == (1, 1),
    "heavy": lambda intra, inter: (intra, inter) == (2, 1),
    "heavy_beside_light": lambda intra, inter: intra == 2,
    "batch_statistics": lambda intra, inter: intra == 2,
}


def outputs_of(model, feeds):
    return {name: array.tobytes() for name, array in model.run(feeds).items()}


def callers_agree(path, feeds, expected, parallel):
    """Concurrent callers of one program, with several runs each."""
    import gart
    model, wrong = gart.load(path, device="cpu", threads=8, parallel=parallel), []

    def call():
        for _ in range(4):
            if outputs_of(model, feeds) != expected:
                wrong.append(parallel)
    callers = [threading.Thread(target=call) for _ in range(3)]
    for caller in callers:
        caller.start()
    for caller in callers:
        caller.join()
    return not wrong


def check(name, proto, work):
    import gart
    path, model = os.path.join(work, "model.gart"), os.path.join(work, "model.onnx")
    onnx.save(proto, model)
    compile_model(model, path)
    feeds, faults = parallel_graphs.feeds_of(proto), []
    alone = gart.load(path, device="cpu", threads=1).run(feeds)
    expected = {k: v.tobytes() for k, v in alone.items()}
    reference = Reference(model).session.run(None, feeds)
    for output, theirs in zip(proto.graph.output, reference):
        error = abs(alone[output.name] - theirs).max() / max(abs(theirs).max(), 1e-30)
        if not error <= model_check.TOLERANCE:
            faults.append(f"{output.name} differs from onnxruntime's by {error:.2g}")
    for threads, parallel in itertools.product(THREADS, MODES):
        program = gart.load(path, device="cpu", threads=threads, parallel=parallel)
        if any(outputs_of(program, feeds) != expected for _ in range(2)):
            faults.append(f"other bytes on {threads} threads, {parallel}")
    for parallel in (None, {"replicas": 1}, {"replicas": 2}, {"replicas": 2, "intra": 2, "inter": 2}):
        if not callers_agree(path, feeds, expected, parallel):
            faults.append(f"other bytes for concurrent callers, {parallel}")
    plan = plans(path)[0]
    mode = plan["modes"][0]
    if name in EXPECTED and not EXPECTED[name](mode["intra"], mode["inter"]):
        faults.append(f"its mode for two threads is {mode}")
    print(f"{name:20} {plan['steps']:4} steps, {plan['streams']:2} streams, two threads: intra {mode['intra']} inter {mode['inter']} "
          f"replicas {mode['replicas']}", *[f"\n  {fault}" for fault in faults])
    return not faults


def main():
    p = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    p.add_argument("--graphs", type=int, default=3, help="random ones")
    p.add_argument("--first", type=int, default=1)
    a = p.parse_args()
    random = {f"random {seed}": parallel_graphs.random_graph(seed) for seed in range(a.first, a.first + a.graphs)}
    with tempfile.TemporaryDirectory() as work:
        graphs = {**{name: make() for name, make in parallel_graphs.CASES.items()}, **random}
        results = [check(name, proto, work) for name, proto in graphs.items()]
        return 0 if all(results) else 1


if __name__ == "__main__":
    sys.exit(main())
