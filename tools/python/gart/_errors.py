"""The errors of this package."""


class GartError(RuntimeError):
    """An error of the runtime, described in one sentence."""


class CompileError(GartError):
    """A model cannot be compiled. The message is the compiler's."""
