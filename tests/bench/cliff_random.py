"""One-node models of random operators, types and shapes, in the forms of the table's rows."""
import numpy as np
from onnx import TensorProto, helper

import cliff_table

TYPES = {"f32": np.float32, "f64": np.float64, "i64": np.int64, "i32": np.int32, "u8": np.uint8}
LEAST, MOST = 20_000, 400_000  # elements of the largest input


class Draw(cliff_table.Table):
    def __init__(self, seed):
        super().__init__()
        self.random = np.random.Generator(np.random.PCG64(seed))

    def pick(self, *of):
        return of[int(self.random.integers(len(of)))]

    def whole(self, low, high):
        return int(self.random.integers(low, high + 1))

    def shape(self, rank, most=MOST):
        """Extents of any kind, also odd and short ones, of LEAST to `most` elements."""
        if rank == 1:
            return [self.whole(LEAST, most)]
        while True:
            extents = [self.pick(self.whole(1, 8), self.whole(3, 70), self.whole(20, 600), 2 ** self.whole(2, 9)) for _ in range(rank)]
            if LEAST <= np.prod(extents) <= most:
                return extents

    def array(self, shape, kind="f32", positive=False):
        if kind.startswith("f"):
            x = self.random.standard_normal(shape).astype(TYPES[kind])
            return np.abs(x) + TYPES[kind](0.1) if positive else x
        return self.random.integers(0, 100, shape).astype(TYPES[kind])


def onnx_type(kind):
    return helper.np_dtype_to_tensor_dtype(np.dtype(TYPES[kind]))


def pointwise(d, label):
    kind = d.pick("f32", "f32", "f64")
    op = d.pick("Tanh", "Sigmoid", "Exp", "Log", "Sqrt", "Relu", "Neg", "Abs", "Floor", "Reciprocal", "Round", "Sign", "Sin", "Cos")
    d.add(label, op, {"x": d.array(d.shape(d.whole(1, 4)), kind, positive=op in ("Log", "Sqrt", "Reciprocal"))}, out=onnx_type(kind))


def activation(d, label):
    op = d.pick("Erf", "Gelu", "HardSwish", "Softplus", "Mish", "Elu", "Selu", "Celu", "LeakyRelu", "HardSigmoid", "Softsign", "Atan")
    d.add(label, op, {"x": d.array(d.shape(d.whole(1, 4)))})


def binary(d, label):
    kind, op = d.pick("f32", "f64", "i64", "i32"), d.pick("Add", "Sub", "Mul", "Max", "Min", "Div", "Less", "Equal")
    shape = d.shape(d.whole(2, 4))
    b = d.array(shape[d.pick(0, 0, 1):], kind, positive=True)  # extents of 1 do not broadcast if only a run knows them
    d.add(label, op, {"a": d.array(shape, kind), "b": b + b.dtype.type(1)}, out=TensorProto.BOOL if op in ("Less", "Equal") else onnx_type(kind))


def reduction(d, label):
    kind, op = d.pick("f32", "f32", "f64"), d.pick("ReduceSum", "ReduceMean", "ReduceMax", "ReduceL2", "ReduceSumSquare", "ReduceLogSumExp")
    rank = d.whole(2, 4)
    axes = sorted(d.random.choice(rank, d.whole(1, rank - 1), replace=False))
    d.add(label, op, {"x": d.array(d.shape(rank), kind)}, {"axes": np.array(axes, np.int64)}, out=onnx_type(kind), keepdims=d.whole(0, 1))


def along_axis(d, label):
    rank = d.whole(2, 4)
    op, axis = d.pick("Softmax", "LogSoftmax", "ArgMax", "ArgMin", "CumSum"), d.whole(0, rank - 1)
    x = {"x": d.array(d.shape(rank, 100_000))}
    if op == "CumSum":
        d.add(label, op, x, {"axis": np.int64(axis)})
    else:
        d.add(label, op, x, axis=axis, out=TensorProto.INT64 if op.startswith("Arg") else TensorProto.FLOAT)


def normalisation(d, label):
    shape = d.shape(3)
    d.add(label, "LayerNormalization", {"x": d.array(shape)}, {"s": d.f32(shape[-1]), "b": d.f32(shape[-1])})


def joined(d, label):
    kind, rank = d.pick("f32", "f32", "f64", "i64", "u8"), d.whole(2, 4)
    shape, axis = d.shape(rank, MOST // 3), d.whole(0, rank - 1)
    parts = {}
    for name in "abcd"[:d.whole(2, 4)]:
        extents = list(shape)
        extents[axis] = d.whole(1, max(2, shape[axis]))
        parts[name] = d.array(extents, kind)
    d.add(label, "Concat", parts, axis=axis, out=onnx_type(kind), is_open=False)


def moved(d, label):
    kind, rank = d.pick("f32", "f32", "f64", "i64", "u8"), d.whole(2, 5)
    d.add(label, "Transpose", {"x": d.array(d.shape(rank), kind)}, perm=[int(i) for i in d.random.permutation(rank)], out=onnx_type(kind))


def repeated(d, label):
    kind, rank = d.pick("f32", "f32", "f64", "i64", "u8"), d.whole(2, 4)
    times = [d.pick(1, 1, 2, 3) for _ in range(rank)]
    d.add(label, "Tile", {"x": d.array(d.shape(rank, MOST // 4), kind)}, {"s": np.array(times, np.int64)}, out=onnx_type(kind))


def cut(d, label):
    kind, rank = d.pick("f32", "f32", "f64", "i64", "u8"), d.whole(2, 4)
    shape = d.shape(rank)
    axis = d.pick(*[i for i, e in enumerate(shape) if e > 3] or [0])
    end = max(2, shape[axis] - 1)
    d.add(label, "Slice", {"x": d.array(shape, kind)}, {"s": np.array([1], np.int64), "e": np.array([end], np.int64), "a": np.array([axis], np.int64),
                                                        "t": np.array([d.pick(1, 1, 2, 3)], np.int64)}, out=onnx_type(kind))


def padded(d, label):
    rank = d.whole(2, 4)
    pads = [0] * (rank - 2) + [d.whole(0, 3) for _ in range(2)]
    shape = [max(e, 4) for e in d.shape(rank, MOST // 2)]
    kind = d.pick("f32", "f32", "f64", "i64", "u8")
    d.add(label, "Pad", {"x": d.array(shape, kind)}, {"p": np.array(pads * 2, np.int64)}, mode=d.pick("constant", "edge", "reflect", "wrap"), out=onnx_type(kind))


def blocks(d, label):
    op, size = d.pick("SpaceToDepth", "DepthToSpace"), d.pick(2, 3, 4)
    c, h, w = d.whole(2, 24), d.whole(5, 24), d.whole(5, 24)
    if op == "SpaceToDepth":
        d.add(label, op, {"x": d.array((1, c, h * size, w * size))}, blocksize=size)
    else:
        d.add(label, op, {"x": d.array((1, c * size * size, h, w))}, blocksize=size, mode=d.pick("DCR", "CRD"))


def gathered(d, label):
    kind, rank = d.pick("f32", "f64", "i64"), d.whole(2, 3)
    shape = d.shape(rank)
    axis = d.whole(0, rank - 1)
    d.add(label, "Gather", {"x": d.array(shape, kind), "i": d.ints(0, shape[axis], d.whole(1, 200))}, axis=axis, out=onnx_type(kind), is_open=False)


def selected(d, label):
    shape = d.shape(d.whole(2, 3))
    d.add(label, "Where", {"c": d.ints(0, 2, *shape).astype(bool), "x": d.array(shape), "y": d.array(shape[d.pick(0, 1):])})


def converted(d, label):
    source, target = d.pick(*TYPES), d.pick(*TYPES)
    d.add(label, "Cast", {"x": d.array(d.shape(2), source, positive=True)}, to=onnx_type(target), out=onnx_type(target))


def product(d, label):
    kind, batch = d.pick("f32", "f64"), d.pick(1, 1, d.whole(2, 6))
    m, k, n = d.pick(1, d.whole(2, 12), d.whole(20, 200)), d.whole(16, 300), d.whole(16, 300)
    a, b = d.array((batch, m, k), kind), d.array((batch, k, n) if d.whole(0, 1) else (k, n), kind)
    if d.whole(0, 1):
        d.add(label, "MatMul", {"a": a}, {"b": b}, out=onnx_type(kind))
    else:
        d.add(label, "MatMul", {"a": a, "b": b}, out=onnx_type(kind))


def pooled(d, label):
    k = d.whole(2, 5)
    d.add(label, d.pick("MaxPool", "AveragePool"), {"x": d.array((1, d.whole(8, 64), d.whole(12, 60), d.whole(12, 60)))}, kernel_shape=[k, k],
          strides=[d.whole(1, 3)] * 2, pads=[d.whole(0, 1)] * 4)


def convolution(d, label):
    ci, co, k = d.whole(3, 64), d.whole(4, 64), d.pick(1, 3, 3, 5)
    d.add(label, "Conv", {"x": d.array((1, ci, d.whole(8, 40), d.whole(8, 40)))}, {"w": d.f32(co, ci, k, k, scale=0.1)}, pads=[k // 2] * 4, strides=[d.whole(1, 2)] * 2)


FAMILIES = (pointwise, activation, binary, binary, reduction, reduction, along_axis, normalisation, joined, joined, moved, moved, repeated, repeated, cut, cut,
            padded, blocks, gathered, selected, converted, product, product, pooled, convolution)


def rows(seed, count):
    d = Draw(seed)
    for number in range(count):
        d.pick(*FAMILIES)(d, f"seed {seed} #{number}")
    return d.rows
