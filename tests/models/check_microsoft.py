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
    yield Case("a static cache, a chunk", op, inputs(1, 3, 32, [12], True, total=12) + ["cos", "sin"], caches, do_rotary=1, **some)


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
    groups = (elementwise, products, block_weights, normalization, quantized, attention, decoders)
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
