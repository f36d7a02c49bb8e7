"""Random numbers by keys: the same key gives the same numbers on every device, whatever else runs, in any order.

    key = gl.random.key(7)
    key, use = gl.random.split(key)
    x = gl.random.normal(use, (2, 3))

The numbers are Philox4x32-10 of (key, number of the element), recorded as integer operators.
"""
import numpy as np

from ._core import Error, array, cast, float32, int64, uint32, uint64
from ._elementwise import cos, log, sqrt
from ._named import is_recording
from ._reductions import argsort
from ._shapes import arange, reshape, stack

_MASK = 2 ** 32 - 1
_MULTIPLIERS, _STEPS = (0xD2511F53, 0xCD9E8D57), (0x9E3779B9, 0xBB67AE85)


def key(seed):
    """A key: uint32[2]."""
    seed = int(seed) & (2 ** 64 - 1)
    return array(np.array([seed & _MASK, seed >> 32], np.uint32))


def _checked(key):
    if key.shape != (2,) or key.dtype != uint32:
        raise Error(f"a key is uint32[2], as gl.random.key and split make them, not {key.dtype}{list(key.shape)}")
    return key


def _philox(key, count, stream):
    """Four words for each of `count` blocks."""
    key = _checked(key)
    number = cast(arange(count), uint32)
    zero = number * array(0, uint32)
    c = [number, zero, zero + array(stream, uint32), zero]
    k = [key[0], key[1]]
    shift = array(32, uint64)
    for _ in range(10):
        wide = [cast(c[2 * i], uint64) * array(_MULTIPLIERS[i], uint64) for i in range(2)]
        high = [cast(_shifted(w, shift), uint32) for w in wide]
        low = [cast(w, uint32) for w in wide]
        c = [high[1] ^ c[1] ^ k[0], low[1], high[0] ^ c[3] ^ k[1], low[0]]
        k = [k[i] + array(_STEPS[i], uint32) for i in range(2)]
    return c


def _shifted(x, by):
    from ._core import record
    return record("BitShift", (x, by), {"direction": "RIGHT"})


def _words(key, count, stream=0):
    blocks = -(-count // 4)
    words = reshape(stack(_philox(key, blocks, stream), 1), (4 * blocks,))
    return words if 4 * blocks == count else words[:count]


def _words_now(key, count, stream):
    """The same as _words, for the two numbers of a key, but computed now. So a loop that splits its key in each iteration does not make its
    graph grow."""
    words = []
    for number in range(-(-count // 4)):
        c, k = [number, 0, stream, 0], list(key)
        for _ in range(10):
            wide = [c[2 * i] * _MULTIPLIERS[i] for i in range(2)]
            c = [(wide[1] >> 32) ^ c[1] ^ k[0], wide[1] & _MASK, (wide[0] >> 32) ^ c[3] ^ k[1], wide[0] & _MASK]
            k = [(k[i] + _STEPS[i]) & _MASK for i in range(2)]
        words += c
    return np.array(words[:count], np.uint32)


def split(key, count=2):
    """Makes that many new keys. Do not use the old key again."""
    if key.is_ready and not is_recording():
        return [array(pair) for pair in _words_now(_checked(key).tolist(), 2 * count, 1).reshape(count, 2)]
    words = reshape(_words(key, 2 * count, stream=1), (count, 2))
    return [words[i] for i in range(count)]


def fold_in(key, number):
    """A new key, made from a key and a number."""
    number = int(number) & _MASK
    if key.is_ready and not is_recording():
        low, high = _checked(key).tolist()
        return array(_words_now([(low + number) & _MASK, high], 2, 2))
    return _words(key + array([number, 0], uint32), 2, stream=2)


def bits(key, shape):
    """uint32, uniform over all values."""
    shape = (shape,) if isinstance(shape, int) else tuple(shape)
    return reshape(_words(key, int(np.prod(shape, dtype=np.int64))), shape)


def _unit(words):
    """Uniform numbers in [0, 1), multiples of 2^-24."""
    return cast(_shifted(words, array(8, uint32)), float32) * 2.0 ** -24


def uniform(key, shape=(), low=0.0, high=1.0):
    """Numbers from a uniform distribution, made from `key`."""
    x = _unit(bits(key, shape))
    return x if (low, high) == (0.0, 1.0) else x * (high - low) + low


def normal(key, shape=(), mean=0.0, scale=1.0):
    """Numbers from a normal distribution, made from `key`."""
    shape = (shape,) if isinstance(shape, int) else tuple(shape)
    count = int(np.prod(shape, dtype=np.int64))
    words = reshape(_words(key, 2 * count), (2, count))
    radius = sqrt(log(1.0 - _unit(words[0])) * -2.0)
    return reshape(radius * cos(_unit(words[1]) * (2 * np.pi)) * scale + mean, shape)


def randint(key, shape, low, high):
    """Uniform int64 in [low, high)."""
    if high <= low:
        raise Error(f"there is no integer in [{low}, {high})")
    return cast(cast(bits(key, shape), uint64) % array(high - low, uint64), int64) + low


def bernoulli(key, p=0.5, shape=()):
    """True with the given probability, made from `key`."""
    return uniform(key, shape) < p


def categorical(key, logits, axis=-1):
    """An index along the axis, drawn with the probabilities softmax(logits)."""
    noise = -log(-log(uniform(key, logits.shape) + 2.0 ** -25))
    return (logits + noise).argmax(axis)


def permutation(key, count):
    """A random order of 0..n-1, or of the rows of an array, made from `key`."""
    return argsort(uniform(key, (count,)))
