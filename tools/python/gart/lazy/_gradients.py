"""The gradient rules of operators.

A rule is rule(g, node) -> the gradients of the node's operands (None: no gradient). `g` is the gradient of the node's result. A node has
`x`: its operands (None: left out, or part of the program); `y`: its result; `index`: the number of that result; `attributes`; and `ints`:
its lists of integers.
"""
import math

import numpy as np

from ._core import Error, array, axis_of as _axis, cast, core, dtype_of, is_float, record
from ._elementwise import trunc, where
from ._reductions import cumprod, sum as sum_
from ._shapes import (arange, broadcast_to, concatenate, expand_dims, eye, moveaxis, ones_like, reshape, squeeze, swapaxes, transpose, zeros, zeros_like)
from . import onnx


def _unbroadcast(g, like):
    """Sums over the axes that broadcasting repeated."""
    if g.shape == like.shape:
        return g
    ahead = g.ndim - like.ndim
    axes = [a for a in range(g.ndim) if a < ahead or (like.shape[a - ahead] == 1 and g.shape[a] != 1)]
    g = sum_(g, axes, keepdims=True) if axes else g
    return reshape(g, like.shape)


def _elementwise(*parts):
    """The rule of a broadcasting operator. Each part makes the gradient of one operand, in the result's shape."""
    def rule(g, n):
        return [_unbroadcast(part(g, n), x) if part is not None and is_float(dtype_of(x)) else None for part, x in zip(parts, n.x)]
    return rule


def _of_one(part):
    return lambda g, n: [part(g, n)]


def _matmul(g, n):
    a, b = n.x
    if a.ndim == 1 and b.ndim == 1:
        return [g * b, g * a]
    if a.ndim == 1:
        g2 = expand_dims(g, -2)
        return [_unbroadcast(squeeze(g2 @ swapaxes(b, -1, -2), -2), a), _unbroadcast(expand_dims(a, 1) @ g2, b)]
    if b.ndim == 1:
        g2 = expand_dims(g, -1)
        return [_unbroadcast(g2 @ expand_dims(b, 0), a), _unbroadcast(squeeze(swapaxes(a, -1, -2) @ g2, -1), b)]
    return [_unbroadcast(g @ swapaxes(b, -1, -2), a), _unbroadcast(swapaxes(a, -1, -2) @ g, b)]


def _reduced_axes(n):
    return n.ints[0] if n.ints and n.ints[0] else list(range(n.x[0].ndim))


def _spread(g, n):
    """The gradient of a sum: repeats g along the reduced axes."""
    x = n.x[0]
    shape = [1 if a in _reduced_axes(n) else e for a, e in enumerate(x.shape)]
    return broadcast_to(reshape(g, shape), x.shape)


def _count(n):
    return float(np.prod([n.x[0].shape[a] for a in _reduced_axes(n)], dtype=np.int64))


def _extreme(g, n):
    hit = cast(n.x[0] == _spread(n.y, n), dtype_of(g))
    return [_spread(g, n) * hit / _spread(sum_(hit, _reduced_axes(n)), n)]


def _softmax(g, n):
    axis = n.attributes.get("axis", -1)
    return [(g - sum_(g * n.y, axis, True)) * n.y]


def _log_softmax(g, n):
    return [g - core.exp(n.y) * sum_(g, n.attributes.get("axis", -1), True)]


def _layer_norm(g, n):
    x, scale = n.x[0], n.x[1]
    axes = list(range(_axis(n.attributes.get("axis", -1), x.ndim), x.ndim))
    centred = x - x.mean(axes, True)
    inverse = 1 / core.sqrt((centred * centred).mean(axes, True) + n.attributes.get("epsilon", 1e-5))
    normal, gs = centred * inverse, g * scale
    dx = (gs - gs.mean(axes, True) - normal * (gs * normal).mean(axes, True)) * inverse
    return [dx, _unbroadcast(g * normal, scale), *([_unbroadcast(g, n.x[2])] if len(n.x) > 2 else [])]


def _rms_norm(g, n):
    x, scale = n.x
    axes = list(range(_axis(n.attributes.get("axis", -1), x.ndim), x.ndim))
    inverse = 1 / core.sqrt((x * x).mean(axes, True) + n.attributes.get("epsilon", 1e-5))
    gs = g * scale
    return [(gs - x * inverse * inverse * (gs * x).mean(axes, True)) * inverse, _unbroadcast(g * x * inverse, scale)]


def _gather(g, n):
    x, indices = n.x
    axis = _axis(n.attributes.get("axis", 0), x.ndim)
    rows = moveaxis(x, axis, 0)
    order = list(range(axis, axis + indices.ndim)) + [a for a in range(g.ndim) if not axis <= a < axis + indices.ndim]
    updates = reshape(transpose(g, order), (indices.size,) + rows.shape[1:])
    added = record("ScatterND", (zeros(rows.shape, dtype_of(g)), reshape(cast(_positive(indices, x.shape[axis]), np.int64), (indices.size, 1)), updates),
                   {"reduction": "add"})
    return [moveaxis(added, 0, axis), None]


def _positive(indices, extent):
    return where(indices < 0, indices + extent, indices)


def _gather_elements(g, n):
    x, indices = n.x
    return [record("ScatterElements", (zeros_like(x), indices, g), {"axis": n.attributes.get("axis", 0), "reduction": "add"}), None]


def _slice(g, n):
    """Writes the gradient into zeros, at the place that was read."""
    x = n.x[0]
    starts, ends, axes, steps = n.ints
    for axis, start, end, step in zip(axes, starts, ends, steps):
        places = np.arange(x.shape[axis])[slice(start, None if end < -x.shape[axis] else end, step)]
        shape = list(g.shape)
        if step == 1:
            before, after = list(shape), list(shape)
            before[axis], after[axis] = int(places[0]) if len(places) else 0, x.shape[axis] - (int(places[-1]) + 1 if len(places) else 0)
            g = concatenate([p for p in (zeros(before, dtype_of(g)), g, zeros(after, dtype_of(g))) if p.shape[axis]], axis)
        else:
            rows = moveaxis(g, axis, 0)
            scattered = record("ScatterND", (zeros((x.shape[axis],) + rows.shape[1:], dtype_of(g)), array(places.reshape(-1, 1)), rows))
            g = moveaxis(scattered, 0, axis)
    return [g]


def _split(g, n):
    """Writes each part's gradient into zeros of its own."""
    axis = _axis(n.attributes.get("axis", 0), g.ndim)
    parts = [g if k == n.index else zeros(g.shape[:axis] + (size,) + g.shape[axis + 1:], dtype_of(g)) for k, size in enumerate(n.ints[0])]
    return [concatenate(parts, axis)]


def _concat(g, n):
    axis, at, out = _axis(n.attributes["axis"], g.ndim), 0, []
    for x in n.x:
        out.append(g[(slice(None),) * axis + (slice(at, at + x.shape[axis]),)])
        at += x.shape[axis]
    return out


def _without_dots(terms, result, values):
    """Replaces an ellipsis by unused letters."""
    named = {c for t in (*terms, result) for c in t if c != "."}
    free = [c for c in "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz" if c not in named]
    most = max([v.ndim - len(t.replace(".", "")) for t, v in zip(terms, values) if "." in t], default=0)
    dots = free[:most]
    full = [t.replace("...", "".join(dots[most - (v.ndim - len(t.replace(".", ""))):])) for t, v in zip(terms, values)]
    return full, result.replace("...", "".join(dots))


def _einsum(g, n):
    inputs, result = n.attributes["equation"].replace(" ", "").split("->")
    terms, result = _without_dots(inputs.split(","), result, n.x)
    extents = {}
    for term, x in zip(terms, n.x):
        for c, e in zip(term, x.shape):
            extents[c] = max(e, extents.get(c, 1))
    out = []
    for k, (term, x) in enumerate(zip(terms, n.x)):
        others = [t for i, t in enumerate(terms) if i != k] + [result]
        seen = set("".join(others))
        remaining = "".join(dict.fromkeys(c for c in term if c in seen))
        values = [v for i, v in enumerate(n.x) if i != k] + [g]
        dx = record("Einsum", values, {"equation": f"{','.join(others)}->{remaining}"})
        out.append(_over_diagonals(dx, term, remaining, [extents[c] for c in term], x))
    return out


def _over_diagonals(dx, term, remaining, extents, x):
    """Expands from the kept letters to all of the term's letters: repeats along a summed letter, writes to the diagonal
    for a repeated letter."""
    first = {c: term.index(c) for c in term}
    order = sorted(remaining, key=term.index)
    dx = transpose(dx, [remaining.index(c) for c in order]) if remaining else dx
    dx = reshape(dx, [dx.shape[order.index(c)] if c in remaining and first[c] == i else 1 for i, c in enumerate(term)])
    for i, c in enumerate(term):
        if first[c] != i:
            shape = [extents[i] if j in (i, first[c]) else 1 for j in range(len(term))]
            dx = dx * reshape(eye(extents[i], dtype=dtype_of(dx)), shape)
    return _unbroadcast(broadcast_to(dx, tuple(extents)), x)


def _attention(g, n):
    """The gradient of attention, through its two products and its softmax."""
    if len(n.x) > 4 or n.attributes.get("softcap", 0):
        raise Error("attention with a cache or a soft cap has no gradient")
    q, k, v = n.x[:3]
    scale = n.attributes.get("scale", float(q.shape[-1]) ** -0.5)
    groups = q.shape[1] // k.shape[1]
    many = lambda x: reshape(broadcast_to(expand_dims(x, 2), x.shape[:2] + (groups,) + x.shape[2:]), (x.shape[0], x.shape[1] * groups) + x.shape[2:])  # noqa: E731
    fewer = lambda x, like: reshape(x, like.shape[:2] + (groups,) + like.shape[2:]).sum(2)  # noqa: E731
    kk, vv = (many(k), many(v)) if groups > 1 else (k, v)
    scores = q @ swapaxes(kk, -1, -2) * scale
    if n.attributes.get("is_causal", 0):
        rows, columns = expand_dims(arange(q.shape[2]), 1), expand_dims(arange(k.shape[2]), 0)
        scores = where(rows >= columns, scores, -float("inf"))
    mask = n.x[3] if len(n.x) > 3 else None
    if mask is not None:
        scores = where(mask, scores, -float("inf")) if dtype_of(mask).kind == "b" else scores + mask
    p = record("Softmax", (scores,), {"axis": -1})
    dp = g @ swapaxes(vv, -1, -2)
    ds = (dp - sum_(dp * p, -1, True)) * p
    dk, dv = swapaxes(ds, -1, -2) @ q * scale, swapaxes(p, -1, -2) @ g
    grads = [ds @ kk * scale, fewer(dk, k) if groups > 1 else dk, fewer(dv, v) if groups > 1 else dv]
    return grads + ([None if dtype_of(mask).kind == "b" else _unbroadcast(ds, mask)] if mask is not None else [])


class _Window:
    """The window of a convolution or a pool: kernel, strides, dilations and pads."""

    def __init__(self, n, kernel, extents):
        a, rank = n.attributes, len(kernel)
        self.kernel, self.strides, self.dilations = kernel, a.get("strides", [1] * rank), a.get("dilations", [1] * rank)
        self.pads = a.get("pads", [0] * 2 * rank)
        how = a.get("auto_pad", "NOTSET")
        if how in ("SAME_UPPER", "SAME_LOWER"):
            reach = [(k - 1) * d + 1 for k, d in zip(kernel, self.dilations)]
            total = [max(0, (-(-e // s) - 1) * s + r - e) for e, s, r in zip(extents, self.strides, reach)]
            less, more = [t // 2 for t in total], [t - t // 2 for t in total]
            self.pads = less + more if how == "SAME_UPPER" else more + less
        elif how not in ("NOTSET", "VALID") or a.get("ceil_mode", 0) or "output_shape" in a:
            raise Error(f"{n.name} has no gradient if auto_pad, ceil_mode or output_shape determine its extents")

    def how(self):
        return {"strides": self.strides, "dilations": self.dilations, "pads": self.pads}

    def spread(self, g, w, extents, **groups):
        """The transposed convolution of g; the result has the given extents."""
        rank = len(self.kernel)
        reach = [(g.shape[2 + i] - 1) * self.strides[i] + (self.kernel[i] - 1) * self.dilations[i] + 1 - self.pads[i] - self.pads[rank + i] for i in range(rank)]
        return onnx.ConvTranspose(g, w, output_padding=[e - r for e, r in zip(extents, reach)], **self.how(), **groups)

    def weights(self, x, g, shape, groups):
        """The gradient of the weights: a convolution in which the batch and each group's channels change places."""
        many, of_x, of_g = x.shape[0], x.shape[1] // groups, g.shape[1] // groups
        x = swapaxes(reshape(x, (many, groups, of_x) + x.shape[2:]), 0, 2)
        g = moveaxis(reshape(g, (many, groups, of_g) + g.shape[2:]), 0, 2)
        dw = onnx.Conv(reshape(x, (of_x, groups * many) + x.shape[3:]), reshape(g, (groups * of_g, many) + g.shape[3:]), group=groups,
                       strides=self.dilations, dilations=self.strides, pads=self.pads)
        return swapaxes(dw, 0, 1)[(slice(None), slice(None), *(slice(0, k) for k in shape[2:]))]


def _conv(g, n):
    """The input's gradient is a transposed convolution; the weights' is a convolution over the batch."""
    x, w = n.x[:2]
    window, groups = _Window(n, list(w.shape[2:]), x.shape[2:]), n.attributes.get("group", 1)
    return [window.spread(g, w, x.shape[2:], group=groups), window.weights(x, g, w.shape, groups),
            *([sum_(g, (0, *range(2, g.ndim)))] if len(n.x) > 2 else [])]


def _conv_transpose(g, n):
    """The reverse of the rule for Conv."""
    x, w = n.x[:2]
    window, groups = _Window(n, list(w.shape[2:]), x.shape[2:]), n.attributes.get("group", 1)
    dx = onnx.Conv(g, w, group=groups, **window.how())
    dx = dx[(slice(None), slice(None), *(slice(0, e) for e in x.shape[2:]))]
    return [dx, window.weights(g, x, w.shape, groups), *([sum_(g, (0, *range(2, g.ndim)))] if len(n.x) > 2 else [])]


def _global_max(g, n):
    hit = cast(n.x[0] == n.y, dtype_of(g))
    return [g * hit / sum_(hit, tuple(range(2, n.x[0].ndim)), keepdims=True)]


def _max_pool(g, n):
    """Writes the gradient to the positions of the largest elements, which are the operator's second result."""
    x = n.x[0]
    places = record("MaxPool", (x,), n.attributes, 2)[1]
    size = x.size
    flat = record("ScatterElements", (zeros((size,), dtype_of(g)), reshape(places, (g.size,)), reshape(g, (g.size,))), {"axis": 0, "reduction": "add"})
    return [reshape(flat, x.shape)]


def _average_pool(g, n):
    x, kernel = n.x[0], list(n.attributes["kernel_shape"])
    window, ones = _Window(n, kernel, x.shape[2:]), array(np.ones((1, 1, *kernel)), dtype_of(g))
    if n.attributes.get("count_include_pad", 0):
        g = g / float(math.prod(kernel))
    else:
        g = g / onnx.Conv(array(np.ones((1, 1) + x.shape[2:]), dtype_of(g)), ones, **window.how())
    planes = reshape(g, (g.shape[0] * g.shape[1], 1) + g.shape[2:])
    return [reshape(window.spread(planes, ones, x.shape[2:]), x.shape)]


def _batch_norm(g, n):
    if n.attributes.get("training_mode", 0):
        raise Error("BatchNormalization in training mode has no gradient; mean and var have one")
    x, scale, _, mean, var = n.x
    along = (1, -1) + (1,) * (x.ndim - 2)
    other_axes = (0, *range(2, x.ndim))
    inverse = 1 / core.sqrt(var + n.attributes.get("epsilon", 1e-5))
    centred, total = x - reshape(mean, along), sum_(g, other_axes)
    moment = sum_(g * centred, other_axes)
    return [g * reshape(scale * inverse, along), moment * inverse, total, -total * scale * inverse, moment * scale * inverse ** 3 * -0.5]


def _group_norm(g, n):
    x, scale, bias = n.x
    groups = n.attributes.get("num_groups", x.shape[1])
    per_channel, per_group = (1, -1) + (1,) * (x.ndim - 2), (x.shape[0], groups, -1)
    if scale.shape[0] != x.shape[1]:
        raise Error("GroupNormalization with a scale per group has no gradient; with a scale per channel it has one")
    rows = reshape(x, per_group)
    centred = rows - rows.mean(2, True)
    inverse = 1 / core.sqrt((centred * centred).mean(2, True) + n.attributes.get("epsilon", 1e-5))
    normal, gs = centred * inverse, reshape(g * reshape(scale, per_channel), per_group)
    dx = (gs - gs.mean(2, True) - normal * (gs * normal).mean(2, True)) * inverse
    other_axes = (0, *range(2, x.ndim))
    return [reshape(dx, x.shape), sum_(g * reshape(normal, x.shape), other_axes), sum_(g, other_axes)]


def _tile(g, n):
    x, times = n.x[0], n.ints[0]
    g = reshape(g, [v for pair in zip(times, x.shape) for v in pair])
    return [sum_(g, tuple(range(0, 2 * x.ndim, 2)))]


def _pad(g, n):
    if n.attributes.get("mode", "constant") != "constant" or min(n.ints[0], default=0) < 0:
        raise Error("Pad has a gradient only in mode constant; gl.pad has one in all modes")
    x, widths = n.x[0], n.ints[0]
    inner = g[tuple(slice(w, w + e) for w, e in zip(widths, x.shape))]
    return [inner, sum_(g) - sum_(inner)][:len(n.x)] if len(n.x) > 1 else [inner]


def _top_k(g, n):
    if n.index:
        return [None]
    places = record("TopK", (n.x[0],), n.attributes, 2, "xi", n.ints)[1]
    return [record("ScatterElements", (zeros_like(n.x[0]), places, g), {"axis": n.attributes.get("axis", -1), "reduction": "add"})]


def _gather_nd(g, n):
    if n.attributes.get("batch_dims", 0):
        raise Error("GatherND with batch_dims has no gradient")
    return [record("ScatterND", (zeros_like(n.x[0]), _all_positive(n.x[1], n.x[0].shape), g), {"reduction": "add"}), None]


def _all_positive(indices, shape):
    extents = array(np.array(shape[:indices.shape[-1]]))
    return where(indices < 0, indices + extents, indices)


def _scattered(scatter, gather, ordered):
    """The rule of operators that write into x at indices. Replaced elements of x have no gradient."""
    def rule(g, n):
        x, indices, updates = n.x
        how = n.attributes.get("reduction", "none")
        if how not in ("none", "add"):
            raise Error(f"{n.name} with reduction '{how}' has no gradient")
        axis = {"axis": n.attributes.get("axis", 0)} if ordered else None
        dx = g if how == "add" else record(scatter, (g, indices, zeros_like(updates)), axis)
        return [dx, None, record(gather, (g, indices), axis)]
    return rule


def _product(g, n):
    """Multiplies the products of the elements before and after each element, because a division by the element would fail for zeros."""
    x, axes = n.x[0], _reduced_axes(n)
    order = [a for a in range(x.ndim) if a not in axes] + list(axes)
    rows = transpose(x, order)
    shape = rows.shape
    rows = reshape(rows, shape[:x.ndim - len(axes)] + (-1,))
    one = ones_like(rows[..., :1])
    before = concatenate([one, cumprod(rows[..., :-1], -1)], -1)
    after = concatenate([cumprod(rows[..., :0:-1], -1)[..., ::-1], one], -1)
    others = transpose(reshape(before * after, shape), [order.index(a) for a in range(x.ndim)])
    return [_spread(g, n) * others]


def _gemm(g, n):
    a, b, alpha = n.x[0], n.x[1], n.attributes.get("alpha", 1.0)
    left, right = n.attributes.get("transA", 0), n.attributes.get("transB", 0)
    aa, bb = a.T if left else a, b.T if right else b
    da, db = g @ bb.T * alpha, aa.T @ g * alpha
    return [da.T if left else da, db.T if right else db, *([_unbroadcast(g * n.attributes.get("beta", 1.0), n.x[2])] if len(n.x) > 2 else [])]


def _rearranged(split, order):
    """The gradient rule of a reshape to `split`, a transpose and a reshape."""
    def rule(g, n):
        shape, perm = split(n), order(n)
        g = reshape(g, [shape[p] for p in perm])
        return [reshape(transpose(g, [perm.index(i) for i in range(len(perm))]), n.x[0].shape)]
    return rule


def _depth_split(n):
    (b, c, h, w), s = n.x[0].shape, n.attributes["blocksize"]
    c //= s * s
    return [b, c, s, s, h, w] if n.attributes.get("mode", "DCR") == "CRD" else [b, s, s, c, h, w]


def _space_split(n):
    (b, c, h, w), s = n.x[0].shape, n.attributes["blocksize"]
    return [b, c, h // s, s, w // s, s]


def _clip(g, n):
    x, (low, high) = n.x[0], (n.x + [None, None])[1:3]
    under = x < low if low is not None else None
    over = x > high if high is not None else None
    out = g
    for beyond in (under, over):
        out = out if beyond is None else where(beyond, 0.0, out)
    return [out, *([None if b is None else sum_(where(b, g, 0.0)) for b in (under, over)][:len(n.x) - 1])]


def _mod(g, n):
    a, b = n.x
    turns = trunc(a / b) if n.attributes.get("fmod", 0) else core.floor(a / b)
    return [_unbroadcast(g, a), _unbroadcast(-g * turns, b)]


def _shared(g, n):
    return [_unbroadcast(g, x) for x in n.x]


def _mish_slope(x):
    t = core.tanh(core.softplus(x))
    return t + x * (1 - t * t) * core.sigmoid(x)


def _swish_slope(x, alpha):
    s = core.sigmoid(x * alpha)
    return s + x * s * (1 - s) * alpha


def _pow(g, n):
    a, b = n.x
    return [_unbroadcast(g * b * a ** (b - 1), a), _unbroadcast(g * n.y * core.log(a), b) if is_float(dtype_of(b)) else None]


def _picks(g, n):
    """Max and Min: the gradient goes to the operands that equal the result, in equal parts."""
    hits = [cast(x == n.y, dtype_of(g)) for x in n.x]
    total = hits[0]
    for h in hits[1:]:
        total = total + h
    return [_unbroadcast(g * h / total, x) for h, x in zip(hits, n.x)]


_SELU = 1.67326319217681884765625, 1.05070102214813232421875
_SQRT_PI = 2 / float(np.sqrt(np.pi))
RULES = {
    "Add": _elementwise(lambda g, n: g, lambda g, n: g),
    "Sub": _elementwise(lambda g, n: g, lambda g, n: -g),
    "Mul": _elementwise(lambda g, n: g * n.x[1], lambda g, n: g * n.x[0]),
    "Div": _elementwise(lambda g, n: g / n.x[1], lambda g, n: -g * n.y / n.x[1]),
    "Pow": _pow, "Max": _picks, "Min": _picks, "MatMul": _matmul, "Einsum": _einsum, "Conv": _conv, "Attention": _attention,
    "Where": lambda g, n: [None, _unbroadcast(where(n.x[0], g, 0.0), n.x[1]), _unbroadcast(where(n.x[0], 0.0, g), n.x[2])],
    "Neg": _of_one(lambda g, n: -g), "Abs": _of_one(lambda g, n: g * core.sign(n.x[0])),
    "Exp": _of_one(lambda g, n: g * n.y), "Log": _of_one(lambda g, n: g / n.x[0]), "Sqrt": _of_one(lambda g, n: g / (2 * n.y)),
    "Reciprocal": _of_one(lambda g, n: -g * n.y * n.y), "Tanh": _of_one(lambda g, n: g * (1 - n.y * n.y)),
    "Sigmoid": _of_one(lambda g, n: g * n.y * (1 - n.y)), "Relu": _of_one(lambda g, n: where(n.x[0] > 0, g, 0.0)),
    "LeakyRelu": _of_one(lambda g, n: where(n.x[0] > 0, g, g * n.attributes.get("alpha", 0.01))),
    "Softplus": _of_one(lambda g, n: g * core.sigmoid(n.x[0])),
    "Erf": _of_one(lambda g, n: g * core.exp(-n.x[0] * n.x[0]) * _SQRT_PI),
    "Sin": _of_one(lambda g, n: g * core.cos(n.x[0])), "Cos": _of_one(lambda g, n: -g * core.sin(n.x[0])),
    "Tan": _of_one(lambda g, n: g * (1 + n.y * n.y)), "Sinh": _of_one(lambda g, n: g * core.cosh(n.x[0])),
    "Cosh": _of_one(lambda g, n: g * core.sinh(n.x[0])), "Asin": _of_one(lambda g, n: g / core.sqrt(1 - n.x[0] * n.x[0])),
    "Acos": _of_one(lambda g, n: -g / core.sqrt(1 - n.x[0] * n.x[0])), "Atan": _of_one(lambda g, n: g / (1 + n.x[0] * n.x[0])),
    "Cast": lambda g, n: [cast(g, dtype_of(n.x[0])) if is_float(dtype_of(n.x[0])) else None],
    "Reshape": _of_one(lambda g, n: reshape(g, n.x[0].shape)), "Squeeze": _of_one(lambda g, n: reshape(g, n.x[0].shape)),
    "Unsqueeze": _of_one(lambda g, n: reshape(g, n.x[0].shape)), "Expand": _of_one(lambda g, n: _unbroadcast(g, n.x[0])),
    "Transpose": _of_one(lambda g, n: transpose(g, [n.attributes["perm"].index(a) for a in range(g.ndim)])),
    "ReduceSum": _of_one(_spread), "ReduceMean": _of_one(lambda g, n: _spread(g, n) / _count(n)), "ReduceMax": _extreme, "ReduceMin": _extreme,
    "ReduceLogSumExp": _of_one(lambda g, n: _spread(g, n) * core.exp(n.x[0] - _spread(n.y, n))),
    "ReduceProd": _product, "ReduceL1": _of_one(lambda g, n: _spread(g, n) * core.sign(n.x[0])),
    "ReduceL2": _of_one(lambda g, n: _spread(g / n.y, n) * n.x[0]), "ReduceSumSquare": _of_one(lambda g, n: _spread(g * 2, n) * n.x[0]),
    "ReduceLogSum": _of_one(lambda g, n: _spread(g * core.exp(-n.y), n)),
    "Softmax": _softmax, "LogSoftmax": _log_softmax, "LayerNormalization": _layer_norm, "RMSNormalization": _rms_norm,
    "Gather": _gather, "GatherElements": _gather_elements, "Slice": _slice, "Split": _split, "Concat": _concat,
    "Trilu": _of_one(lambda g, n: record("Trilu", (g,), n.attributes, 1, "xs", n.ints)),
    "CumSum": _of_one(lambda g, n: record("CumSum", (g,), {**n.attributes, "reverse": 1 - n.attributes.get("reverse", 0)}, 1, "xs", n.ints)),
    "Gelu": _of_one(lambda g, n: g * _gelu_slope(n)),
    "Asinh": _of_one(lambda g, n: g / core.sqrt(n.x[0] * n.x[0] + 1)), "Acosh": _of_one(lambda g, n: g / core.sqrt(n.x[0] * n.x[0] - 1)),
    "Atanh": _of_one(lambda g, n: g / (1 - n.x[0] * n.x[0])),
    "Elu": _of_one(lambda g, n: g * where(n.x[0] > 0, 1.0, n.y + n.attributes.get("alpha", 1.0))),
    "Selu": _of_one(lambda g, n: g * where(n.x[0] > 0, n.attributes.get("gamma", _SELU[1]), n.y + n.attributes.get("alpha", _SELU[0]) * n.attributes.get("gamma", _SELU[1]))),
    "Celu": _of_one(lambda g, n: g * where(n.x[0] > 0, 1.0, core.exp(n.x[0] / n.attributes.get("alpha", 1.0)))),
    "Softsign": _of_one(lambda g, n: g / (1 + core.abs(n.x[0])) ** 2), "Mish": _of_one(lambda g, n: g * _mish_slope(n.x[0])),
    "Swish": _of_one(lambda g, n: g * _swish_slope(n.x[0], n.attributes.get("alpha", 1.0))),
    "com.microsoft::QuickGelu": _of_one(lambda g, n: g * _swish_slope(n.x[0], n.attributes.get("alpha", 1.702))),
    "HardSigmoid": _of_one(lambda g, n: where((n.y > 0) & (n.y < 1), g * n.attributes.get("alpha", 0.2), 0.0)),
    "HardSwish": _of_one(lambda g, n: g * where(n.x[0] <= -3, 0.0, where(n.x[0] >= 3, 1.0, n.x[0] / 3 + 0.5))),
    "ThresholdedRelu": _of_one(lambda g, n: where(n.x[0] > n.attributes.get("alpha", 1.0), g, 0.0)),
    "Shrink": _of_one(lambda g, n: where(core.abs(n.x[0]) > n.attributes.get("lambd", 0.5), g, 0.0)),
    "PRelu": lambda g, n: [where(n.x[0] > 0, g, g * n.x[1]), _unbroadcast(where(n.x[0] > 0, 0.0, g * n.x[0]), n.x[1])],
    "Clip": _clip, "Mod": _mod, "Identity": _of_one(lambda g, n: g), "Flatten": _of_one(lambda g, n: reshape(g, n.x[0].shape)),
    "Sum": _shared, "Mean": lambda g, n: _shared(g / float(len(n.x)), n), "CastLike": lambda g, n: [cast(g, dtype_of(n.x[0])), None],
    "Tile": _tile, "Pad": _pad, "TopK": _top_k, "GatherND": _gather_nd, "ScatterND": _scattered("ScatterND", "GatherND", False),
    "ScatterElements": _scattered("ScatterElements", "GatherElements", True), "Gemm": _gemm,
    "ConvTranspose": _conv_transpose, "MaxPool": _max_pool, "AveragePool": _average_pool,
    "GlobalAveragePool": _of_one(lambda g, n: broadcast_to(g / float(math.prod(n.x[0].shape[2:])), n.x[0].shape)), "GlobalMaxPool": _global_max,
    "BatchNormalization": _batch_norm, "GroupNormalization": _group_norm, "InstanceNormalization": _group_norm,
    "DepthToSpace": _rearranged(_depth_split, lambda n: [0, 1, 4, 2, 5, 3] if n.attributes.get("mode", "DCR") == "CRD" else [0, 3, 4, 1, 5, 2]),
    "SpaceToDepth": _rearranged(_space_split, lambda n: [0, 3, 5, 1, 2, 4]),
    # Step functions, whose gradient is zero.
    **{name: (lambda g, n: [None] * len(n.x)) for name in ("Floor", "Ceil", "Round", "Sign", "ArgMax", "ArgMin", "Hardmax", "Equal", "Less", "LessOrEqual",
                                                           "Greater", "GreaterOrEqual", "Not", "And", "Or", "Xor", "IsNaN", "IsInf", "Range")},
}


def _gelu_slope(n):
    x = n.x[0]
    if n.attributes.get("approximate", "none") == "tanh":
        c = float(np.sqrt(2 / np.pi))
        t = core.tanh((x + x * x * x * 0.044715) * c)
        return 0.5 * (1 + t) + 0.5 * x * (1 - t * t) * ((1 + x * x * (3 * 0.044715)) * c)
    return 0.5 * (1 + core.erf(x * float(np.sqrt(0.5)))) + x * core.exp(x * x * -0.5) * float(1 / np.sqrt(2 * np.pi))
