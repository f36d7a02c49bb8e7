"""Shared by the tests of training: a network with Dropout and a known answer, and 100 samples for it."""
import numpy as np

NETWORK = """<ir_version: 8, opset_import: ["": 20]>
net (float[batch, 24] x) => (float[batch, 5] y) {
  half = Constant<value_float = 0.25>()
  yes = Constant<value = bool {1}>()
  p = MatMul(x, w)
  q = Add(p, b)
  h = Relu(q)
  d, mask = Dropout(h, half, yes)
  s = MatMul(d, v)
  y = Add(s, c)
}"""


def weights_and_samples():
    """({name: array}, {name: array}), the same at each call."""
    r = np.random.default_rng(8)
    weights = {"w": r.standard_normal((24, 40)) / 4, "b": r.standard_normal(40) / 9, "v": r.standard_normal((40, 5)) / 6, "c": np.zeros(5)}
    x = r.standard_normal((100, 24)).astype(np.float32)
    return {n: v.astype(np.float32) for n, v in weights.items()}, {"x": x, "t": np.argmax(x[:, :5] + x[:, 5:10], 1)}
