"""Corner cases in which other engines are reported to be wrong or to disagree. Each model must agree with onnxruntime, with its inputs fed and as constants."""
import os
import sys
import tempfile

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

import model_check
from model_check import compile_model

LEAST, MOST = np.iinfo(np.int64).min, np.iinfo(np.int64).max
NODE = helper.make_node


def models():
    """(name, nodes, inputs, constants, outputs, opset)"""
    random = np.random.default_rng(0)
    floats = lambda *shape: random.standard_normal(shape).astype(np.float32)
    scalar = lambda x: np.array(x, np.float32)
    # Folding an infinite factor into the weights would turn sums of terms of both signs into inf - inf.
    yield "an infinite factor after Conv", [NODE("Conv", ["x", "w"], ["c"]), NODE("Mul", ["c", "k"], ["y"])], {"x": floats(1, 3, 6, 6)}, \
        {"w": floats(3, 3, 3, 3), "k": scalar(np.inf)}, ["y"], 13
    yield "an infinite factor of a channel", [NODE("Conv", ["x", "w"], ["c"]), NODE("Mul", ["c", "k"], ["y"])], {"x": floats(1, 3, 6, 6)}, \
        {"w": floats(2, 3, 3, 3), "k": np.array([[[2]], [[np.inf]]], np.float32)}, ["y"], 13
    yield "an infinite factor after MatMul", [NODE("MatMul", ["x", "w"], ["c"]), NODE("Mul", ["c", "k"], ["y"])], {"x": floats(4, 5)}, \
        {"w": floats(5, 6), "k": scalar(np.inf)}, ["y"], 13
    yield "a factor that makes weights infinite", [NODE("MatMul", ["x", "w"], ["c"]), NODE("Mul", ["c", "k"], ["y"])], \
        {"x": floats(4, 5) * np.float32(1e-30)}, {"w": floats(5, 6) * np.float32(1e30), "k": scalar(1e20)}, ["y"], 13
    yield "bounds that are NaN", [NODE("Clip", ["x", "low", "high"], ["y"])], {"x": np.array([1, np.nan, -3, 5], np.float32)}, \
        {"low": scalar(np.nan), "high": scalar(2)}, ["y"], 13
    yield "a given bound that is NaN", [NODE("Clip", ["x", "low", "high"], ["y"])], \
        {"x": np.array([1, np.nan, -3, 5], np.float32), "low": scalar(0), "high": scalar(np.nan)}, {}, ["y"], 13
    ends = np.array([LEAST, MOST, LEAST + 1, 0, -1, 1])
    for op in ("Neg", "Abs"):
        yield f"{op} of the ends of i64", [NODE(op, ["x"], ["y"])], {"x": ends[1:]}, {}, ["y"], 13
    yield "the ends of i64 as bool", [NODE("Cast", ["x"], ["y"], to=TensorProto.BOOL)], {"x": ends}, {}, ["y"], 13
    yield "Clip at the ends of i64", [NODE("Clip", ["x", "low", "high"], ["y"])], {"x": ends}, {"low": np.array(LEAST), "high": np.array(MOST)}, ["y"], 13
    yield "the least of the ends of i64", [NODE("ReduceMin", ["x"], ["y"], keepdims=0)], {"x": ends}, {}, ["y"], 13
    yield "the product of the ends of i64", [NODE("ReduceProd", ["x"], ["y"], keepdims=0)], {"x": np.array([MOST, 2, 3])}, {}, ["y"], 13
    # The length is computed in f64: 1.1 - 0.1 is 1 in f32, and the range would have 10 elements.
    for ends in ((0.1, 1.1, 0.1), (1.1, 0.1, -0.1), (0, 0.3, 0.1)):
        yield f"Range of {ends}", [NODE("Range", ["a", "b", "c"], ["y"])], dict(zip("abc", map(scalar, ends))), {}, ["y"], 13
    # A factor of 0 keeps NaN and turns infinities into NaN.
    yield "a factor of 0", [NODE("Mul", ["x", "z"], ["y"])], {"x": np.array([np.nan, 1, np.inf, -1], np.float32)}, {"z": scalar(0)}, ["y"], 13
    yield "x - (x + 1)", [NODE("Add", ["x", "o"], ["a"]), NODE("Sub", ["x", "a"], ["y"])], {"x": floats(3)}, {"o": scalar(1)}, ["y"], 13
    for op in ("Sub", "Div", "Equal"):
        yield f"{op} of NaN and infinity by themselves", [NODE(op, ["x", "x"], ["y"])], {"x": np.array([np.nan, 1, np.inf, 0], np.float32)}, {}, ["y"], 13
    pad = np.array([0, 0, 1, 1, 0, 0, 1, 1])
    for count in (0, 1):
        yield f"a pad before AveragePool, count_include_pad {count}", [NODE("Pad", ["x", "p"], ["a"]), NODE(
            "AveragePool", ["a"], ["y"], kernel_shape=[3, 3], strides=[2, 2], pads=[1, 1, 1, 1], count_include_pad=count)], \
            {"x": floats(1, 3, 9, 9)}, {"p": pad}, ["y"], 18
    yield "a pad by 2 before Conv", [NODE("Pad", ["x", "p", "v"], ["a"]), NODE("Conv", ["a", "w"], ["y"])], {"x": floats(1, 3, 9, 9)}, \
        {"p": pad, "v": scalar(2), "w": floats(4, 3, 3, 3)}, ["y"], 18
    yield "a pad of channels before Conv", [NODE("Pad", ["x", "p"], ["a"]), NODE("Conv", ["a", "w"], ["y"], pads=[1, 1, 1, 1])], \
        {"x": floats(1, 3, 9, 9)}, {"p": pad + [0, 1, 0, 0, 0, 0, 0, 0], "w": floats(4, 4, 3, 3)}, ["y"], 18
    yield "a pad that is negative before Conv", [NODE("Pad", ["x", "p"], ["a"]), NODE("Conv", ["a", "w"], ["y"])], {"x": floats(1, 3, 9, 9)}, \
        {"p": np.array([0, 0, -1, 1, 0, 0, 1, -2]), "w": floats(4, 3, 3, 3)}, ["y"], 18
    yield "quotients of large i64", [NODE("Div", ["x", "k"], ["y"])], {"x": np.array([2**62, 2**40, 2**31, 2**31 - 1, -7, LEAST])}, {"k": np.array([11])}, ["y"], 14
    yield "a sum of i8 that wraps before a Cast", [NODE("Sub", ["x", "k"], ["a"]), NODE("Cast", ["a"], ["y"], to=TensorProto.FLOAT)], \
        {"x": np.array([-128, 100, 127], np.int8)}, {"k": np.array([1, -100, -1], np.int8)}, ["y"], 14
    yield "a product of u8 that wraps", [NODE("Mul", ["x", "k"], ["y"])], {"x": np.array([200, 100, 50], np.uint8)}, {"k": np.array([200, 3, 6], np.uint8)}, ["y"], 14
    yield "MaxPool's places by columns", [NODE("MaxPool", ["x"], ["y", "k"], kernel_shape=[2, 2], strides=[2, 2], storage_order=1)], \
        {"x": floats(1, 2, 4, 6)}, {}, ["y", "k"], 12
    yield "no rows, then zeros kept", [NODE("Reshape", ["x", "s"], ["m"]), NODE("Reshape", ["m", "t"], ["y"], allowzero=1)], \
        {"x": np.zeros((0, 8, 2), np.float32)}, {"s": np.array([4, 2, -1]), "t": np.array([0, 0, 4])}, ["y"], 18
    # Unread outputs count as parts of the Split, too.
    yield "Split with an unread last part", [NODE("Split", ["x"], ["y", ""], axis=1)], {"x": floats(1, 8)}, {}, ["y"], 13
    yield "Split by sizes with unread parts", [NODE("Split", ["x", "s"], ["", "y", ""], axis=1)], {"x": floats(1, 8)}, {"s": np.array([3, 4, 1])}, ["y"], 13
    for mode in ("floor", "ceil", "round_prefer_floor", "round_prefer_ceil"):
        for extent, scale in ((3, 1.5), (6, 0.6), (7, 1.3)):
            yield f"symmetric pixels of {extent} by {scale}, {mode}", \
                [NODE("Resize", ["x", "", "s"], ["y"], mode="nearest", coordinate_transformation_mode="half_pixel_symmetric", nearest_mode=mode)], \
                {"x": floats(1, 1, extent, 1)}, {"s": np.array([1, 1, scale, 1], np.float32)}, ["y"], 19


def model(nodes, inputs, constants, outputs, opset):
    graph = helper.make_graph(nodes, "corner", [helper.make_tensor_value_info(n, helper.np_dtype_to_tensor_dtype(a.dtype), a.shape) for n, a in inputs.items()],
                              [onnx.ValueInfoProto(name=o) for o in outputs], [numpy_helper.from_array(a, n) for n, a in constants.items()])
    return helper.make_model(graph, ir_version=9, opset_imports=[helper.make_opsetid("", opset)])


def expected(proto, inputs):
    """The results of onnxruntime without its optimizer. Where onnxruntime crashes (a Split whose parts are unread) or is not exact (products of i64), those of
    ONNX's reference."""
    if proto.graph.node[0].op_type in ("Split", "ReduceProd"):
        from onnx.reference import ReferenceEvaluator
        return ReferenceEvaluator(proto).run(None, inputs)
    import onnxruntime
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    return onnxruntime.InferenceSession(proto.SerializeToString(), options).run(None, inputs)


def unknown_category(folder):
    """With zeros=0, an unknown category must cause an error."""
    import gart
    for zeros in (0, 1):
        node = NODE("OneHotEncoder", ["x"], ["y"], domain="ai.onnx.ml", cats_int64s=[1, 2, 3], zeros=zeros)
        graph = helper.make_graph([node], "g", [helper.make_tensor_value_info("x", TensorProto.INT64, ["n"])], [onnx.ValueInfoProto(name="y")])
        path = os.path.join(folder, "m.onnx")
        onnx.save(helper.make_model(graph, ir_version=9, opset_imports=[helper.make_opsetid("", 17), helper.make_opsetid("ai.onnx.ml", 3)]), path)
        loaded = gart.load(compile_model(path, os.path.join(folder, "m.gart")), threads=1)
        assert loaded.run({"x": np.array([2, 1])})["y"].tolist() == [[0, 1, 0], [1, 0, 0]]
        try:
            result = loaded.run({"x": np.array([2, 9])})["y"].tolist()
            assert zeros == 1 and result == [[0, 1, 0], [0, 0, 0]], result
        except gart.GartError as error:
            assert zeros == 0 and "out of range" in str(error), error


def main():
    import gart
    worst = 0
    with tempfile.TemporaryDirectory(prefix="gcc-graph-corners-") as folder:
        for name, nodes, inputs, constants, outputs, opset in models():
            want = expected(model(nodes, inputs, constants, outputs, opset), inputs)
            for given in (inputs, {}):
                path = os.path.join(folder, "m.onnx")
                onnx.save(model(nodes, given, {**constants, **({} if given else inputs)}, outputs, opset), path)
                got = gart.load(compile_model(path, os.path.join(folder, "m.gart")), threads=1).run(given)
                error = model_check.relative_error(got, dict(zip(outputs, want)))
                failed = not error < 1e-5
                worst += failed
                print(f"{name:52} {'given' if given else 'constant':9} {error:8.1e}{'  FAIL' if failed else ''}", flush=True)
        unknown_category(folder)
    return 1 if worst else 0


if __name__ == "__main__":
    sys.exit(main())
