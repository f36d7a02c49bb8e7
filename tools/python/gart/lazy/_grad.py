"""Gradients: a backward walk over the operators that a function recorded, with one rule per operator (_gradients.py).
"""
import heapq

import numpy as np

from ._core import Array, Error, array, core, dtype_of, float32, is_float
from ._gradients import RULES
from ._shapes import zeros_like


class _Node:
    """One recorded operator: `x` its operands, `y` its result."""

    def __init__(self, result, maker):
        self.name, self.index, self.attributes, self.x, self.ints, self.serial = maker
        self.y = result


def _backward(loss, variables):
    """The gradients of `loss` by each of `wanted`. Visits the newest node first, so a node's gradient is complete when its rule runs."""
    ends = {w._identity() for w in variables}
    reaches = _reaching(loss, ends)
    gradients = {loss._identity(): array(np.ones(loss.shape, dtype_of(loss)))}
    queue, queued = [], {loss._identity()}
    if (maker := reaches.get(loss._identity())) is not None:
        queue.append((-maker.serial, loss._identity()))
    while queue:
        _, key = heapq.heappop(queue)
        node, g = reaches[key], gradients.get(key)
        if key not in ends:
            gradients.pop(key, None)
        if node.name not in RULES:
            raise Error(f"{node.name} has no gradient")
        for x, dx in zip(node.x, RULES[node.name](g, node)):
            if x is None or dx is None:
                continue
            to = x._identity()
            if to not in ends and to not in reaches:
                continue
            gradients[to] = gradients[to] + dx if to in gradients else dx
            if to in reaches and to not in queued:
                queued.add(to)
                heapq.heappush(queue, (-reaches[to].serial, to))
    return [gradients.get(w._identity(), zeros_like(w)) for w in variables]


def _reaching(loss, ends):
    """{identity: node} for the values between the ends and the loss."""
    nodes, readers, found, stack = {}, {}, [], [loss]
    seen = {loss._identity()}
    while stack:
        value = stack.pop()
        key = value._identity()
        if key in ends:
            found.append(key)
            continue
        maker = value._made_by()
        if maker is None:
            continue
        nodes[key] = _Node(value, maker)
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
    """A function that returns (function(...), its gradients). The gradients are by one argument or, if `argnums` is a
    tuple, by several. An argument may be an array, or nested lists, tuples and dicts of arrays."""
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
                raise Error("grad needs a function that returns a float of one element")
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
