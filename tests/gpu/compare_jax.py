#!/usr/bin/env python3
"""Times JAX's jit with the benchmark models on this machine's GPU, one line per model and precision:

    compare_jax.py [--seconds 3] [--done FILE] [--cpu] [MODEL...]

    MODEL PRECISION jax-jit WALL_MS - ENQUEUE_US

WALL_MS is the median time over runs of the call and the wait. ENQUEUE_US is the time until the call returns. JAX has no events, so there is no device time.
Inputs and weights stay in device memory. fp32 means full f32: TF32 is off. The models are those of tools/models/make_model.py, with
other random weights. Rows that FILE contains are not measured again.
"""
import argparse
import functools
import math
import statistics
import sys
import time

try:
    import jax
    import jax.numpy as jnp
    import numpy as np
except ImportError:
    print("SKIP: there is no JAX")
    sys.exit(0)


class Weights:
    """Creates the weights that a model requests, in order. Under jit, returns the given weights instead."""

    def __init__(self, arrays=None):
        self.arrays, self.given = [], iter(arrays) if arrays is not None else None
        self.random = np.random.default_rng(1)

    def __call__(self, *shape, fan_in=None):
        if self.given is not None:
            return next(self.given)
        scale = 1 / math.sqrt(fan_in or np.prod(shape[1:]) or 1)
        self.arrays.append((self.random.standard_normal(shape) * scale).astype(np.float32))
        return self.arrays[-1]


def linear(w, x, fan_in, fan_out):
    return x @ w(fan_in, fan_out, fan_in=fan_in) + w(fan_out, fan_in=100)


def conv(w, x, cin, cout, kernel, stride=1, pad=None):
    pad = kernel // 2 if pad is None else pad
    y = jax.lax.conv_general_dilated(x, w(cout, cin, kernel, kernel), (stride, stride), [(pad, pad)] * 2)
    return y + w(cout, 1, 1, fan_in=100)


def max_pool(x, stride, pads):
    return jax.lax.reduce_window(x, jnp.array(-jnp.inf, x.dtype), jax.lax.max, (1, 1, 3, 3), (1, 1, stride, stride),
                                 [(0, 0), (0, 0), pads, pads])


def layer_norm(w, x, width):
    d = x - x.mean(-1, keepdims=True)
    return d / jnp.sqrt((d * d).mean(-1, keepdims=True) + 1e-5) * w(width, fan_in=1) + w(width, fan_in=100)


def resnet50(w, x):
    x = max_pool(jax.nn.relu(conv(w, x, 3, 64, 7, 2)), 2, (1, 1))
    cin = 64
    for stage, count in enumerate((3, 4, 6, 3)):
        mid, cout = 64 << stage, 256 << stage
        for block in range(count):
            stride = 2 if stage and not block else 1
            y = jax.nn.relu(conv(w, x, cin, mid, 1))
            y = conv(w, jax.nn.relu(conv(w, y, mid, mid, 3, stride)), mid, cout, 1)
            x = jax.nn.relu(y + (x if block else conv(w, x, cin, cout, 1, stride)))
            cin = cout
    return linear(w, x.mean((2, 3)), cin, 1000)


GOOGLENET = ("pool", (64, 96, 128, 16, 32, 32), (128, 128, 192, 32, 96, 64), "pool", (192, 96, 208, 16, 48, 64),
             (160, 112, 224, 24, 64, 64), (128, 128, 256, 24, 64, 64), (112, 144, 288, 32, 64, 64),
             (256, 160, 320, 32, 128, 128), "pool", (256, 160, 320, 32, 128, 128), (384, 192, 384, 48, 128, 128))


def googlenet(w, x):
    relu = lambda x, *layer: jax.nn.relu(conv(w, x, *layer))
    x = max_pool(relu(x, 3, 64, 7, 2), 2, (0, 1))
    x, channels = relu(relu(x, 64, 64, 1), 64, 192, 3), 192
    for stage in GOOGLENET:
        if stage == "pool":
            x = max_pool(x, 2, (0, 1))
            continue
        one, three_in, three, five_in, five, pooled = stage
        x = jnp.concatenate([relu(x, channels, one, 1), relu(relu(x, channels, three_in, 1), three_in, three, 3),
                             relu(relu(x, channels, five_in, 1), five_in, five, 3),
                             relu(max_pool(x, 1, (1, 1)), channels, pooled, 1)], axis=1)
        channels = one + three + five + pooled
    return linear(w, x.mean((2, 3)), channels, 1000)


def encoder(w, x, width, heads, layers, post_norm):
    for _ in range(layers):
        h = x if post_norm else layer_norm(w, x, width)
        split = lambda t: t.reshape(*t.shape[:2], heads, -1).transpose(0, 2, 1, 3)
        q, k, v = (split(linear(w, h, width, width)) for _ in range(3))
        p = jax.nn.softmax(q @ k.transpose(0, 1, 3, 2) / math.sqrt(width // heads), axis=-1)
        x = linear(w, (p @ v).transpose(0, 2, 1, 3).reshape(x.shape), width, width) + x
        h = x = layer_norm(w, x, width) if post_norm else x
        h = h if post_norm else layer_norm(w, x, width)
        x = linear(w, jax.nn.gelu(linear(w, h, width, 4 * width), approximate=False), 4 * width, width) + x
        x = layer_norm(w, x, width) if post_norm else x
    return x


def bert(w, ids, width, heads, layers):
    x = w(30522, width, fan_in=4)[ids] + w(512, width, fan_in=16)[:ids.shape[1]]
    return encoder(w, layer_norm(w, x, width), width, heads, layers, True)


def vit(w, x):
    x = conv(w, x, 3, 768, 16, 16, 0)
    x = x.reshape(x.shape[0], 768, 196).transpose(0, 2, 1)
    token = jnp.broadcast_to(w(1, 1, 768), (x.shape[0], 1, 768)).astype(x.dtype)
    x = jnp.concatenate([token, x], axis=1) + w(1, 197, 768)
    return linear(w, layer_norm(w, encoder(w, x, 768, 12, 12, False), 768)[:, 0], 768, 1000)


def chain_500(_, x):
    y = x
    for i in range(100):
        y = jnp.tanh(y * (1 + 0.001 * i) + 0.01 * (i % 7)) * 0.5 + x
    return y


def branch_loop(w, x):
    weight, bias = w(256, 256), w(256, fan_in=100)

    def turn(_, x):
        y = jnp.tanh(x @ weight + bias)
        return jax.lax.cond(y.mean() > 0, lambda t: -t, lambda t: t, y)
    return jax.lax.fori_loop(0, 10, turn, x)


def image(batch):
    return np.random.default_rng(2).standard_normal((batch, 3, 224, 224)).astype(np.float32)


def rows():
    """Name: (model, input)"""
    noise = lambda *shape: np.random.default_rng(3).standard_normal(shape).astype(np.float32)
    out = {"resnet50_b1": (resnet50, image(1)), "resnet50_b8": (resnet50, image(8)), "vit_b_16_b1": (vit, image(1)),
           "vit_b_16_b8": (vit, image(8)), "googlenet_b1": (googlenet, image(1)), "chain_500": (chain_500, noise(64, 1024)),
           "branch_loop": (branch_loop, noise(1, 256))}
    for size, shape in (("base", (768, 12, 12)), ("large", (1024, 16, 24))):
        for sequence in (128, 384):
            for batch in (1, 8):
                model = functools.partial(bert, width=shape[0], heads=shape[1], layers=shape[2])
                ids = np.random.default_rng(4).integers(0, 30000, (batch, sequence), dtype=np.int32)
                out[f"bert_{size}_s{sequence}_b{batch}"] = (model, ids)
    return out


def measure(run, seconds):
    for _ in range(5):
        jax.block_until_ready(run())
    wall, enqueue = [], []
    start = time.perf_counter()
    while len(wall) < 10 or time.perf_counter() - start < seconds:
        begin = time.perf_counter()
        result = run()
        enqueue.append(time.perf_counter() - begin)
        jax.block_until_ready(result)
        wall.append(time.perf_counter() - begin)
    return statistics.median(wall) * 1e3, statistics.median(enqueue) * 1e6


def prepare(model, x, dtype):
    """Returns the compiled call, with inputs and weights on the device."""
    weights = Weights()
    jax.eval_shape(lambda x: model(weights, x), jax.ShapeDtypeStruct(x.shape, x.dtype))
    cast = lambda array: jax.device_put(jnp.asarray(array, dtype if array.dtype == np.float32 else array.dtype))
    arrays, x = [cast(array) for array in weights.arrays], cast(x)
    compiled = jax.jit(lambda arrays, x: model(Weights(arrays), x))
    return lambda: compiled(arrays, x)


def rows_of(path):
    """The rows that an earlier run printed: (model, precision)."""
    if not path:
        return set()
    with open(path, encoding="utf-8") as file:
        return {tuple(fields[:2]) for fields in map(str.split, file) if len(fields) == 6}


def main():
    table = rows()
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("models", nargs="*", metavar="MODEL", help=", ".join(table) + "; others are passed over")
    parser.add_argument("--seconds", type=float, default=3)
    parser.add_argument("--done", metavar="FILE", help="what an earlier run has printed")
    parser.add_argument("--cpu", action="store_true", help="measure on the CPU: to try this program")
    arguments = parser.parse_args()
    if jax.default_backend() != "gpu" and not arguments.cpu:
        print("SKIP: JAX sees no GPU")
        return
    print(f"# JAX {jax.__version__}, {jax.devices()[0].device_kind}, TF32 off", flush=True)
    jax.config.update("jax_default_matmul_precision", "highest")
    done = rows_of(arguments.done)
    for name in [name for name in arguments.models or table if name in table]:
        for precision, dtype in (("fp32", jnp.float32), ("fp16", jnp.float16)):
            if (name, precision) in done:
                continue
            try:
                wall, enqueue = measure(prepare(*table[name], dtype), arguments.seconds)
                print(f"{name} {precision} jax-jit {wall:.4f} - {enqueue:.1f}", flush=True)
            except Exception as error:  # any failure of JAX becomes a row of the table
                print(f"FAILED {name} {precision} jax-jit: {(str(error).splitlines() or [type(error).__name__])[0]}", flush=True)


if __name__ == "__main__":
    main()
