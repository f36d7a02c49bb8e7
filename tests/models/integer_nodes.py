"""Quantised operators in one model, compared with exact integers. All forms use the same operands, a and w of 8 bits with zero
points. Scales are powers of two, so that the operations after the sums are exact, too. A model runs several times: arrays of inputs and of expected
results have the runs as their first axis."""
import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

MICROSOFT = "com.microsoft"
LARGEST_EXACT = 1 << 24  # f32 holds sums up to this limit exactly


class Net:
    """Independent nodes, their inputs, and their expected outputs."""

    def __init__(self):
        self.nodes, self.constants, self.inputs, self.feeds, self.expected, self.count = [], [], [], {}, {}, 0

    def fresh(self):
        self.count += 1
        return f"v{self.count}"

    def put(self, array):
        name = self.fresh()
        self.constants.append(numpy_helper.from_array(np.ascontiguousarray(array), name))
        return name

    def feed(self, runs):
        """An input, and its values in all runs."""
        name = self.fresh()
        self.inputs.append(helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(runs.dtype), runs.shape[1:]))
        self.feeds[name] = np.ascontiguousarray(runs)
        return name

    def node(self, op, inputs, outputs=1, domain="", **attributes):
        names = [self.fresh() for _ in range(outputs)]
        self.nodes.append(helper.make_node(op, inputs, names, name=names[0], domain=domain, **attributes))
        return names[0] if outputs == 1 else names

    def expect(self, name, array, what):
        self.expected[name] = (array, what)

    def model(self):
        outputs = [helper.make_tensor_value_info(n, helper.np_dtype_to_tensor_dtype(a.dtype), a.shape[1:]) for n, (a, _) in self.expected.items()]
        graph = helper.make_graph(self.nodes, "integers", self.inputs, outputs, self.constants)
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21), helper.make_opsetid(MICROSOFT, 1)], ir_version=10)


class Operands:
    """a [runs, M, K] and w [K, N], or for a convolution x [runs, 1, C, H, W] and w [O, C / group, h, w]. `za` is a number, `zw` one
    number or one per column; None: no zero point. `a` is an input of the model, w a constant unless `w_is_input`."""

    def __init__(self, a, w, za=None, zw=None, w_is_input=False, **attributes):
        self.a, self.w, self.za, self.zw, self.w_is_input, self.attributes = a, w, za, zw, w_is_input, attributes
        self.is_conv = a.ndim == 5
        self.channel = 0 if self.is_conv else 1
        self.columns = w.shape[self.channel]

    def along_channels(self, values):
        """One number per column, to broadcast with w."""
        return values.reshape([-1] + [1] * (self.w.ndim - 1)) if self.is_conv else values

    def sums(self):
        """The sums in f64, which holds them exactly (they stay below 2^53). NumPy multiplies integers without BLAS,
        which is slower."""
        a = self.a.astype(np.float64) - (0 if self.za is None else int(self.za))
        zero = 0 if self.zw is None else self.along_channels(self.zw.astype(np.float64)) if self.zw.ndim else int(self.zw)
        w = self.w.astype(np.float64) - zero
        if not self.is_conv:
            return (a.reshape(-1, a.shape[-1]) @ w).reshape(*a.shape[:-1], -1).astype(np.int64)
        pads, group = self.attributes.get("pads", [0] * 4), self.attributes.get("group", 1)
        a = np.pad(a, [(0, 0), (0, 0), (0, 0), (pads[0], pads[2]), (pads[1], pads[3])])
        windows = np.lib.stride_tricks.sliding_window_view(a[:, 0], w.shape[2:], (2, 3))  # [runs, C, y, x, h, w]
        runs, _, height, width = windows.shape[:4]
        windows = windows.transpose(0, 1, 4, 5, 2, 3).reshape(runs, group, -1, height * width)
        y = w.reshape(1, group, w.shape[0] // group, -1) @ windows
        return y.reshape(runs, 1, -1, height, width).astype(np.int64)

    def text(self):
        zero = "none" if self.zw is None else self.zw.tolist() if self.zw.ndim == 0 else "per column"
        return f"a {self.a.dtype}{list(self.a.shape[1:])} zero {self.za}, w {self.w.dtype}{list(self.w.shape)} zero {zero} {self.attributes or ''}"

    # ---- names of values
    def name(self, net, which):
        array = getattr(self, which)
        if which == "a":
            return net.feed(array)
        if which == "w" and self.w_is_input:
            return net.feed(np.broadcast_to(array, (len(self.a), *array.shape)))
        return "" if array is None else net.put(np.asarray(array))

    def zero(self, net, which):
        array = getattr(self, "z" + which)
        return net.put(np.zeros((), getattr(self, which).dtype) if array is None else array)


def scale(exponent):
    return np.float32(2.0**exponent)


def scales(net, o, exponents):
    """The name of the scales of w's columns."""
    return net.put(np.exp2(np.resize(exponents, o.columns)).astype(np.float32)) if len(exponents) > 1 else net.put(scale(exponents[0]))


def trimmed(names):
    while names and not names[-1]:
        names.pop()
    return names


def requantized(x, dtype, zero):
    limits = np.iinfo(dtype)
    return np.clip(np.rint(x) + int(zero), limits.min, limits.max).astype(dtype)


def integer(net, o, rng):
    op = "ConvInteger" if o.is_conv else "MatMulInteger"
    y = net.node(op, trimmed([o.name(net, n) for n in ("a", "w", "za", "zw")]), **o.attributes)
    net.expect(y, o.sums().astype(np.int32), f"{op}: {o.text()}")


def factor_of(o, exponents):
    """2^exponent per column, in the results' layout."""
    column = np.exp2(np.resize(exponents, o.columns))
    return column.reshape(1, -1, 1, 1) if o.is_conv else column


def result_of(rng, a, sums, o, exponents):
    """Chooses a type, zero point and exponent so that results fill the range, and also returns the results.
    `exponents`: those of a's and w's scales."""
    dtype = a.dtype if rng.random() < 0.5 else [np.uint8, np.int8][rng.integers(2)]
    size = int(np.abs(sums).max()).bit_length() + max(exponents)
    y_exponent = size - int(rng.integers(6, 9))
    limits = np.iinfo(dtype)
    zero = np.array(rng.choice([limits.min, limits.max, 0, int(rng.integers(limits.min, limits.max + 1))]), dtype)
    x = np.float32(sums).astype(np.float64) * factor_of(o, exponents) * 2.0**-y_exponent
    return zero, y_exponent, requantized(x, dtype, zero)


def chosen_exponents(rng, o):
    return rng.integers(-12, 0, o.columns if o.zw is not None and o.zw.ndim else 1)


def bias_of(rng, o, most):
    """An i32 bias in units of the sums; None in half of the cases."""
    if rng.random() < 0.5:
        return None
    return rng.choice([-most, most, 0, int(rng.integers(-most, most + 1))], o.columns).astype(np.int32)


def with_bias(o, sums, bias):
    return sums if bias is None else sums + (bias.reshape(1, -1, 1, 1) if o.is_conv else bias)


def q_linear(net, o, rng):
    exponents, sums = chosen_exponents(rng, o), o.sums()
    bias = bias_of(rng, o, LARGEST_EXACT) if o.is_conv else None
    sums = with_bias(o, sums, bias)
    zero, exponent, y = result_of(rng, o.a, sums, o, exponents)
    names = [o.name(net, "a"), net.put(scale(0)), o.zero(net, "a"), o.name(net, "w"), scales(net, o, exponents), o.zero(net, "w"),
             net.put(scale(exponent)), net.put(zero)]
    if bias is not None:
        names.append(net.put(bias))
    op = "QLinearConv" if o.is_conv else "QLinearMatMul"
    net.expect(net.node(op, names, **o.attributes), y, f"{op}: {o.text()} scales 2^{exponents.tolist()}")


def dequantized(net, o, which, exponents):
    names = [o.name(net, which), net.put(scale(0)) if which == "a" else scales(net, o, exponents)]
    if which == "w" and len(exponents) > 1 or getattr(o, "z" + which) is not None:
        zero = getattr(o, "z" + which)
        names.append(net.put(np.resize(zero if zero is not None else 0, o.columns if which == "w" and len(exponents) > 1 else ()).astype(
            getattr(o, which).dtype)))
    return net.node("DequantizeLinear", names, axis=o.channel if which == "w" else 1)


def qdq(net, o, rng):
    """The form that quantisers write: a float operator between DequantizeLinear and QuantizeLinear. The result is exact if f32 holds the sums exactly."""
    exponents, sums = chosen_exponents(rng, o), o.sums()
    bias = bias_of(rng, o, LARGEST_EXACT - int(np.abs(sums).max()))
    sums = with_bias(o, sums, bias)
    inputs = [dequantized(net, o, "a", exponents), dequantized(net, o, "w", exponents)]
    if bias is not None:
        inputs.append(net.node("DequantizeLinear", [net.put(bias), net.put(np.resize(np.exp2(exponents), o.columns).astype(np.float32))], axis=0))
    op = "Conv" if o.is_conv else "MatMul" if bias is None else "Gemm"
    y = net.node(op, inputs, **o.attributes)
    what = f"QDQ {op}: {o.text()} scales 2^{exponents.tolist()}"
    if rng.random() < 0.5:
        return net.expect(y, (sums * factor_of(o, exponents)).astype(np.float32), what)
    zero, exponent, result = result_of(rng, o.a, sums, o, exponents)
    net.expect(net.node("QuantizeLinear", [y, net.put(scale(exponent)), net.put(zero)]), result, what + " quantised")


def dynamic(net, o, rng):
    """The input is floats that DynamicQuantizeLinear converts to a, because their range covers all of u8."""
    o.a.reshape(len(o.a), -1)[:, :2] = [0, 255]
    o.za = np.uint8(0 if o.za is None else o.za)
    e = int(rng.integers(-8, 8))
    x = net.feed(((o.a.astype(np.float64) - int(o.za)) * 2.0**e).astype(np.float32))
    exponents = [int(rng.integers(-12, 0))]
    y = (o.sums() * 2.0**(e + exponents[0])).astype(np.float32)
    if rng.random() < 0.5:
        names = trimmed([x, o.name(net, "w"), scales(net, o, exponents), o.name(net, "zw")])
        return net.expect(net.node("DynamicQuantizeMatMul", names, domain=MICROSOFT), y, f"DynamicQuantizeMatMul: {o.text()}")
    a, a_scale, za = net.node("DynamicQuantizeLinear", [x], 3)
    sums = net.node("MatMulInteger", trimmed([a, o.name(net, "w"), za, o.name(net, "zw")]))
    both = net.node("Mul", [a_scale, scales(net, o, exponents)])
    net.expect(net.node("Mul", [net.node("Cast", [sums], to=TensorProto.FLOAT), both]), y, f"DynamicQuantizeLinear: {o.text()}")


def to_float(net, o, rng):
    exponents, e = [int(rng.integers(-12, 0))], int(rng.integers(-8, 8))
    names = trimmed([o.name(net, "a"), o.name(net, "w"), net.put(scale(e)), scales(net, o, exponents), o.name(net, "za"), o.name(net, "zw")])
    net.expect(net.node("MatMulIntegerToFloat", names, domain=MICROSOFT), (o.sums() * 2.0**(e + exponents[0])).astype(np.float32),
               f"MatMulIntegerToFloat: {o.text()}")


def q_gemm(net, o, rng):
    exponents, sums = chosen_exponents(rng, o), o.sums()
    bias = bias_of(rng, o, LARGEST_EXACT - int(np.abs(sums).max()))
    sums = with_bias(o, sums, bias)
    names = [o.name(net, "a"), net.put(scale(0)), o.zero(net, "a"), o.name(net, "w"), scales(net, o, exponents), o.zero(net, "w"),
             "" if bias is None else net.put(bias)]
    what = f"QGemm: {o.text()} scales 2^{exponents.tolist()}"
    if rng.random() < 0.5:
        y = net.node("QGemm", trimmed(names), domain=MICROSOFT)
        return net.expect(y, (sums * factor_of(o, exponents)).astype(np.float32), what)
    zero, exponent, result = result_of(rng, o.a, sums, o, exponents)
    if zero.dtype != o.a.dtype:  # onnxruntime's QGemm gives a result of a's type
        return None
    net.expect(net.node("QGemm", names + [net.put(scale(exponent)), net.put(zero)], domain=MICROSOFT), result, what)


OF_MATRICES = {"integer": integer, "q_linear": q_linear, "qdq": qdq, "dynamic": dynamic, "to_float": to_float, "q_gemm": q_gemm}
OF_IMAGES = {"integer": integer, "q_linear": q_linear, "qdq": qdq}
