"""Compares operators of com.microsoft with onnxruntime, which defines them. Also compares small networks that onnxruntime's optimiser has rewritten.
Arguments: names of operators or networks, to check only these."""
import os
import sys
import tempfile

import numpy as np

import onnx

import model_check
import operator_check
import small_models
from operator_check import Case

random = np.random.default_rng(1)


def f(*shape, scale=1.0):
    return (random.standard_normal(shape) * scale).astype(np.float32)


def u8(*shape, most=256):
    return random.integers(0, most, shape).astype(np.uint8)


def i8(*shape):
    return random.integers(-128, 128, shape).astype(np.int8)


def weights8(*shape):
    """Weights of 7 bits: without VNNI, onnxruntime adds pairs of 8-bit products in 16 bits, and larger weights would saturate these sums."""
    return random.integers(-64, 64, shape).astype(np.int8)


def scale(value):
    return np.float32(value)


def elementwise():
    x = ("x", f(3, 5, 8), ["b", 5, 8])
    yield Case("", "Gelu", [x])
    yield Case("", "BiasGelu", [x, "bias"], {"bias": f(8)})
    yield Case("alone", "FastGelu", [x])
    yield Case("with a bias", "FastGelu", [x, "bias"], {"bias": f(8)})
    yield Case("default alpha", "QuickGelu", [x])
    yield Case("alpha", "QuickGelu", [x], alpha=1.0)
    yield Case("", "GatedAdd", [x, ("y", f(3, 5, 8), ["b", 5, 8]), ("g", f(3, 5, 1), ["b", 5, 1])])
    yield Case("alpha", "ScaledSiLU", [x], alpha=1.7)
    yield Case("scale", "ScaledSiLU", [x, "s"], {"s": scale(0.4)})


def products():
    a, b = f(2, 3, 4, 5), f(2, 3, 5, 6)
    yield Case("alpha", "FusedMatMul", [("a", a), ("b", b)], alpha=0.5)
    yield Case("A turned", "FusedMatMul", [("a", a.swapaxes(2, 3).copy()), ("b", b)], transA=1)
    yield Case("B turned, constant", "FusedMatMul", [("a", a[:, 0], ["n", 4, 5]), "b"], {"b": f(6, 5)}, transB=1, alpha=2.0)
    yield Case("batches after the rows", "FusedMatMul", [("a", f(4, 2, 3, 5)), ("b", f(5, 2, 3, 6))], transBatchA=1, transBatchB=1)
    yield Case("both", "FusedMatMul", [("a", f(5, 2, 3, 4)), ("b", f(6, 2, 3, 5))], transA=1, transB=1, transBatchA=1, transBatchB=1)
    for activation, more in [("Relu", {}), ("LeakyRelu", {"activation_alpha": 0.3}), ("Tanh", {})]:
        yield Case(activation, "FusedGemm", [("a", f(7, 5), ["n", 5]), "b", "c"], {"b": f(6, 5), "c": f(6)}, transB=1, alpha=0.5,
                   activation=activation, **more)
    image = ("x", f(2, 8, 9, 7), ["n", 8, 9, 7])
    for activation, parameters in [("Relu", []), ("LeakyRelu", [0.2]), ("Clip", [-0.5, 0.75]), ("HardSigmoid", [0.25, 0.4]), ("Sigmoid", [])]:
        more = {"activation_params": parameters} if parameters else {}
        yield Case(activation, "FusedConv", [image, "w", "b"], {"w": f(6, 8, 3, 3), "b": f(6)}, pads=[1, 1, 1, 1], kernel_shape=[3, 3],
                   activation=activation, **more)
    yield Case("an addend", "FusedConv", [image, "w", "b", ("z", f(2, 6, 9, 7), ["n", 6, 9, 7])], {"w": f(6, 8, 3, 3), "b": f(6)},
               pads=[1, 1, 1, 1], kernel_shape=[3, 3], activation="Relu")


def block_weights():
    for bits, k, block, extra in [(4, 64, 32, ()), (4, 96, 32, ("zeros",)), (4, 80, 16, ("float zeros",)), (8, 64, 32, ("zeros",)),
                                  (4, 72, 32, ("zeros", "bias")), (4, 512, 32, ()), (4, 500, 32, ("zeros", "bias")), (8, 512, 128, ("zeros",)),
                                  (2, 512, 64, ("zeros",))]:
        n, blocks, per_row = 10 if k < 100 else 140, -(-k // block), block * bits // 8  # large constants stay packed
        constants = {"b": u8(n, blocks, per_row), "s": f(n * blocks, scale=0.1)}
        inputs = [("a", f(2, 3, k), ["n", 3, k]), "b", "s", None, None, None]
        if "zeros" in extra:
            constants["z"], inputs[3] = u8(n * -(-blocks * bits // 8)), "z"
        if "float zeros" in extra:
            constants["z"], inputs[3] = (f(n * blocks) + 8), "z"
        if "bias" in extra:
            constants["c"], inputs[5] = f(n), "c"
        while inputs[-1] is None:
            inputs.pop()
        yield Case(f"{bits} bits, K {k}, blocks of {block} {' '.join(extra)}", "MatMulNBits", inputs, constants, tolerance=1e-4,
                   K=k, N=n, bits=bits, block_size=block)
    ids = ("ids", np.array([[3, 0, 6]], np.int64))
    yield Case("bytes", "GatherBlockQuantized", ["data", ids, "s"], {"data": u8(7, 32), "s": f(7, 2)}, bits=4, block_size=32)
    yield Case("zero points", "GatherBlockQuantized", ["data", ids, "s", "z"], {"data": u8(7, 32), "s": f(7, 2), "z": u8(7, 1)}, bits=4,
               block_size=32)


def normalization():
    x, skip = ("x", f(2, 5, 16), ["b", "s", 16]), ("skip", f(2, 5, 16), ["b", "s", 16])
    weights = {"g": f(16), "b": f(16), "c": f(16)}
    yield Case("", "SkipLayerNormalization", [x, skip, "g", "b"], weights, epsilon=1e-5)
    yield Case("bias and sum", "SkipLayerNormalization", [x, skip, "g", "b", "c"], weights, outputs=[0, 3], epsilon=1e-5)
    yield Case("a skip for all samples", "SkipLayerNormalization", [x, ("skip", f(5, 16), ["s", 16]), "g", "b"], weights, epsilon=1e-5)
    yield Case("", "SkipSimplifiedLayerNormalization", [x, skip, "g"], weights, epsilon=1e-5)
    yield Case("bias and sum", "SkipSimplifiedLayerNormalization", [x, skip, "g", "c"], weights, outputs=[0, 3], epsilon=1e-5)
    yield Case("", "SimplifiedLayerNormalization", [x, "g"], weights, domain="", epsilon=1e-5, axis=-1)
    yield Case("of an opset before 17", "LayerNormalization", [x, "g", "b"], weights, domain="", opset=12, epsilon=1e-5, axis=-1)
    ids = ("ids", random.integers(0, 11, (2, 5)).astype(np.int32), ["b", "s"])
    segments = ("segments", random.integers(0, 2, (2, 5)).astype(np.int32), ["b", "s"])
    mask = ("mask", (random.random((2, 5)) < 0.7).astype(np.int32), ["b", "s"])
    tables = {"words": f(11, 16), "places": f(9, 16), "kinds": f(2, 16), "g": f(16), "b": f(16)}
    yield Case("", "EmbedLayerNormalization", [ids, segments, "words", "places", "kinds", "g", "b"], tables, outputs=2)
    yield Case("mask and sum", "EmbedLayerNormalization", [ids, segments, "words", "places", "kinds", "g", "b", mask], tables, outputs=3)
    yield Case("no segments", "EmbedLayerNormalization", [ids, None, "words", "places", None, "g", "b", mask], tables, outputs=2)


def quantized():
    a, b = ("a", u8(3, 4, 8), ["n", 4, 8]), ("b", u8(4, 8))
    zeros = {"as": scale(0.1), "az": np.uint8(120), "bs": scale(0.07), "bz": np.uint8(3), "ys": scale(0.2), "yz": np.uint8(100)}
    for op in ("QLinearAdd", "QLinearMul"):
        yield Case("u8", op, [a, "as", "az", b, "bs", "bz", "ys", "yz"], zeros)
        signed = {**zeros, "az": np.int8(5), "bz": np.int8(-4), "yz": np.int8(0)}
        yield Case("i8", op, [("a", i8(3, 4, 8)), "as", "az", ("b", i8(1, 8)), "bs", "bz", "ys", "yz"], signed)
    yield Case("", "QLinearSigmoid", [a, "as", "az", "ys", "yz"], {**zeros, "ys": scale(1 / 256), "yz": np.uint8(0)})
    yield Case("", "QLinearLeakyRelu", [a, "as", "az", "ys", "yz"], zeros, alpha=0.1)
    for opset in (12, 13):
        yield softmax_case(opset, a, zeros)
    yield Case("", "QLinearConcat", ["ys", "yz", a, "as", "az", ("b", u8(3, 2, 8), ["n", 2, 8]), "bs", "bz"], zeros, axis=1)
    yield Case("", "QLinearWhere", [("c", random.random((3, 4, 8)) < 0.5, ["n", 4, 8]), a, "as", "az", b, "bs", "bz", "ys", "yz"], zeros)
    for last in (0, 1):
        image = ("x", u8(2, 6, 7, 9), ["n", 6, 7, 9])
        yield Case(f"channels_last={last}", "QLinearGlobalAveragePool", [image, "as", "az", "ys", "yz"], zeros, channels_last=last)
        yield Case(f"channels_last={last}", "QLinearAveragePool", [image, "as", "az", "ys", "yz"], zeros, channels_last=last,
                   kernel_shape=[3, 2], pads=[1, 0, 1, 1], strides=[2, 1], count_include_pad=1)
    gemm = {**zeros, "w": weights8(6, 8), "ws": f(6) ** 2 * 0.05 + 0.01, "wz": np.zeros(6, np.int8), "c": random.integers(-500, 500, 6).astype(np.int32)}
    yield Case("quantised", "QGemm", [("a", u8(5, 8), ["n", 8]), "as", "az", "w", "ws", "wz", "c", "ys", "yz"], gemm, transB=1)
    yield Case("to floats", "QGemm", [("a", u8(5, 8), ["n", 8]), "as", "az", "w", "ws", "wz", "c"], gemm, transB=1, alpha=0.5)
    yield Case("", "MatMulIntegerToFloat", [("a", u8(5, 8), ["n", 8]), "w", "as", "ws", "az", "wz", "c"],
               {"w": weights8(8, 6), "as": scale(0.1), "ws": f(6) ** 2, "az": np.uint8(7), "wz": np.zeros(6, np.int8), "c": f(6)})
    yield Case("", "DynamicQuantizeMatMul", [("a", f(5, 8), ["n", 8]), "w", "ws", "wz", "c"],
               {"w": weights8(8, 6), "ws": scale(0.02), "wz": np.int8(3), "c": f(6)})
    yield Case("no zero point", "DynamicQuantizeMatMul", [("a", f(5, 8), ["n", 8]), "w", "ws"], {"w": weights8(8, 6), "ws": f(6) ** 2})
    for direction, count in (("forward", 1), ("bidirectional", 2)):
        for name, per in (("a scale", (count,)), ("scales by column", (count, 24))):
            yield Case(f"{direction}, {name}", "DynamicQuantizeLSTM",
                       [("x", f(5, 2, 4), [5, "n", 4]), "w", "r", "b", None, None, None, None, "ws", "wz", "rs", "rz"],
                       {"w": weights8(count, 4, 24), "r": weights8(count, 6, 24), "b": f(count, 48), "ws": f(*per) ** 2 * 0.01 + 0.005,
                        "wz": np.zeros(per, np.int8), "rs": f(*per) ** 2 * 0.01 + 0.005, "rz": np.zeros(per, np.int8)},
                       outputs=3, tolerance=2e-3, direction=direction, hidden_size=6)
    yield Case("", "QuantizeLinear", [("x", f(3, 4)), "s", "z"], {"s": scale(0.02), "z": np.uint16(500)})
    yield Case("by axis", "DequantizeLinear", [("x", i8(3, 4)), "s", "z"], {"s": f(4) ** 2, "z": i8(4)}, axis=1)


def softmax_case(opset, a, zeros):
    case = Case(f"meaning of opset {opset}", "QLinearSoftmax", [a, "as", "az", "ys", "yz"],
                {**zeros, "ys": scale(1 / 256), "yz": np.uint8(0)}, axis=-1 if opset == 13 else 1)
    case.attributes["opset"] = opset
    return case


def attention():
    batch, length, past, heads, size = 2, 5, 3, 4, 8
    hidden = heads * size
    x = ("x", f(batch, length, 24), ["b", "s", 24])
    weights = {"w": f(24, 3 * hidden, scale=0.3), "c": f(3 * hidden)}
    lengths, keys = np.array([5, 3], np.int32), (random.random((batch, length)) < 0.7).astype(np.int32)
    keys[:, 0] = 1
    yield Case("", "Attention", [x, "w", "c"], weights, num_heads=heads)
    yield Case("causal", "Attention", [x, "w", "c"], weights, num_heads=heads, unidirectional=1)
    yield Case("sizes of values", "Attention", [x, "w", "c"], {"w": f(24, 2 * hidden + 16, scale=0.3), "c": f(2 * hidden + 16)},
               num_heads=heads, qkv_hidden_sizes=[hidden, hidden, 16])
    yield Case("lengths", "Attention", [x, "w", "c", ("m", lengths, ["b"])], weights, num_heads=heads)
    yield Case("ends and starts", "Attention", [("x", x[1]), "w", "c", ("m", np.array([5, 4, 0, 1], np.int32))], weights, num_heads=heads)
    yield Case("a mask of keys", "Attention", [x, "w", "c", ("m", keys, ["b", "s"])], weights, num_heads=heads)
    yield Case("a mask of queries and keys", "Attention", [x, "w", "c", ("m", np.broadcast_to(keys[:, None], (batch, length, length)).copy(), ["b", "s", "s"])],
               weights, num_heads=heads)
    yield Case("a bias of scores", "Attention", [x, "w", "c", None, None, ("r", f(1, heads, length, length), [1, heads, "s", "s"])],
               weights, num_heads=heads)
    cache = ("p", f(2, batch, heads, past, size), [2, "b", heads, "p", size])
    yield Case("past", "Attention", [x, "w", "c", None, cache], weights, outputs=2, num_heads=heads, unidirectional=1)
    q = {"w": weights8(24, 3 * hidden), "c": f(3 * hidden), "xs": scale(0.05), "ws": scale(0.01), "xz": np.uint8(128), "wz": np.int8(0)}
    yield Case("", "QAttention", [("x", u8(batch, length, 24), ["b", "s", 24]), "w", "c", "xs", "ws", None, "xz", "wz"], q, num_heads=heads,
               tolerance=1e-4)

    query, key, value = (("q", f(batch, length, hidden), ["b", "s", hidden]), ("k", f(batch, 7, hidden), ["b", "t", hidden]),
                         ("v", f(batch, 7, 2 * hidden), ["b", "t", 2 * hidden]))
    same = [query, ("k", f(batch, length, hidden), ["b", "s", hidden]), ("v", f(batch, length, hidden), ["b", "s", hidden])]
    op = "MultiHeadAttention"
    yield Case("", op, [query, key, value], num_heads=heads)
    yield Case("biases", op, [query, key, value, "c"], {"c": f(4 * hidden)}, num_heads=heads, scale=0.3)
    yield Case("causal", op, same, num_heads=heads, unidirectional=1)
    yield Case("a mask of keys", op, [query, key, value, None, ("m", (random.random((batch, 7)) < 0.7).astype(np.int32), ["b", "t"])], num_heads=heads)
    yield Case("lengths", op, same + [None, ("m", lengths, ["b"])], num_heads=heads)
    yield Case("a bias of scores", op, [query, key, value, None, None, ("r", f(1, heads, length, 7), [1, heads, "s", "t"])], num_heads=heads)
    packed, keys_values = f(batch, length, heads, 3, size), f(batch, 7, heads, 2, size)
    whole = [(n, packed[:, :, :, i].reshape(batch, length, hidden)) for i, n in enumerate("qkv")]
    yield Case("packed queries, keys and values", op, [("q", packed, ["b", "s", heads, 3, size])], num_heads=heads,
               like=Case("", op, whole, num_heads=heads))  # onnxruntime has no packed ones on CPUs
    whole = [query] + [(n, keys_values[:, :, :, i].reshape(batch, 7, hidden)) for i, n in enumerate("kv")]
    yield Case("packed keys and values", op, [query, ("k", keys_values, ["b", "t", heads, 2, size])], num_heads=heads,
               like=Case("", op, whole, num_heads=heads))
    yield Case("4-D keys and values", op, [query, ("k", f(batch, heads, 7, size), ["b", heads, "t", size]),
                                          ("v", f(batch, heads, 7, size), ["b", heads, "t", size])], num_heads=heads)
    pasts = [("pk", f(batch, heads, past, size), ["b", heads, "p", size]), ("pv", f(batch, heads, past, size), ["b", heads, "p", size])]
    yield Case("past", op, same + [None, None, None] + pasts, outputs=3, num_heads=heads)


def decoders():
    batch, heads, groups, size = 2, 4, 2, 16
    caches = {"cos": f(32, size // 2), "sin": f(32, size // 2)}
    op = "RotaryEmbedding"
    for interleaved in (0, 1):
        yield Case(f"places, interleaved={interleaved}", op, [("x", f(batch, 5, heads * size), ["b", "s", heads * size]),
                   ("at", random.integers(0, 32, (batch, 5)), ["b", "s"]), "cos", "sin"], caches, interleaved=interleaved)
    yield Case("an offset", op, [("x", f(batch, heads, 5, size), ["b", heads, "s", size]), ("at", np.array([4])), "cos", "sin"], caches)
    yield Case("a part of each head", op, [("x", f(batch, 5, heads * size), ["b", "s", heads * size]), ("at", np.array([4])), "cos", "sin"],
               {"cos": f(32, 4), "sin": f(32, 4)}, num_heads=heads, rotary_embedding_dim=8)

    op = "GroupQueryAttention"
    def inputs(batch, length, past, valid, packed=False, total=None):
        symbol = "b" if batch > 1 else 1
        hidden = heads * size
        if packed:
            new = [("q", f(batch, length, hidden + 2 * groups * size), [symbol, "s", hidden + 2 * groups * size]), None, None]
        else:
            new = [("q", f(batch, length, hidden), [symbol, "s", hidden]), ("k", f(batch, length, groups * size), [symbol, "s", groups * size]),
                   ("v", f(batch, length, groups * size), [symbol, "s", groups * size])]
        old = [("pk", f(batch, groups, past, size), [symbol, groups, "p", size]), ("pv", f(batch, groups, past, size), [symbol, groups, "p", size])]
        return new + old + [("last", np.array(valid, np.int32) - 1, [symbol]), ("total", np.array(past + length if total is None else total, np.int32))]
    both = dict(outputs=3, num_heads=heads, kv_num_heads=groups)
    yield Case("a prompt", op, inputs(1, 6, 0, [6]), **both)
    yield Case("a step", op, inputs(1, 1, 7, [8]), **both)
    yield Case("a step of two", op, inputs(2, 1, 7, [8, 8]), **both)
    yield Case("samples of several lengths", op, inputs(2, 1, 7, [8, 5]), compared=["y0"], **both)  # caches differ after the keys
    yield Case("turned", op, inputs(1, 1, 7, [8]) + ["cos", "sin"], caches, do_rotary=1, **both)
    yield Case("a turned prompt", op, inputs(2, 6, 0, [6, 6]) + ["cos", "sin"], caches, do_rotary=1, **both)
    yield Case("turned, interleaved, packed", op, inputs(1, 3, 7, [10], True) + ["cos", "sin"], caches, do_rotary=1, rotary_interleaved=1, **both)
    yield Case("a window", op, inputs(1, 6, 7, [13]), local_window_size=4, **both)
    yield Case("softcap and scale", op, inputs(1, 1, 7, [8]), softcap=5.0, scale=0.4, **both)
    for batch in (1, 2):  # a cache with spare room: the present cache has the same length, and the contents of the spare room are undefined
        some = dict(compared=["y0"], **both)
        yield Case(f"a static cache, {batch} prompts", op, inputs(batch, 5, 32, [5] * batch, total=5), **some)
        yield Case(f"a static cache, {batch} steps", op, inputs(batch, 1, 32, [9] * batch, total=9) + ["cos", "sin"], caches, do_rotary=1, **some)
        yield Case(f"a static cache, {batch} last steps", op, inputs(batch, 1, 32, [32] * batch, total=32), **both)
    sinks = {"sinks": f(heads), **caches}
    def extra(*named):  # inputs from 7 on, by their index
        row = [None] * (max(i for i, _ in named) - 6)
        for i, value in named:
            row[i - 7] = value
        return row
    for batch in (1, 2):
        step = inputs(batch, 1, 7, [8] * batch)
        yield Case(f"sinks, {batch}", op, step + extra((11, "sinks")), {"sinks": sinks["sinks"]}, **both)
        yield Case(f"sinks, a turned prompt with a window, {batch}", op, inputs(batch, 6, 0, [6] * batch) + extra((7, "cos"), (8, "sin"), (11, "sinks")), sinks,
                   do_rotary=1, local_window_size=3, softcap=2.0, **both)
        yield Case(f"smooth softmax, {batch}", op, step, smooth_softmax=1, **both)
        yield Case(f"both directions, {batch}", op, inputs(batch, 6, 0, [6] * batch), causal=0, **both)
        yield Case(f"both directions, a past, {batch}", op, inputs(batch, 1, 7, [8, 5][:batch]), causal=0, compared=["y0"], **both)
    for wanted, what in ((1, "before"), (2, "after")):
        yield Case(f"scores {what} the softmax", op, inputs(1, 1, 7, [8]), outputs=4, qk_output=wanted, num_heads=heads, kv_num_heads=groups)
        yield Case(f"scores {what} the softmax, sinks", op, inputs(1, 1, 7, [8]) + extra((11, "sinks")), {"sinks": sinks["sinks"]}, outputs=4,
                   qk_output=wanted, num_heads=heads, kv_num_heads=groups)
    yield from normed_heads(op, inputs, both, heads, groups, size, extra)
    yield from windowed_caches(op, inputs, both, caches, sinks, extra)
    yield from quantised_caches(op, inputs, both, groups, size, extra)
    yield Case("counts of queries", op, inputs(2, 4, 16, [9, 6], total=16) + extra((16, "counts")), {"counts": np.array([4, 4], np.int32)},
               compared=["y0"], **both)
    yield Case("a static cache, a chunk", op, inputs(1, 3, 32, [12], True, total=12) + ["cos", "sin"], caches, do_rotary=1, **some)


def normed_heads(op, inputs, both, heads, groups, size, extra):
    """onnxruntime normalises on GPUs only, so it gets queries and keys that NumPy has normalised."""
    new = inputs(2, 3, 0, [3, 3])
    weights = {"qn": f(size) + 1, "kn": f(size) + 1}

    def normed(entry, weight, count):
        x = entry[1].reshape(2, 3, count, size).astype(np.float64)
        y = x / np.sqrt((x * x).mean(-1, keepdims=True) + 1e-5) * weight
        return (entry[0], y.reshape(entry[1].shape).astype(np.float32))
    like = [normed(new[0], weights["qn"], heads), normed(new[1], weights["kn"], groups)] + new[2:]
    yield Case("normalised heads", op, new + extra((14, "qn"), (15, "kn")), weights, qk_norm_epsilon=1e-5, like=Case("", op, like, **both), **both)


def windowed_caches(op, inputs, both, caches, sinks, extra):
    turned, some = extra((7, "cos"), (8, "sin")), dict(sliding_window_cache=1, **both)
    for room in (4, 6):  # rows of the cache; the window is 4
        for length, total in ((3, 3), (6, 6), (9, 9), (1, 5), (1, 8), (1, 13), (3, 11), (7, 14)):
            if total > length and length > 1:
                batch, valid = 1, [total]
            else:
                batch, valid = 2, [total, total - (1 if length == 1 else 0)]
            if total == length:
                valid = [total] * batch
            held = min(resident(v, room, 4) for v in valid)
            case = Case(f"a cache of {room}, {length} after {total - length}", op, inputs(batch, length, room, valid, total=total) + turned, caches,
                        do_rotary=1, local_window_size=4, compared=["y0", "y1", "y2"] if held == room else ["y0"], **some)
            yield case
    yield Case("a windowed cache, sinks", op, inputs(1, 1, 6, [9], total=9) + extra((7, "cos"), (8, "sin"), (11, "sinks")), sinks, do_rotary=1,
               local_window_size=4, compared=["y0"], **some)


def resident(tokens, room, window):
    """The number of valid rows of a windowed cache, as onnxruntime documents it."""
    unit = room - window + 1
    return tokens if tokens <= room else tokens - unit * -(-(tokens - room) // unit)


def quantised_caches(op, inputs, both, groups, size, extra):
    for bits, kind, shape in ((8, "PER_TENSOR", (1,)), (8, "PER_CHANNEL", (1, groups, 1, size)), (4, "PER_TENSOR", (1,)), (4, "PER_CHANNEL", (1, groups, 1, size))):
        row = inputs(1, 1, 7, [8])
        for i in (3, 4):
            name, array, dims = row[i]
            numbers = random.integers(-128, 128, array.shape).astype(np.int8) if bits == 8 else u8(*array.shape[:3], size // 2)
            row[i] = (name, numbers, dims[:3] + [numbers.shape[3]])
        scales = {n: (random.random(shape) * 0.02 + 0.02).astype(np.float32) * (1 if bits == 8 else 16) for n in ("ks", "vs")}
        yield Case(f"{bits} bits, {kind.lower()}", op, row + extra((12, "ks"), (13, "vs")), scales, k_quant_type=kind, v_quant_type=kind,
                   kv_cache_bit_width=bits, **both)


def recurrences():
    channels, taps = 6, 4
    x, past = ("x", f(2, channels, 5), ["b", channels, "t"]), ("p", f(2, channels, taps - 1), ["b", channels, taps - 1])
    weights = {"w": f(channels, 1, taps), "b": f(channels)}
    op = "CausalConvWithState"
    yield Case("no state", op, [x, "w", "b"], weights, outputs=2)
    yield Case("a state", op, [x, "w", None, past], {"w": weights["w"]}, outputs=2, activation="silu", ndim=1)
    wide = ("p", f(2, channels, 6), ["b", channels, 6])
    yield Case("dilation", op, [x, "w", "b", wide], weights, outputs=2, dilation=2)
    last = [("x", x[1].swapaxes(1, 2).copy(), ["b", "t", channels]), "w", "b", ("p", past[1].swapaxes(1, 2).copy(), ["b", taps - 1, channels])]
    yield Case("channels last", op, last, weights, outputs=2, channels_last=1)
    axes = [("x", f(2, 5, 2, 3), ["b", "t", 2, 3]), "w", "b", ("p", f(2, taps - 1, 2, 3), ["b", taps - 1, 2, 3])]
    yield Case("axes of channels", op, axes, weights, outputs=2, channels_last=1, activation="swish")
    op = "LinearAttention"
    for queries, keys in ((4, 2), (2, 2), (2, 4)):
        some = [("q", f(2, 3, queries * 8), ["b", "t", queries * 8]), ("k", f(2, 3, keys * 8, scale=0.3), ["b", "t", keys * 8]),
                ("v", f(2, 3, keys * 6), ["b", "t", keys * 6]), ("s", f(2, keys, 8, 6), ["b", keys, 8, 6]),
                ("d", -np.abs(f(2, 3, keys)), ["b", "t", keys]), ("e", random.random((2, 3, keys)).astype(np.float32), ["b", "t", keys])]
        heads = dict(outputs=2, q_num_heads=queries, kv_num_heads=keys, chunk_size=64)
        yield Case(f"gated delta, {queries} and {keys} heads", op, some, update_rule="gated_delta", **heads)
        yield Case(f"gated, {queries} and {keys} heads", op, some[:3] + [None, some[4]], update_rule="gated", scale=0.5, **heads)
    for queries, keys, states in ((2, 2, 4), (4, 1, 4), (2, 4, 8)):
        some = [("q", f(2, 3, queries * 8), ["b", "t", queries * 8]), ("k", f(2, 3, keys * 8, scale=0.3), ["b", "t", keys * 8]),
                ("v", f(2, 3, states * 6), ["b", "t", states * 6]), ("s", f(2, states, 8, 6), ["b", states, 8, 6]),
                ("d", -np.abs(f(2, 3, states)), ["b", "t", states]), ("e", random.random((2, 3, states)).astype(np.float32), ["b", "t", states])]
        yield Case(f"{queries} heads of queries, {keys} of keys, {states} states", op, some, update_rule="gated_delta", outputs=2, q_num_heads=queries,
                   kv_num_heads=states)
    row = ("a", f(2, 3, 4), ["b", "t", 4])
    gate = {"bias": f(4), "scale": -np.abs(f(4))}
    yield Case("decay and beta", "LinearAttentionGate", [row, "bias", "scale", ("b", f(2, 3, 4), ["b", "t", 4])], gate, outputs=2)
    yield Case("decay", "LinearAttentionGate", [row, "bias", "scale"], gate)
    for activation in ("silu", "sigmoid"):
        yield Case(activation, "GatedRMSNorm", [("x", f(2, 3, 12), ["b", "t", 12]), "w", ("g", f(2, 3, 12), ["b", "t", 12])], {"w": f(4)},
                   activation=activation, epsilon=1e-5)
    op, tables = "MRotaryEmbedding", {"cos": f(32, 8), "sin": f(32, 8)}
    places = ("at", random.integers(0, 32, (3, 2, 5)), [3, "b", "s"])
    for layout in (0, 1):
        for interleaved in (0, 1):
            yield Case(f"layout {layout}, interleaved={interleaved}", op, [("x", f(2, 5, 64), ["b", "s", 64]), places, "cos", "sin"], tables, num_heads=4,
                       mrope_section=[4, 2, 2], mrope_layout=layout, interleaved=interleaved)


def experts():
    count, hidden, inner, tokens = 6, 32, 48, 5
    x, router = ("x", f(tokens, hidden), ["n", hidden]), ("r", f(tokens, count), ["n", count])
    for activation, factor in (("relu", 1), ("gelu", 1), ("silu", 1), ("identity", 1), ("swiglu", 2)):
        weights = {"w1": f(count, factor * inner, hidden, scale=0.2), "b1": f(count, factor * inner), "w2": f(count, hidden, inner, scale=0.2), "b2": f(count, hidden)}
        more = dict(swiglu_fusion=1, activation_alpha=1.702, activation_beta=1.0, swiglu_limit=0.7) if activation == "swiglu" else {}
        yield Case(activation, "MoE", [x, router, "w1", "b1", "w2", "b2"], weights, k=2, activation_type=activation, normalize_routing_weights=1, **more)
    yield Case("no bias, three dimensions", "MoE", [("x", f(2, 3, hidden), ["b", "s", hidden]), ("r", f(6, count)), "w1", None, "w2"],
               {k: weights[k] for k in ("w1", "w2")}, k=3, activation_type="swiglu", swiglu_fusion=1)
    for bits, block, zeros in ((4, 16, False), (4, 0, False), (8, 16, False), (8, 0, True), (4, 16, True), (2, 16, False), (4, 0, True)):
        for fusion in (1, 2) if (bits, block) == (4, 16) else (1,):
            yield packed_experts(bits, block, zeros, fusion, count, hidden, inner, x, router)
    case = packed_experts(4, 16, False, 1, count, hidden, inner, x, router)
    case.what, case.inputs = "weights of the results", case.inputs + [None] * (14 - len(case.inputs)) + [("m", random.random((tokens, count)).astype(np.float32), ["n", count])]
    yield case


def packed_experts(bits, block, zeros, fusion, count, hidden, inner, x, router):
    def layer(rows, depth):
        blocks = depth // block if block else 1
        scales = ((0.02 + 0.1 * random.random((count, rows, blocks))) * 8 / 2 ** bits).astype(np.float32)
        per_zero = (count, rows, -(-blocks * bits // 8)) if block else (count, -(-rows * bits // 8))
        return u8(count, rows, depth * bits // 8), scales if block else scales[:, :, 0], u8(*per_zero)
    w1, s1, z1 = layer(2 * inner, hidden)
    w2, s2, z2 = layer(hidden, inner)
    constants = {"w1": w1, "s1": s1, "b1": f(count, 2 * inner), "w2": w2, "s2": s2, "b2": f(count, hidden)}
    row = [x, router, "w1", "s1", "b1", "w2", "s2", "b2"]
    if zeros:
        constants.update(z1=z1, z2=z2)
        row += [None, None, None, "z1", "z2"]
    more = dict(k=2, activation_type="swiglu", activation_alpha=1.702, activation_beta=1.0, normalize_routing_weights=1, expert_weight_bits=bits,
                tolerance=1e-4, **({"block_size": block} if block else {}))
    if bits == 8 and block:
        more["tolerance"] = 2e-2  # onnxruntime rounds the other factor to 8 bits
    case = Case(f"{bits} bits, blocks of {block}{', zero points' if zeros else ''}", "QMoE", row, constants, swiglu_fusion=1, **more)
    if fusion == 1:
        return case
    halves = {n: np.concatenate([constants[n][:, 0::2], constants[n][:, 1::2]], 1) for n in ("w1", "s1", "b1", "z1") if n in constants}
    return Case(f"{case.what}, halves", "QMoE", row, {**constants, **halves}, swiglu_fusion=2, like=case, **more)  # onnxruntime: on GPUs only


def optimised(name, level, folder):
    """Checks one row: optimises the network with onnxruntime and compares the results with onnxruntime's."""
    import gart
    import onnxruntime as ort
    make, sizes = small_models.MODELS[name]
    model, path, artifact = make(), os.path.join(folder, "model.onnx"), os.path.join(folder, "model.gart")
    options = ort.SessionOptions()
    options.graph_optimization_level = getattr(ort.GraphOptimizationLevel, f"ORT_ENABLE_{level}")
    options.optimized_model_filepath, options.log_severity_level = path, 4
    ort.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    written = sorted({n.op_type for n in onnx.load(path).graph.node if n.domain == "com.microsoft"})
    reference, worst, note = model_check.Reference(model.SerializeToString()), 0.0, " ".join(written)
    try:
        model_check.compile_model(path, artifact, "--target", operator_check.TARGETS)
        for seed, size in enumerate(sizes):
            feeds = small_models.make_feeds(model, size, seed)
            for target in model_check.targets_here(artifact):
                worst = max(worst, model_check.relative_error(gart.load(artifact, target=target).run(feeds), reference.run(feeds)))
    except RuntimeError as e:
        worst, note = float("inf"), str(e)
    failed = not worst <= model_check.TOLERANCE
    print(f"{name:32} {'optimised ' + level.lower():44} {worst:9.1e}{'  FAIL' if failed else ''}  {note}", flush=True)
    return failed


def main():
    groups = (elementwise, products, block_weights, normalization, quantized, attention, decoders, recurrences, experts)
    names = sys.argv[1:]
    networks = [n for n in ("mlp", "mini_resnet", "mini_mobilenet", "mini_bert", "mini_gpt_step") if not names or n in names]
    with tempfile.TemporaryDirectory(prefix="gcc-graph-optimised-") as folder:
        failed = sum(optimised(name, level, folder) for name in networks
                     for level in ("BASIC", "EXTENDED"))
    if names and not set(names) - set(networks):
        return 1 if failed else 0
    return operator_check.run([case for group in groups for case in group()], names) or (1 if failed else 0)


if __name__ == "__main__":
    sys.exit(main())
