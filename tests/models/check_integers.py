"""Quantised operators compute exact integer arithmetic on every target that this machine runs. A table has every operator with 8-bit weights, for all zero points, signs and columns; random nodes follow, with frequent extreme values.

  check_integers.py [--random NODES] [--runs R] [--seed N] [--seconds S] [--targets T,..]
Checks the table, then NODES random nodes, or as many as S seconds allow. A compiled node counts once for each of its R
runs, because compiling takes a hundred times as long as a run. Each run has its own inputs.
"""
import argparse
import os
import sys
import tempfile
import time

import numpy as np
import onnx

import integer_nodes
import model_check
from integer_nodes import Net, OF_IMAGES, OF_MATRICES, Operands

# The first target multiplies pairs of 16-bit integers, the second one VNNI groups of bytes. AVX-512 without VNNI works
# like AVX2.
TARGETS = "x86-64-v3,x86-64-v4-vnni"
NODES_OF_A_MODEL = 48


def ends(dtype):
    return np.iinfo(dtype).min, np.iinfo(dtype).max


def full_range(rng, dtype, shape):
    """Numbers from the whole range, including both ends."""
    low, high = ends(dtype)
    array = rng.integers(low, high + 1, shape).astype(dtype)
    array.flat[:2] = [high, low][:array.size]
    return array


def drawn_runs(rng, dtype, shape, runs):
    return np.stack([drawn(rng, dtype, shape) for _ in range(runs)])


def drawn(rng, dtype, shape):
    """Numbers of one of these kinds: one end, both ends, near the ends, the whole range, mostly zeros."""
    low, high = ends(dtype)
    near = [low, low + 1, high - 1, high]
    how = rng.integers(7)
    if how < 2:
        return np.full(shape, [low, high][how], dtype)
    if how < 4:
        return rng.choice([[low, high], near][how - 2], shape).astype(dtype)
    array = rng.integers(low, high + 1, shape)
    if how == 4:
        array = np.where(rng.random(shape) < 0.9, 0, rng.choice(near, shape))
    return array.astype(dtype)


def zero_points(dtype):
    low, high = ends(dtype)
    return sorted({low, high, 0, 128 if low == 0 else -1})


def table(rng, runs):
    """Yields every operator with all zero points and signs, with one zero point and with one per column; dense, depthwise and grouped convolutions."""
    for a_type in (np.uint8, np.int8):
        for w_type in (np.uint8, np.int8):
            choices = [None] + [np.array(z, w_type) for z in zero_points(w_type)] + [np.resize(np.array(zero_points(w_type), w_type), 20)]
            for zw in choices:
                za = rng.choice([None, *zero_points(a_type)])
                za = None if za is None else np.array(za, a_type)
                per_column = zw is not None and zw.ndim == 1
                for name, make in OF_MATRICES.items():
                    if name == "dynamic" and a_type != np.uint8:
                        continue
                    yield make, Operands(full_range(rng, a_type, (runs, 3, 70)), full_range(rng, w_type, (70, 20)), za, zw)
                for channels, group in ((8, 1), (2, 1), (20, 20), (40, 20)):
                    x, w = full_range(rng, a_type, (runs, 1, channels, 5, 6)), full_range(rng, w_type, (20, channels // group, 3, 3))
                    for name, make in OF_IMAGES.items():
                        if name == "integer" and per_column and group > 1:
                            continue
                        yield make, Operands(x, w, za, zw, pads=[1, 1, 1, 1], group=group)


def random_operands(rng, shape, name, runs):
    """Random operands of these extents; of a convolution if `shape` has seven numbers."""
    a_type = np.uint8 if name == "dynamic" else rng.choice([np.uint8, np.int8])
    w_type = rng.choice([np.uint8, np.int8])
    columns = shape[1] if len(shape) == 7 else shape[2]

    def zero(dtype, per_column):
        if rng.random() < 0.3:
            return None
        return drawn(rng, dtype, (columns,) if per_column else ())

    za, zw = zero(a_type, False), zero(w_type, rng.random() < 0.3)
    w_is_input = bool(name == "integer" and rng.random() < 0.1)
    if len(shape) == 7:
        channels, outputs, group, height, width, kernel, pad = shape
        return Operands(drawn_runs(rng, a_type, (1, channels, height, width), runs), drawn(rng, w_type, (outputs, channels // group, kernel, kernel)),
                        za, zw, w_is_input, pads=[pad] * 4, group=group)
    rows, depth, columns = shape
    return Operands(drawn_runs(rng, a_type, (rows, depth), runs), drawn(rng, w_type, (depth, columns)), za, zw, w_is_input)


def random_model(rng, runs):
    """One operator and shape with many operands."""
    net = Net()
    image = rng.random() < 0.4
    forms = OF_IMAGES if image else OF_MATRICES
    name = rng.choice(list(forms))
    # Sums of up to 258 products are exact in floats; integer results have no such limit.
    deepest = 250 if name != "integer" else int(rng.choice([16, 250, 2000]))
    if image:
        group, kernel = int(rng.choice([1, 1, 2, 8])), int(rng.choice([1, 2, 3]))
        channels = group * int(rng.integers(1, min(24 if deepest <= 250 else 300, max(2, deepest // kernel**2)) + 1)) if rng.random() < 0.8 else group
        outputs = group * int(rng.integers(1, 5)) if group > 1 else int(rng.integers(1, 40))
        shape = (channels, outputs, group, int(rng.integers(kernel, 9)), int(rng.integers(kernel, 20)), kernel, int(rng.integers(0, 2)))
    else:
        shape = (int(rng.choice([1, 2, 5, 19])), int(rng.integers(2, deepest)), int(rng.choice([1, 3, 16, 17, 49, 100])))
    while len(net.expected) < NODES_OF_A_MODEL:
        o = random_operands(rng, shape, name, runs)
        forms[name](net, o, rng)
    return net


def failures(net, folder, targets):
    """A line for each node and target with wrong results."""
    path, artifact = os.path.join(folder, "integers.onnx"), os.path.join(folder, "integers.gart")
    onnx.save(net.model(), path)
    model_check.compile_model(path, artifact, "--target", targets, "--threads", "1")
    import gart
    lines = []
    for target in model_check.targets_here(artifact):
        program = gart.load(artifact, threads=1, target=target)
        for run in range(len(next(iter(net.feeds.values())))):
            got = program.run({name: runs[run] for name, runs in net.feeds.items()})
            for name, (runs, what) in net.expected.items():
                want = runs[run]
                if np.array_equal(got[name], want):
                    continue
                bad = np.argwhere(got[name] != want)
                at = tuple(bad[0])
                lines.append(f"{target}: {what}: {len(bad)} of {want.size} differ, at {list(map(int, at))} {got[name][at]} instead of {want[at]}")
    return lines


def nets(options):
    """Yields models: first those of the table's nodes, up to NODES_OF_A_MODEL in each, then those of random nodes."""
    rng = np.random.default_rng(options.seed)
    net = Net()
    for make, operands in table(rng, 2):
        make(net, operands, rng)
        if len(net.expected) >= NODES_OF_A_MODEL:
            yield net, "table"
            net = Net()
    yield net, "table"
    done, begin = 0, time.monotonic()
    while done < options.random and (options.seconds is None or time.monotonic() - begin < options.seconds):
        net = random_model(rng, options.runs)
        done += len(net.expected) * options.runs
        yield net, "random"


class Progress:
    """Prints a line every ten seconds."""

    def __init__(self, of):
        self.of, self.done, self.begin, self.told = of, 0, None, time.monotonic()

    def add(self, count, wrong):
        now = time.monotonic()
        self.begin = self.begin or now
        self.done += count
        if now - self.told < 10:
            return
        self.told = now
        left = (self.of - self.done) * (now - self.begin) / self.done
        print(f"{self.done} of {self.of} random nodes, {wrong} differ, {max(0, left):.0f} s left", flush=True)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--random", type=int, default=480)
    parser.add_argument("--runs", type=int, default=4)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--seconds", type=float)
    parser.add_argument("--targets", default=TARGETS)
    options = parser.parse_args()
    counts, compiled, wrong, progress = {"table": 0, "random": 0}, {"table": 0, "random": 0}, 0, Progress(options.random)
    with tempfile.TemporaryDirectory(prefix="gcc-graph-integers-") as folder:
        for net, kind in nets(options):
            lines = failures(net, folder, options.targets)
            count = sum(len(runs) for runs, _ in net.expected.values())
            compiled[kind] += len(net.expected)
            counts[kind] += count
            wrong += len(lines)
            for line in lines[:8]:
                print(f"FAIL {kind} {line}", flush=True)
            if kind == "random":
                progress.add(count, wrong)
    print(f"{counts['table']} nodes of the table ({compiled['table']} compiled) and {counts['random']} random ones ({compiled['random']} compiled) beside "
          f"exact integers: {wrong} differ")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
