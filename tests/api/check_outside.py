#!/usr/bin/env python3
"""check_outside.py BUILD PROGRAM: another project builds with the files that `cmake --install` writes. PROGRAM compiles a model; it
is the command line tool, linked with the shared library, which exports only its installed headers."""
import os
import re
import subprocess
import sys
import tempfile

import numpy as np
from onnx import TensorProto, helper, save

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "tools", "python"))
import gart  # noqa: E402

BUILD, PROGRAM = sys.argv[1:]


def ran(*command):
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, f"{' '.join(command)}\n{done.stdout}{done.stderr}"
    return done.stdout


def as_built():
    """Uses the generator and the compiler of BUILD, because CMake's defaults may not be installed."""
    with open(os.path.join(BUILD, "CMakeCache.txt")) as cache:
        facts = dict(re.findall(r"^(\w+):\w+=(.*)$", cache.read(), re.M))
    return ["-G", facts["CMAKE_GENERATOR"], *(f"-D{name}={facts[name]}" for name in ("CMAKE_MAKE_PROGRAM", "CMAKE_CXX_COMPILER"))]


def doubles(path):
    x = np.arange(6, dtype=np.float32).reshape(3, 2)
    np.testing.assert_array_equal(gart.load(path).run({"x": x})["y"], 2 * x)


with tempfile.TemporaryDirectory() as folder:
    prefix, project = os.path.join(folder, "installed"), os.path.join(folder, "project")
    ran("cmake", "--install", BUILD, "--prefix", prefix)
    ran("cmake", "-S", os.path.join(os.path.dirname(os.path.abspath(__file__)), "outside"), "-B", project, f"-DCMAKE_PREFIX_PATH={prefix}", *as_built())
    ran("cmake", "--build", project)
    unknown = helper.make_graph([helper.make_node("NoSuch", ["x"], ["y"])], "unknown", [helper.make_tensor_value_info("x", TensorProto.FLOAT, [2])],
                                [helper.make_tensor_value_info("y", TensorProto.FLOAT, [2])])
    save(helper.make_model(unknown, ir_version=10, opset_imports=[helper.make_opsetid("", 21)]), os.path.join(folder, "unknown.onnx"))
    print(ran(os.path.join(project, "outside"), folder), end="")
    doubles(os.path.join(folder, "doubled.gart"))
    print(ran(PROGRAM, "compile", os.path.join(folder, "doubled.onnx"), "-o", os.path.join(folder, "again.gart")), end="")
    doubles(os.path.join(folder, "again.gart"))
