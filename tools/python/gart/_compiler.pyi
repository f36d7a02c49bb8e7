import os
from collections.abc import Iterable, Mapping, Sequence
from typing import Protocol, overload

class _Proto(Protocol):
    def SerializeToString(self) -> bytes: ...

_Model = str | os.PathLike[str] | bytes | bytearray | memoryview | _Proto
_Texts = str | Iterable[str]

@overload
def compile(model: _Model, output: None = None, *, target: _Texts | None = None, dims: Mapping[str, int | Sequence[int]] | None = None,
            precision: str | None = None, libraries: _Texts | None = None, outputs: _Texts | None = None, custom_ops: _Texts | None = None,
            functions: _Texts | None = None, assign: _Texts | None = None, label: _Texts | None = None,
            fleet: str | os.PathLike[str] | None = None, cut: _Texts | None = None, keep: _Texts | None = None,
            memory_limit: str | int | None = None, tuning: str | os.PathLike[str] | None = None, cache: str | os.PathLike[str] | None = None,
            threads: int | None = None) -> bytes: ...
@overload
def compile(model: _Model, output: str | os.PathLike[str], *, target: _Texts | None = None,
            dims: Mapping[str, int | Sequence[int]] | None = None, precision: str | None = None, libraries: _Texts | None = None,
            outputs: _Texts | None = None, custom_ops: _Texts | None = None, functions: _Texts | None = None, assign: _Texts | None = None,
            label: _Texts | None = None, fleet: str | os.PathLike[str] | None = None, cut: _Texts | None = None, keep: _Texts | None = None,
            memory_limit: str | int | None = None, tuning: str | os.PathLike[str] | None = None, cache: str | os.PathLike[str] | None = None,
            threads: int | None = None) -> str: ...
