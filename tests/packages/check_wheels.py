#!/usr/bin/env python3
"""Runs `pip install tools/python` in a new virtual environment. The wheel must be small, have type stubs, and load, call and (with $GCC_GRAPH) compile models.
check_wheels.py [WHEEL...] tests these wheels instead; if the wheel of gcc-graph is among them, $GCC_GRAPH is not used
"""
import glob
import os
import subprocess
import sys
import tempfile
import zipfile

TREE = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
LIMITS = {"gart": 1_500_000, "gcc_graph": 60_000_000}  # bytes
USE = """
import gart, numpy as np, os, sys
assert gart.__file__.startswith(sys.prefix), gart.__file__
artifact = gart.compile(sys.argv[1], target="x86-64-v3")
x = np.arange(6, dtype=np.float32).reshape(3, 2)
np.testing.assert_array_equal(gart.load(artifact, device="cpu")(x), 2 * x)
import gart.fleet
try:
    gart.fleet.load(sys.argv[1])
except gart.GartError as error:
    print(error)
print(gart.__version__, os.path.relpath(gart._lib._name, sys.prefix))
"""
USE_LAZY = "import gart.lazy as gl; assert (gl.array([1, 2.]) * 3).numpy().tolist() == [3, 6]; print('lazy')"
MAKE = """
import onnx
from onnx import parser
onnx.save(parser.parse_model('<ir_version: 8, opset_import: ["": 17]> m (float[n, 2] x) => (float[n, 2] y) { y = Add(x, x) }'), "model.onnx")
"""


def ran(*command, **more):
    done = subprocess.run(command, capture_output=True, text=True, timeout=3000, **more)
    assert done.returncode == 0, f"{' '.join(command)}\n{done.stdout}{done.stderr}"
    return done.stdout


def check_wheel(path):
    package = os.path.basename(path).split("-")[0]
    with zipfile.ZipFile(path) as file:
        names = file.namelist()
    assert f"{package}/py.typed" in names and not [n for n in names if "/share/" in n or "/include/" in n], names
    assert "-py3-none-" in path and os.path.getsize(path) < LIMITS[package], f"{path} has {os.path.getsize(path)} bytes"
    print(f"{os.path.basename(path)}: {os.path.getsize(path)} bytes")


with tempfile.TemporaryDirectory() as folder:
    wheels = [os.path.abspath(path) for path in sys.argv[1:]]
    env = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "GART_LIBRARY", "LD_LIBRARY_PATH")}
    if len(wheels) > 1:
        env.pop("GCC_GRAPH", None)
    ran(sys.executable, "-c", MAKE, cwd=folder)
    ran(sys.executable, "-m", "venv", "new", cwd=folder)
    python = os.path.join(folder, "new", "bin", "python")
    if not wheels:
        ran(python, "-m", "pip", "wheel", "-q", "--no-deps", "-w", folder, os.path.join(TREE, "tools", "python"), env=env)
        wheels = glob.glob(os.path.join(folder, "*.whl"))
    for wheel in wheels:
        check_wheel(wheel)
    ran(python, "-m", "pip", "install", "-q", *wheels, env=env)
    print(ran(python, "-c", USE, "model.onnx", cwd=folder, env=env), end="")
    if len(wheels) > 1:
        print(ran(python, "-c", USE_LAZY, cwd=folder, env=env), ran(os.path.join(folder, "new", "bin", "gcc-graph"), "--version", env=env), end="")
