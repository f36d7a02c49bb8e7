"""Operators and functions of elements, as NumPy has them."""
import builtins
import functools
import operator

import numpy as np

from ._core import FORMS, LATER, Array, Error, array, bool_, cast, core, dtype_of, float32, floats_of, form, int32, is_float, is_operand, operand, record, result_type, together

_UNARY = ("exp", "log", "tanh", "sqrt", "sin", "cos", "tan", "sinh", "cosh", "arcsin", "arccos", "arctan", "arcsinh", "arccosh", "arctanh",
          "erf", "sigmoid", "reciprocal", "softplus", "abs", "negative", "sign", "relu", "floor", "ceil", "rint")
for _name in _UNARY:
    globals()[_name] = getattr(core, _name)


_ARITHMETIC = {"add": "Add", "subtract": "Sub", "multiply": "Mul", "matmul": "MatMul", "power": "Pow", "maximum": "Max", "minimum": "Min"}
_COMPARISONS = {"less": "Less", "less_equal": "LessOrEqual", "greater": "Greater", "greater_equal": "GreaterOrEqual", "equal": "Equal"}
_LOGIC = {"bitwise_and": ("And", "BitwiseAnd"), "bitwise_or": ("Or", "BitwiseOr"), "bitwise_xor": ("Xor", "BitwiseXor")}
_OF_BOOLS = {"add": "Or", "multiply": "And", "maximum": "Or", "minimum": "And"}


def _power(a, b):
    if isinstance(b, (int, float)) and not isinstance(b, bool) and isinstance(a, Array):
        if b == 1:
            return a + 0
        if isinstance(b, float) and b in (2, 3):
            return a ** int(b)
        if isinstance(b, int) and b < 0 and not is_float(dtype_of(a)):
            raise Error("integers have no negative powers among integers; make the base a float")
    return record("Pow", together(a, b))


def _divide(name, a, b):
    if name == "divide":
        return record("Div", together(a, b, floats=True))
    x, y = together(a, b)
    if dtype_of(x) == bool_:
        x, y = cast(x, np.int8), cast(y, np.int8)
    if is_float(dtype_of(x)):
        return _float_divide(name, x, y)
    remainder = record("Mod", (x, y))  # of the divisor's sign, as Python's
    return remainder if name == "remainder" else record("Div", (x - remainder, y))


def _float_divide(name, x, y):
    """Uses C's remainder, which is exact; a quotient could be rounded up to the next integer."""
    truncated = record("Mod", (x, y), {"fmod": 1})
    is_turned = (truncated != 0) & ((truncated < 0) != (y < 0))
    if name == "remainder":
        return where(truncated == 0, cast(where(y < 0, -0.0, 0.0), dtype_of(y)), where(is_turned, truncated + y, truncated))
    return where(y == 0, x / y, core.rint((x - truncated) / y) - cast(is_turned, dtype_of(x)))


def binary(name, a, b):
    """Records the operators that the recorder leaves to Python: operands of different types, and rarer operators."""
    if not (is_operand(a) and is_operand(b)):
        return NotImplemented
    if name == "power":
        return _power(a, b)
    if name in ("divide", "floor_divide", "remainder"):
        return _divide(name, a, b)
    if name == "not_equal":
        return record("Not", (binary("equal", a, b),))
    x, y = together(a, b)
    is_bool = dtype_of(x) == bool_
    if name in _LOGIC:
        return record(_LOGIC[name][0 if is_bool else 1], (x, y))
    if is_bool and name in _OF_BOOLS:
        return record(_OF_BOOLS[name], (x, y))
    if is_bool and name == "subtract":
        raise Error("booleans have no difference; use ^")
    if is_bool and name in ("less", "less_equal", "greater", "greater_equal"):
        x, y = cast(x, int32), cast(y, int32)
    return record(_ARITHMETIC.get(name) or _COMPARISONS[name], (x, y))


class Function:
    """A function of two operands with NumPy's reduce, accumulate and outer."""

    def __init__(self, name):
        self.__name__ = self.__qualname__ = name
        self._direct = getattr(core, name, None) or getattr(operator, _SYMBOLS.get(name, name), None)

    def __repr__(self):
        return f"<gart.lazy function {self.__name__}>"

    def __call__(self, a, b):
        if self._direct is not None and isinstance(a, Array) and type(b) in _DIRECT:
            return self._direct(a, b)
        return _two(self.__name__, a, b)

    def reduce(self, x, axis=0, keepdims=False):
        """Combines all elements along `axis`, like NumPy's `ufunc.reduce`."""
        known = _REDUCTIONS.get(self.__name__)
        if known is None:
            raise Error(f"{self.__name__} has no reduce")
        return LATER[known](array(x), axis=axis, keepdims=keepdims)

    def accumulate(self, x, axis=0):
        """Running results along `axis`, like NumPy's `ufunc.accumulate`."""
        return LATER["accumulate"](self, x, axis)

    def outer(self, a, b):
        """The function of every element of `a` with every element of `b`."""
        a, b = array(a), array(b)
        return self(a.reshape(a.shape + (1,) * b.ndim), b)


_SYMBOLS = {"subtract": "sub", "multiply": "mul", "divide": "truediv", "less": "lt", "less_equal": "le", "greater": "gt", "greater_equal": "ge",
            "equal": "eq", "not_equal": "ne", "bitwise_and": "and_", "bitwise_or": "or_", "bitwise_xor": "xor", "power": "pow",
            "floor_divide": "floordiv", "remainder": "mod"}
_DIRECT = (Array, int, float)
_REDUCTIONS = {"add": "sum", "multiply": "prod", "maximum": "max", "minimum": "min", "logical_and": "all", "logical_or": "any"}


def _two(name, a, b):
    if not (is_operand(a) and is_operand(b)):
        raise Error(f"{name}: expected an array or a number")
    return binary(name, a, b)


FORMS["maximum"], FORMS["minimum"] = functools.partial(_two, "maximum"), functools.partial(_two, "minimum")
for _name in (*_ARITHMETIC, *_COMPARISONS, *_LOGIC, "divide", "floor_divide", "remainder", "not_equal"):
    globals()[_name] = Function(_name)
true_divide, mod, absolute, fabs = divide, remainder, core.abs, core.abs  # noqa: F821
asin, acos, atan, asinh, acosh, atanh = core.arcsin, core.arccos, core.arctan, core.arcsinh, core.arccosh, core.arctanh
pow = power  # noqa: F821


def positive(x):
    """`+x`."""
    return array(x)


def _floats(*values):
    """The values as arrays of one float type: NumPy's type for the results of functions."""
    values = [operand(v) for v in values]
    dtype = floats_of(result_type(*(floats_of(dtype_of(v)) if isinstance(v, Array) else v for v in values)))
    return [cast(v, dtype) if isinstance(v, Array) else array(v, dtype) for v in values]


def log1p(x):
    """log(1 + x), accurate for small x: log(1 + x) * x / ((1 + x) - 1)."""
    x, = _floats(x)
    u = x + 1
    return where((u == 1) | (u == np.inf), x, core.log(u) * (x / (u - 1)))


def expm1(x):
    """exp(x) - 1, accurate for small x."""
    x, = _floats(x)
    u = core.exp(x)
    near = (u - 1) * (x / core.log(u))
    return where(u == 1, x, where(core.abs(x) < 1, near, u - 1))


def log2(x):
    """The logarithm to base 2 of each element."""
    return core.log(x) * (1 / float(np.log(2.0)))


def log10(x):
    """The logarithm to base 10 of each element."""
    return core.log(x) * (1 / float(np.log(10.0)))


def exp2(x):
    """2 to the power of each element."""
    x, = _floats(x)
    return record("Pow", (array(2, dtype_of(x)), x))


def square(x):
    """Each element times itself."""
    x = array(x)
    return x * x


def rsqrt(x):
    """The reciprocal square root of each element."""
    return 1 / core.sqrt(x)


def cbrt(x):
    """The real cube root of each element."""
    x, = _floats(x)
    return core.sign(x) * core.abs(x) ** (1 / 3)


def hypot(a, b):
    """`sqrt(a*a + b*b)`, without overflow of the squares."""
    a, b = (core.abs(v) for v in _floats(a, b))
    large, small = maximum(a, b), minimum(a, b)
    ratio = small / where(large == 0, 1, large)
    return where((a == np.inf) | (b == np.inf), np.inf, large * core.sqrt(1 + ratio * ratio))


def arctan2(y, x):
    """The angle of the point (x, y) in radians, from -pi to pi."""
    y, x = _floats(y, x)
    ay, ax = core.abs(y), core.abs(x)
    large, small = maximum(ay, ax), minimum(ay, ax)
    angle = core.arctan(where((large == np.inf) & (small == np.inf), 1, small / where(large == 0, 1, large)))
    angle = where(ay > ax, np.pi / 2 - angle, angle)
    return copysign(where(signbit(x), np.pi - angle, angle), y)


atan2 = arctan2


def signbit(x):
    """Whether the sign is negative, also for -0.0."""
    x = array(x)
    if not is_float(dtype_of(x)):
        return x < 0 if dtype_of(x) != bool_ else x & False
    return (x < 0) | ((x == 0) & (1 / x < 0))


def copysign(a, b):
    """The magnitude of `a` with the sign of `b`."""
    a, b = _floats(a, b)
    return where(signbit(b), -core.abs(a), core.abs(a))


def degrees(x):
    """Radians to degrees."""
    return _floats(x)[0] * (180 / np.pi)


def radians(x):
    """Degrees to radians."""
    return _floats(x)[0] * (np.pi / 180)


rad2deg, deg2rad = degrees, radians


def sinc(x):
    """`sin(pi x) / (pi x)`, and 1 at 0."""
    x, = _floats(x)
    y = where(x == 0, 1e-20 if dtype_of(x).itemsize > 2 else 1e-4, x) * np.pi
    return core.sin(y) / y


def heaviside(x, middle):
    """0 below zero, 1 above it, `middle` at zero."""
    x, middle = _floats(x, middle)
    return where(x != x, x, where(x == 0, middle, cast(x > 0, dtype_of(x))))


def logaddexp(a, b):
    """`log(exp(a) + exp(b))`, without overflow."""
    a, b = _floats(a, b)
    return where(a == b, a + float(np.log(2)), maximum(a, b) + log1p(core.exp(-core.abs(a - b))))


def logaddexp2(a, b):
    """`log2(2**a + 2**b)`, without overflow."""
    return logaddexp(a * float(np.log(2)), b * float(np.log(2))) * (1 / float(np.log(2)))


def trunc(x):
    """Each element rounded towards zero."""
    x = array(x)
    return where(x < 0, core.ceil(x), core.floor(x)) if is_float(dtype_of(x)) else x


fix = trunc


def round(x, decimals=0):
    """Rounded to the given number of decimals; ties go to the even number, as in NumPy."""
    x = array(x)
    if not is_float(dtype_of(x)):
        if decimals >= 0:
            return x
        raise Error("integers cannot be rounded to tens")
    if decimals == 0:
        return core.rint(x)
    scale = 10.0 ** builtins.abs(decimals)
    return core.rint(x * scale) / scale if decimals > 0 else core.rint(x / scale) * scale


around = round


def fmod(a, b):
    """The remainder with the dividend's sign, like C's."""
    a, b = together(a, b)
    if is_float(dtype_of(a)):
        return record("Mod", (a, b), {"fmod": 1})
    if dtype_of(a) == bool_:
        a, b = cast(a, np.int8), cast(b, np.int8)
    return a - record("Div", (a, b)) * b


def divmod(a, b):
    """The pair `(a // b, a % b)`."""
    return floor_divide(a, b), remainder(a, b)  # noqa: F821


def float_power(a, b):
    """`a` to the power `b`, computed in float32 at least."""
    a, b = _floats(a, b)
    return power(*(cast(v, float32) if dtype_of(v).itemsize < 4 else v for v in (a, b)))  # noqa: F821


def fmax(a, b):
    """The larger of the two; NaN only if both are NaN."""
    a, b = together(a, b)
    return maximum(a, b) if not is_float(dtype_of(a)) else where(a != a, b, where(b != b, a, maximum(a, b)))


def fmin(a, b):
    """The smaller of the two; NaN only if both are NaN."""
    a, b = together(a, b)
    return minimum(a, b) if not is_float(dtype_of(a)) else where(a != a, b, where(b != b, a, minimum(a, b)))


def invert(x):
    """Bitwise complement of integers, logical complement of booleans."""
    x = array(x)
    return record("Not" if dtype_of(x) == bool_ else "BitwiseNot", (x,))


bitwise_not = bitwise_invert = invert


def left_shift(a, b):
    """Integers shifted left by `b` bits."""
    a, b = together(a, b)
    if dtype_of(a).kind not in "iu":
        raise Error(f"{dtype_of(a)} cannot be shifted; integers can")
    if dtype_of(a).kind == "u":
        return record("BitShift", (a, b), {"direction": "LEFT"})
    return a * record("Pow", (array(2, dtype_of(a)), b))


def right_shift(a, b):
    """Integers shifted right by `b` bits; signed ones keep their sign."""
    a, b = together(a, b)
    if dtype_of(a).kind not in "iu":
        raise Error(f"{dtype_of(a)} cannot be shifted; integers can")
    if dtype_of(a).kind == "u":
        return record("BitShift", (a, b), {"direction": "RIGHT"})
    return a // record("Pow", (array(2, dtype_of(a)), b))


def logical_not(x):
    """Whether each element is zero."""
    return record("Not", (cast(array(x), bool_),))


class _Logic(Function):
    """A logical function of operands of any type: every number but zero is true."""

    def __init__(self, name, op):
        super().__init__(name)
        self._op = op

    def __call__(self, a, b):
        return record(self._op, (cast(array(a), bool_), cast(array(b), bool_)))


logical_and, logical_or, logical_xor = _Logic("logical_and", "And"), _Logic("logical_or", "Or"), _Logic("logical_xor", "Xor")


def isnan(x):
    """Whether each element is NaN."""
    x = array(x)
    return x != x


def isinf(x):
    """Whether each element is an infinity."""
    x = array(x)
    return core.abs(x) == np.inf if is_float(dtype_of(x)) else x != x


def isfinite(x):
    """Whether each element is neither infinite nor NaN."""
    x = array(x)
    return core.abs(x) < np.inf if is_float(dtype_of(x)) else x == x


def isposinf(x):
    """Whether each element is positive infinity."""
    x = array(x)
    return x == np.inf if is_float(dtype_of(x)) else x != x


def isneginf(x):
    """Whether each element is negative infinity."""
    x = array(x)
    return x == -np.inf if is_float(dtype_of(x)) else x != x


def nan_to_num(x, nan=0.0, posinf=None, neginf=None):
    """NaN and infinities replaced by numbers; by default 0 and the largest finite numbers."""
    x = array(x)
    if not is_float(dtype_of(x)):
        return x
    limits = np.finfo(np.float32 if dtype_of(x).itemsize == 2 and dtype_of(x) != np.float16 else dtype_of(x))
    x = where(x == np.inf, float(limits.max) if posinf is None else posinf, where(x == -np.inf, float(limits.min) if neginf is None else neginf, x))
    return where(x != x, nan, x)


def isclose(a, b, rtol=1e-5, atol=1e-8, equal_nan=False):
    """Whether `|a - b| <= atol + rtol * |b|`, element by element."""
    a, b = _floats(a, b)
    near = where(isfinite(a) & isfinite(b), core.abs(a - b) <= core.abs(b) * rtol + atol, a == b)
    return near | ((a != a) & (b != b)) if equal_nan else near


@form
def where(condition, a=None, b=None):
    """Elements of `a` where the condition holds, else of `b`. Without `a` and `b`: nonzero(condition)."""
    if a is None or b is None:
        if a is not b:
            raise Error("where takes both choices, or none")
        return LATER["nonzero"](condition)
    x, y = together(a, b)
    return record("Where", (cast(array(condition), bool_), x, y))


def select(conditions, choices, default=0):
    """Each element from the choice whose condition holds first."""
    if len(conditions) != len(choices) or not len(choices):
        raise Error(f"{len(conditions)} conditions for {len(choices)} choices")
    out = default
    for c, v in zip(reversed(conditions), reversed(choices)):
        out = where(c, v, out)
    return out


def clip(x, low=None, high=None):
    """Each element limited to the range from `low` to `high`; None leaves a side open."""
    x = array(x)
    if low is not None:
        x = maximum(x, low)
    return x if high is None else minimum(x, high)


def astype(x, dtype):
    """`x` with elements of type `dtype`."""
    return cast(array(x), dtype)
