"""Random valid models of windows and movement: convolutions, pools, pads, Resize, Slice, Col2Im, recurrent cells.

    case = make(seed, number)         # equal arguments give the same case
    case.model, case.feeds, case.sizes

Parameters are unusual on purpose: windows entirely in the padding, padding far beyond the kernel, extents of one, strides beyond the input. If parameters are
invalid, new ones are drawn.

    for case in far_cases(): ...      # a fixed list: in every layout, the padding of every side exceeds the kernel
"""
import dataclasses

import numpy as np
from onnx import TensorProto, helper, numpy_helper

OPSET = 22
INT64 = np.iinfo(np.int64)


@dataclasses.dataclass
class Case:
    name: str
    model: object
    feeds: dict
    sizes: dict  # symbols; empty when all extents are fixed


class Impossible(Exception):
    """Raised if the parameters do not make a valid model."""


class Builder:
    """A graph under construction. Its input's extents are open at random."""

    def __init__(self, random):
        self.random, self.nodes, self.constants, self.inputs, self.feeds, self.sizes = random, [], [], [], {}, {}
        self.domains = {"": OPSET}

    def chance(self, p):
        return self.random.random() < p

    def integer(self, low, high):
        """In [low, high]."""
        return int(self.random.integers(low, high + 1))

    def pick(self, *choices):
        return choices[self.integer(0, len(choices) - 1)]

    def floats(self, *shape):
        return self.random.standard_normal(shape).astype(np.float32)

    def input(self, array, open_dims=()):
        name = f"x{len(self.inputs)}"
        shape = list(array.shape)
        for d in open_dims:
            shape[d] = f"{name}_s{d}"
            self.sizes[shape[d]] = array.shape[d]
        self.inputs.append(helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(array.dtype), shape))
        self.feeds[name] = array
        return name

    def constant(self, array):
        name = f"c{len(self.constants)}"
        self.constants.append(numpy_helper.from_array(np.asarray(array), name))
        return name

    def ints(self, values):
        return self.constant(np.array(values, np.int64))

    def node(self, op, inputs, outputs=1, domain="", **attributes):
        names = [f"v{len(self.nodes)}_{i}" for i in range(outputs)]
        self.nodes.append(helper.make_node(op, inputs, names, domain=domain, **attributes))
        return names if outputs > 1 else names[0]

    def activation(self, batch, channels, spatial):
        """An input [N, C, spatial...] whose batch and spatial extents are open at random."""
        x = self.floats(batch, channels, *spatial)
        how = self.integer(0, 2)
        open_dims = [] if how == 0 else [0] + [d + 2 for d in range(len(spatial)) if how == 1 or self.chance(0.5)]
        return self.input(x, open_dims)

    def case(self, name, outputs):
        values = [helper.make_empty_tensor_value_info(o) for o in outputs]
        graph = helper.make_graph(self.nodes, "window", self.inputs, values, self.constants)
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid(d, v) for d, v in self.domains.items()])
        model.ir_version = 10
        return Case(name, model, self.feeds, self.sizes)


# ---------------------------------------------------------------- windows

def extents_of(b, rank):
    most = {1: 70, 2: 33, 3: 9}[rank]
    return [b.pick(1, 2, 3, b.integer(1, most), b.integer(1, most)) for _ in range(rank)]


def reach(kernel, dilation):
    return (kernel - 1) * dilation + 1


def far_pads(b, kernel, dilations):
    """Two pads per dimension, sometimes far beyond the window."""
    pads = []
    for _ in range(2):
        for k, d in zip(kernel, dilations):
            most = b.pick(0, 1, k - 1, reach(k, d) - 1, reach(k, d) + 6, b.pick(20, 64) if b.chance(0.1) else 9)
            pads.append(b.integer(0, max(most, 0)))
    return pads


def window(b, spatial, largest_kernel=7):
    """The kernel, strides, dilations and pads of a window that fits the padded input."""
    rank = len(spatial)
    kernel = [b.pick(1, 2, 3, b.integer(1, largest_kernel)) for _ in range(rank)]
    strides = [b.pick(1, 1, 2, b.integer(1, 5)) for _ in range(rank)]
    dilations = [b.pick(1, 1, 1, 2, 3) for _ in range(rank)]
    pads = far_pads(b, kernel, dilations)
    for d in range(rank):
        if spatial[d] + pads[d] + pads[rank + d] < reach(kernel[d], dilations[d]):
            pads[d + rank * b.integer(0, 1)] += reach(kernel[d], dilations[d]) - spatial[d]
    return kernel, strides, dilations, pads


def channels_and_groups(b):
    form = b.integer(0, 3)
    if form == 0:  # few channels, for the plain layout
        return b.integer(1, 15), b.pick(1, 3, 16, 17, 24, 33, 40), 1
    if form == 1:
        return b.pick(16, 17, 24, 32, 35), b.pick(1, 16, 20, 48), 1
    if form == 2:  # depthwise
        channels = b.pick(1, 3, 8, 16, 20, 40)
        return channels, channels * b.pick(1, 1, 1, 2), channels
    groups = b.pick(2, 3, 4)
    return groups * b.pick(1, 3, 4, 8, 16), groups * b.pick(1, 2, 4, 8, 16), groups


def require_small(spatial, kernel, strides, dilations, pads, depth):
    """Raises Impossible if the model would be too expensive. `depth`: multiply-adds per output position and tap."""
    rank = len(spatial)
    outputs = [(spatial[d] + pads[d] + pads[rank + d] - reach(kernel[d], dilations[d])) // strides[d] + 1 for d in range(rank)]
    if np.prod(outputs, dtype=float) * np.prod(kernel, dtype=float) * depth > 2e7:
        raise Impossible


def conv_of(b, x, channels, outputs, groups, spatial):
    kernel, strides, dilations, pads = window(b, spatial)
    require_small(spatial, kernel, strides, dilations, pads, outputs * channels // groups)
    weights = b.constant(b.floats(outputs, channels // groups, *kernel) / np.float32(np.sqrt(np.prod(kernel))))
    inputs = [x, weights] + ([b.constant(b.floats(outputs))] if b.chance(0.5) else [])
    attributes = dict(kernel_shape=kernel, strides=strides, dilations=dilations, group=groups)
    if b.chance(0.15):
        auto = b.pick("SAME_UPPER", "SAME_LOWER", "VALID")
        if auto == "VALID" and any(s < reach(k, d) for s, k, d in zip(spatial, kernel, dilations)):
            raise Impossible
        if auto != "VALID":
            attributes["dilations"] = [1] * len(kernel)
        attributes["auto_pad"] = auto
    else:
        attributes["pads"] = pads
    return b.node("Conv", inputs, **attributes)


def follow(b, y):
    """Adds at random an operator that reads the window's result."""
    op = b.pick(None, None, "Relu", "Neg", "Sigmoid")
    return b.node(op, [y]) if op else y


def make_conv(b):
    rank = b.pick(1, 2, 2, 2, 3)
    channels, outputs, groups = channels_and_groups(b)
    spatial = extents_of(b, rank)
    x = b.activation(b.integer(1, 3), channels, spatial)
    return [follow(b, conv_of(b, x, channels, outputs, groups, spatial))]


def make_conv_transpose(b):
    rank = b.pick(1, 2, 2, 3)
    groups = b.pick(1, 1, 2, 3)
    channels, outputs = groups * b.pick(1, 3, 8, 16), b.pick(1, 2, 8, 16)
    spatial = extents_of(b, rank)
    kernel = [b.integer(1, 5) for _ in range(rank)]
    strides = [b.integer(1, 4) for _ in range(rank)]
    dilations = [b.pick(1, 1, 2, 3) for _ in range(rank)]
    extra = [b.integer(0, max(s, d) - 1) if b.chance(0.3) else 0 for s, d in zip(strides, dilations)]
    pads = [b.integer(0, b.pick(0, k - 1, reach(k, d) + 2)) for k, d in list(zip(kernel, dilations)) * 2]
    for d in range(rank):
        if (spatial[d] - 1) * strides[d] + extra[d] + reach(kernel[d], dilations[d]) - pads[d] - pads[rank + d] < 1:
            pads[d] = pads[rank + d] = 0
    x = b.activation(b.integer(1, 2), channels, spatial)
    weights = b.constant(b.floats(channels, outputs, *kernel))
    inputs = [x, weights] + ([b.constant(b.floats(outputs * groups))] if b.chance(0.5) else [])
    y = b.node("ConvTranspose", inputs, kernel_shape=kernel, strides=strides, dilations=dilations, pads=pads,
               output_padding=extra, group=groups)
    return [follow(b, y)]


def pool_of(b, x, spatial, op):
    rank = len(spatial)
    kernel, strides, dilations, pads = window(b, spatial, 5)
    if op == "LpPool" and b.chance(0.7):
        dilations = [1] * rank
    if b.chance(0.8):  # onnxruntime requires padding smaller than the kernel
        pads = [b.integer(0, k - 1) for k in kernel * 2]
    for d in range(rank):
        if spatial[d] + pads[d] + pads[rank + d] < reach(kernel[d], dilations[d]):
            kernel[d], dilations[d], pads[d], pads[rank + d] = 1, 1, 0, 0
    attributes = dict(kernel_shape=kernel, strides=strides, ceil_mode=b.integer(0, 1), pads=pads)
    if any(d != 1 for d in dilations):
        attributes["dilations"] = dilations
    if op == "AveragePool":
        attributes["count_include_pad"] = b.integer(0, 1)
    if op == "LpPool":
        attributes["p"] = b.integer(1, 3)
    if b.chance(0.1):
        del attributes["pads"]
        attributes["ceil_mode"] = 0
        attributes["auto_pad"] = b.pick("SAME_UPPER", "SAME_LOWER", "VALID")
        if attributes["auto_pad"] == "VALID" and any(s < reach(k, d) for s, k, d in zip(spatial, kernel, dilations)):
            raise Impossible
        if attributes["auto_pad"] != "VALID":
            attributes.pop("dilations", None)
    if op == "MaxPool" and b.chance(0.2):
        return b.node(op, [x], 2, storage_order=b.integer(0, 1), **attributes)
    return [b.node(op, [x], **attributes)]


def make_pool(b):
    rank = b.pick(1, 2, 2, 3)
    spatial, channels = extents_of(b, rank), b.pick(1, 3, 16, 20)
    x = b.activation(b.integer(1, 2), channels, spatial)
    return pool_of(b, x, spatial, b.pick("MaxPool", "AveragePool", "LpPool"))


def make_conv_pool(b):
    """A pool whose result is stored in channel blocks."""
    spatial = extents_of(b, b.pick(1, 2))
    x = b.activation(1, 4, spatial)
    y = b.node("Conv", [x, b.constant(b.floats(20, 4, *[1] * len(spatial)))])
    return pool_of(b, y, spatial, b.pick("MaxPool", "AveragePool"))


def pad_amounts(b, spatial, mode):
    """Amounts of padding before and after every spatial dimension; negative amounts crop."""
    before, after = [], []
    for extent in spatial:
        most = extent - 1 if mode == "reflect" else extent if mode == "wrap" else 9
        pair = [b.integer(0, max(min(most, b.pick(0, 1, 3, 9)), 0)) for _ in range(2)]
        if mode == "constant" and b.chance(0.15) and extent > 2:
            pair[b.integer(0, 1)] = -1
        before.append(pair[0])
        after.append(pair[1])
    return before, after


def pad(b, x, spatial):
    mode = b.pick("constant", "constant", "reflect", "edge", "wrap")
    before, after = pad_amounts(b, spatial, mode)
    inputs = [x, b.ints([0, 0, *before, 0, 0, *after])]
    if mode == "constant" and b.chance(0.5):
        inputs.append(b.constant(np.float32(1.5)))
    return b.node("Pad", inputs, mode=mode), [e + p + q for e, p, q in zip(spatial, before, after)]


def make_pad_conv(b):
    rank = b.pick(1, 2, 2, 3)
    channels, outputs, groups = channels_and_groups(b)
    spatial = extents_of(b, rank)
    y, padded = pad(b, b.activation(b.integer(1, 2), channels, spatial), spatial)
    return [follow(b, conv_of(b, y, channels, outputs, groups, padded))]


def make_pad(b):
    """Pad alone, before a pool, and after a convolution or a pool."""
    spatial, channels = extents_of(b, b.pick(1, 2, 3)), b.pick(1, 3, 16, 20)
    x = b.activation(b.integer(1, 2), channels, spatial)
    how = b.integer(0, 3)
    if how == 0:
        y, padded = pad(b, x, spatial)
        return [follow(b, y)]
    if how == 1:
        y, padded = pad(b, x, spatial)
        return pool_of(b, y, padded, b.pick("MaxPool", "AveragePool", "LpPool"))
    if how == 2:
        y = b.node("Conv", [x, b.constant(b.floats(b.pick(3, 16, 20), channels, *[1] * len(spatial)))])
        y, padded = pad(b, y, spatial)
        return [follow(b, y)]
    y = b.node(b.pick("MaxPool", "AveragePool"), [x], kernel_shape=[1] * len(spatial), strides=[1] * len(spatial))
    y, padded = pad(b, y, spatial)
    return [b.node("Relu", [y])]


# ---------------------------------------------------------------- movement

def make_resize(b):
    rank = b.pick(1, 2, 2, 3)
    mode = b.pick("nearest", "linear", "cubic") if rank == 2 else b.pick("nearest", "linear")
    spatial = [b.integer(1, {1: 40, 2: 17, 3: 6}[rank]) for _ in range(rank)]
    x = b.activation(b.integer(1, 2), b.integer(1, 4), spatial)
    attributes = dict(mode=mode)
    attributes["coordinate_transformation_mode"] = b.pick("half_pixel", "half_pixel_symmetric", "pytorch_half_pixel",
                                                          "align_corners", "asymmetric")
    if mode == "nearest":
        attributes["nearest_mode"] = b.pick("round_prefer_floor", "round_prefer_ceil", "floor", "ceil")
    if mode == "cubic":
        attributes["cubic_coeff_a"] = float(b.pick(-0.75, -0.5))
        attributes["exclude_outside"] = b.integer(0, 1)
    if b.chance(0.5):
        sizes = [b.integer(1, 2 * s + 3) for s in spatial]
        if b.chance(0.5):
            inputs = [x, "", "", b.ints([*b.feeds[x].shape[:2], *sizes])]
            b.sizes and fix_extents(b)
        else:
            attributes["axes"] = list(range(2, 2 + rank))
            inputs = [x, "", "", b.ints(sizes)]
    else:
        scales = [float(b.pick(0.5, 2, 1, 1.5, 0.25, 3, round(b.random.uniform(0.3, 3), 2))) for _ in range(rank)]
        if any(int(np.floor(np.float32(s) * np.float32(e))) < 1 for s, e in zip(scales, spatial)):
            raise Impossible
        inputs = [x, "", b.constant(np.array([1, 1, *scales], np.float32))]
    return [b.node("Resize", inputs, **attributes)]


def fix_extents(b):
    """Fixes all extents of the inputs, and removes the symbols."""
    for value in b.inputs:
        for d, extent in zip(value.type.tensor_type.shape.dim, b.feeds[value.name].shape):
            d.Clear()
            d.dim_value = extent
    b.sizes.clear()


def make_slice(b):
    rank = b.integer(1, 4)
    shape = [b.integer(1, 9) for _ in range(rank)]
    x = b.input(b.floats(*shape), [d for d in range(rank) if b.chance(0.4)])
    axes = [d for d in range(rank) if b.chance(0.7)] or [0]
    starts, ends, steps = [], [], []
    for a in axes:
        extreme = [INT64.max, INT64.min, INT64.min + 1, INT64.max - 1, 2**31 - 1, -2**31, 0, -1]
        bound = [b.pick(b.integer(-shape[a] - 2, shape[a] + 2), b.integer(-shape[a], shape[a]), b.pick(*extreme)) for _ in range(2)]
        starts.append(bound[0])
        ends.append(bound[1])
        steps.append(b.pick(1, 1, -1, 2, -2, 3, INT64.max, INT64.min + 1))
    named = [a - rank if b.chance(0.3) else a for a in axes]
    y = b.node("Slice", [x, *(given(b, v) for v in (starts, ends, named, steps))])
    return [y if b.chance(0.5) else b.node("Neg", [y])]


def given(b, values):
    """The values as a constant, or as an input that is known only at run time."""
    return b.input(np.array(values, np.int64)) if b.chance(0.15) else b.ints(values)


def make_col2im(b):
    image = [b.integer(3, 9) for _ in range(2)]
    block = [b.integer(1, min(4, s)) for s in image]
    strides, dilations = [b.integer(1, 3) for _ in range(2)], [b.pick(1, 1, 2) for _ in range(2)]
    pads = [b.integer(0, 3) for _ in range(4)]
    counts = [(s + pads[d] + pads[d + 2] - reach(block[d], dilations[d])) // strides[d] + 1 for d, s in enumerate(image)]
    if min(counts) < 1:
        raise Impossible
    channels = b.integer(1, 3)
    x = b.input(b.floats(b.integer(1, 2), channels * int(np.prod(block)), int(np.prod(counts))), [0] if b.chance(0.5) else [])
    return [b.node("Col2Im", [x, b.ints(image), b.ints(block)], strides=strides, dilations=dilations, pads=pads)]


def make_unfold(b):
    """im2col by stacked slices, as exporters write torch.nn.Unfold."""
    h, w, k = b.integer(3, 12), b.integer(3, 12), b.integer(1, 3)
    x = b.activation(1, b.integer(1, 5), [h, w])
    b.sizes and fix_extents(b)
    p = b.integer(0, 2)
    y = b.node("Pad", [x, b.ints([0, 0, p, p, 0, 0, p, p])])
    rows, columns = h + 2 * p - k + 1, w + 2 * p - k + 1
    if min(rows, columns) < 1:
        raise Impossible
    parts = [b.node("Slice", [y, b.ints([i, j]), b.ints([i + rows, j + columns]), b.ints([2, 3])])
             for i in range(k) for j in range(k)]
    stacked = b.node("Concat", parts, axis=1)
    return [b.node("Reshape", [stacked, b.ints([0, 0, -1])])]


def make_attention_window(b):
    """[N, H, W, C] cut into windows of w x w, padded at the end and shifted, as in Swin."""
    h, w, k, c = b.integer(2, 9), b.integer(2, 9), b.integer(2, 4), b.pick(1, 3, 8, 16)
    x = b.input(b.floats(b.integer(1, 2), h, w, c), [0] if b.chance(0.5) else [])
    ph, pw = -h % k, -w % k
    y = b.node("Pad", [x, b.ints([0, 0, 0, 0, 0, ph, pw, 0])])
    if b.chance(0.5):
        s = b.integer(1, k - 1)
        front = b.node("Slice", [y, b.ints([s]), b.ints([INT64.max]), b.ints([1])])
        back = b.node("Slice", [y, b.ints([0]), b.ints([s]), b.ints([1])])
        y = b.node("Concat", [front, back], axis=1)
    y = b.node("Reshape", [y, b.ints([-1, (h + ph) // k, k, (w + pw) // k, k, c])])
    y = b.node("Transpose", [y], perm=[0, 1, 3, 2, 4, 5])
    y = b.node("Reshape", [y, b.ints([-1, k * k, c])])
    scores = b.node("MatMul", [y, b.node("Transpose", [y], perm=[0, 2, 1])])
    return [b.node("MatMul", [b.node("Softmax", [scores], axis=-1), y])]


def make_recurrent(b):
    op, gates = b.pick(("LSTM", 4), ("GRU", 3), ("RNN", 1))
    steps, batch, inputs, hidden = b.integer(1, 6), b.integer(1, 3), b.integer(1, 9), b.pick(1, 3, 8, 17)
    direction = b.pick("forward", "reverse", "bidirectional")
    d = 2 if direction == "bidirectional" else 1
    x = b.input(b.floats(steps, batch, inputs), [0] if b.chance(0.5) else [])
    weights = [b.constant(b.floats(d, gates * hidden, n) / np.float32(3)) for n in (inputs, hidden)]
    operands = [x, *weights, b.constant(b.floats(d, 2 * gates * hidden)) if b.chance(0.5) else ""]
    if b.chance(0.5):
        lengths = np.array([b.integer(1, steps) for _ in range(batch)], np.int32)
        operands.append(b.input(lengths) if b.chance(0.5) else b.constant(lengths))
    return b.node(op, operands, 2, hidden_size=hidden, direction=direction)


# ---------------------------------------------------------------- padding beyond the kernel, always the same

# (batch, channels, spatial), (outputs, groups), kernel, strides, dilations, pads
FAR = [((1, 3, (16, 16)), (32, 1), (3, 3), (1, 1), (1, 1), pads)
       for pads in ((0, 4, 0, 0), (0, 20, 0, 0), (5, 5, 5, 5), (3, 63, 64, 1), (4, 0, 0, 0), (0, 0, 0, 9), (0, 0, 17, 0), (0, 3, 0, 0))]
FAR += [((2, 3, (9, 5)), (17, 1), (2, 5), (2, 3), (3, 1), (0, 33, 7, 12)), ((1, 1, (1, 1)), (16, 1), (3, 3), (1, 1), (2, 2), (9, 9, 9, 9)),
        ((1, 32, (7, 6)), (48, 1), (3, 3), (1, 1), (1, 1), (0, 20, 5, 5)), ((1, 20, (7, 6)), (20, 20), (3, 3), (2, 2), (1, 1), (8, 21, 0, 4)),
        ((1, 8, (7, 6)), (16, 2), (3, 2), (1, 2), (1, 2), (5, 19, 6, 1)), ((2, 3, (21,)), (32, 1), (3,), (1,), (1,), (40, 5)),
        ((1, 16, (21,)), (16, 1), (5,), (3,), (2,), (12, 37)), ((1, 2, (5, 4, 6)), (16, 1), (3, 2, 3), (1, 1, 1), (1, 1, 1), (4, 0, 20, 0, 7, 3))]


def far_cases():
    random = np.random.Generator(np.random.PCG64(7))
    for i, ((batch, channels, spatial), (outputs, groups), kernel, strides, dilations, pads) in enumerate(FAR):
        rank = len(spatial)
        for open_dims in ((), tuple(range(2, 2 + rank))):
            for form in ("Conv", "PadConv") if groups == 1 else ("Conv",):
                b = Builder(random)
                x = b.input(b.floats(batch, channels, *spatial), open_dims)
                attributes = dict(kernel_shape=kernel, strides=strides, dilations=dilations, group=groups)
                if form == "PadConv":
                    x = b.node("Pad", [x, b.ints([0, 0, *pads[:rank], 0, 0, *pads[rank:]])])
                else:
                    attributes["pads"] = pads
                y = b.node("Conv", [x, b.constant(b.floats(outputs, channels // groups, *kernel))], **attributes)
                yield b.case(f"far_{i}_{form}{'_open' if open_dims else ''}", [y])


KINDS = {"Conv": (make_conv, 5), "PadConv": (make_pad_conv, 4), "Pool": (make_pool, 4), "ConvPool": (make_conv_pool, 1),
         "Pad": (make_pad, 3), "ConvTranspose": (make_conv_transpose, 2), "Resize": (make_resize, 3),
         "Slice": (make_slice, 2), "Col2Im": (make_col2im, 1), "Unfold": (make_unfold, 1),
         "AttentionWindow": (make_attention_window, 1), "Recurrent": (make_recurrent, 1)}


def make(seed, number, kinds=None):
    """Case `number` of a seed; `kinds`: names of KINDS to draw from (default: all, by their weights)."""
    random = np.random.Generator(np.random.PCG64([seed, number]))
    names = [k for k in kinds or KINDS for _ in range(KINDS[k][1])]
    kind = names[int(random.integers(len(names)))]
    while True:
        b = Builder(random)
        try:
            return b.case(f"{number}_{kind}", KINDS[kind][0](b))
        except Impossible:
            continue
