"""Writes the first inputs of the fuzz targets, made of the models and files of the tests: make_seeds.py FOLDER makes FOLDER/TARGET/*."""
import json
import os
import subprocess
import sys
import tempfile

import numpy as np
import onnx
from onnx import numpy_helper, parser

TESTS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..")
sys.path[:0] = [os.path.join(TESTS, "cli"), os.path.join(TESTS, "serve")]
import cli_case
import decoders
import hostile_files_test
import serve_case
import small_network
import train_test

TUNING = {"format": "gcc-graph tuning 1", "measured": [
    {"target": "sm_80", "precision": "fp32", "kernel": "matmul", "shape": "20 x 256 x 64, left f32 along depth by 4, right f32 across depth by 4", "choice": "32x32x32 3xtf32, 5 stages",
     "expected": "7x7x7", "device": "NVIDIA H200", "driver": "13.0", "microseconds": {"7x7x7": 1.5, "32x32x32 3xtf32, 5 stages": 1e-3}}]}
FLEETS = [hostile_files_test.FLEET, {"devices": [
    {"name": "gpu", "kind": "cuda", "ordinal": 1, "target": "sm_90a", "memory_bytes": 1 << 33, "infers": True, "trains": False, "gflops": 1e4, "gbytes_per_s": 3000},
    {"name": "far", "kind": "cpu", "cores": [0, 1], "host": "node2", "supports": ["Add", "MatMul"]}], "links": [{"from": "gpu", "to": "far", "gbytes_per_s": 20, "us": 5.5}]}]


def models():
    """{name: (model, options of compile)}"""
    weights, _ = small_network.weights_and_samples()
    network = parser.parse_model(small_network.NETWORK)
    network.graph.initializer.extend(numpy_helper.from_array(v, n) for n, v in weights.items())
    out = {"network": (network, ()), "training": (network, ("--train", "loss=cross_entropy(y,t),optimizer=sgd(lr=0.1)")), "softmax": (parser.parse_model(cli_case.MODEL), ()),
           "loops": (hostile_files_test.nested_loops(3), ()), "chain": (parser.parse_model(hostile_files_test.CHAIN), ("--fleet", "fleet.json")),
           "builder": (decoders.as_builder(), ("--state", "auto")), "optimum": (decoders.as_optimum(), ("--state", "auto")),
           "training_info": (train_test.trained_model(train_test.DESCENT, {}, {"rate": np.float32(0.1)}), ())}
    for name, (text, options, _) in serve_case.MODELS.items():
        out["serve_" + name] = (parser.parse_model(text), options)
    return out


class Seeds:
    def __init__(self, folder):
        self.folder = folder

    def add(self, target, name, content):
        os.makedirs(os.path.join(self.folder, target), exist_ok=True)
        with open(os.path.join(self.folder, target, name), "wb") as f:
            f.write(content)


def add_models(seeds, scratch):
    with open(os.path.join(scratch, "fleet.json"), "w") as f:
        json.dump(hostile_files_test.FLEET, f)
    for name, (model, options) in models().items():
        onnx.save(model, os.path.join(scratch, name + ".onnx"))
        with open(os.path.join(scratch, name + ".onnx"), "rb") as f:
            seeds.add("onnx", name, f.read())
        command = [os.environ["GCC_GRAPH"], "compile", name + ".onnx", "-o", name + ".gart", "--target", "x86-64-v3", "-q", *options]
        subprocess.run(command, cwd=scratch, check=True)
        with open(os.path.join(scratch, name + ".gart"), "rb") as f:
            seeds.add("artifact", name, f.read())
    subprocess.run([os.environ["GCC_GRAPH"], "state", "export", "training.gart", "-o", "training.safetensors"], cwd=scratch, check=True)
    with open(os.path.join(scratch, "training.safetensors"), "rb") as f:
        seeds.add("safetensors", "training", f.read())


def add_arrays(seeds, scratch):
    arrays = {"f4": np.arange(6, dtype="<f4").reshape(2, 3), "f8_big": np.arange(4, dtype=">f8"), "i8_columns": np.asfortranarray(np.arange(6, dtype=np.int64).reshape(2, 3)),
              "b1": np.array([True, False]), "u1": np.zeros((0, 2), np.uint8), "scalar": np.float16(1), "text": np.array(["a", "bc"]), "bytes": np.array([b"x", b"yz"])}
    path = os.path.join(scratch, "a.npy")
    for name, array in arrays.items():
        np.save(path, array)
        with open(path, "rb") as f:
            seeds.add("npy", name, f.read())
    for name, save in (("stored", np.savez), ("packed", np.savez_compressed)):
        save(os.path.join(scratch, "a.npz"), **arrays)
        with open(os.path.join(scratch, "a.npz"), "rb") as f:
            seeds.add("npz", name, f.read())


def main():
    seeds = Seeds(sys.argv[1])
    with tempfile.TemporaryDirectory(prefix="gcc-graph-fuzz-") as scratch:
        add_models(seeds, scratch)
        add_arrays(seeds, scratch)
    for i, fleet in enumerate(FLEETS):
        seeds.add("fleet", str(i), json.dumps(fleet).encode())
    seeds.add("tuning", "one", json.dumps(TUNING).encode())


if __name__ == "__main__":
    main()
