"""gart.compile: the command gcc-graph, run on a model that is a file, bytes or an onnx.ModelProto."""
import importlib.util
import os
import shutil
import subprocess
import tempfile

from ._errors import CompileError


def _program():
    """The path of gcc-graph: $GCC_GRAPH, the package gcc-graph of this Python, this repository's build, or PATH."""
    here = os.path.dirname(os.path.abspath(__file__))
    package = importlib.util.find_spec("gcc_graph")
    folders = list(package.submodule_search_locations or ()) if package else []
    built = os.path.join(here, "..", "..", "..", "build", "release", "bin", "gcc-graph")
    for path in [os.environ.get("GCC_GRAPH"), *(os.path.join(folder, "bin", "gcc-graph") for folder in folders), built, shutil.which("gcc-graph")]:
        if path and os.path.exists(path):
            return path
    raise CompileError("gart.compile needs gcc-graph: install the package gcc-graph, or name the program in $GCC_GRAPH")


def _texts(value):
    return [value] if isinstance(value, str) else [str(v) for v in value]


def _option(name, value):
    """The words of one option. Lists are joined by commas, unless the option is repeated for each value."""
    if value is None:
        return []
    if isinstance(value, dict):
        return [f"--{name}={key}=" + ",".join(_texts([v] if isinstance(v, int) else v)) for key, v in value.items()]
    if name in ("custom-op", "assign", "label"):
        return [f"--{name}={text}" for text in _texts(value)]
    if isinstance(value, (str, os.PathLike, int)):
        return [f"--{name}={os.fspath(value) if isinstance(value, os.PathLike) else value}"]
    return [f"--{name}=" + ",".join(_texts(value))]


def _model_file(model, folder):
    """The path of a model; bytes and onnx.ModelProto are written to `folder`."""
    if isinstance(model, (str, os.PathLike)):
        return os.fspath(model)
    if hasattr(model, "SerializeToString"):
        try:
            model = model.SerializeToString()
        except ValueError as error:  # protobuf's limit of 2 GB
            raise CompileError("the model cannot be serialized: save it to a file with external data, and compile the file") from error
    if not isinstance(model, (bytes, bytearray, memoryview)):
        raise TypeError(f"a model is a path, bytes or an onnx.ModelProto, not {type(model).__name__}")
    path = os.path.join(folder, "model.onnx")
    with open(path, "wb") as file:
        file.write(model)
    return path


def compile(model, output=None, *, target=None, dims=None, precision=None, libraries=None, outputs=None, custom_ops=None, functions=None,
            assign=None, label=None, fleet=None, cut=None, keep=None, memory_limit=None, tuning=None, cache=None, threads=None):
    """Compiles an ONNX model. Returns the artifact's bytes, for load(); with `output`, writes them to that file and returns its path.

    `model`: a path, bytes, or an onnx.ModelProto. The other arguments are the options of `gcc-graph compile` with these
    names. `target`, `libraries`, `outputs`, `functions`, `cut` and `keep`: one text, or a list. `dims`: {"batch": 1} or
    {"batch": [1, 8]}. `custom_ops`: declarations in the form of --custom-op. Raises CompileError with the compiler's message."""
    words = [*_option("target", target), *_option("dim", dims), *_option("precision", precision), *_option("libraries", libraries),
             *_option("outputs", outputs), *_option("custom-op", custom_ops), *_option("functions", functions), *_option("assign", assign),
             *_option("label", label), *_option("fleet", fleet), *_option("cut", cut), *_option("keep", keep),
             *_option("memory-limit", memory_limit), *_option("tuning", tuning), *_option("cache", cache), *_option("threads", threads)]
    with tempfile.TemporaryDirectory(prefix="gart-") as folder:
        artifact = os.path.join(folder, "model.gart") if output is None else os.fspath(output)
        done = subprocess.run([_program(), "compile", _model_file(model, folder), "-o", artifact, "--quiet", *words], capture_output=True, text=True)
        if done.returncode != 0:
            said = done.stderr.strip() or f"gcc-graph ended with status {done.returncode} and without a message"
            raise CompileError(said.removeprefix("gcc-graph: ").removeprefix("error: "))
        if output is not None:
            return artifact
        with open(artifact, "rb") as file:
            return file.read()
