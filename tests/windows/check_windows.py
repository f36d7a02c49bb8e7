#!/usr/bin/env python3
"""Random valid models of windows and movement, run between inaccessible pages and compared with onnxruntime.

  check_windows.py [--seed S] [--first N] [--count N] [--kinds Conv,Pad,...] [--far] [--jobs N] [--keep DIR]
  check_windows.py --kept [DIR]

Every case (window_models.py) is compiled for all CPU targets and run for those that this machine supports, twice: with an inaccessible page after every operand
of the kernels, and with one before it (guard.c, in $WINDOWS_GUARD_LIBRARY). If the result differs from onnxruntime's, it must agree with ONNX's reference
evaluator. Such cases are counted separately: onnxruntime and ONNX differ on some Resize coordinates and on windows entirely in the padding. --kept runs models
that once failed (NAME.onnx with inputs in NAME.npz) instead of random ones. DIR is findings/windows beside the model zoo by default; without such models the
test is skipped.
"""
import argparse
import collections
import concurrent.futures
import glob
import os
import subprocess
import sys
import tempfile

import numpy as np
import onnx

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "models"))
import model_check
import window_models

TARGETS = "x86-64-v3,x86-64-v4"
TOLERANCE = 1e-4
SIDES = ("after", "before")
FAILURES = ("dies", "differs", "refused")


def agrees(ours, theirs, name):
    return theirs is not None and model_check.relative_error({name: ours[name]}, {name: theirs[name]}) <= TOLERANCE


# ---------------------------------------------------------------- processes that may crash

def on_guarded_pages(library, array):
    """A copy that ends exactly at an inaccessible page, whatever its alignment, or begins right after one."""
    import ctypes
    allocate = library.aligned_alloc
    allocate.restype, allocate.argtypes = ctypes.c_void_p, [ctypes.c_size_t, ctypes.c_size_t]
    slack = -array.nbytes % 64 if os.environ["WINDOWS_GUARD"] == "after" else 0
    memory = (ctypes.c_uint8 * max(array.nbytes, 1)).from_address(allocate(64, array.nbytes) + slack)
    copy = np.frombuffer(memory, array.dtype, array.size).reshape(array.shape)
    copy[...] = array
    return copy


def run_guarded(artifact, target, feeds):
    import ctypes
    import gart
    library = ctypes.CDLL(None)
    model = gart.load(artifact, target=target, threads=1)
    return model.run({k: on_guarded_pages(library, v) for k, v in feeds.items()})


def serve(run):
    """Runs the cases that stdin lists. A line has the arguments of `run`, a file of inputs, and the file for the
    outputs."""
    for line in sys.stdin:
        *arguments, feeds, outputs = line.rstrip("\n").split("\t")
        try:
            np.savez(outputs, **run(*arguments, dict(np.load(feeds))))
            print("done", flush=True)
        except Exception as e:
            print("error", " ".join(str(e).split()), flush=True)


class Server:
    """A process that runs artifacts between guard pages, or runs onnxruntime, which crashes on some models. A crashed process is replaced."""

    def __init__(self, side=None):
        guard = dict(WINDOWS_GUARD=side, LD_PRELOAD=os.environ["WINDOWS_GUARD_LIBRARY"]) if side else {}
        self.environment, self.process = dict(os.environ, **guard), None
        self.mode = "guarded" if side else "onnxruntime"

    def run(self, *request):
        """Runs one case. Returns "done", "error ..." or "dies ..."."""
        if self.process is None:
            self.process = subprocess.Popen([sys.executable, os.path.abspath(__file__), "--serve", self.mode], env=self.environment,
                                            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.process.stdin.write("\t".join(request) + "\n")
        self.process.stdin.flush()
        answer = self.process.stdout.readline().strip()
        if answer:
            return answer
        status = self.process.wait()
        self.process = None
        return f"dies of signal {-status}"

    def close(self):
        if self.process is not None:
            self.process.stdin.close()
            self.process.wait()


# ---------------------------------------------------------------- one case

def theirs(path, feeds):
    return model_check.Reference(path).run(feeds)


def by_definition(path, feeds):
    """The outputs of ONNX's reference evaluator, or None if it fails."""
    from onnx.reference import ReferenceEvaluator
    try:
        session = ReferenceEvaluator(path)
        return {n: np.asarray(v) for n, v in zip(session.output_names, session.run(None, feeds))}
    except Exception:
        return None


def described(ours, expected):
    for name, e in expected.items():
        o = ours[name]
        if o.shape != e.shape:
            return f"shape {o.shape} for {e.shape}"
        wrong = ~np.isclose(o, e, rtol=1e-4, atol=1e-4, equal_nan=True)
        if wrong.any():
            at = tuple(int(i[0]) for i in np.nonzero(wrong))
            return f"{name}{list(at)} = {o[at]} for {e[at]} ({wrong.sum()} of {wrong.size})"
    return "types or names"


class Checker:
    def __init__(self, arguments, folder):
        self.arguments, self.folder = arguments, folder
        self.workers, self.onnxruntime = [Server(side) for side in SIDES], Server()

    def close(self):
        for worker in (*self.workers, self.onnxruntime):
            worker.close()

    def expected(self, path, feeds):
        """The outputs of onnxruntime, or None if it rejects the model or crashes."""
        outputs = f"{path}.npz"
        if self.onnxruntime.run(path, feeds, outputs) != "done":
            return None
        arrays = dict(np.load(outputs))
        os.remove(outputs)
        return arrays

    def check(self, number):
        """Returns (outcome, name, text). `number` is the number of a random case, or a case"""
        drawn = isinstance(number, int)
        case = window_models.make(self.arguments.seed, number, self.arguments.kinds) if drawn else number
        stem = os.path.join(self.folder, case.name)
        path, feeds, artifact = stem + ".onnx", stem + ".npz", stem + ".gart"
        onnx.save(case.model, path)
        np.savez(feeds, **case.feeds)
        expected = self.expected(path, feeds)
        what, words = self.run(path, feeds, artifact, case, expected)
        if what not in FAILURES and not self.arguments.keep:
            for file in (path, feeds, artifact):
                if os.path.exists(file):
                    os.remove(file)
        return what, case.name, words

    def run(self, path, feeds, artifact, case, expected):
        try:
            model_check.compile_model(path, artifact, "--target", TARGETS, "--threads", "1")
        except RuntimeError as e:
            words = " ".join(str(e).split())
            if "internal" in words or "ended with status" in words:
                return "dies", words
            return ("refused", words) if expected is not None else ("refused by both", words)
        outcomes = set()
        for target in model_check.targets_here(artifact):
            for side, worker in zip(SIDES, self.workers):
                outputs = f"{artifact}.{side}.npz"
                answer = worker.run(artifact, target, feeds, outputs)
                where = f"({target}, a page that faults {side})"
                if answer.startswith("dies"):
                    return "dies", f"{answer} {where}"
                if answer != "done":
                    return ("refused", f"{answer} {where}") if expected is not None else ("refused by both", answer)
                ours = dict(np.load(outputs))
                os.remove(outputs)
                outcome, words = self.compare(path, case, ours, expected)
                if outcome in FAILURES:
                    return outcome, f"{words} {where}"
                outcomes.add(outcome)
        return min(outcomes, default="compiled"), ""

    @staticmethod
    def compare(path, case, ours, expected):
        if expected is not None and model_check.relative_error(ours, expected) <= TOLERANCE:
            return "as onnxruntime", ""
        definition = by_definition(path, case.feeds)
        # Each output may agree with either engine. For a window entirely in the padding, onnxruntime's maximum is the
        # lowest number, and the reference's index is -1.
        if definition is not None and all(agrees(ours, expected, k) or agrees(ours, definition, k) for k in ours):
            return "as ONNX's reference", ""
        if expected is None:
            return "runs without an oracle", ""
        return "differs", described(ours, expected)


# ---------------------------------------------------------------- all cases

def kept_cases(folder):
    for path in sorted(glob.glob(os.path.join(folder, "*.onnx"))):
        feeds = dict(np.load(os.path.splitext(path)[0] + ".npz"))
        yield window_models.Case(os.path.splitext(os.path.basename(path))[0], onnx.load(path), feeds, {})



def check_part(arguments, folder, numbers):
    checker = Checker(arguments, folder)
    try:
        return [checker.check(n) for n in numbers]
    finally:
        checker.close()


def main():
    p = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    p.add_argument("--seed", type=int, default=1)
    p.add_argument("--first", type=int, default=0)
    p.add_argument("--count", type=int, default=100)
    p.add_argument("--kinds", type=lambda text: text.split(","))
    p.add_argument("--far", action="store_true", help="before them the cases that are always the same")
    models = os.environ.get("GCC_GRAPH_MODELS") or os.path.join(model_check.ROOT, "..", "shared", "models")
    p.add_argument("--kept", nargs="?", const=os.path.join(models, "..", "findings", "windows"), metavar="DIR")
    p.add_argument("--jobs", type=int, default=2)
    p.add_argument("--keep", help="a folder for models and artifacts (default: a temporary one)")
    p.add_argument("--serve", choices=("guarded", "onnxruntime"), help=argparse.SUPPRESS)
    a = p.parse_args()
    if a.serve:
        return serve(run_guarded if a.serve == "guarded" else theirs)
    kept = list(kept_cases(a.kept)) if a.kept else []
    if a.kept and not kept:
        print(f"SKIP: no models in {a.kept}")
        return model_check.SKIP
    counts = collections.Counter()
    with tempfile.TemporaryDirectory(prefix="gcc-graph-windows-") as scratch, \
            concurrent.futures.ThreadPoolExecutor(a.jobs) as pool:
        folder = a.keep or scratch
        os.makedirs(folder, exist_ok=True)
        numbers = kept or [*(window_models.far_cases() if a.far else ()), *range(a.first, a.first + a.count)]
        for part in [pool.submit(check_part, a, folder, numbers[j::a.jobs]) for j in range(a.jobs)]:
            for what, name, words in part.result():
                counts[what] += 1
                if what in FAILURES:
                    print(f"{what:8} {name:20} {words}")
    print(f"{'kept' if kept else f'seed {a.seed}'}, {len(numbers)} models: " + ", ".join(f"{n} {what}" for what, n in counts.most_common()))
    return 1 if any(counts[f] for f in FAILURES) or counts["compiled"] else 0


if __name__ == "__main__":
    sys.exit(main())
