"""Layers as operators. Each layer is one node, for which the compiler has kernels."""
from ._core import Error, array, axis_of as _axis, cast, core, dtype_of, record
from ._indices import take_along_axis
from ._reductions import logsumexp
from ._shapes import arange, expand_dims, squeeze

relu, sigmoid, softplus, tanh = core.relu, core.sigmoid, core.softplus, core.tanh


def softmax(x, axis=-1):
    """`exp(x)` divided by its sum along `axis`."""
    x = array(x)
    return record("Softmax", (x,), {"axis": _axis(axis, x.ndim)})


def log_softmax(x, axis=-1):
    """The logarithm of the softmax along `axis`."""
    x = array(x)
    return record("LogSoftmax", (x,), {"axis": _axis(axis, x.ndim)})


def gelu(x, approximate="none"):
    """The Gaussian error linear unit."""
    return record("Gelu", (array(x),), {"approximate": approximate})


def silu(x):
    """`x * sigmoid(x)`."""
    x = array(x)
    return x * core.sigmoid(x)


def leaky_relu(x, alpha=0.01):
    """`x` above zero, `alpha * x` below."""
    return record("LeakyRelu", (array(x),), {"alpha": float(alpha)})


def conv(x, weights, bias=None, strides=None, padding=0, dilations=None, groups=1):
    """Convolution of [N, C, spatial...] by [M, C / groups, spatial...]. `padding`: a number, one per dimension, or
    "same"."""
    rank = x.ndim - 2

    def each(value):
        return [value] * rank if isinstance(value, int) else list(value)
    attributes = {"strides": each(strides or 1), "dilations": each(dilations or 1), "group": groups}
    if padding == "same":
        attributes["auto_pad"] = "SAME_UPPER"
    else:
        attributes["pads"] = each(padding) * 2
    return record("Conv", (x, weights) if bias is None else (x, weights, bias), attributes)


def max_pool(x, size, strides=None, padding=0):
    """The largest element of each window of `x`, [N, C, spatial...]."""
    rank = x.ndim - 2

    def each(value):
        return [value] * rank if isinstance(value, int) else list(value)
    return record("MaxPool", (x,), {"kernel_shape": each(size), "strides": each(strides or size), "pads": each(padding) * 2})


def avg_pool(x, size, strides=None, padding=0):
    """The mean of each window of `x`, [N, C, spatial...]."""
    rank = x.ndim - 2

    def each(value):
        return [value] * rank if isinstance(value, int) else list(value)
    return record("AveragePool", (x,), {"kernel_shape": each(size), "strides": each(strides or size), "pads": each(padding) * 2})


def layer_norm(x, scale, bias=None, axis=-1, epsilon=1e-5):
    """`x` normalised over its last axis, then scaled and shifted."""
    return record("LayerNormalization", (x, scale) if bias is None else (x, scale, bias), {"axis": _axis(axis, x.ndim), "epsilon": float(epsilon)})


def rms_norm(x, scale, axis=-1, epsilon=1e-5):
    """`x` divided by the root of its mean square along the last axis, then scaled."""
    return record("RMSNormalization", (x, scale), {"axis": _axis(axis, x.ndim), "epsilon": float(epsilon)})


def group_norm(x, scale, bias, groups, epsilon=1e-5):
    """`x` [N, C, ...] normalised over groups of channels, then scaled and shifted."""
    return record("GroupNormalization", (x, scale, bias), {"num_groups": groups, "epsilon": float(epsilon)})


def attention(q, k, v, mask=None, causal=False, scale=None):
    """Attention on [batch, heads, length, size]. `mask`: numbers that are added to the scores, or booleans that are true for positions to
    attend to."""
    if q.ndim != 4:
        raise Error(f"attention takes [batch, heads, length, size], not {q.shape}")
    attributes = {"is_causal": int(causal)}
    if scale is not None:
        attributes["scale"] = float(scale)
    return record("Attention", (q, k, v) if mask is None else (q, k, v, mask), attributes)


def embedding(table, indices):
    """The rows of `table` at `indices`."""
    return record("Gather", (table, array(indices)), {"axis": 0})


def one_hot(indices, classes, dtype="float32"):
    """For each index, a vector with a one at this position."""
    return cast(expand_dims(array(indices), -1) == cast(arange(classes), dtype_of(array(indices))), dtype)


def cross_entropy(logits, labels):
    """The mean over all rows of -log softmax(logits)[label]; labels are integers."""
    labels = expand_dims(array(labels), -1)
    picked = squeeze(take_along_axis(logits, labels, logits.ndim - 1), -1)
    return (logsumexp(logits, -1) - picked).mean()
