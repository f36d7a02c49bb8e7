"""The distributions of RandomUniform, RandomNormal, their Like forms, Bernoulli, Multinomial and Dropout in training: range, mean,
variance, and the largest distance of the empirical distribution function from the true one (Kolmogorov and Smirnov), at a million
numbers. All runs and targets must give the same numbers; nodes with different seeds or names must give different
ones."""
import math
import os
import sys
import tempfile

import numpy as np
import onnx
from onnx import TensorProto, helper

import model_check
from model_check import compile_model

COUNT = 1 << 20
TARGETS = "x86-64-v3,x86-64-v4"


def node(op, inputs, output, **attributes):
    return helper.make_node(op, inputs, [output], name=output, **attributes)


def model():
    shape = [1024, COUNT // 1024]
    nodes = [
        node("RandomUniform", [], "uniform", shape=shape, low=-2.0, high=3.0, seed=1.0),
        node("RandomUniform", [], "twin", shape=shape, low=-2.0, high=3.0, seed=1.0),
        node("RandomUniform", [], "other", shape=shape, low=-2.0, high=3.0, seed=2.0),
        node("RandomUniform", [], "unnamed", shape=shape, low=-2.0, high=3.0),
        node("RandomUniform", [], "double", shape=shape, dtype=TensorProto.DOUBLE),
        node("RandomNormal", [], "normal", shape=shape, mean=1.0, scale=2.0),
        node("RandomNormalLike", ["x"], "normal_like"),
        node("RandomUniformLike", ["x"], "uniform_like", dtype=TensorProto.DOUBLE),
        node("Bernoulli", ["p"], "bernoulli", dtype=TensorProto.BOOL),
        helper.make_node("Dropout", ["x", "ratio", "training"], ["dropout", "kept"], name="dropout"),
        helper.make_node("Dropout", ["x", "ratio", "yes"], ["always", "always_kept"], name="always"),
        node("Multinomial", ["logits"], "multinomial", sample_size=COUNT // 4, dtype=TensorProto.INT64),
    ]
    f = TensorProto.FLOAT
    inputs = [helper.make_tensor_value_info(n, f, d) for n, d in (("x", ["n", 1024]), ("p", ["n", 1024]), ("logits", ["b", 3]), ("ratio", []))]
    inputs.append(helper.make_tensor_value_info("training", TensorProto.BOOL, []))
    outputs = [onnx.ValueInfoProto(name=name) for n in nodes for name in n.output]
    yes = helper.make_tensor("yes", TensorProto.BOOL, [], [True])
    return helper.make_model(helper.make_graph(nodes, "random", inputs, outputs, [yes]), opset_imports=[helper.make_opsetid("", 21)], ir_version=10)


def normal_cdf(x):
    return 0.5 * (1 + np.vectorize(math.erf)(x / math.sqrt(2)))


def distance(values, cdf):
    """The Kolmogorov-Smirnov distance times the root of the count: it exceeds 1.95 in one of a thousand samples."""
    x = np.sort(values.ravel()[::16].astype(np.float64))
    steps = np.arange(len(x)) / len(x)
    return float(np.abs(cdf(x) - steps).max() * math.sqrt(len(x)))


def failures(out, logits):
    found = []

    def expect(what, value, least, most):
        print(f"{what:52} {value:12.6f}  in [{least:.6f}, {most:.6f}]{'' if least <= value <= most else '  FAIL'}")
        if not least <= value <= most:
            found.append(what)

    def moments(name, values, mean, variance, fourth):
        """Checks that moments are within five standard errors. `fourth`: the fourth central moment."""
        n, v = values.size, values.astype(np.float64)
        error = 5 * math.sqrt(variance / n)
        expect(f"{name}: mean", v.mean(), mean - error, mean + error)
        error = 5 * math.sqrt((fourth - variance ** 2) / n)
        expect(f"{name}: variance", v.var(), variance - error, variance + error)

    for name in ("uniform", "other", "unnamed"):
        v = out[name]
        moments(name, v, 0.5, 25 / 12, 5 ** 4 / 80)
        expect(f"{name}: least", v.min(), -2, -1.999)
        expect(f"{name}: greatest", v.max(), 2.999, 3)
        expect(f"{name}: Kolmogorov-Smirnov", distance(v, lambda x: (x + 2) / 5), 0, 1.95)
    for name in ("double", "uniform_like"):
        moments(name, out[name], 0.5, 1 / 12, 1 / 80)
        expect(f"{name}: Kolmogorov-Smirnov", distance(out[name], lambda x: x), 0, 1.95)
        expect(f"{name}: different numbers", len(np.unique(out[name])), COUNT - 4, COUNT)
    for name, mean, scale in (("normal", 1, 2), ("normal_like", 0, 1)):
        moments(name, out[name], mean, scale ** 2, 3 * scale ** 4)
        expect(f"{name}: Kolmogorov-Smirnov", distance((out[name] - mean) / scale, normal_cdf), 0, 1.95)
    moments("bernoulli", out["bernoulli"], 0.3, 0.21, 0.3 * 0.7 * (0.7 ** 3 + 0.3 ** 3))
    for name, kept in (("dropout", "kept"), ("always", "always_kept")):
        moments(kept, out[kept], 0.7, 0.21, 0.3 * 0.7 * (0.7 ** 3 + 0.3 ** 3))
        expect(f"{name}: elements that are not 2 where they are kept, else 0",
               (np.abs(out[name] - np.where(out[kept], 2, 0)) > 1e-5).sum(), 0, 0)
    for row, scores in enumerate(np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)):
        for value, p in enumerate(scores):
            share, error = (out["multinomial"][row] == value).mean(), 5 * math.sqrt(p * (1 - p) / out["multinomial"].shape[1])
            expect(f"multinomial: share of {value} in row {row}", share, p - error, p + error)
    expect("the same seed: numbers that differ", (out["uniform"] != out["twin"]).sum(), 0, 0)
    for other in ("other", "unnamed"):
        expect(f"uniform and {other}: correlation", np.corrcoef(out["uniform"].ravel(), out[other].ravel())[0, 1], -0.005, 0.005)
    neighbours = out["uniform"].ravel()
    expect("neighbours: correlation", np.corrcoef(neighbours[:-1], neighbours[1:])[0, 1], -0.005, 0.005)
    return found


def main():
    import gart
    rng = np.random.default_rng(0)
    logits = rng.standard_normal((2, 3)).astype(np.float32)
    feeds = {"x": np.full((COUNT // 1024, 1024), 1.4, np.float32), "p": np.full((COUNT // 1024, 1024), 0.3, np.float32), "logits": logits,
             "ratio": np.float32(0.3), "training": np.bool_(True)}
    with tempfile.TemporaryDirectory(prefix="gcc-graph-random-") as folder:
        path, artifact = os.path.join(folder, "random.onnx"), os.path.join(folder, "random.gart")
        onnx.save(model(), path)
        compile_model(path, artifact, "--target", TARGETS)
        runs = []
        for target in model_check.targets_here(artifact):
            loaded = gart.load(artifact, target=target)
            runs += [loaded.run(feeds), loaded.run(feeds)]
            still = loaded.run({**feeds, "training": np.bool_(False)})
    found = failures(runs[0], logits)
    if not (np.array_equal(still["dropout"], feeds["x"]) and still["kept"].all()):
        found.append("out of training something is dropped")
    for other in runs[1:]:
        for name, values in runs[0].items():
            exact = not name.startswith("normal")  # logarithm and cosine may differ in the last bit
            if not (np.array_equal(values, other[name]) if exact else np.allclose(values, other[name], rtol=1e-5, atol=1e-6)):
                found.append(f"{name} differs between runs or targets")
    print("\n".join(found) if found else "all passed")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
