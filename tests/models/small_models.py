"""Models that compile and run within moments: small versions of the zoo's architectures, control flow, recurrence, shape chains.

MODELS: name -> (function that makes the ModelProto, two sets of values for all symbols).
"""
import numpy as np
from onnx import TensorProto, helper

import make_model
from make_model import Maker

F32, I64, I32, BOOL = TensorProto.FLOAT, TensorProto.INT64, TensorProto.INT32, TensorProto.BOOL


def ints(m, *values):
    return m.constant(np.array(values, np.int64))


def scalar(m, value):
    return m.constant(np.float32(value))


# ---------------------------------------------------------------- control flow

def body(name, inputs, outputs, nodes):
    """A subgraph for an attribute. `inputs` and `outputs`: (name, type, shape)."""
    infos = ([helper.make_tensor_value_info(*i) for i in values] for values in (inputs, outputs))
    return helper.make_graph(nodes, name, *infos)


def branches():
    """An If on a computed condition, whose branches read outer values; one branch contains another If."""
    m = Maker("branches")
    x = m.input("x", F32, ["batch", 16])
    flag = m.input("flag", BOOL, [])
    w = m.weight(16, 16)
    positive = m.op("Greater", m.op("ReduceSum", x, keepdims=0), scalar(m, 0))
    inner = helper.make_node("If", [flag], ["i"], name="inner",
                             then_branch=body("yes", [], [("a", F32, None)], [helper.make_node("Tanh", [x], ["a"], name="tanh")]),
                             else_branch=body("no", [], [("b", F32, None)], [helper.make_node("Neg", [x], ["b"], name="neg")]))
    product = helper.make_node("MatMul", [x, w], ["p"], name="product")
    y = m.op("If", positive, then_branch=body("then", [], [("i", F32, None)], [inner]),
             else_branch=body("else", [], [("p", F32, None)], [product]))
    m.output(m.op("Add", y, x), "y", F32, ["batch", 16])
    return m.model(13)


def loop():
    """A Loop with a carried value, a scan output and a trip count from a shape, and a Loop that ends by its
    condition."""
    m = Maker("loop")
    x = m.input("x", F32, ["steps", 8])
    w = m.weight(8, 8, gain=0.9)
    trips = m.op("Gather", m.op("Shape", x), m.constant(np.int64(0)))
    yes = m.constant(np.array(True))
    step = body("step", [("i", I64, []), ("c", BOOL, []), ("h", F32, [8])],
                [("c_out", BOOL, []), ("h_out", F32, [8]), ("row", F32, [8])],
                [helper.make_node("Identity", ["c"], ["c_out"], name="again"),
                 helper.make_node("Gather", [x, "i"], ["x_i"], name="row_of_x"),
                 helper.make_node("MatMul", ["h", w], ["h_w"], name="recur"),
                 helper.make_node("Add", ["h_w", "x_i"], ["sum"], name="add"),
                 helper.make_node("Tanh", ["sum"], ["h_out"], name="tanh"),
                 helper.make_node("Mul", ["h_out", "h_out"], ["row"], name="square")])
    last, rows = m.op("Loop", trips, yes, m.constant(np.zeros(8, np.float32)), outputs=2, body=step)
    double = body("double", [("j", I64, []), ("d", BOOL, []), ("v", F32, [8])], [("d_out", BOOL, []), ("v_out", F32, [8])],
                  [helper.make_node("Add", ["v", "v"], ["v_out"], name="twice"),
                   helper.make_node("ReduceMax", ["v_out"], ["top"], name="top", keepdims=0),
                   helper.make_node("Less", ["top", scalar(m, 100)], ["d_out"], name="small")])
    grown = m.op("Loop", m.constant(np.int64(50)), yes, m.op("Add", m.op("Abs", last), scalar(m, 0.1)), body=double)
    m.output(rows, "rows", F32, ["steps", 8])
    m.output(grown, "grown", F32, [8])
    return m.model(13)


def scan():
    """A running sum over rows, forwards and backwards."""
    m = Maker("scan")
    x = m.input("x", F32, ["steps", "width"])
    start = m.op("ReduceSum", m.op("Mul", x, scalar(m, 0)), m.constant(np.array([0], np.int64)), keepdims=0)
    outputs = []
    for backward in (0, 1):
        step = body(f"step{backward}", [(f"s{backward}", F32, ["width"]), (f"r{backward}", F32, ["width"])],
                    [(f"t{backward}", F32, ["width"]), (f"u{backward}", F32, ["width"])],
                    [helper.make_node("Add", [f"s{backward}", f"r{backward}"], [f"t{backward}"], name=f"add{backward}"),
                     helper.make_node("Sigmoid", [f"t{backward}"], [f"u{backward}"], name=f"sigmoid{backward}")])
        outputs.append(m.op("Scan", start, x, outputs=2, body=step, num_scan_inputs=1,
                            scan_input_directions=[backward], scan_output_directions=[backward]))
    m.output(outputs[0][0], "total", F32, ["width"])
    m.output(m.op("Add", outputs[0][1], outputs[1][1]), "rows", F32, ["steps", "width"])
    return m.model(13)


# ---------------------------------------------------------------- recurrence

def recurrent():
    """A bidirectional LSTM with all optional inputs, then a GRU that resets linearly."""
    m = Maker("recurrent")
    x = m.input("x", F32, ["steps", "batch", 12])
    hidden = 10
    y, last, cell = m.op("LSTM", x, m.weight(2, 4 * hidden, 12, fan_in=12), m.weight(2, 4 * hidden, hidden, fan_in=hidden),
                         m.constant(0.1 * np.arange(16 * hidden, dtype=np.float32).reshape(2, -1) / hidden), outputs=3,
                         hidden_size=hidden, direction="bidirectional")
    y = m.op("Reshape", m.op("Transpose", y, perm=[0, 2, 1, 3]), ints(m, 0, 0, 2 * hidden))
    z, end = m.op("GRU", y, m.weight(1, 3 * hidden, 2 * hidden, fan_in=20), m.weight(1, 3 * hidden, hidden, fan_in=hidden),
                  outputs=2, hidden_size=hidden, linear_before_reset=1)
    m.output(z, "z", F32, ["steps", 1, "batch", hidden])
    m.output(end, "end", F32, [1, "batch", hidden])
    m.output(cell, "cell", F32, [2, "batch", hidden])
    return m.model(14)


# ---------------------------------------------------------------- convolutions

def convolutions_1d():
    """Convolutions as in speech models: strided, dilated, grouped, depthwise, transposed; odd channels."""
    m = Maker("convolutions_1d")

    def conv(x, cin, cout, kernel, op="Conv", groups=1, **attributes):
        shape = (cout, cin // groups, kernel) if op == "Conv" else (cin, cout // groups, kernel)
        w = m.weight(*shape, fan_in=cin // groups * kernel)
        return m.op(op, x, w, m.vector(cout), kernel_shape=[kernel], group=groups, **attributes)

    x = m.input("x", F32, ["batch", 3, "length"])
    x = m.op("Relu", conv(x, 3, 40, 7, strides=[2], pads=[3, 3]))
    x = m.op("Add", conv(x, 40, 40, 5, groups=40, pads=[8, 8], dilations=[4]), x)
    x = m.op("LeakyRelu", conv(x, 40, 24, 3, groups=4, pads=[2, 0]), alpha=0.1)
    x = m.op("Tanh", conv(x, 24, 18, 4, op="ConvTranspose", strides=[2], pads=[1, 1]))
    m.output(m.op("MaxPool", x, kernel_shape=[3], strides=[2]), "y", F32, ["batch", 18, None])
    return m.model(13)


def convolutions_2d():
    """Groups, channel multipliers, dilation, uneven pads, strides and kernels; pools; an upsampling decoder."""
    m = Maker("convolutions_2d")

    def conv(x, cin, cout, kernel, groups=1, op="Conv", **attributes):
        shape = (cout, cin // groups) if op == "Conv" else (cin, cout // groups)
        w = m.weight(*shape, *kernel, fan_in=cin // groups * int(np.prod(kernel)))
        return m.op(op, x, w, m.vector(cout), kernel_shape=kernel, group=groups, **attributes)

    x = m.input("x", F32, ["batch", 5, "height", "width"])
    x = m.op("HardSwish", conv(x, 5, 20, [3, 5], pads=[1, 2, 1, 2]))
    a = conv(x, 20, 40, [3, 3], groups=20, pads=[1, 1, 1, 1], strides=[2, 2])
    b = conv(x, 20, 40, [3, 3], groups=4, pads=[2, 2, 2, 2], dilations=[2, 2], strides=[2, 2])
    x = m.batch_norm(m.op("Concat", a, b, axis=1), 80)
    gate = m.op("Sigmoid", conv(m.op("GlobalAveragePool", x), 80, 80, [1, 1]))
    x = m.op("Mul", x, gate)
    x = m.op("AveragePool", x, kernel_shape=[3, 3], strides=[1, 1], pads=[1, 1, 1, 1], count_include_pad=0)
    x = conv(x, 80, 16, [2, 2], op="ConvTranspose", strides=[2, 2])
    x = m.op("Resize", x, "", m.constant(np.array([1, 1, 2, 2], np.float32)), mode="linear",
             coordinate_transformation_mode="half_pixel")
    m.output(m.op("Softmax", x, axis=1), "y", F32, ["batch", 16, None, None])
    return m.model(14)


# ---------------------------------------------------------------- shapes, integers

def shape_chains():
    """Extents computed by the model: heads split by Shape-Gather-Concat-Reshape, Range, Expand, Slice, Tile, Where."""
    m = Maker("shape_chains")
    x = m.input("x", F32, ["batch", "rows", 24])
    batch, rows = (m.op("Gather", m.op("Shape", x), ints(m, i)) for i in (0, 1))
    heads = m.op("Reshape", x, m.op("Concat", batch, rows, ints(m, 4, -1), axis=0))
    heads = m.op("Transpose", heads, perm=[0, 2, 1, 3])
    scores = m.op("MatMul", heads, m.op("Transpose", heads, perm=[0, 1, 3, 2]))
    one, zero = m.constant(np.int64(1)), m.constant(np.int64(0))
    places = m.op("Range", zero, m.op("Squeeze", rows), one)
    causal = m.op("LessOrEqual", m.op("Unsqueeze", places, ints(m, 0)), m.op("Unsqueeze", places, ints(m, 1)))
    scores = m.op("Where", causal, scores, scalar(m, -1e9))
    y = m.op("MatMul", m.op("Softmax", scores, axis=-1), heads)
    merged = m.op("Reshape", m.op("Transpose", y, perm=[0, 2, 1, 3]), m.op("Concat", batch, ints(m, -1, 24), axis=0))
    half = m.op("Div", rows, ints(m, 2))
    top = m.op("Slice", merged, ints(m, 0), half, ints(m, 1))
    token = m.op("Expand", m.weight(1, 1, 24), m.op("Concat", batch, ints(m, 1, 24), axis=0))
    m.output(m.op("Concat", token, top, axis=1), "tokens", F32, ["batch", None, 24])
    m.output(m.op("Tile", m.op("Flatten", x, axis=1), m.op("Concat", ints(m, 2), ints(m, 1), axis=0)), "tiled", F32, None)
    m.output(m.op("Mul", rows, batch), "count", I64, [1])
    return m.model(13)


def integers():
    """Indices, masks and integer arithmetic between operators on floats."""
    m = Maker("integers")
    ids = m.input("ids", I64, ["batch", "items"])
    x = m.input("x", F32, ["batch", "items"])
    bucket = m.op("Mod", m.op("Add", ids, m.constant(np.int64(7))), m.constant(np.int64(5)))
    table = m.weight(5, 6)
    rows = m.op("Gather", table, bucket)
    odd = m.op("Equal", m.op("Mod", ids, m.constant(np.int64(2))), m.constant(np.int64(1)))
    kept = m.op("Mul", x, m.op("Cast", odd, to=F32))
    best = m.op("ArgMax", kept, axis=1, keepdims=0)
    picked = m.op("GatherElements", x, m.op("Mod", ids, m.constant(np.int64(3))), axis=1)
    total = m.op("CumSum", m.op("Cast", ids, to=I32), m.constant(np.int32(1)))
    m.output(m.op("ReduceSum", rows, ints(m, 1), keepdims=0), "embedded", F32, ["batch", 6])
    m.output(best, "best", I64, ["batch"])
    m.output(picked, "picked", F32, ["batch", "items"])
    m.output(total, "running", I32, ["batch", "items"])
    m.output(m.op("And", odd, m.op("Greater", x, scalar(m, 0))), "both", BOOL, ["batch", "items"])
    return m.model(13)


MODELS = {
    "mlp": (make_model.mlp, [{"batch": 1}, {"batch": 9}]),
    "mini_resnet": (lambda: make_model.resnet("mini_resnet", (1, 2), 64, 16, 10), [{"batch": 1}, {"batch": 3}]),
    "mini_mobilenet": (lambda: make_model.mobilenet_v2("mini_mobilenet", ((1, 16, 1, 1), (6, 24, 2, 2)), 64, 72, 10),
                       [{"batch": 1}, {"batch": 3}]),
    "mini_bert": (lambda: make_model.bert("mini_bert", 64, 4, 2, 500),
                  [{"batch": 1, "sequence": 16}, {"batch": 3, "sequence": 9}]),
    "mini_gpt_step": (lambda: make_model.gpt2_step("mini_gpt_step", 64, 4, 2, 500),
                      [{"batch": 1, "past": 5}, {"batch": 2, "past": 12}]),
    "branches": (branches, [{"batch": 1}, {"batch": 4}]),
    "loop": (loop, [{"steps": 3}, {"steps": 8}]),
    "scan": (scan, [{"steps": 3, "width": 5}, {"steps": 7, "width": 20}]),
    "recurrent": (recurrent, [{"steps": 5, "batch": 1}, {"steps": 3, "batch": 4}]),
    "convolutions_1d": (convolutions_1d, [{"batch": 1, "length": 50}, {"batch": 2, "length": 33}]),
    "convolutions_2d": (convolutions_2d, [{"batch": 1, "height": 12, "width": 20}, {"batch": 2, "height": 9, "width": 7}]),
    "shape_chains": (shape_chains, [{"batch": 1, "rows": 6}, {"batch": 3, "rows": 11}]),
    "integers": (integers, [{"batch": 1, "items": 4}, {"batch": 3, "items": 17}]),
}


def make_feeds(model, size, seed=7):
    """Seeded inputs of the declared types: normal floats, integers from 0 to 99, masks of ones, random booleans."""
    random = np.random.Generator(np.random.PCG64(seed))
    feeds = {}
    for i in model.graph.input:
        t = i.type.tensor_type
        shape = [d.dim_value if d.HasField("dim_value") else eval(d.dim_param, {}, dict(size)) for d in t.shape.dim]
        dtype = helper.tensor_dtype_to_np_dtype(t.elem_type)
        if dtype == np.bool_:
            feeds[i.name] = np.asarray(random.integers(0, 2, shape), np.bool_)
        elif dtype.kind == "i":
            feeds[i.name] = np.ones(shape, dtype) if "mask" in i.name else random.integers(0, 100, shape).astype(dtype)
        else:
            feeds[i.name] = random.standard_normal(shape).astype(dtype)
    return feeds
