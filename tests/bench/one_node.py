"""One-node models, extracted from real graphs or made from a table."""
import hashlib
import re

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

EXTENTS = "extents"
LARGE = 256  # elements; larger constants do not distinguish nodes by their contents
# Operands that a graph computes from shapes, so that a compiler of the whole graph knows them. In a row they are
# constants.
SIZES = {"Resize": (2, 3), "Expand": (1,), "Slice": (1, 2, 3, 4), "Pad": (1,), "Tile": (1,)}
SKIPPED = {"Constant", "If", "Loop", "Scan", "SequenceMap"}  # no node of its own, or bodies that read outer values


class Row:
    """A model of one node and inputs for it. `open_dims`: {input: {axis: expression}}, the extents that are open in the
    open form."""

    def __init__(self, name, model, feeds, open_dims, sizes=None):
        self.name, self.model, self.feeds, self.open_dims, self.sizes = name, model, feeds, open_dims, sizes or {}

    def declared(self):
        """{symbol: extent} of symbols that occur only in expressions. An extra, unused input, EXTENTS, declares them.
        """
        texts = [text for axes in self.open_dims.values() for text in axes.values()]
        return {s: self.sizes[s] for s in sorted({n for t in texts for n in re.findall(r"[A-Za-z_]\w*", t)} - set(texts))}

    def inputs(self, is_open):
        """The inputs for this form of the model."""
        declared = self.declared() if is_open else {}
        return {**self.feeds, **({EXTENTS: np.zeros(list(declared.values()), np.bool_)} if declared else {})}

    def variant(self, is_open):
        """The model with its extents open or fixed."""
        model = onnx.ModelProto()
        model.CopyFrom(self.model)
        if is_open:
            for value in model.graph.input:
                for axis, symbol in self.open_dims.get(value.name, {}).items():
                    value.type.tensor_type.shape.dim[axis].dim_param = symbol
            if self.declared():
                model.graph.input.append(helper.make_tensor_value_info(EXTENTS, TensorProto.BOOL, list(self.declared())))
        return model


def make_row(name, nodes, feeds, constants, outputs, opsets, open_dims=None, functions=(), sizes=None):
    """`feeds` and `constants`: {name: array}, `outputs`: {name: elem_type}."""
    inputs = [helper.make_tensor_value_info(k, helper.np_dtype_to_tensor_dtype(v.dtype), v.shape) for k, v in feeds.items()]
    results = [helper.make_tensor_value_info(k, t, None) for k, t in outputs.items()]
    graph = helper.make_graph(nodes, "one_node", inputs, results,
                              [numpy_helper.from_array(v, k) for k, v in constants.items()])
    model = helper.make_model(graph, opset_imports=opsets, functions=list(functions))
    model.ir_version = 10
    return Row(name, model, feeds, open_dims or {}, sizes)


# ---------------------------------------------------------------- open and run-bound extents

def data_inputs(row):
    """The inputs that hold elements and not sizes, axes or indices."""
    weights = {n.input[1] for n in row.model.graph.node if n.op_type in ("Conv", "ConvTranspose")}  # no exporter leaves a kernel's extents open
    return [k for k, v in row.feeds.items() if v.ndim and v.dtype not in (np.int32, np.int64) and k not in weights]


def all_open(row):
    """The row with every extent of its data open, channels too, each under a name of its own."""
    dims = {k: {axis: f"{k}_{axis}" for axis in range(row.feeds[k].ndim)} for k in data_inputs(row)}
    return Row("open/" + row.name.split("/", 1)[1], row.model, row.feeds, dims, row.sizes)


def found_late(row):
    """The row with run-bound extents: each data input is reshaped to a shape that is another input."""
    model = onnx.ModelProto()
    model.CopyFrom(row.model)
    feeds, nodes = dict(row.feeds), []
    for name in data_inputs(row):
        feeds[f"{name}_shape"] = np.array(row.feeds[name].shape, np.int64)
        model.graph.input.append(helper.make_tensor_value_info(f"{name}_shape", TensorProto.INT64, [row.feeds[name].ndim]))
        nodes.append(helper.make_node("Reshape", [name, f"{name}_shape"], [f"{name}_late"], allowzero=1))
        for node in model.graph.node:
            node.input[:] = [f"{name}_late" if i == name else i for i in node.input]
    nodes += model.graph.node
    del model.graph.node[:]
    model.graph.node.extend(nodes)
    dims = {k: {axis: f"{k}_{axis}" for axis in range(row.feeds[k].ndim)} for k in data_inputs(row)}
    return Row("late/" + row.name.split("/", 1)[1], model, feeds, dims, row.sizes)


# ---------------------------------------------------------------- nodes of a model

def record_values(model, feeds):
    """Every value that the main graph computes, from onnxruntime."""
    import onnxruntime as ort
    probe = onnx.ModelProto()
    probe.CopyFrom(model)
    del probe.graph.output[:]
    inner = [o for node in probe.graph.node for o in node.output if o]
    probe.graph.output.extend(helper.make_empty_tensor_value_info(o) for o in inner)
    options = ort.SessionOptions()
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.log_severity_level = 4
    session = ort.InferenceSession(probe.SerializeToString(), options, providers=["CPUExecutionProvider"])
    values = dict(zip(inner, session.run(inner, feeds)))
    values.update(feeds)
    return {k: v for k, v in values.items() if isinstance(v, np.ndarray)}


def expression(a, b, sizes):
    """An expression in the model's symbols for an extent that was `a` in one run and `b` in the other. `sizes`:
    {symbol: (extent in the first run, in the other)}."""
    for s, (p, q) in sizes.items():
        if (a, b) == (p, q):
            return s
        step = round(p / a) if a else 0
        if a % p == 0 and b % q == 0 and a // p == b // q:
            return f"{s}*{a // p}"
        if step > 1 and (p // step, q // step) == (a, b):
            return f"{s}//{step}"
        if step > 1 and (-(-p // step), -(-q // step)) == (a, b):
            return f"({s} + {step - 1})//{step}"
    for s, (p, q) in sizes.items():
        if a - p == b - q:
            return f"{s} + {a - p}" if a > p else f"{s} - {p - a}"
    return f"d{a}_{b}"


def open_axes(values, others, sizes):
    """{value: {axis: expression}} for the extents that differ between two runs with inputs of different sizes. Extents
    that are equal in both runs are fixed."""
    found = {}
    for name, value in values.items():
        other = others.get(name)
        if other is not None and len(other) == value.ndim:
            found[name] = {axis: expression(a, b, sizes) for axis, (a, b) in enumerate(zip(value.shape, other)) if a != b}
    return found


def key_of(nodes, operands):
    """The key that distinguishes rows: operators, attributes, and each operand's dtype, shape, and contents if it is a
    small constant."""
    digest = hashlib.sha256()
    for node in nodes:
        digest.update(f"{node.domain}.{node.op_type}".encode())
        for a in sorted(node.attribute, key=lambda a: a.name):
            digest.update(a.SerializeToString())
    for value, is_constant in operands:
        digest.update(f"{is_constant}{value.dtype}{value.shape}".encode())
        if is_constant and value.size <= LARGE and value.dtype.kind in "iub":
            # The key holds only whether a zero point is zero, because the code is the same for all other values.
            digest.update(value.tobytes() if value.dtype.itemsize > 1 or value.dtype.kind == "b" else bytes([bool(value.any())]))
    return digest.hexdigest()


class Nodes:
    """The main graph of a model with the values of a run. `other_feeds`: inputs of other sizes. `sizes`: the extents in
    both runs, as in expression()."""

    def __init__(self, model, feeds, other_feeds, sizes):
        self.model = model
        self.constants = {t.name: numpy_helper.to_array(t) for t in model.graph.initializer}
        for node in model.graph.node:
            if node.op_type == "Constant" and node.attribute[0].name == "value":
                self.constants[node.output[0]] = numpy_helper.to_array(node.attribute[0].t)
        self.sizes = sizes
        self.values = record_values(model, feeds)
        others = record_values(model, other_feeds)
        self.open_axes = open_axes(self.values, {k: v.shape for k, v in others.items()}, sizes)
        self.varying = {k for k, v in self.values.items() if k in others and not np.array_equal(v, others[k])}
        self.producer = {o: n for n in model.graph.node for o in n.output if o}
        self.readers = {}
        for node in model.graph.node:
            for i in node.input:
                self.readers.setdefault(i, []).append(node)

    def with_quantisation(self, node):
        """The node with the DequantizeLinear nodes that feed it and the QuantizeLinear that is its only reader. A
        runtime that computes in integers sees these as one node."""
        before = [self.producer[i] for i in dict.fromkeys(node.input) if i in self.producer and self.producer[i].op_type == "DequantizeLinear"]
        if not before or node.op_type == "QuantizeLinear":
            return [node]
        readers = self.readers.get(node.output[0], [])
        after = readers if len(readers) == 1 and readers[0].op_type == "QuantizeLinear" else []
        return [*before, node, *after]

    def row(self, name, nodes, seen):
        """The nodes as a Row. None for a node that cannot be a model by itself, is folded at compile time, or was seen
        before."""
        made = {o for n in nodes for o in n.output if o}
        given = [i for i in dict.fromkeys(i for n in nodes for i in n.input) if i and i not in made]
        wanted = [o for o in nodes[-1].output if o]
        known = all(i in self.constants or i in self.values for i in given) and all(o in self.values for o in wanted)
        sizes = {n.input[k]: self.values[n.input[k]] for n in nodes for k in SIZES.get(n.op_type, ())
                 if len(n.input) > k and n.input[k] in self.values and n.input[k] in self.producer}
        constants = {**self.constants, **sizes}
        feeds = [i for i in given if i not in constants]
        if not known or not feeds:
            return None
        key = key_of(nodes, [(constants.get(i, self.values.get(i)), i in constants) for i in given])
        if key in seen:
            return None
        seen.add(key)
        outputs = {o: helper.np_dtype_to_tensor_dtype(self.values[o].dtype) for o in wanted}
        arrays = {i: np.array(self.values[i], order="C") for i in feeds}
        # A size that follows the input's extents is not constant if those are open.
        is_open = not any(i in self.varying for i in sizes)
        return make_row(name, nodes, arrays, {i: constants[i] for i in given if i in constants}, outputs,
                        self.model.opset_import, {i: self.open_axes.get(i, {}) for i in feeds} if is_open else {},
                        self.model.functions, {s: first for s, (first, _) in self.sizes.items()})


def rows_of_model(name, model, feeds, other_feeds, sizes, seen):
    """Yields a Row for each distinct node of the main graph. `seen`: the keys of earlier rows."""
    nodes = Nodes(model, feeds, other_feeds, sizes)
    for index, node in enumerate(model.graph.node):
        if node.op_type in SKIPPED or any(a.HasField("g") for a in node.attribute):
            continue
        row = nodes.row(f"{name}/{node.op_type} {node.name or index}", nodes.with_quantisation(node), seen)
        if row is not None:
            yield row
