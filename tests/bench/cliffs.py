#!/usr/bin/env python3
"""Finds cliffs: tests every distinct node of real graphs, and of a table, as a one-node model against onnxruntime.

  cliffs.py [--zoo NAME,..] [--forms f32,f16,qdq,qoperator,dynamic] [--no-table] [--only PATTERN] [--skip PATTERN] [--sample N]
            [--budget S] [--made FOLDER] [--json F] [--results F] [--extents leading,open,late] [--random N --seed S]

The whole zoo takes hours. With --json an interrupted run (by --budget or otherwise) continues; --made keeps the models.

Each row's model is compiled with its dims open and with its dims fixed. Both run in turns with onnxruntime in one
process, on 1 thread: once if ours is twice as fast, more often if it seems slower. The ratio is onnxruntime's time over
ours; the worse of the two ratios counts. --extents: rows of the table have their leading extent open ("table/"), every
extent open ("open/"), or run-bound extents ("late/"). --random replaces the table by rows of random operators and
shapes; each row has one of these forms.
These fail: a wrong result, a refusal, a diagnostic that a kernel does more work than its nodes, and a row over 20 us
under 0.8x. The end of the output lists the rows under 1x, worst first, with the time that they cost, their share of all
rows, and ratios by operator.

The zoo is in shared/models beside the repository, or in $GCC_GRAPH_MODELS. Without it, only the table is tested. f16
needs onnxconverter-common. onnxruntime's own tools make the quantised forms, with random calibration data.
"""
import argparse
import fnmatch
import importlib
import json
import os
import subprocess
import sys
import tempfile
import time

import numpy as np
import onnx

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.join(HERE, "..", "..")
sys.path[:0] = [HERE, os.path.join(ROOT, "tests", "models"), os.path.join(ROOT, "tools", "python")]

import cliff_random
import cliff_table
from apart import run_apart
from model_check import TOLERANCE, relative_error, tool
from one_node import all_open, found_late, rows_of_model

BAR, LONG_US, SHARE = 0.8, 20.0, 0.03
LARGEST = 300 << 20      # size in bytes of a model whose values are all recorded
LIMIT_S = 60             # time limit of one row
AHEAD = 2                # measuring stops once ours is this many times as fast as onnxruntime in one round
SAVE_S = 20              # time between two writes of the results
REASONS = json.load(open(os.path.join(HERE, "cliff_reasons.json")))  # {pattern of rows: why they may be under 1x}


# ---------------------------------------------------------------- rows

def float16(model):
    from onnxconverter_common import float16 as converter
    halves = onnx.ModelProto()
    halves.CopyFrom(model)  # the converter modifies its argument
    return converter.convert_float_to_float16(halves, disable_shape_infer=True)


def quantised(variant, model, feeds):
    from onnxruntime import quantization as q

    class Calibration(q.CalibrationDataReader):
        def __init__(self):
            self.left = [feeds]

        def get_next(self):
            return self.left.pop() if self.left else None

    with tempfile.TemporaryDirectory() as folder:
        source, target = os.path.join(folder, "a.onnx"), os.path.join(folder, "b.onnx")
        onnx.save(model, source)
        if variant == "dynamic":
            q.quantize_dynamic(source, target, weight_type=q.QuantType.QInt8)
        else:
            q.quantize_static(source, target, Calibration(), quant_format=q.QuantFormat.QDQ if variant == "qdq" else q.QuantFormat.QOperator,
                              per_channel=True, weight_type=q.QuantType.QInt8)
        return onnx.load(target)


def in_form(variant, model, feeds):
    """The model in the form that an exporter would have written, with its inputs. `feeds`: two sets of different sizes.
    """
    if variant == "f32":
        return model, *feeds
    if variant == "f16":
        halves = ({k: v.astype(np.float16) if v.dtype == np.float32 else v for k, v in f.items()} for f in feeds)
        return float16(model), *halves
    return quantised(variant, model, feeds[0]), *feeds


def zoo_rows(patterns, forms, folder, keep):
    models = os.environ.get("GCC_GRAPH_MODELS") or os.path.join(ROOT, "..", "shared", "models")
    home = os.path.join(models, "zoo")
    if not patterns:
        return
    if not os.path.isdir(home):
        print("SKIP: no zoo beside the repository; the table alone")
        return
    sys.path.insert(0, home)
    zoo = importlib.import_module("zoo")
    seen = set()
    for name, entry in zoo.load_zoo(home).items():
        if not any(fnmatch.fnmatch(name, p) for p in patterns) or entry["bytes"] > LARGEST:
            continue
        zoo.materialise(home, name, folder)
        path = os.path.join(folder, name + ".onnx")
        original = onnx.load(path)
        feeds = zoo.make_inputs(entry, 0), zoo.make_inputs(entry, 1)
        sizes = {s: (entry["sizes"][0][s], entry["sizes"][1][s]) for s in entry["sizes"][0]}
        for variant in forms:
            try:
                yield from rows_of_model(f"{variant} {name}", *in_form(variant, original, feeds), sizes, seen)
            except Exception as e:  # the converter fails for this model, or onnxruntime refuses its result
                print(f"-- {variant} {name}: left out, {type(e).__name__}: {str(e).splitlines()[0][:120]}", flush=True)
        if not keep:
            os.remove(path)


FORMS = {"leading": lambda row: row, "open": all_open, "late": found_late}


def table_rows(extents):
    """The table's rows in each of these forms."""
    for name in extents:
        yield from map(FORMS[name], cliff_table.rows())


def random_rows(extents, seed, count):
    """Random rows, each in one of these forms in turn."""
    for number, row in enumerate(cliff_random.rows(seed, count)):
        yield FORMS[extents[number % len(extents)]](row)


# ---------------------------------------------------------------- one row

def time_in_turns(calls, rounds, seconds):
    """The smallest time of each call per round, in seconds."""
    minima = [[] for _ in calls]
    for call in calls:
        call()
    for _ in range(rounds):
        for call, best in zip(calls, minima):
            low, end = float("inf"), time.perf_counter() + seconds
            while True:
                begin = time.perf_counter()
                call()
                now = time.perf_counter()
                low = min(low, now - begin)
                if now > end:
                    break
            best.append(low)
    return minima


def open_onnxruntime(path, feeds):
    import onnxruntime as ort
    options = ort.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.log_severity_level = 4
    session = ort.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    binding = session.io_binding()
    for name, array in feeds.items():
        binding.bind_ortvalue_input(name, ort.OrtValue.ortvalue_from_numpy(array))
    names = [o.name for o in session.get_outputs()]
    for name in names:
        binding.bind_output(name)
    session.run_with_iobinding(binding)
    return lambda: session.run_with_iobinding(binding), dict(zip(names, (v.numpy() for v in binding.get_outputs())))


def compile_form(path, artifact):
    """Compiles the model; returns the diagnostics that a kernel does more work than its nodes."""
    done = subprocess.run([tool(), "compile", path, "-o", artifact], capture_output=True, text=True, timeout=LIMIT_S)
    if done.returncode != 0:
        raise RuntimeError(done.stderr.strip().splitlines()[-1] if done.stderr.strip() else f"status {done.returncode}")
    return [line for line in (done.stdout + done.stderr).splitlines() if "times the work" in line]


def as_steps(outputs):
    """Converts 8-bit results to numbers. They may differ by one step, because a sum near a half may round either way.
    """
    return {n: v.astype(np.float32) if v.dtype in (np.int8, np.uint8) else v for n, v in outputs.items()}


def measure(row, folder):
    """{"ort_us", "open_us", "fixed_us", "error", "remarks"}, or {"failed": reason}."""
    import gart
    forms, calls, remarks = [], [], []
    for variant in ("open", "fixed"):
        model = row.variant(variant == "open")
        if variant == "fixed" and forms and not any(row.open_dims.values()):
            continue
        path, artifact = (os.path.join(folder, f"{variant}.{kind}") for kind in ("onnx", "gart"))
        onnx.save(model, path)
        remarks += compile_form(path, artifact)
        loaded = gart.load(artifact, threads=1)
        loaded.set_inputs(row.inputs(variant == "open"))
        loaded.run_bound()
        forms.append((variant, loaded))
        calls.append(loaded.run_bound)
    try:
        ort_call, expected = open_onnxruntime(path, row.inputs(variant == "open"))
    except Exception as e:
        return {"no_oracle": str(e).splitlines()[0][:160]}
    error = max(relative_error(as_steps({n: m.output(n) for n in m.outputs}), as_steps(expected)) for _, m in forms)
    rounds = time_in_turns([ort_call, *calls], rounds=1, seconds=0.01)
    for least, more in ((AHEAD, 4), (1, 15)):
        if min(rounds[0]) >= least * max(min(ours) for ours in rounds[1:]):
            break
        rounds = [a + b for a, b in zip(rounds, time_in_turns([ort_call, *calls], more, seconds=0.01))]
    ort = min(rounds[0])
    out = {"ort_us": ort * 1e6, "error": error, "remarks": remarks}
    for (variant, _), ours in zip(forms, rounds[1:]):
        out[f"{variant}_us"] = min(ours) * 1e6
    out["ratio"] = ort * 1e6 / max(out.get("open_us", 0), out.get("fixed_us", 0))
    return out


def measure_apart(row):
    with tempfile.TemporaryDirectory() as folder:
        return run_apart(measure, (row, folder), 3 * LIMIT_S)


# ---------------------------------------------------------------- report

def tolerance(name):
    """Largest accepted error. It is larger where onnxruntime rounds to few bits: values of the model's types and, for
    accuracy 4, the left operand of a product."""
    coarse = name.startswith(("f16", "qdq", "qoperator", "dynamic")) or "accuracy 4" in name
    return 2e-2 if coarse else TOLERANCE


def verdict(name, r):
    """The reason for a failure, or None."""
    if "failed" in r:
        return r["failed"]
    if not r["error"] <= tolerance(name):
        return f"error {r['error']:.1e}"
    if r["remarks"]:
        return r["remarks"][0]
    slow = max(r.get("open_us", 0), r.get("fixed_us", 0))
    return "cliff" if slow > LONG_US and r["ratio"] < BAR else None


def reason(name):
    return next((why for pattern, why in REASONS.items() if fnmatch.fnmatch(name, pattern)), None)


def report(results):
    timed = {n: r for n, r in results.items() if "ratio" in r}
    under = sorted((n for n in timed if timed[n]["ratio"] < 1), key=lambda n: timed[n]["ratio"])
    print(f"\n{'ratio':>7} {'ort us':>10} {'open us':>10} {'fixed us':>10}  rows under 1x, worst first")
    for n in under:
        r = timed[n]
        print(f"{r['ratio']:7.3f} {r['ort_us']:10.1f} {r.get('open_us', float('nan')):10.1f} {r.get('fixed_us', float('nan')):10.1f}  {n}  {reason(n) or ''}")
    by_op = {}
    for n, r in timed.items():
        by_op.setdefault(n.split("/")[1].split()[0], []).append(r["ratio"])
    print("\noperator: rows, worst, geometric mean")
    for op, ratios in sorted(by_op.items(), key=lambda o: min(o[1])):
        print(f"{op:24} {len(ratios):4} {min(ratios):8.3f} {np.exp(np.mean(np.log(ratios))):8.2f}")
    share = len(under) / max(1, len(timed))
    unexplained = [n for n in under if reason(n) is None and timed[n]["ort_us"] > LONG_US]
    print(f"\n{len(timed)} rows measured, {len(under)} under 1x ({100 * share:.1f} %), {len(unexplained)} of them over {LONG_US:.0f} us without a reason; "
          f"{sum('no_oracle' in r for r in results.values())} that onnxruntime refuses")
    return share


def processor():
    with open("/proc/cpuinfo") as f:
        return next((line.split(":", 1)[1].strip() for line in f if line.startswith("model name")), "unknown")


def write_results(path, results):
    """Writes the measurements, their date and the machine: one line a row, worst first."""
    import onnxruntime
    version = subprocess.run(["git", "-C", ROOT, "describe", "--always", "--dirty"], capture_output=True, text=True).stdout.strip()
    timed = sorted((n for n in results if "ratio" in results[n]), key=lambda n: results[n]["ratio"])
    with open(path, "w") as f:
        f.write(f"{time.strftime('%Y-%m-%d')}, {processor()}, 1 thread; gcc-graph {version}, onnxruntime {onnxruntime.__version__}\n"
                f"{len(timed)} rows, {sum(results[n]['ratio'] < 1 for n in timed)} under 1x; ratio: onnxruntime's time over ours\n\n"
                f"{'ratio':>8} {'ort us':>10} {'open us':>10} {'fixed us':>10}  row\n")
        for n in timed:
            r = results[n]
            times = " ".join(f"{r[k]:10.1f}" if k in r else f"{'-':>10}" for k in ("ort_us", "open_us", "fixed_us"))
            f.write(f"{r['ratio']:8.3f} {times}  {n}\n")


def save(path, results):
    with open(path + ".part", "w") as f:
        json.dump(results, f, indent=0)
    os.replace(path + ".part", path)


def matches(name, patterns):
    return any(fnmatch.fnmatch(name, pattern) for pattern in patterns.split(","))


def main():
    p = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    p.add_argument("--zoo", default="*", help="patterns of zoo models, by commas; '' for none")
    p.add_argument("--forms", default="f32,f16,qdq,qoperator,dynamic")
    p.add_argument("--no-table", action="store_true")
    p.add_argument("--extents", default="leading,open,late", help="forms of the table's rows")
    p.add_argument("--random", type=int, default=0, help="this many random rows instead of the table")
    p.add_argument("--seed", type=int, default=0, help="seed of the random rows")
    p.add_argument("--only", default="*", help="patterns of row names, by commas: '*Conv*'")
    p.add_argument("--skip", default="", help="patterns of row names that are left out")
    p.add_argument("--sample", type=int, help="only every so many-th row")
    p.add_argument("--budget", type=float, default=float("inf"), help="seconds after which no further row is measured")
    p.add_argument("--made", help="folder for models of the zoo, which are kept there")
    p.add_argument("--results", help="a text with date, processor, versions and every row is written here")
    p.add_argument("--json", help="results are added to this file, and rows that it has are not measured again")
    a = p.parse_args()
    results = json.load(open(a.json)) if a.json and os.path.exists(a.json) else {}
    failures, number, saved = 0, 0, 0
    work = a.made or tempfile.mkdtemp(prefix="gcc-graph-cliffs-")
    end = time.monotonic() + a.budget
    extents = a.extents.split(",")
    table = random_rows(extents, a.seed, a.random) if a.random else table_rows(extents)
    sources = [] if a.no_table else [table]
    sources.append(zoo_rows([s for s in a.zoo.split(",") if s], a.forms.split(","), work, a.made is not None))
    chosen = {}
    for row in (r for source in sources for r in source):
        if not matches(row.name, a.only) or matches(row.name, a.skip):
            continue
        number += 1
        if a.sample and number % a.sample:
            continue
        if row.name not in results:
            if time.monotonic() > end:
                print("the budget is spent", flush=True)
                break
            results[row.name] = measure_apart(row)
            if a.json and time.monotonic() > saved + SAVE_S:
                save(a.json, results)
                saved = time.monotonic()
        r = chosen[row.name] = results[row.name]
        bad = None if "no_oracle" in r else verdict(row.name, r)
        failures += bad is not None
        ratio = f"{r['ratio']:8.3f} {r['ort_us']:10.1f}" if "ratio" in r else f"{'-':>8} {'-':>10}"
        print(f"{ratio}  {row.name}{'  FAIL ' + bad if bad else ''}", flush=True)
    if a.json:
        save(a.json, results)
    share = report(chosen)
    if a.results:
        write_results(a.results, chosen)
    failures += share > SHARE
    print(f"{len(chosen) - failures} passed, {failures} failed")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
