"""Models whose inputs are strings must agree with onnxruntime: encoders, tables and comparisons, and scikit-learn's ColumnTransformer where it is installed.
The strings come from Python, from .npz and .npy files, and from the command line."""
import os
import subprocess
import sys
import tempfile

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

import model_check
from model_check import Reference, compile_model

COLOURS = np.array([["red"], ["green"], ["grün"], [""], ["unknown"], ["red "], ["Red"], ["blue"]])
NUMBERS = np.linspace(-2, 3, 8, dtype=np.float32)[:, None]


def strings(name, array, dims=("n", 1)):
    return helper.make_tensor_value_info(name, TensorProto.STRING, dims)


def model(nodes, inputs, outputs=("y",), constants=()):
    graph = helper.make_graph(nodes, "strings", inputs, [onnx.ValueInfoProto(name=o) for o in outputs],
                              [c if isinstance(c, onnx.TensorProto) else numpy_helper.from_array(c[1], c[0]) for c in constants])
    return helper.make_model(graph, ir_version=9, opset_imports=[helper.make_opsetid("", 19), helper.make_opsetid("ai.onnx.ml", 3)])


def ml(op, inputs, outputs, **attributes):
    return helper.make_node(op, inputs, outputs, domain="ai.onnx.ml", **attributes)


def models():
    """(name, model, feeds)"""
    x, feeds = strings("x", COLOURS), {"x": COLOURS}
    keys = ["red", "grün", "blue", "red", ""]
    yield "to integers", model([ml("LabelEncoder", ["x"], ["y"], keys_strings=keys, values_int64s=[3, 1, 2, 9, 8])], [x]), feeds
    yield "to floats", model([ml("LabelEncoder", ["x"], ["y"], keys_strings=keys, values_floats=[.5, 1, 2, 9, 8], default_float=-7.0)], [x]), feeds
    yield "to strings", model([ml("LabelEncoder", ["x"], ["y"], keys_strings=keys, values_strings=["a", "b", "a", "c", "d"], default_string="b")], [x]), feeds
    yield "categories", model([ml("OneHotEncoder", ["x"], ["y"], cats_strings=["blue", "red", "grün"], zeros=1)], [x]), feeds
    yield "two encoders", model([ml("LabelEncoder", ["x"], ["s"], keys_strings=keys, values_strings=["a", "b", "a", "c", "d"]),
                                 ml("LabelEncoder", ["s"], ["y"], keys_strings=["a", "b", "_Unused"], values_int64s=[1, 2, 3])], [x]), feeds
    other = {"x": COLOURS, "z": COLOURS[::-1].copy(), "v": NUMBERS}
    columns = [x, strings("z", COLOURS), helper.make_tensor_value_info("v", TensorProto.FLOAT, ["n", 1])]
    yield "columns", model([helper.make_node("Concat", ["x", "z"], ["both"], axis=1), ml("ArrayFeatureExtractor", ["both", "i"], ["second"]),
                            ml("OneHotEncoder", ["second"], ["hot"], cats_strings=["blue", "red"], zeros=1),
                            ml("OneHotEncoder", ["x"], ["hot2"], cats_strings=["green", ""], zeros=1),
                            helper.make_node("Reshape", ["hot", "s"], ["a"]), helper.make_node("Reshape", ["hot2", "s"], ["b"]),
                            helper.make_node("Concat", ["a", "b", "v"], ["y"], axis=1)], columns,
                           constants=[("i", np.array([1])), ("s", np.array([-1, 2]))]), other
    text = helper.make_tensor("k", TensorProto.STRING, [1], [b"red"])
    yield "a comparison", model([helper.make_node("Equal", ["x", "k"], ["y"])], [x], constants=[text]), feeds
    inside = helper.make_graph([ml("LabelEncoder", ["x"], ["t"], keys_strings=["red"], values_int64s=[1])], "then", [], [onnx.ValueInfoProto(name="t")])
    outside = helper.make_graph([ml("LabelEncoder", ["x"], ["e"], keys_strings=["blue"], values_int64s=[2])], "else", [], [onnx.ValueInfoProto(name="e")])
    condition = helper.make_tensor_value_info("c", TensorProto.BOOL, [])
    for c in (True, False):
        yield f"a subgraph, {c}", model([helper.make_node("If", ["c"], ["y"], then_branch=inside, else_branch=outside)], [x, condition]), {**feeds, "c": np.array(c)}


def sklearn_models():
    try:
        from skl2onnx import to_onnx
        from skl2onnx.common.data_types import FloatTensorType, StringTensorType
        import pandas
        from sklearn import compose, ensemble, linear_model, pipeline, preprocessing
    except ImportError:
        print("without scikit-learn, skl2onnx and pandas: their pipelines are left out")
        return
    random = np.random.default_rng(0)
    table = pandas.DataFrame({"age": random.normal(40, 9, 200).astype(np.float32), "fare": random.gamma(2, 20, 200).astype(np.float32),
                              "port": random.choice(["Cherbourg", "Southampton", "Queenstown"], 200), "sex": random.choice(["f", "m"], 200)})
    target = (table.age + 20 * (table.sex == "f") + 9 * (table.port == "Cherbourg") > 55).astype(int)
    types = [("age", FloatTensorType([None, 1])), ("fare", FloatTensorType([None, 1])), ("port", StringTensorType([None, 1])), ("sex", StringTensorType([None, 1]))]
    feeds = {name: table[[name]].to_numpy() for name in table}
    feeds["port"] = feeds["port"].copy()
    feeds["port"][:5] = "Dublin"  # unknown
    for name, encoder in (("one-hot", preprocessing.OneHotEncoder(handle_unknown="ignore", sparse_output=False)),
                          ("ordinal", preprocessing.OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=-1))):
        for last in (linear_model.LogisticRegression(max_iter=500), ensemble.RandomForestClassifier(10, random_state=0)):
            columns = compose.ColumnTransformer([("numbers", preprocessing.StandardScaler(), ["age", "fare"]), ("names", encoder, ["port", "sex"])])
            whole = pipeline.Pipeline([("columns", columns), ("last", last)]).fit(table, target)
            proto = to_onnx(whole, initial_types=types, options={id(last): {"zipmap": False}}, target_opset={"": 21, "ai.onnx.ml": 3})
            yield f"ColumnTransformer, {name}, {type(last).__name__}", proto, {k: v.astype(np.str_) if v.dtype.kind == "O" else v for k, v in feeds.items()}


def by_files(artifact, feeds, folder):
    """The tool's outputs for the same inputs: from one .npz, then from one file per input."""
    path = os.path.join(folder, "in.npz")
    np.savez(path, **feeds)
    singles = []
    for name, array in feeds.items():
        if array.dtype.kind == "U":
            with open(os.path.join(folder, name + ".pb"), "wb") as f:
                f.write(helper.make_tensor(name, TensorProto.STRING, array.shape, [t.encode() for t in array.ravel()]).SerializeToString())
            singles.append(f"{name}={f.name}")
        else:
            np.save(os.path.join(folder, name + ".npy"), array)
            singles.append(f"{name}={folder}/{name}.npy")
    for options in (["--inputs", path], [o for s in singles for o in ("--input", s)]):
        out = os.path.join(folder, "out.npz")
        done = subprocess.run([model_check.tool(), "run", artifact, *options, "--outputs", out], capture_output=True, text=True)
        if done.returncode != 0:
            raise RuntimeError(done.stderr)
        yield dict(np.load(out))


def same(name, got, want):
    for output, expected in want.items():
        expected = np.asarray(expected)
        if expected.dtype.kind in "OU":
            assert got[output].tolist() == expected.tolist(), (name, output, got[output], expected)
        else:
            error = model_check.relative_error({output: got[output]}, {output: expected})
            assert error < 1e-5, (name, output, error)


def check(name, proto, feeds, folder):
    import gart
    path, artifact = os.path.join(folder, "m.onnx"), os.path.join(folder, "m.gart")
    onnx.save(proto, path)
    want = Reference(path).run({k: v.astype(object) if v.dtype.kind == "U" else v for k, v in feeds.items()})
    compile_model(path, artifact)
    loaded = gart.load(artifact, threads=1)
    same(name, loaded.run(feeds), want)
    same(name, loaded.run({k: v.astype(object) if v.dtype.kind == "U" else v for k, v in feeds.items()}), want)
    same(name, loaded.run({k: np.char.encode(v) if v.dtype.kind == "U" else v for k, v in feeds.items()}), want)
    for got in by_files(artifact, feeds, folder):  # in files, class labels stay numbers
        same(name, got, {k: v for k, v in want.items() if np.asarray(v).dtype.kind not in "OU"})
    print(f"{name:56} ok", flush=True)


def refused(artifact):
    """Arrays that are not strings are refused."""
    import gart
    loaded = gart.load(artifact, threads=1)
    for array, words in ((np.zeros((2, 1), np.int64), "must be string, but is int64"), (np.array([["a"], [None]], object), "element 1 is None, not a string"),
                         (np.array([["a"], [float("nan")]], object), "element 1 is nan, not a string"), (np.array([["a\0b"]], object), "NUL character"),
                         (np.array(["a"]), "rank 1, but must be")):
        try:
            loaded.run({"x": array})
        except gart.GartError as error:
            assert words in str(error), (words, str(error))
        else:
            raise AssertionError(f"taken: {words}")
    print(f"{'arrays that are no strings are refused':56} ok")


def on_the_command_line(artifact, folder):
    out = os.path.join(folder, "out.npz")
    for options, want in ((["--input", "x=red", "--dim", "n=2"], [[3], [3]]), (["--random", "1", "--dim", "n=3"], None)):
        done = subprocess.run([model_check.tool(), "run", artifact, *options, "--outputs", out], capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        got = np.load(out)["y"].tolist()
        assert want is None or got == want, got
    print(f"{'a text on the command line, and random strings':56} ok")


def main():
    with tempfile.TemporaryDirectory(prefix="gcc-graph-strings-") as folder:
        for row in (*models(), *sklearn_models()):
            check(*row, folder)
            if row[0] == "to integers":
                refused(os.path.join(folder, "m.gart"))
                on_the_command_line(os.path.join(folder, "m.gart"), folder)
    return 0


if __name__ == "__main__":
    sys.exit(main())
