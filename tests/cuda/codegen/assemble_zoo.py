#!/usr/bin/env python3
"""Assembles every kernel of models for GPUs; fails on a spill, a warning of ptxas about wgmma or setmaxnreg, or an error.

  assemble_zoo.py --tool assemble_models --small [NAME...]   models of tests/models/small_models.py, SMs in turns
  assemble_zoo.py --tool assemble_models [--targets T,...] [--models DIR] [--work DIR] [NAME...]
                                                             the trained models and the zoo, for every SM

Each model is compiled twice: with its symbols open, and with --dims at the first of the model's sizes. Kernels that
several models share are assembled once. Without NVRTC everything is skipped.
"""
import argparse
import importlib
import os
import shutil
import subprocess
import sys
import tempfile

ROOT = os.path.abspath(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", ".."))
for folder in (("tests", "models"), ("tools", "models"), ("tools", "python")):
    sys.path.insert(0, os.path.join(ROOT, *folder))

SAMPLE = ("sm_75", "sm_80", "sm_90a", "sm_120")
MORE = ("swin_t.ts",)  # its shifted windows are scatters and gathers
SKIP = 77


class Assembler:
    """A process of the tool, which assembles one model after the other for these targets."""

    def __init__(self, tool, cache, targets):
        self.process = subprocess.Popen([tool, "--cache", cache, targets, "-"], stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, text=True)

    def assemble(self, path, size):
        """Returns when the model's kernels are assembled. `size`: a value for every symbol, or None to leave the
        symbols open."""
        dims = ",".join(f"{name}={value}" for name, value in (size or {}).items())
        self.process.stdin.write(f"{path} {dims}\n")
        self.process.stdin.flush()
        self.show(until="= ")

    def show(self, until=None):
        for line in self.process.stdout:
            print(line, end="", flush=True)
            if until and line.startswith(until):
                return

    def finish(self):
        """Prints the tables. Returns the exit status."""
        self.process.stdin.close()
        self.show()
        return self.process.wait()


def small(a, work):
    import onnx
    import small_models
    assemblers, status = {}, 0
    for turn, name in enumerate(a.names or small_models.MODELS):
        make, _ = small_models.MODELS[name]
        path = os.path.join(work, name + ".onnx")
        onnx.save(make(), path)
        targets = a.targets or SAMPLE[turn % len(SAMPLE)]
        if targets not in assemblers:
            assemblers[targets] = Assembler(a.tool, a.cache, targets)
        assemblers[targets].assemble(path, None)
    for assembler in assemblers.values():
        status = max(status, assembler.finish())
    return status


def zoo(a, work):
    import check_zoo
    if not os.path.isdir(os.path.join(a.models, "zoo")):
        print("SKIP: no models")
        return SKIP
    sys.path.insert(0, os.path.join(a.models, "zoo"))
    maker = importlib.import_module("zoo")
    names = check_zoo.select(a.names or check_zoo.TRAINED + check_zoo.ARCHITECTURES + MORE, maker.load_zoo(os.path.dirname(maker.__file__)))
    assembler = Assembler(a.tool, a.cache, a.targets or "all")
    for name in names:
        case = check_zoo.make_case(name, a.models, maker, work)
        for size in [None, *case.sizes[:1]]:
            assembler.assemble(case.path, size)
        if isinstance(case, check_zoo.ZooModel) and not a.work:
            os.remove(case.path)
    return assembler.finish()


def main():
    p = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    p.add_argument("--tool", required=True)
    p.add_argument("--small", action="store_true")
    p.add_argument("--targets")
    p.add_argument("--cache", default="")
    p.add_argument("--models", default=os.environ.get("GCC_GRAPH_MODELS") or os.path.join(ROOT, "..", "shared", "models"))
    p.add_argument("--work", help="where models go and stay (default: a temporary folder)")
    p.add_argument("names", nargs="*")
    a = p.parse_args()
    if subprocess.run([a.tool, "--is-there-nvrtc"]).returncode != 0:
        print("SKIP: there is no NVRTC on this machine; pip install nvidia-cuda-nvrtc installs it")
        return SKIP
    work = a.work or tempfile.mkdtemp(prefix="gcc-graph-assembly-")
    os.makedirs(work, exist_ok=True)
    try:
        return (small if a.small else zoo)(a, work)
    finally:
        if not a.work:
            shutil.rmtree(work)


if __name__ == "__main__":
    sys.exit(main())
