import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from ._compiler import compile as compile
from ._errors import CompileError as CompileError, GartError as GartError

__version__: str

_Result = np.ndarray | DeviceArray | dict[str, np.ndarray]
_CustomOp = Callable[[list[np.ndarray | None], list[np.ndarray | None], dict[str, Any]], None]

class DeviceArray:
    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    device: str
    @property
    def __cuda_array_interface__(self) -> dict[str, Any]: ...

class Invocation:
    inputs: list[str]
    outputs: list[str]
    target: str
    device: str
    labels: dict[str, list[str]]
    metadata: dict[str, str]
    def new_invocation(self) -> Invocation: ...
    def set_inputs(self, feeds: Mapping[str, Any]) -> None: ...
    def set_output(self, which: str | int, place: Any) -> None: ...
    def run_bound(self) -> None: ...
    def run_async(self, stream: Any = 0) -> None: ...
    def wait(self) -> None: ...
    def cancel(self) -> None: ...
    def output(self, which: str | int) -> np.ndarray | DeviceArray: ...
    def run(self, feeds: Mapping[str, Any]) -> dict[str, _Result]: ...
    def __call__(self, *arrays: Any, **named: Any) -> _Result | tuple[_Result, ...]: ...

class Model(Invocation):
    def __init__(self, path: str | os.PathLike[str] | bytes | bytearray | memoryview, device: str | None = None, target: str | None = None,
                 threads: int = 0, verify: bool = True, blocking: bool = False, custom_ops: Mapping[str, _CustomOp] | None = None,
                 parallel: Mapping[str, int] | None = None, spin: bool = True) -> None: ...
    def run(self, feeds: Mapping[str, Any]) -> dict[str, _Result]: ...

def load(path: str | os.PathLike[str] | bytes | bytearray | memoryview, device: str | None = None, target: str | None = None, threads: int = 0,
         verify: bool = True, blocking: bool = False, custom_ops: Mapping[str, _CustomOp] | None = None,
         parallel: Mapping[str, int] | None = None, spin: bool = True) -> Model: ...
