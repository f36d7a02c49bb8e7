"""Gradients: a walk backwards over what a function recorded, by one rule per operator.

A rule is rule(g, node) -> the gradients of the node's operands, None where there is none. `g` is the gradient of its result.
"""
import heapq

import numpy as np

from ._core import Array, Error, array, axis_of as _axis, cast, core, dtype_of, float32, is_float, record
from ._elementwise import where
from ._reductions import sum as sum_
from ._shapes import arange, broadcast_to, concatenate, expand_dims, moveaxis, reshape, squeeze, swapaxes, transpose, zeros, zeros_like
from . import onnx


class _Node:
    """One recorded operator: `x` its operands, `y` its result."""

    def __init__(self, result, made):
        self.name, self.index, self.attributes, self.x, self.ints, self.serial = made
        self.y = result


def _unbroadcast(g, like):
    """The sum over what broadcasting repeated."""
    if g.shape == like.shape:
        return g
    ahead = g.ndim - like.ndim
    axes = [a for a in range(g.ndim) if a < ahead or (like.shape[a - ahead] == 1 and g.shape[a] != 1)]
    g = sum_(g, axes, keepdims=True) if axes else g
    return reshape(g, like.shape)


def _elementwise(*parts):
    """A rule of an operator that broadcasts: each part makes the gradient of one operand, of the result's shape."""
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
    """A reduction's gradient, with its axes back."""
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
    """Into zeros, where it was taken from."""
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
            made = record("ScatterND", (zeros((x.shape[axis],) + rows.shape[1:], dtype_of(g)), array(places.reshape(-1, 1)), rows))
            g = moveaxis(made, 0, axis)
    return [g]


def _split(g, n):
    """Each part into zeros of its own."""
    axis = _axis(n.attributes.get("axis", 0), g.ndim)
    parts = [g if k == n.index else zeros(g.shape[:axis] + (size,) + g.shape[axis + 1:], dtype_of(g)) for k, size in enumerate(n.ints[0])]
    return [concatenate(parts, axis)]


def _concat(g, n):
    axis, at, out = _axis(n.attributes["axis"], g.ndim), 0, []
    for x in n.x:
        out.append(g[(slice(None),) * axis + (slice(at, at + x.shape[axis]),)])
        at += x.shape[axis]
    return out


def _einsum(g, n):
    equation = n.attributes["equation"].replace(" ", "")
    inputs, result = equation.split("->")
    terms = inputs.split(",")
    if "." in equation or any(len(set(t)) != len(t) for t in terms):
        raise Error(f"einsum('{equation}') has no gradient: it has an ellipsis or an index twice in one operand")
    out = []
    for k, (term, x) in enumerate(zip(terms, n.x)):
        others = [t for i, t in enumerate(terms) if i != k] + [result]
        seen = set("".join(others))
        kept = "".join(c for c in term if c in seen)
        values = [v for i, v in enumerate(n.x) if i != k] + [g]
        dx = record("Einsum", values, {"equation": f"{','.join(others)}->{kept}"})
        shape = [x.shape[i] if c in seen else 1 for i, c in enumerate(term)]
        out.append(broadcast_to(reshape(dx, shape), x.shape))
    return out


def _attention(g, n):
    """As the products and the softmax that it is."""
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


def _conv(g, n):
    """By the transposed convolution, and by a convolution over the batch."""
    x, w = n.x[:2]
    a, rank = n.attributes, x.ndim - 2
    if a.get("group", 1) != 1 or "auto_pad" in a:
        raise Error("a convolution of several groups, or padded 'same', has no gradient yet")
    strides, dilations, pads = a.get("strides", [1] * rank), a.get("dilations", [1] * rank), a.get("pads", [0] * 2 * rank)
    reach = [(g.shape[2 + i] - 1) * strides[i] + (w.shape[2 + i] - 1) * dilations[i] + 1 - pads[i] - pads[rank + i] for i in range(rank)]
    dx = onnx.ConvTranspose(g, w, strides=strides, dilations=dilations, pads=pads,
                            output_padding=[x.shape[2 + i] - r for i, r in enumerate(reach)])
    dw = onnx.Conv(swapaxes(x, 0, 1), swapaxes(g, 0, 1), strides=dilations, dilations=strides, pads=pads)
    dw = swapaxes(dw, 0, 1)[(slice(None), slice(None), *(slice(0, w.shape[2 + i]) for i in range(rank)))]
    return [dx, dw, *([sum_(g, [0, *range(2, g.ndim)])] if len(n.x) > 2 else [])]


def _pow(g, n):
    a, b = n.x
    return [_unbroadcast(g * b * a ** (b - 1), a), _unbroadcast(g * n.y * core.log(a), b) if is_float(dtype_of(b)) else None]


def _picks(choose):
    """Max and Min: to the operand that is the result, in equal parts."""
    def rule(g, n):
        hits = [cast(x == n.y, dtype_of(g)) for x in n.x]
        total = hits[0]
        for h in hits[1:]:
            total = total + h
        return [_unbroadcast(g * h / total, x) for h, x in zip(hits, n.x)]
    return rule


_SQRT_PI = 2 / float(np.sqrt(np.pi))
_RULES = {
    "Add": _elementwise(lambda g, n: g, lambda g, n: g),
    "Sub": _elementwise(lambda g, n: g, lambda g, n: -g),
    "Mul": _elementwise(lambda g, n: g * n.x[1], lambda g, n: g * n.x[0]),
    "Div": _elementwise(lambda g, n: g / n.x[1], lambda g, n: -g * n.y / n.x[1]),
    "Pow": _pow, "Max": _picks(max), "Min": _picks(min), "MatMul": _matmul, "Einsum": _einsum, "Conv": _conv, "Attention": _attention,
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
    "ReduceProd": _of_one(lambda g, n: _spread(g * n.y, n) / n.x[0]),
    "Softmax": _softmax, "LogSoftmax": _log_softmax, "LayerNormalization": _layer_norm, "RMSNormalization": _rms_norm,
    "Gather": _gather, "GatherElements": _gather_elements, "Slice": _slice, "Split": _split, "Concat": _concat,
    "Trilu": _of_one(lambda g, n: record("Trilu", (g,), n.attributes, 1, "xs", n.ints)),
    "CumSum": _of_one(lambda g, n: record("CumSum", (g,), {"reverse": 1 - n.attributes.get("reverse", 0)}, 1, "xs", n.ints)),
    "Gelu": _of_one(lambda g, n: g * _gelu_slope(n)),
    # These have steps alone: no slope.
    **{name: (lambda g, n: [None] * len(n.x)) for name in ("Floor", "Ceil", "Round", "Sign", "ArgMax", "ArgMin", "Equal", "Less", "LessOrEqual",
                                                           "Greater", "GreaterOrEqual", "Not", "And", "Or", "Xor", "IsNaN", "IsInf", "Range")},
}


def _gelu_slope(n):
    x = n.x[0]
    if n.attributes.get("approximate", "none") == "tanh":
        c = float(np.sqrt(2 / np.pi))
        t = core.tanh((x + x * x * x * 0.044715) * c)
        return 0.5 * (1 + t) + 0.5 * x * (1 - t * t) * ((1 + x * x * (3 * 0.044715)) * c)
    return 0.5 * (1 + core.erf(x * float(np.sqrt(0.5)))) + x * core.exp(x * x * -0.5) * float(1 / np.sqrt(2 * np.pi))


def _backward(loss, wanted):
    """d loss / d each of `wanted`. Nodes are taken newest first, so each has its whole gradient when its turn comes."""
    ends = {w._identity() for w in wanted}
    reaches = _reaching(loss, ends)
    gradients = {loss._identity(): array(np.ones(loss.shape, dtype_of(loss)))}
    queue, queued = [], {loss._identity()}
    if (made := reaches.get(loss._identity())) is not None:
        queue.append((-made.serial, loss._identity()))
    while queue:
        _, key = heapq.heappop(queue)
        node, g = reaches[key], gradients.get(key)
        if key not in ends:
            gradients.pop(key, None)
        if node.name not in _RULES:
            raise Error(f"{node.name} has no gradient")
        for x, dx in zip(node.x, _RULES[node.name](g, node)):
            if x is None or dx is None:
                continue
            to = x._identity()
            if to not in ends and to not in reaches:
                continue
            gradients[to] = gradients[to] + dx if to in gradients else dx
            if to in reaches and to not in queued:
                queued.add(to)
                heapq.heappush(queue, (-reaches[to].serial, to))
    return [gradients.get(w._identity(), zeros_like(w)) for w in wanted]


def _reaching(loss, ends):
    """{identity: node} of the values between the ends and the loss."""
    nodes, readers, found, stack = {}, {}, [], [loss]
    seen = {loss._identity()}
    while stack:
        value = stack.pop()
        key = value._identity()
        if key in ends:
            found.append(key)
            continue
        made = value._made_by()
        if made is None:
            continue
        nodes[key] = _Node(value, made)
        for x in nodes[key].x:
            if x is None:
                continue
            to = x._identity()
            readers.setdefault(to, []).append(key)
            if to not in seen:
                seen.add(to)
                stack.append(x)
    reaches = {}
    while found:
        key = found.pop()
        for reader in readers.get(key, ()):
            if reader not in reaches:
                reaches[reader] = nodes[reader]
                found.append(reader)
    return reaches


def _leaves(value, out):
    if isinstance(value, Array):
        out.append(value)
    elif isinstance(value, dict):
        for v in value.values():
            _leaves(v, out)
    elif isinstance(value, (list, tuple)):
        for v in value:
            _leaves(v, out)
    return out


def _rebuilt(value, leaves):
    """The same structure of lists, tuples and dicts with other arrays."""
    if isinstance(value, Array):
        return next(leaves)
    if isinstance(value, dict):
        return {k: _rebuilt(v, leaves) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        return type(value)(_rebuilt(v, leaves) for v in value)
    return value


def value_and_grad(function, argnums=0):
    """A function that gives (function(...), its gradients): by one argument or, where `argnums` is a tuple, by several; an argument may be an
    array, or lists, tuples and dicts of arrays."""
    numbers = (argnums,) if isinstance(argnums, int) else tuple(argnums)

    def call(*arguments, **named):
        arguments = list(arguments)
        for i in numbers:
            if not _leaves(arguments[i], []):
                arguments[i] = array(arguments[i], float32)
        core.tape(True)
        try:
            leaves = [_leaves(arguments[i], []) for i in numbers]
            value = function(*arguments, **named)
            loss = value[0] if isinstance(value, tuple) else value
            if not isinstance(loss, Array) or loss.size != 1 or not is_float(dtype_of(loss)):
                raise Error("the gradient is that of one number: the function is to return a float of one element")
            gradients = iter(_backward(loss, [x for group in leaves for x in group]))
        finally:
            core.tape(False)
        rebuilt = [_rebuilt(arguments[i], gradients) for i in numbers]
        return value, rebuilt[0] if isinstance(argnums, int) else tuple(rebuilt)
    return call


def grad(function, argnums=0):
    """The gradients alone."""
    both = value_and_grad(function, argnums)
    return lambda *arguments, **named: both(*arguments, **named)[1]
