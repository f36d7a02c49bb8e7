#!/usr/bin/env python3
"""Compares trained models and the model zoo with onnxruntime: symbols left open, and fixed by --dim.

  check_zoo.py [--models DIR] [--work DIR] [--threads N] [--target T] [--keep] [NAME...]

DIR holds silero_vad/, face_detector/ and zoo/ (default: shared/models beside the repository, or GCC_GRAPH_MODELS);
without it the check is skipped. NAME is silero_vad, face_detector, a zoo model (minilm_l6.ts), an architecture
(minilm_l6: both exports) or @fast; without NAME all are checked. Every output must have a relative error <= 1e-3 at two sizes. Some models choose among near ties, so that onnxruntime differs from itself (`ort_diff` of the zoo); for these only the best scores are compared.
"""
import argparse
import importlib
import os
import shutil
import sys
import tempfile
import time

import numpy as np

from model_check import ROOT, SKIP, TOLERANCE, Reference, compile_model, dim_options, relative_error

TRAINED = ("silero_vad", "face_detector")
FAST = TRAINED + ("mlp", "squeezenet1_1", "minilm_l6")


def silero_steps(rate, samples, count=4):
    """Inputs of successive calls. `state` is for the first call; later calls get the previous call's stateN."""
    random = np.random.Generator(np.random.PCG64(rate))
    for step in range(count):
        feeds = {"input": (0.3 * random.standard_normal((1, samples))).astype(np.float32), "sr": np.array(rate, np.int64)}
        if step == 0:
            feeds["state"] = np.zeros((2, 1, 128), np.float32)
        yield feeds


class SileroVad:
    """Checks a recurrent model at both sampling rates; each engine gets its own state back."""

    def __init__(self, models):
        self.path = os.path.join(models, "silero_vad", "silero_vad.onnx")
        self.sizes = ({"input_dim0": 1, "input_dim1": 512, "state_dim1": 1},
                      {"input_dim0": 1, "input_dim1": 256, "state_dim1": 1})

    def check(self, model, reference):
        return [max(self.errors(model, reference, rate, samples)) for rate, samples in ((16000, 512), (8000, 256))]

    @staticmethod
    def errors(model, reference, rate, samples):
        ours = theirs = {}
        for feeds in silero_steps(rate, samples):
            ours = model.run({"state": ours.get("stateN"), **feeds})
            theirs = reference.run({"state": theirs.get("stateN"), **feeds})
            yield relative_error(ours, theirs)


class FaceDetector:
    """Checks a model without symbols, with two seeds instead of two sizes."""

    sizes = ()

    def __init__(self, models):
        self.path = os.path.join(models, "face_detector", "version-RFB-320.onnx")

    def check(self, model, reference):
        images = (np.random.Generator(np.random.PCG64(s)).standard_normal((1, 3, 240, 320), np.float32) for s in (1, 2))
        return [relative_error(model.run({"input": i}), reference.run({"input": i})) for i in images]


def score_error(ours, theirs):
    """The error of a detector: the largest relative difference of the sorted scores (its float vectors). Infinite if
    the numbers of detections differ by more than a twentieth."""
    worst = 0.0
    for name, expected in theirs.items():
        if expected.dtype.kind != "f" or expected.ndim != 1:
            continue
        got, count = ours[name], len(expected)
        if abs(len(got) - count) > count / 20:
            return float("inf")
        count = min(len(got), count)
        best = np.sort(got)[::-1][:count], np.sort(expected)[::-1][:count]
        worst = max(worst, float(np.max(np.abs(best[0] - best[1]), initial=0) / np.max(np.abs(best[1]), initial=1e-30)))
    return worst


class ZooModel:
    def __init__(self, zoo, entry, folder):
        self.zoo, self.entry, self.sizes = zoo, entry, entry["sizes"][:2]
        self.error = score_error if entry["ort_diff"] > 0.1 else relative_error
        self.path = os.path.join(folder, entry["name"] + ".onnx")
        zoo.materialise(os.path.dirname(zoo.__file__), entry["name"], folder)

    def check(self, model, reference):
        feeds = (self.zoo.make_inputs(self.entry, i) for i in range(len(self.sizes)))
        return [self.error(model.run(f), reference.run(f)) for f in feeds]


def select(names, zoo_models):
    """The full names of the requested models."""
    names = [n for name in names or (*TRAINED, *zoo_models) for n in (FAST if name == "@fast" else (name,))]
    chosen = []
    for name in names:
        hits = [n for n in (*TRAINED, *zoo_models) if n == name or n.rsplit(".", 1)[0] == name]
        if not hits:
            sys.exit(f"check_zoo: there is no model {name!r}")
        chosen += [n for n in hits if n not in chosen]
    return chosen


def check_forms(name, case, work, threads, target):
    """One row with open and one with fixed symbols. Returns the number of failures."""
    import gart
    reference = Reference(case.path)
    forms = [("open", [])] + ([("--dim", dim_options(case.sizes))] if case.sizes else [])
    failures = 0
    for form, options in forms:
        artifact = os.path.join(work, name + ".gart")
        begin = time.perf_counter()
        try:
            compile_model(case.path, artifact, *options)
            seconds = time.perf_counter() - begin
            errors = case.check(gart.load(artifact, threads=threads, target=target), reference)
            bad = not max(errors) <= TOLERANCE
            text = f"{seconds:9.1f}  {'  '.join(f'{e:8.1e}' for e in errors)}"
        except (RuntimeError, OSError) as e:
            bad, text = True, f"{'':9}  {e}"
        finally:
            if os.path.exists(artifact):
                os.remove(artifact)
        print(f"{name:24} {form:6} {text}{'  FAIL' if bad else ''}", flush=True)
        failures += bad
    return failures, len(forms)


def make_case(name, models, zoo, work):
    if name == "silero_vad":
        return SileroVad(models)
    if name == "face_detector":
        return FaceDetector(models)
    return ZooModel(zoo, zoo.load_zoo(os.path.dirname(zoo.__file__))[name], work)


def main():
    p = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    p.add_argument("--models", default=os.environ.get("GCC_GRAPH_MODELS") or os.path.join(ROOT, "..", "shared", "models"))
    p.add_argument("--work", help="where materialised models go (default: a temporary folder)")
    p.add_argument("--threads", type=int, default=0)
    p.add_argument("--target")
    p.add_argument("--keep", action="store_true", help="keep the materialised models")
    p.add_argument("names", nargs="*")
    a = p.parse_args()
    if not os.path.isdir(os.path.join(a.models, "zoo")):
        print(f"SKIP: no models in {os.path.relpath(a.models, ROOT)}")
        return SKIP
    sys.path.insert(0, os.path.join(a.models, "zoo"))
    zoo = importlib.import_module("zoo")  # the maker beside its models
    work = a.work or tempfile.mkdtemp(prefix="gcc-graph-zoo-")
    os.makedirs(work, exist_ok=True)
    passed = failed = 0
    print(f"{'model':24} {'dims':6} compile s  relative error at each size")
    for name in select(a.names, zoo.load_zoo(os.path.dirname(zoo.__file__))):
        case = make_case(name, a.models, zoo, work)
        bad, rows = check_forms(name, case, work, a.threads, a.target)
        failed, passed = failed + bad, passed + rows - bad
        if isinstance(case, ZooModel) and not a.keep:
            os.remove(case.path)
    if not a.work:
        shutil.rmtree(work)
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
