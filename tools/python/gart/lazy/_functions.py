"""NumPy's functions, imported from the modules that define them."""
import numpy as np

from . import _array, _core, _elementwise, _indices, _products, _reductions, _shapes
from ._core import result_type

pi, e, inf, nan, newaxis, euler_gamma = np.pi, np.e, np.inf, np.nan, None, np.euler_gamma
finfo, iinfo, can_cast, promote_types = np.finfo, np.iinfo, np.can_cast, np.promote_types
__all__ = ["pi", "e", "inf", "nan", "newaxis", "euler_gamma", "finfo", "iinfo", "can_cast", "promote_types", "result_type", "linalg", "mgrid", "ogrid"]
linalg, mgrid, ogrid = _products.linalg, _shapes.mgrid, _shapes.ogrid
_OTHERS = set(vars(_core)) | {"binary", "accumulate", "getitem"}
for _module in (_elementwise, _shapes, _indices, _reductions, _products):
    for _name, _value in vars(_module).items():
        if callable(_value) and not _name.startswith("_") and _name not in _OTHERS and not isinstance(_value, type):
            globals()[_name] = _value
            __all__.append(_name)
