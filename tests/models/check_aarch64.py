#!/usr/bin/env python3
"""Models on aarch64, which qemu-user emulates: the cross-built gart-run gives onnxruntime's results, at every level of the target.

  check_aarch64.py BUILD [MODEL...]      BUILD: the folder of the preset aarch64; MODEL: of small_models.py, or FILE.onnx[:NAME=VALUE...]
"""
import os
import shutil
import subprocess
import sys
import tempfile
import time

import numpy as np
import onnx

import check_quantized
import small_models
from model_check import SKIP, Reference, compile_model, relative_error, tool

SYSTEM = "/usr/aarch64-linux-gnu"
# CPUs of qemu, and the target that each one runs: only NEON, with dot products, and with all features that qemu
# emulates.
LEVELS = {"cortex-a72": "aarch64", "neoverse-n1": "aarch64-dotprod", "max": "aarch64-i8mm"}
TARGETS = ",".join(LEVELS.values())
QUANTIZED = ("mlp", "mini_resnet")
SAMPLE = ("mini_mobilenet", "mini_bert", "mini_gpt_step", "branches", "scan", "integers", "shape_chains")


def missing():
    needed = {"qemu-aarch64-static": "qemu-user-static", "aarch64-linux-gnu-g++": "g++-aarch64-linux-gnu"}
    packages = [package for program, package in needed.items() if not shutil.which(program)]
    return f"the package {' and '.join(packages)} is not installed" if packages else ""


class Emulator:
    def __init__(self, build, folder):
        self.program, self.folder = os.path.join(build, "bin", "gart-run"), folder
        self.libraries = os.path.join(build, "lib")

    def __call__(self, cpu, *arguments):
        command = ["qemu-aarch64-static", "-cpu", cpu, "-L", SYSTEM, "-E", f"LD_LIBRARY_PATH={self.libraries}", self.program, *arguments]
        done = subprocess.run(command, cwd=self.folder, capture_output=True, text=True)
        if done.returncode != 0:
            raise RuntimeError(f"gart-run {' '.join(arguments)} on {cpu} ended with {done.returncode}: {done.stdout}{done.stderr}")
        return done.stdout

    def outputs(self, cpu, artifact, feeds, names):
        options = []
        for i, (name, array) in enumerate(feeds.items()):
            np.save(os.path.join(self.folder, f"in{i}.npy"), array)
            options += ["--input", f"{name}=in{i}.npy"]
        out = os.path.join(self.folder, "outputs")
        self(cpu, "run", artifact, *options, "--outputs", out, "--threads", "1")
        return {name: np.load(os.path.join(out, name.replace("/", "_") + ".npy")) for name in names}


def check_outputs(emulator, name, path, artifact, feeds, tolerance):
    """Compares all levels with onnxruntime. Returns the problems."""
    reference = Reference(path)
    expected = reference.run(feeds)
    problems, told = [], []
    for cpu, target in LEVELS.items():
        if f"code for {target}\n" not in emulator(cpu, "check", artifact):
            problems.append(f"{name}: {cpu} does not run {target}")
        error = relative_error(emulator.outputs(cpu, artifact, feeds, reference.outputs), expected)
        told.append(f"{target} {error:.1e}")
        if not error <= tolerance:
            problems.append(f"{name}: error {error:.1e} on {cpu}, tolerance {tolerance:.0e}")
    print(f"{'FAIL' if problems else 'ok  '} {name}: {', '.join(told)}", flush=True)
    return problems


def lacking_instructions(path):
    """An instruction that is missing in the code for a target; empty if none is missing."""
    for target, instruction in {"aarch64-dotprod": "sdot", "aarch64-i8mm": "usdot"}.items():
        done = subprocess.run([tool(), "compile", path, "-o", os.devnull, "--target", target, "--print-code"], capture_output=True, text=True)
        if f"\t{instruction}\t" not in done.stdout:
            return f"{instruction} for {target}"
    return ""


def check_small(emulator, name, quantized):
    make, sizes = small_models.MODELS[name]
    model = make()
    source, path = (os.path.join(emulator.folder, f) for f in ("source.onnx", "model.onnx"))
    onnx.save(model, source)
    if quantized:
        check_quantized.quantize(source, model, sizes[0], path, **check_quantized.STATIC["QDQ"])
    else:
        shutil.copy(source, path)
    artifact = compile_model(path, os.path.join(emulator.folder, "model.gart"), "--target", TARGETS)
    if quantized and (lacking := lacking_instructions(path)):
        return [f"{name} in bytes: no {lacking}"]
    feeds = small_models.make_feeds(model, sizes[0])
    # For bytes, a value of a hidden layer may differ by one quantum.
    tolerance = check_quantized.TOLERANCE if quantized else 1e-4
    return check_outputs(emulator, name + (" in bytes" if quantized else ""), path, artifact, feeds, tolerance)


def check_file(emulator, path, *options):
    """Checks a model whose golden vectors this machine's CPU has computed with other code."""
    artifact = compile_model(path, os.path.join(emulator.folder, "model.gart"), "--target", TARGETS, "--golden", *options)
    problems = []
    for cpu in LEVELS:
        begin = time.time()
        try:
            text = emulator(cpu, "check", artifact, "--run", "--threads", "1")
        except RuntimeError as error:
            problems.append(str(error))
            continue
        errors = [line for line in text.splitlines() if ": ok" in line]
        print(f"ok   {os.path.basename(path)} on {cpu}, {time.time() - begin:.1f} s: {'; '.join(errors)}", flush=True)
    return problems


def check_golden_finds_errors(emulator):
    """Checks with a tolerance that is too small for sums in another order; the check must fail."""
    try:
        emulator("max", "check", os.path.join(emulator.folder, "model.gart"), "--run", "--rtol", "1e-12", "--atol", "1e-12")
    except RuntimeError as error:
        return [] if "ended with 3" in str(error) and "FAIL" in str(error) else [str(error)]
    return ["golden vectors agree to the last bit, which no other code would give"]


def main():
    build, names = sys.argv[1], sys.argv[2:]
    if reason := missing():
        print(f"SKIP: {reason}")
        return SKIP
    problems = []
    with tempfile.TemporaryDirectory() as folder:
        emulator = Emulator(build, folder)
        for name in [n for n in names if n not in small_models.MODELS]:
            path, *dims = name.split(":")
            problems += check_file(emulator, os.path.abspath(path), *(word for dim in dims for word in ("--dim", dim)))
        for name in [n for n in names if n in small_models.MODELS] if names else SAMPLE:
            problems += check_small(emulator, name, quantized=False)
        for name in [] if names else QUANTIZED:
            problems += check_small(emulator, name, quantized=True)
        if not names:
            onnx.save(small_models.MODELS["mlp"][0](), os.path.join(folder, "golden.onnx"))
            problems += check_file(emulator, os.path.join(folder, "golden.onnx"))
            problems += check_golden_finds_errors(emulator)
    print("\n".join(problems))
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
