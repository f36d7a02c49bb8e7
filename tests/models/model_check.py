"""For the model tests: compile with the command line tool, run with the Python binding, compare with onnxruntime."""
import json
import os
import subprocess
import sys

import numpy as np

ROOT = os.path.abspath(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", ".."))
sys.path.insert(0, os.path.join(ROOT, "tools", "python"))
sys.path.insert(0, os.path.join(ROOT, "tools", "models"))

TOLERANCE = 1e-3  # largest |ours - theirs| over an output, relative to the largest |theirs|
SKIP = 77         # exit status of a test that cannot run here


def tool():
    return os.environ.get("GCC_GRAPH") or os.path.join(ROOT, "build", "release", "bin", "gcc-graph")


def compile_model(model, artifact, *options):
    """Raises RuntimeError with the tool's message if the compilation fails."""
    done = subprocess.run([tool(), "compile", model, "-o", artifact, *options], capture_output=True, text=True)
    if done.returncode != 0:
        raise RuntimeError(done.stderr.strip() or f"gcc-graph ended with status {done.returncode}")
    return artifact


def compile_once(model, artifact, *options):
    """Compiles like compile_model, but only if the artifact is older than the model or the tool. Measurements in
    several processes compile beforehand. The same artifact name must always be used with the same options."""
    if not os.path.exists(artifact) or os.path.getmtime(artifact) < max(map(os.path.getmtime, (model, tool()))):
        compile_model(model, artifact, *options)
    return artifact


def dim_options(sizes):
    """Options --dim NAME=V,V for the values that each symbol has in these sizes."""
    values = {}
    for size in sizes:
        for name, value in size.items():
            known = values.setdefault(name, [])
            if value not in known:
                known.append(value)
    return [o for name, v in values.items() for o in ("--dim", f"{name}={','.join(map(str, v))}")]


def plans(artifact, *options):
    """The plans of an artifact, from `gcc-graph inspect --json`."""
    done = subprocess.run([tool(), "inspect", artifact, "--json", *options], capture_output=True, text=True, check=True)
    return [p for e in json.loads(done.stdout)["entry_points"] for p in e["plans"]]


def targets_here(artifact):
    """The targets of the artifact whose code this machine runs."""
    done = subprocess.run([tool(), "check", artifact], capture_output=True, text=True)
    return [line.split(":")[0] for line in done.stdout.splitlines() if ": runs here" in line]


class Reference:
    """onnxruntime on one thread."""

    def __init__(self, model):
        import onnxruntime as ort
        options = ort.SessionOptions()
        options.intra_op_num_threads = options.inter_op_num_threads = 1
        options.log_severity_level = 4
        self.session = ort.InferenceSession(model, options, providers=["CPUExecutionProvider"])
        self.outputs = [o.name for o in self.session.get_outputs()]

    def run(self, feeds):
        return dict(zip(self.outputs, self.session.run(None, feeds)))


def relative_error(ours, theirs):
    """The largest error over the outputs; infinite if names, dtypes, shapes, integers or the positions of NaN differ."""
    if set(ours) != set(theirs):
        return float("inf")
    worst = 0.0
    for name, expected in theirs.items():
        got = ours[name]
        if got.dtype != expected.dtype or got.shape != expected.shape:
            return float("inf")
        if not expected.size:
            continue
        if expected.dtype.kind != "f":
            worst = max(worst, 0.0 if np.array_equal(got, expected) else float("inf"))
            continue
        a, b = got.astype(np.float64), expected.astype(np.float64)
        settled = (a == b) | (np.isnan(a) & np.isnan(b))
        if settled.all():
            continue
        scale = np.abs(b[np.isfinite(b)]).max(initial=0.0)
        error = float(np.abs(a - b)[~settled].max() / max(scale, 1e-30))
        worst = max(worst, error if np.isfinite(error) else float("inf"))
    return worst


def check_each(names, check):
    """Prints a row for each name. check(name) returns the error, or the error and a text. Returns the exit status."""
    failed = 0
    for name in names:
        try:
            result = check(name)
            error, words = result if isinstance(result, tuple) else (result, "")
            bad, text = not error <= TOLERANCE, f"{error:9.1e}  {words}".rstrip()
        except Exception as e:  # after any exception, the other checks still run
            bad, text = True, f"{type(e).__name__}: {e}"
        print(f"{name:20} {text}{'  FAIL' if bad else ''}", flush=True)
        failed += bad
    print(f"{len(names) - failed} passed, {failed} failed")
    return 1 if failed else 0
