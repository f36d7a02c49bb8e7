"""One-node models from a table: each operator at sizes that networks use, with the leading axis open."""
import numpy as np
import onnx
from onnx import TensorProto, helper

from one_node import make_row

OPSETS = [helper.make_opsetid("", 22)]
OPEN = {0: "batch"}


class Table:
    def __init__(self):
        self.rows, self.random = [], np.random.Generator(np.random.PCG64(5))

    def f32(self, *shape, scale=1.0):
        return (scale * self.random.standard_normal(shape)).astype(np.float32)

    def ints(self, low, high, *shape, dtype=np.int64):
        return self.random.integers(low, high, shape).astype(dtype)

    def add(self, label, op, feeds, constants=None, inputs=None, out=TensorProto.FLOAT, count=1, domain="", is_open=True, opset=None, **attributes):
        """`feeds`: the inputs, in order unless `inputs` names the order. `out`: type of the outputs, or a list."""
        constants = constants or {}
        names = inputs or [*feeds, *constants]
        outputs = {f"y{i}": (out[i] if isinstance(out, list) else out) for i in range(count)}
        node = helper.make_node(op, names, list(outputs), name=op, domain=domain, **attributes)
        dims = {k: OPEN for k, v in feeds.items() if v.ndim > 1 and v.shape[0] > 0} if is_open else {}
        opsets = ([helper.make_opsetid("", opset)] if opset else OPSETS) + ([helper.make_opsetid(domain, 1)] if domain else [])
        self.rows.append(make_row(f"table/{op} {label}", [node], feeds, constants, outputs, opsets, dims))


def convolutions(t):
    def conv(label, x, w, groups=1, transposed=False, variable=False, **attributes):
        weights = t.f32(*w, scale=(1.0 / max(1, int(np.prod(w[1:])))) ** 0.5)
        feeds, constants = {"x": t.f32(*x)}, {"w": weights}
        if variable:
            feeds, constants = {"x": feeds["x"], "w": weights}, {}
        t.add(label, "ConvTranspose" if transposed else "Conv", feeds, constants, is_open=not variable, group=groups, **attributes)

    conv("3x3 64 56x56", (1, 64, 56, 56), (64, 64, 3, 3), pads=[1] * 4)
    conv("3x3 odd 31x29", (1, 64, 31, 29), (64, 64, 3, 3), pads=[1] * 4)
    conv("3x3 channels 20", (1, 20, 56, 56), (36, 20, 3, 3), pads=[1] * 4)
    conv("3x3 dilated 2", (1, 96, 28, 28), (96, 96, 3, 3), pads=[2] * 4, dilations=[2, 2])
    conv("7x7/2 stem", (1, 3, 224, 224), (64, 3, 7, 7), pads=[3] * 4, strides=[2, 2])
    conv("1x1 256-64 56x56", (1, 256, 56, 56), (64, 256, 1, 1))
    conv("1x1 alone 54-22 31x29", (1, 54, 31, 29), (22, 54, 1, 1))
    conv("1x1 odd 37x41", (1, 72, 37, 41), (24, 72, 1, 1))
    conv("depthwise 3x3 144 56x56", (1, 144, 56, 56), (144, 1, 3, 3), groups=144, pads=[1] * 4)
    conv("depthwise 7x7 96 56x56", (1, 96, 56, 56), (96, 1, 7, 7), groups=96, pads=[3] * 4)
    conv("depthwise 5x5/2 odd", (1, 72, 37, 41), (72, 1, 5, 5), groups=72, pads=[2] * 4, strides=[2, 2])
    conv("depthwise multiplier 2", (1, 32, 56, 56), (64, 1, 3, 3), groups=32, pads=[1] * 4)
    for groups, channels in ((2, 64), (4, 64), (8, 128), (32, 128), (64, 512), (6, 48)):
        conv(f"3x3 {groups} groups of {channels // groups}", (1, channels, 28, 28), (channels, channels // groups, 3, 3), groups=groups, pads=[1] * 4)
    conv("1x1 3 groups", (1, 240, 28, 28), (240, 80, 1, 1), groups=3)
    conv("3x3 weights not constant", (1, 64, 28, 28), (64, 64, 3, 3), variable=True, pads=[1] * 4)
    conv("1-D 9", (1, 80, 400), (256, 80, 9), pads=[4, 4])
    conv("1-D causal dilated", (1, 64, 1000), (64, 64, 3), pads=[16, 0], dilations=[8])
    conv("1-D 4 groups", (1, 128, 400), (128, 32, 5), groups=4, pads=[2, 2])
    conv("1-D depthwise 31", (1, 144, 200), (144, 1, 31), groups=144, pads=[15, 15])
    conv("3-D 3x3x3", (1, 16, 16, 32, 32), (16, 16, 3, 3, 3), pads=[1] * 6)
    conv("3-D stem", (1, 3, 8, 56, 56), (32, 3, 3, 7, 7), pads=[1, 3, 3, 1, 3, 3], strides=[1, 2, 2])
    conv("3-D 1x3x3", (1, 64, 8, 28, 28), (64, 64, 1, 3, 3), pads=[0, 1, 1, 0, 1, 1])
    conv("3-D depthwise", (1, 64, 8, 28, 28), (64, 1, 3, 3, 3), groups=64, pads=[1] * 6)
    conv("transposed 4x4/2", (1, 64, 32, 32), (64, 32, 4, 4), transposed=True, strides=[2, 2], pads=[1] * 4)
    conv("transposed 2x2/2", (1, 128, 28, 28), (128, 64, 2, 2), transposed=True, strides=[2, 2])
    conv("transposed 3x3/1", (1, 64, 28, 28), (64, 64, 3, 3), transposed=True, pads=[1] * 4)
    conv("transposed 3x3/2 output_padding", (1, 64, 28, 28), (64, 32, 3, 3), transposed=True, strides=[2, 2], pads=[1] * 4, output_padding=[1, 1])
    conv("transposed 1-D 16/8", (1, 256, 100), (256, 128, 16), transposed=True, strides=[8], pads=[4, 4])
    conv("transposed 4x4/2 groups 4", (1, 64, 28, 28), (64, 16, 4, 4), transposed=True, groups=4, strides=[2, 2], pads=[1] * 4)


def products(t):
    t.add("128x768x768", "MatMul", {"a": t.f32(1, 128, 768)}, {"b": t.f32(768, 768, scale=0.03)})
    t.add("1x768x3072", "MatMul", {"a": t.f32(1, 1, 768)}, {"b": t.f32(768, 3072, scale=0.03)})
    t.add("12 heads 128x64x128", "MatMul", {"a": t.f32(1, 12, 128, 64), "b": t.f32(1, 12, 64, 128)})
    t.add("sequence first 197x1x768", "MatMul", {"a": t.f32(197, 1, 768)}, {"b": t.f32(768, 768, scale=0.03)}, is_open=False)
    t.add("odd 33x65x129", "MatMul", {"a": t.f32(1, 33, 65), "b": t.f32(1, 65, 129)})
    t.add("adjacency 500x500x64", "MatMul", {"a": t.f32(500, 500), "b": t.f32(500, 64)}, is_open=False)
    t.add("transB 64x512x1000", "Gemm", {"a": t.f32(64, 512)}, {"b": t.f32(1000, 512, scale=0.04), "c": t.f32(1000)}, transB=1)
    t.add("bhqk", "Einsum", {"a": t.f32(1, 128, 8, 64), "b": t.f32(1, 128, 8, 64)}, equation="bqhd,bkhd->bhqk")
    t.add("u8 x s8 128x768x768", "MatMulInteger", {"a": t.ints(0, 255, 128, 768, dtype=np.uint8)},
          {"b": t.ints(-127, 127, 768, 768, dtype=np.int8), "za": np.uint8(120)}, out=TensorProto.INT32)
    t.add("3x3 u8", "ConvInteger", {"x": t.ints(0, 255, 1, 64, 28, 28, dtype=np.uint8)},
          {"w": t.ints(-127, 127, 64, 64, 3, 3, dtype=np.int8), "zx": np.uint8(120)}, out=TensorProto.INT32, pads=[1] * 4)
    for bits, accuracy in ((4, 0), (4, 4), (8, 4)):
        for m, k, n in ((1, 768, 3072), (16, 768, 3072), (1, 2048, 5632), (128, 768, 768)):
            t.add(f"{bits} bits, accuracy {accuracy}, {m}x{k}x{n}", "MatMulNBits", {"a": t.f32(m, k)},
                  {"b": t.ints(0, 255, n, k // 32, 4 * bits, dtype=np.uint8), "s": t.f32(n * k // 32, scale=0.01)}, domain="com.microsoft",
                  K=k, N=n, bits=bits, block_size=32, accuracy_level=accuracy)
    x = t.f32(1, 196, 512)
    t.add("1x196x512", "DynamicQuantizeLinear", {"x": x}, out=[TensorProto.UINT8, TensorProto.FLOAT, TensorProto.UINT8], count=3)
    t.add("LSTM", "LSTM", {"x": t.f32(50, 1, 128)}, {"w": t.f32(1, 1024, 128, scale=0.05), "r": t.f32(1, 1024, 256, scale=0.05)}, count=1, is_open=False, hidden_size=256)
    t.add("GRU", "GRU", {"x": t.f32(50, 1, 128)}, {"w": t.f32(1, 768, 128, scale=0.05), "r": t.f32(1, 768, 256, scale=0.05)}, count=1, is_open=False, hidden_size=256)


def norms(t):
    def affine(n):
        return {"s": t.f32(n), "b": t.f32(n)}
    t.add("64 8 groups 32x32", "GroupNormalization", {"x": t.f32(1, 64, 32, 32)}, affine(64), num_groups=8)
    t.add("128 32 groups 64x64", "GroupNormalization", {"x": t.f32(1, 128, 64, 64)}, affine(128), num_groups=32)
    t.add("64 56x56", "InstanceNormalization", {"x": t.f32(1, 64, 56, 56)}, affine(64))
    t.add("64 56x56", "BatchNormalization", {"x": t.f32(1, 64, 56, 56)}, {**affine(64), "m": t.f32(64), "v": np.abs(t.f32(64)) + 0.5})
    t.add("128x768", "LayerNormalization", {"x": t.f32(1, 128, 768)}, affine(768))
    t.add("96 channels last 56x56", "LayerNormalization", {"x": t.f32(1, 56, 56, 96)}, affine(96))
    t.add("197x768", "RMSNormalization", {"x": t.f32(1, 197, 768)}, {"s": t.f32(768)}, opset=23)
    t.add("64 56x56", "LRN", {"x": t.f32(1, 64, 27, 27)}, size=5)
    t.add("over 1", "LpNormalization", {"x": t.f32(1, 256, 196)}, axis=1)
    for axis, shape in ((-1, (12, 128, 128)), (1, (1, 21, 65, 65)), (0, (64, 3000)), (-1, (1, 50257))):
        t.add(f"{shape} along {axis}", "Softmax", {"x": t.f32(*shape)}, axis=axis)
    t.add("(64, 1000)", "LogSoftmax", {"x": t.f32(64, 1000)}, axis=-1)
    t.add("(64, 1000)", "Hardmax", {"x": t.f32(64, 1000)}, axis=-1)


def reductions(t):
    for op in ("ReduceSum", "ReduceMean", "ReduceMax", "ReduceL2", "ReduceProd", "ReduceLogSumExp"):
        for label, shape, axes in (("inner", (64, 1000), [1]), ("leading", (512, 768), [0]), ("middle", (4, 196, 384), [1]), ("spatial", (1, 256, 28, 28), [2, 3]),
                                   ("all", (200, 1000), [0, 1])):
            t.add(label, op, {"x": t.f32(*shape)}, {"axes": np.array(axes, np.int64)}, is_open=False)
    for op in ("ArgMax", "ArgMin"):
        t.add("inner", op, {"x": t.f32(64, 1000)}, axis=1, out=TensorProto.INT64)
        t.add("channels", op, {"x": t.f32(1, 21, 129, 129)}, axis=1, out=TensorProto.INT64)
    for op in ("CumSum",):
        t.add("inner", op, {"x": t.f32(64, 2048)}, {"axis": np.int64(1)})
        t.add("leading", op, {"x": t.f32(512, 256)}, {"axis": np.int64(0)}, is_open=False)
        t.add("int64 mask", op, {"x": t.ints(0, 2, 8, 512)}, {"axis": np.int64(1)}, out=TensorProto.INT64)


def pools(t):
    for op in ("MaxPool", "AveragePool"):
        t.add("3x3/2 112x112", op, {"x": t.f32(1, 64, 112, 112)}, kernel_shape=[3, 3], strides=[2, 2], pads=[1] * 4)
        t.add("2x2/2 56x56", op, {"x": t.f32(1, 128, 56, 56)}, kernel_shape=[2, 2], strides=[2, 2])
        t.add("3x3/1 28x28", op, {"x": t.f32(1, 192, 28, 28)}, kernel_shape=[3, 3], pads=[1] * 4)
        t.add("5x5/1 20x20", op, {"x": t.f32(1, 256, 20, 20)}, kernel_shape=[5, 5], pads=[2] * 4)
        t.add("ceil odd", op, {"x": t.f32(1, 64, 55, 57)}, kernel_shape=[3, 3], strides=[2, 2], ceil_mode=1)
        t.add("1-D", op, {"x": t.f32(1, 64, 1000)}, kernel_shape=[4], strides=[4])
        t.add("3-D", op, {"x": t.f32(1, 32, 8, 28, 28)}, kernel_shape=[2, 2, 2], strides=[2, 2, 2])
    t.add("3x3/2", "LpPool", {"x": t.f32(1, 64, 56, 56)}, kernel_shape=[3, 3], strides=[2, 2])
    t.add("7x7", "GlobalAveragePool", {"x": t.f32(1, 2048, 7, 7)})
    t.add("14x14", "GlobalMaxPool", {"x": t.f32(1, 512, 14, 14)})


def movement(t):
    for mode in ("reflect", "edge", "wrap", "constant"):
        t.add(f"{mode} 64 56x56", "Pad", {"x": t.f32(1, 64, 56, 56)}, {"p": np.array([0, 0, 1, 1, 0, 0, 1, 1], np.int64)}, mode=mode)
        t.add(f"{mode} audio", "Pad", {"x": t.f32(1, 16000)}, {"p": np.array([0, 200, 0, 200], np.int64)}, mode=mode)
    for mode, coordinates in (("nearest", "asymmetric"), ("nearest", "half_pixel"), ("linear", "half_pixel"), ("linear", "align_corners"), ("cubic", "half_pixel")):
        # For align_corners, onnxruntime rounds the output length by which it divides; the specification does not. So
        # the length must be a whole number.
        for shape, scale in (((1, 64, 28, 28), 2.0), ((1, 21, 33, 33), 3.0 if coordinates == "align_corners" else 3.9)):
            t.add(f"{mode} {coordinates} {shape} x{scale}", "Resize", {"x": t.f32(*shape)},
                  {"roi": np.zeros(0, np.float32), "scales": np.array([1, 1, scale, scale], np.float32)}, mode=mode, coordinate_transformation_mode=coordinates)
    t.add("NCHW-NHWC", "Transpose", {"x": t.f32(1, 64, 56, 56)}, perm=[0, 2, 3, 1])
    t.add("heads", "Transpose", {"x": t.f32(1, 128, 12, 64)}, perm=[0, 2, 1, 3])
    t.add("matrix", "Transpose", {"x": t.f32(768, 768)}, perm=[1, 0], is_open=False)
    t.add("channel shuffle", "Transpose", {"x": t.f32(1, 2, 58, 28, 28)}, perm=[0, 2, 1, 3, 4])
    t.add("rows", "Concat", {"a": t.f32(1, 64, 56, 56), "b": t.f32(1, 64, 56, 56)}, axis=1)
    t.add("last axis", "Concat", {"a": t.f32(64, 100, 3), "b": t.f32(64, 100, 5)}, axis=2)
    t.add("past", "Concat", {"a": t.f32(1, 12, 127, 64), "b": t.f32(1, 12, 1, 64)}, axis=2, is_open=False)
    t.add("3 of channels", "Split", {"x": t.f32(1, 197, 2304)}, count=3, axis=2, num_outputs=3)
    t.add("window", "Slice", {"x": t.f32(1, 64, 56, 56)}, {"s": np.array([3, 3], np.int64), "e": np.array([53, 53], np.int64), "a": np.array([2, 3], np.int64)})
    t.add("steps of 2", "Slice", {"x": t.f32(1, 64, 56, 56)}, {"s": np.array([0, 0], np.int64), "e": np.array([56, 56], np.int64), "a": np.array([2, 3], np.int64), "t": np.array([2, 2], np.int64)})
    t.add("embedding", "Gather", {"i": t.ints(0, 30000, 1, 128)}, {"x": t.f32(30000, 384)}, inputs=["x", "i"])
    t.add("columns", "Gather", {"x": t.f32(128, 1000), "i": t.ints(0, 1000, 300)}, axis=1, is_open=False)
    t.add("inner", "GatherElements", {"x": t.f32(64, 1000), "i": t.ints(0, 1000, 64, 100)}, axis=1, is_open=False)
    t.add("rows", "GatherND", {"x": t.f32(4000, 64), "i": t.ints(0, 4000, 1000, 1)}, is_open=False)
    for reduction in ("none", "add", "max"):
        t.add(f"{reduction} rows", "ScatterND", {"x": t.f32(1000, 64), "i": t.ints(0, 1000, 4000, 1) if reduction != "none" else t.random.permutation(1000)[:900, None].astype(np.int64),
                                                "u": t.f32(4000 if reduction != "none" else 900, 64)}, reduction=reduction, is_open=False)
        t.add(f"{reduction} inner", "ScatterElements", {"x": t.f32(64, 1000), "i": np.stack([t.random.permutation(1000)[:100] for _ in range(64)]), "u": t.f32(64, 100)},
              axis=1, reduction=reduction, is_open=False)
    t.add("bilinear 64 32x32", "GridSample", {"x": t.f32(1, 64, 32, 32), "g": np.clip(t.f32(1, 32, 32, 2, scale=0.5), -1.1, 1.1)}, mode="linear")
    t.add("correlation lookup", "GridSample", {"x": t.f32(784, 1, 28, 28), "g": np.clip(t.f32(784, 9, 9, 2, scale=0.5), -1.1, 1.1)}, mode="linear")
    corners = np.abs(t.f32(100, 2, scale=12.0))
    boxes = np.concatenate([corners, corners + np.abs(t.f32(100, 2, scale=20.0))], 1)
    for label, ratio in (("2x2 samples", 2), ("adaptive", 0)):
        t.add(f"{label} 50x50", "RoiAlign", {"x": t.f32(1, 64, 50, 50), "rois": boxes}, {"batch": np.zeros(100, np.int64)},
              output_height=7, output_width=7, sampling_ratio=ratio, is_open=False)
    t.add("100 of 8400", "TopK", {"x": t.f32(1, 8400)}, {"k": np.array([100], np.int64)}, out=[TensorProto.FLOAT, TensorProto.INT64], count=2)
    t.add("2 of 64 experts", "TopK", {"x": t.f32(512, 64)}, {"k": np.array([2], np.int64)}, out=[TensorProto.FLOAT, TensorProto.INT64], count=2)
    t.add("sort 4096", "TopK", {"x": t.f32(4, 4096)}, {"k": np.array([4096], np.int64)}, out=[TensorProto.FLOAT, TensorProto.INT64], count=2)
    t.add("along 1", "TopK", {"x": t.f32(1, 100, 256)}, {"k": np.array([10], np.int64)}, out=[TensorProto.FLOAT, TensorProto.INT64], count=2, axis=1)
    t.add("mask 64x1000", "NonZero", {"x": t.ints(0, 2, 64, 1000, dtype=np.int64)}, out=TensorProto.INT64, is_open=False)
    t.add("rows", "Compress", {"x": t.f32(4000, 64), "c": t.ints(0, 2, 4000).astype(bool)}, axis=0, is_open=False)
    t.add("64x1000", "OneHot", {"i": t.ints(0, 1000, 64)}, {"d": np.array([1000], np.int64), "v": np.array([0, 1], np.float32)})
    t.add("512x512", "Trilu", {"x": t.f32(1, 512, 512)}, upper=0)
    t.add("64x64 mask", "Where", {"c": t.ints(0, 2, 1, 1, 128, 128).astype(bool), "x": t.f32(1, 12, 128, 128)}, {"v": np.float32(-1e9)})
    t.add("rows", "Expand", {"x": t.f32(1, 1, 768)}, {"s": np.array([1, 196, 768], np.int64)})
    t.add("2x2", "Tile", {"x": t.f32(1, 64, 28, 28)}, {"s": np.array([1, 1, 2, 2], np.int64)})
    t.add("2", "DepthToSpace", {"x": t.f32(1, 256, 28, 28)}, blocksize=2)
    t.add("2", "SpaceToDepth", {"x": t.f32(1, 64, 56, 56)}, blocksize=2)
    t.add("3x3", "Col2Im", {"x": t.f32(1, 64 * 9, 784)}, {"i": np.array([28, 28], np.int64), "b": np.array([3, 3], np.int64)}, pads=[1] * 4)
    t.add("512", "DFT", {"x": t.f32(64, 512, 1)}, {"n": np.int64(512), "axis": np.int64(1)})
    t.add("400", "DFT", {"x": t.f32(64, 400, 1)}, {"n": np.int64(400), "axis": np.int64(1)}, onesided=1)
    t.add("16000 by 400", "STFT", {"x": t.f32(1, 16000, 1)}, {"s": np.int64(160), "w": np.hanning(400).astype(np.float32), "l": np.int64(400)})
    t.add("to f16", "Cast", {"x": t.f32(64, 3136)}, to=TensorProto.FLOAT16, out=TensorProto.FLOAT16)
    t.add("from u8", "Cast", {"x": t.ints(0, 255, 3, 50176, dtype=np.uint8)}, to=TensorProto.FLOAT)


def pointwise(t):
    for op in ("Relu", "Sigmoid", "Tanh", "Erf", "Exp", "Log", "Sqrt", "Gelu", "HardSwish", "Softplus", "Mish", "Elu", "Sin", "Cos", "Floor", "Round", "Reciprocal", "Neg", "Abs", "Swish", "Atan"):
        if op == "Swish":
            continue  # opset 24
        x = t.f32(64, 3136)
        t.add("64x3136", op, {"x": np.abs(x) + 0.1 if op in ("Log", "Sqrt", "Reciprocal") else x})
    for op in ("Add", "Mul", "Div", "Pow", "Max"):
        t.add("same", op, {"a": t.f32(64, 3136), "b": np.abs(t.f32(64, 3136)) + 0.5} if op == "Pow" else {"a": t.f32(64, 3136), "b": t.f32(64, 3136)})
        t.add("channels", op, {"a": np.abs(t.f32(1, 64, 56, 56))}, {"b": np.abs(t.f32(64, 1, 1)) + 0.5})
    t.add("1x1x channel", "PRelu", {"x": t.f32(1, 64, 56, 56)}, {"s": t.f32(64, 1, 1)})
    t.add("i64", "Mod", {"a": t.ints(0, 1000, 64, 1000)}, {"b": np.int64(7)}, out=TensorProto.INT64)
    t.add("64x3136", "Clip", {"x": t.f32(64, 3136)}, {"lo": np.float32(0), "hi": np.float32(6)})
    t.add("quantise", "QuantizeLinear", {"x": t.f32(64, 3136)}, {"s": np.float32(0.03), "z": np.uint8(128)}, out=TensorProto.UINT8)
    t.add("dequantise", "DequantizeLinear", {"x": t.ints(0, 255, 64, 3136, dtype=np.uint8)}, {"s": np.float32(0.03), "z": np.uint8(128)})


def doubles(t):
    def f64(*shape):
        return t.random.standard_normal(shape)
    for op in ("Tanh", "Sigmoid", "Exp", "Log", "Sin", "Cos"):
        x = f64(64, 1000)
        t.add("f64 64x1000", op, {"x": np.abs(x) + 0.1 if op == "Log" else x}, out=TensorProto.DOUBLE)
    for op in ("Softmax", "LogSoftmax"):
        t.add("f64 (64, 1000)", op, {"x": f64(64, 1000)}, out=TensorProto.DOUBLE)
    for m, k, n in ((128, 768, 768), (1, 768, 3072), (8, 512, 512), (33, 65, 129), (500, 500, 64)):
        t.add(f"f64 {m}x{k}x{n}", "MatMul", {"a": f64(m, k)}, {"b": f64(k, n)}, out=TensorProto.DOUBLE)
        t.add(f"f64 {m}x{k}x{n}, both inputs", "MatMul", {"a": f64(m, k), "b": f64(k, n)}, out=TensorProto.DOUBLE, is_open=False)
    t.add("f64 12 heads 128x64x128", "MatMul", {"a": f64(1, 12, 128, 64), "b": f64(1, 12, 64, 128)}, out=TensorProto.DOUBLE)
    t.add("f64 transB 64x512x1000", "Gemm", {"a": f64(64, 512)}, {"b": f64(1000, 512), "c": f64(1000)}, out=TensorProto.DOUBLE, transB=1)


def short_rows(t):
    for label, shape, times in (("rows of 7", (640, 7), (1, 20)), ("rows of 6, three axes", (34, 8, 34, 6), (2, 1, 3, 2)), ("rows of 32, four axes", (5, 70, 6, 32), (3, 3, 2, 2))):
        t.add(label, "Tile", {"x": t.f32(*shape)}, {"s": np.array(times, np.int64)})
    for mode in ("edge", "reflect", "wrap"):
        for label, shape, pads in (("rows of 14 by 3", (1, 64, 28, 14), (0, 0, 3, 3, 0, 0, 3, 3)), ("rows of 100 by 0, 40", (512, 100), (0, 0, 0, 40)),
                                   ("rows of 3 by 1, 0", (4, 90, 90, 3), (0, 1, 1, 1, 0, 1, 1, 0))):
            t.add(f"{mode} {label}", "Pad", {"x": t.f32(*shape)}, {"p": np.array(pads, np.int64)}, mode=mode)
        t.add(f"{mode} u8 rows of 28 by 2", "Pad", {"x": t.ints(0, 255, 1, 64, 28, 28, dtype=np.uint8)}, {"p": np.array([0, 0, 2, 2, 0, 0, 2, 2], np.int64)}, mode=mode, out=TensorProto.UINT8)
    for op in ("ArgMax", "Hardmax"):
        t.add("rows of 7", op, {"x": t.f32(5000, 7)}, axis=1, out=TensorProto.INT64 if op == "ArgMax" else TensorProto.FLOAT)
        t.add("rows of 2", op, {"x": t.f32(20000, 2)}, axis=1, out=TensorProto.INT64 if op == "ArgMax" else TensorProto.FLOAT)
    t.add("rows of 7", "ReduceMax", {"x": t.f32(5000, 7)}, {"axes": np.array([1], np.int64)})
    t.add("3 to rows of 24", "DepthToSpace", {"x": t.f32(1, 171, 15, 8)}, blocksize=3, mode="CRD")
    t.add("4", "SpaceToDepth", {"x": t.f32(1, 16, 56, 56)}, blocksize=4)
    t.add("three of channels", "Concat", {"a": t.f32(1, 64, 28, 28), "b": t.f32(1, 32, 28, 28), "c": t.f32(1, 16, 28, 28)}, axis=1)
    t.add("two columns", "Concat", {"a": t.f32(40000, 1), "b": t.f32(40000, 1)}, axis=1)
    t.add("three columns u8", "Concat", {k: t.ints(0, 255, 40000, 1, dtype=np.uint8) for k in "abc"}, axis=1, out=TensorProto.UINT8)
    t.add("columns of 1 and 3", "Concat", {"a": t.f32(40000, 1), "b": t.f32(40000, 3)}, axis=1)
    t.add("along 20000 of 5", "CumSum", {"x": t.f32(20000, 5)}, {"axis": np.int64(0)}, is_open=False)
    t.add("middle of 3", "CumSum", {"x": t.f32(30, 500, 3)}, {"axis": np.int64(1)}, is_open=False)
    blocked = {"s": np.abs(t.f32(128, 32)) + 0.1}
    t.add("blocks of 32", "QuantizeLinear", {"x": t.f32(128, 1024), **blocked}, axis=1, block_size=32, out=TensorProto.UINT8)
    t.add("blocks of 32", "DequantizeLinear", {"x": t.ints(0, 255, 128, 1024, dtype=np.uint8), **blocked}, axis=1, block_size=32)
    for shape, axes in (((12, 34, 59, 2), [1, 3]), ((60, 200, 12), [0, 2]), ((20000, 5), [1]), ((20000, 2), [1])):
        for op in ("ReduceMean", "ReduceMax", "ReduceLogSumExp"):
            t.add(f"{shape} over {axes}", op, {"x": t.f32(*shape)}, {"axes": np.array(axes, np.int64)}, is_open=False)
    for kind in (np.uint8, np.float64):
        x, i = t.ints(0, 100, 64, 492, 8).astype(kind), t.ints(0, 64, 150)
        t.add(f"planes {x.dtype}", "Gather", {"x": x, "i": i}, out=helper.np_dtype_to_tensor_dtype(x.dtype), is_open=False)
    t.add("rows of 1 and 2", "Concat", {"a": t.f32(32, 22, 36, 1), "b": t.f32(32, 22, 36, 2), "c": t.f32(32, 22, 36, 1)}, axis=3)
    for kind, columns in ((np.uint8, 8), (np.float32, 12), (np.int64, 7)):
        x = t.ints(0, 100, 64, columns, 500).astype(kind)
        t.add(f"to rows of {columns} {x.dtype}", "Transpose", {"x": x}, out=helper.np_dtype_to_tensor_dtype(x.dtype), perm=[0, 2, 1])
    t.add("to rows of 2", "Transpose", {"x": t.f32(348, 2, 68)}, perm=[0, 2, 1])
    for op in ("Div", "Mod"):
        t.add("i32", op, {"a": t.ints(-1000, 1000, 512, 512, dtype=np.int32), "b": t.ints(1, 100, 512, 512, dtype=np.int32)}, out=TensorProto.INT32)


def rows():
    t = Table()
    for family in (convolutions, products, norms, reductions, pools, movement, pointwise, doubles, short_rows):
        family(t)
    return t.rows
