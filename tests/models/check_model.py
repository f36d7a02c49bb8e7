#!/usr/bin/env python3
"""Generates small models, compiles them and compares them with onnxruntime.

  check_model.py [--keep DIR] [NAME...]        NAME: of small_models.py (default: all)

Each model is compiled with its symbols left open and with --dim. It runs at two sizes, with one and two threads, for
every target that this machine has. All outputs must have a relative error <= 1e-3. The same model and options must give
the same bytes, whatever the number of compile threads. Prints the arena's size against its lower bound.
"""
import argparse
import os
import sys
import tempfile

import onnx

import model_check
from model_check import TOLERANCE, Reference, compile_model, dim_options, relative_error
import small_models

TARGETS = "x86-64-v3,x86-64-v4"


def content(path):
    with open(path, "rb") as f:
        return f.read()


def arena_ratio(artifact):
    """The largest ratio of arena to lower bound over the static plans; None if there is no static plan."""
    ratios = [p["arena_bytes"] / p["arena_lower_bound_bytes"] for p in model_check.plans(artifact)
              if p["arena_lower_bound_bytes"] > 0]
    return max(ratios, default=None)


def worst_error(artifact, reference, cases):
    """The largest error over targets, threads and sizes. `cases`: (feeds, expected outputs)."""
    import gart
    worst = 0.0
    targets = model_check.targets_here(artifact)
    if not targets:
        raise RuntimeError("no code in the artifact runs here")
    for target in targets:
        for threads in (1, 2):
            model = gart.load(artifact, threads=threads, target=target)
            for feeds, expected in cases:
                worst = max(worst, relative_error(model.run(feeds), expected))
    return worst, targets


def check(name, folder):
    """Prints one row with open and one with fixed dims. Returns the number of failures."""
    make, sizes = small_models.MODELS[name]
    model, path = make(), os.path.join(folder, name + ".onnx")
    onnx.save(model, path)
    reference = Reference(path)
    cases = [(feeds, reference.run(feeds)) for feeds in (small_models.make_feeds(model, size, seed)
                                                         for seed, size in enumerate(sizes + sizes[:1]))]
    failures = 0
    for form, options in (("open", []), ("--dim", dim_options(sizes))):
        artifact = os.path.join(folder, f"{name}.{form.strip('-')}.gart")
        try:
            compile_model(path, artifact, "--target", TARGETS, "--threads", "1", *options)
            again = compile_model(path, artifact + ".again", "--target", TARGETS, "--threads", "2", *options)
            same = content(artifact) == content(again)
            error, targets = worst_error(artifact, reference, cases)
            ratio = arena_ratio(artifact)
            text = f"{error:9.1e}  {'same bytes' if same else 'OTHER BYTES':11} " \
                   f"{'-' if ratio is None else f'{ratio:.3f}':>7}  {','.join(targets)}"
            bad = not error <= TOLERANCE or not same
        except RuntimeError as e:
            bad, text = True, str(e)
        print(f"{name:18} {form:6} {text}{'  FAIL' if bad else ''}", flush=True)
        failures += bad
    return failures


def main():
    p = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    p.add_argument("--keep", help="a folder for the models and artifacts (default: a temporary one)")
    p.add_argument("names", nargs="*")
    a = p.parse_args()
    unknown = set(a.names) - set(small_models.MODELS)
    if unknown:
        sys.exit(f"check_model: there is no model {', '.join(sorted(unknown))}")
    print(f"{'model':18} {'dims':6} {'error':>9}  {'twice':11} {'arena/bound':>7}  targets")
    failed = 0
    with tempfile.TemporaryDirectory(prefix="gcc-graph-models-") as scratch:
        folder = a.keep or scratch
        os.makedirs(folder, exist_ok=True)
        for name in a.names or small_models.MODELS:
            failed += check(name, folder)
    print("all passed" if not failed else f"{failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
