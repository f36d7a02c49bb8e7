"""x.at[index]: new arrays that differ from x at an index."""
import numpy as np

from ._core import Array, array, cast, dtype_of, record
from ._elementwise import where
from ._shapes import arange, broadcast_to, expand_dims, ravel, reshape


class At:
    """The value of x.at; x.at[index] is a Place."""

    def __init__(self, x):
        self._x = x

    def __getitem__(self, index):
        return Place(self._x, index)


class Place:
    """The elements of an array at any index that x[index] takes. Each method gives a new array of x's type and shape;
    `values` are broadcast to the shape of x[index]. If an index names an element several times, add, multiply, min and max apply to it each
    time. set and the other methods apply once."""

    def __init__(self, x, index):
        self._x, self._index = x, index

    def get(self):
        """The elements at these indices."""
        return self._x[self._index]

    def set(self, values):
        """A copy with these elements replaced by `values`."""
        x, mask = self._x, self._index
        if isinstance(mask, (Array, np.ndarray)) and mask.dtype == np.bool_ and array(values).size == 1:
            if mask.shape == x.shape:  # this works without the number of true elements
                return where(array(mask), cast(reshape(array(values), ()), dtype_of(x)), x)
        return self._changed(values, "none")

    def add(self, values):
        """A copy with `values` added to these elements; repeated indices add up."""
        return self._changed(values, "add")

    def subtract(self, values):
        """A copy with `values` subtracted from these elements; repeated indices add up."""
        return self.add(-array(values, dtype_of(self._x)))

    def multiply(self, values):
        """A copy with these elements multiplied by `values`."""
        return self._changed(values, "mul")

    def min(self, values):
        """A copy with the minimum of these elements and `values`."""
        return self._changed(values, "min")

    def max(self, values):
        """A copy with the maximum of these elements and `values`."""
        return self._changed(values, "max")

    def divide(self, values):
        """A copy with these elements divided by `values`."""
        return self.set(self.get() / values)

    def power(self, values):
        """A copy with these elements raised to the power `values`."""
        return self.set(self.get() ** values)

    def apply(self, function):
        """A copy with `function` applied to these elements."""
        return self.set(function(self.get()))

    def _changed(self, values, reduction):
        x = self._x
        places = reshape(arange(x.size), x.shape)[self._index]
        values = broadcast_to(array(values, dtype_of(x)), places.shape)
        changed = record("ScatterND", (ravel(x), expand_dims(ravel(places), 1), ravel(values)), {"reduction": reduction})
        return reshape(changed, x.shape)
